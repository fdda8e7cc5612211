// Peer is lastuse as one of the allocators that bench/report asks.
//
//	peer lastuse-cuda|lastuse-host[-nosites|-tight|-fast]
//
// It answers on its standard output what it is asked on its standard input, a line each: see package ask. A
// question begins and ends without memory. pair.go times pairs of Make and Free, replay.go traces, first
// buffers and copies, early.go the programs of bench/early.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/tracker"
)

// A peer has pools on a device.
type peer struct {
	dev    alloc.Device
	kind   string // what is not usual about its pools: nosites, tight or fast
	memory []byte // that is copied
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("peer: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: peer lastuse-cuda|lastuse-host[-nosites|-tight|-fast]")
	}
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers as the peer with this name.
func serve(name string, in io.Reader, out io.Writer) error {
	p, err := open(name)
	if err != nil {
		fmt.Fprintf(out, "error %v\n", err)
		return err
	}
	return ask.Serve(name, in, out, p.answer)
}

// open opens what a name says: lastuse-DEVICE or lastuse-DEVICE-KIND.
func open(name string) (*peer, error) {
	_, device, _ := strings.Cut(name, "-")
	device, kind, _ := strings.Cut(device, "-")
	p := &peer{kind: kind}
	var err error
	switch device {
	case "cuda":
		p.dev, err = cuda.Open(0)
	case "host":
		// Untouched memory costs the host nothing, so there may be more of it than the machine has.
		p.dev, err = host.Open(host.Options{Capacity: 1 << 40})
	default:
		err = fmt.Errorf("device %q is neither cuda nor host", device)
	}
	if err == nil {
		_, err = p.options()
	}
	return p, err
}

// options returns the options of the kind's pools. bare is a build without books, with no options of its own.
func (p *peer) options() (alloc.Options, error) {
	var a alloc.Options
	switch p.kind {
	case "", "bare":
	case "nosites":
		a.Tracker = tracker.New(tracker.Options{Rate: -1})
	case "tight":
		a.Growth = alloc.Tight
	case "fast":
		a.Growth = alloc.Fast
	default:
		return a, fmt.Errorf("there is no kind %q of pools", p.kind)
	}
	return a, nil
}

// pool returns a fresh pool with streams.
func (p *peer) pool(limit int64, streams int) (*alloc.Pool, []*alloc.Stream, error) {
	a, err := p.options()
	if err != nil {
		return nil, nil, err
	}
	a.Limit = limit
	pool, err := alloc.NewPool(p.dev, a)
	if err != nil {
		return nil, nil, err
	}
	all := make([]*alloc.Stream, streams)
	for i := range all {
		if all[i], err = pool.NewStream(); err != nil {
			return nil, nil, errors.Join(err, pool.Close())
		}
	}
	return pool, all, nil
}

// free returns the bytes that the device has.
func (p *peer) free() int64 {
	n, _, err := p.dev.MemInfo()
	if err != nil {
		return 0
	}
	return n
}

// answer answers one question.
func (p *peer) answer(q ask.Line) (string, error) {
	f, ok := map[string]func(ask.Line) (string, error){
		"pair": p.pair, "trace": p.trace, "limit": p.limit, "first": p.first, "copy": p.copy,
		"early": earlyForms, "largest": largest, "series": series,
	}[q.Word]
	if !ok {
		return "", fmt.Errorf("it does not answer %s", q.Word)
	}
	return f(q)
}
