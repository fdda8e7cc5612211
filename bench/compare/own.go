package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// A question is what a peer is asked: a word and values by key.
type question struct {
	word   string
	values map[string]string
}

func parse(line string) question {
	fields := strings.Fields(line)
	q := question{values: map[string]string{}}
	for i, f := range fields {
		if key, value, ok := strings.Cut(f, "="); ok {
			q.values[key] = value
		} else if i == 0 {
			q.word = f
		}
	}
	return q
}

// number returns a value, or otherwise where the question has none.
func (q question) number(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(q.values[key], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// An own is lastuse as a peer.
type own struct {
	dev    alloc.Device
	kind   string // what is not usual about its pools: nosites, tight or fast
	memory []byte // that is copied
}

// openOwn opens what a name says: lastuse-DEVICE or lastuse-DEVICE-KIND.
func openOwn(name string) (*own, error) {
	_, device, _ := strings.Cut(name, "-")
	device, kind, _ := strings.Cut(device, "-")
	o := &own{kind: kind}
	var err error
	switch device {
	case "cuda":
		o.dev, err = cuda.Open(0)
	case "host":
		// Untouched memory costs the host nothing, so there may be more of it than the machine has.
		o.dev, err = host.Open(host.Options{Capacity: 1 << 40})
	default:
		err = fmt.Errorf("device %q is neither cuda nor host", device)
	}
	if err == nil {
		_, err = o.options()
	}
	return o, err
}

// options returns the options of the kind's pools.
func (o *own) options() (alloc.Options, error) {
	var a alloc.Options
	switch o.kind {
	case "":
	case "nosites":
		a.Tracker = tracker.New(tracker.Options{Rate: -1})
	case "tight":
		a.Growth = alloc.Tight
	case "fast":
		a.Growth = alloc.Fast
	default:
		return a, fmt.Errorf("there is no kind %q of pools", o.kind)
	}
	return a, nil
}

// pool returns a fresh pool with streams.
func (o *own) pool(limit int64, streams int) (*alloc.Pool, []*alloc.Stream, error) {
	a, err := o.options()
	if err != nil {
		return nil, nil, err
	}
	a.Limit = limit
	p, err := alloc.NewPool(o.dev, a)
	if err != nil {
		return nil, nil, err
	}
	all := make([]*alloc.Stream, streams)
	for i := range all {
		if all[i], err = p.NewStream(); err != nil {
			return nil, nil, errors.Join(err, p.Close())
		}
	}
	return p, all, nil
}

// free returns the bytes that the device has.
func (o *own) free() int64 {
	n, _, err := o.dev.MemInfo()
	if err != nil {
		return 0
	}
	return n
}

// serve answers questions, one a line, until there are no more.
func serve(name string, in io.Reader, out io.Writer) error {
	o, err := openOwn(name)
	if err != nil {
		fmt.Fprintf(out, "error %v\n", err)
		return err
	}
	fmt.Fprintf(out, "ok %s\n", name)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		q := parse(lines.Text())
		if a, err := o.answer(q); err != nil {
			fmt.Fprintf(out, "error %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(out, "ok %s\n", a)
		}
	}
	return lines.Err()
}

// answer answers one question.
func (o *own) answer(q question) (string, error) {
	switch q.word {
	case "pair":
		return o.pair(q)
	case "trace":
		return o.trace(q)
	case "limit":
		return o.limit(q)
	case "first":
		return o.first(q)
	case "copy":
		return o.copy(q)
	case "streams":
		return o.streams(q)
	}
	return "", fmt.Errorf("it does not answer %s", q.word)
}

// first times a fresh pool and its first buffer.
func (o *own) first(q question) (string, error) {
	before := o.free()
	t0 := time.Now()
	p, s, err := o.pool(0, 1)
	if err != nil {
		return "", err
	}
	defer p.Close()
	had := p.Stats().Reserved
	t1 := time.Now()
	b, err := alloc.Make[byte](s[0], int(q.number("size", 0)))
	took := time.Since(t1)
	if err != nil {
		return "", err
	}
	got, taken := p.Stats().Reserved-had, before-o.free()
	a := fmt.Sprintf("ns=%d new=%d reserved=%d taken=%d", took, t1.Sub(t0), got, taken)
	b.Free()
	return a, p.Close()
}

// copy times copies from and to Go memory. A copy to the device has arrived when its time ends.
func (o *own) copy(q question) (string, error) {
	p, ss, err := o.pool(0, 1)
	if err != nil {
		return "", err
	}
	defer p.Close()
	s, n := ss[0], int(q.number("size", 0))
	b, err := alloc.Make[byte](s, n)
	if err != nil {
		return "", err
	}
	if len(o.memory) < n { // made once: to fill it takes longer than to copy it
		o.memory = make([]byte, n)
		for i := 0; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(o.memory[i:], uint64(i)*0x9e3779b97f4a7c15)
		}
	}
	memory := o.memory[:n]
	in, fresh := q.values["dir"] == "in", q.values["fresh"] == "1"
	once := func() error {
		switch {
		case in:
			return errors.Join(b.CopyFrom(s, memory), s.Sync())
		case fresh:
			return b.CopyTo(s, make([]byte, n))
		}
		return b.CopyTo(s, memory)
	}
	if err := once(); err != nil {
		return "", err
	}
	var all []string
	end := time.Now().Add(time.Duration(q.number("ms", 100)) * time.Millisecond)
	for i := 0; i < 3 || i < 50 && time.Now().Before(end); i++ {
		begin := time.Now()
		if err := once(); err != nil {
			return "", err
		}
		all = append(all, strconv.FormatInt(time.Since(begin).Nanoseconds(), 10))
	}
	b.Free()
	return "ns=" + strings.Join(all, ","), p.Close()
}
