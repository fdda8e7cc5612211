// Workspace is the program the idea of lastuse started from: a loop makes a
// workspace per iteration, passes it to a function that uses it and lets it go
// nowhere, and never frees it. The collector sees handles of a few dozen bytes
// and no reason to run, so the foreign heap grows until the device is full.
//
//	workspace [-n elements] [-iterations k] [-variant pool|c] [-capacity bytes] [-samples file] [-profile file]
//
// In each iteration it prints the size of the foreign heap; at the end a summary.
// With -samples it also writes the figures as JSON, which is what
// examples/quickstart draws its chart from. With -profile it writes the call sites as a profile
// for go tool pprof.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("workspace: ")
	n := flag.Int("n", 1<<20, "elements of a workspace, 4 bytes each")
	iterations := flag.Int("iterations", 200, "workspaces to make")
	variant := flag.String("variant", "pool", "pool: buffers of a device pool; c: C memory behind a finalizer")
	capacity := flag.Int64("capacity", 256<<20, "device memory, bytes")
	samples := flag.String("samples", "", "write figures as JSON to this `file`")
	profile := flag.String("profile", "", "write the call sites as a pprof profile to this `file`")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}
	m := &meter{w: os.Stdout}
	var err error
	switch *variant {
	case "pool":
		err = poolVariant(m, *n, *iterations, *capacity)
	case "c":
		err = cVariant(m, *n, *iterations)
	default:
		log.Fatalf("-variant %s: want pool or c", *variant)
	}
	if err != nil {
		log.Fatal(err)
	}
	m.summary()
	if *samples != "" {
		if err := m.writeFile(*samples); err != nil {
			log.Fatal(err)
		}
	}
	if *profile != "" {
		if err := m.writeProfile(*profile); err != nil {
			log.Fatal(err)
		}
	}
}

// poolVariant runs the loops on buffers of a pool over the host device.
func poolVariant(m *meter, n, iterations int, capacity int64) error {
	dev, err := host.Open(host.Options{Capacity: capacity})
	if err != nil {
		return err
	}
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	m.watch(pool.Tracker())
	s := pool.DefaultStream()
	if err := loop(s, n, iterations, m.sample); err != nil {
		return err
	}
	for i := range 4 {
		if err := branch(s, n, i%2 == 0, io.Discard); err != nil {
			return err
		}
	}
	if err := early(s, n, -1); err != errNegative {
		return fmt.Errorf("early: got %v, want %v", err, errNegative)
	}
	if err := s.Sync(); err != nil { // the work is queued: wall time counts all of it
		return err
	}
	m.finish()
	// Buffers that the collector has not found yet stay live; Close names
	// them. That is this program's subject, so it is printed, not fatal.
	if err := pool.Close(); err != nil {
		m.note("%v", err)
	}
	return nil
}

// cVariant runs the loop on C memory as the idea's first sketch did.
func cVariant(m *meter, n, iterations int) error {
	t := tracker.New(tracker.Options{})
	m.watch(t)
	if err := cLoop(t, n, iterations, m.sample); err != nil {
		return err
	}
	m.finish()
	return nil
}
