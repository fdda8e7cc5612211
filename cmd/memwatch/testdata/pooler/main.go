// Pooler is a program that uses a pool on the host device, or with -cuda on a GPU, for tests of memwatch. For each
// line of its input it makes, frees, drops and uses some buffers, waits until all of it has
// run, and answers with the pool's own figures.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"log"
	"os"
	"runtime"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

func main() {
	log.SetFlags(0)
	gpu := flag.Bool("cuda", false, "use a GPU")
	flag.Parse()
	var dev alloc.Device
	var err error
	if *gpu {
		dev, err = cuda.Open(0)
	} else {
		dev, err = host.Open(host.Options{})
	}
	check(err)
	books := tracker.New(tracker.Options{Rate: 1})
	pool, err := alloc.NewPool(dev, alloc.Options{Tracker: books})
	check(err)
	s := pool.DefaultStream()
	t, err := pool.NewStream()
	check(err)
	var kept []alloc.Buffer[float32]
	lines := bufio.NewScanner(os.Stdin)
	for round := 1; lines.Scan(); round++ {
		for i := range 50 {
			b, err := alloc.Make[float32](s, 1000*(i+round))
			check(err)
			switch {
			case i%5 == 0:
				kept = append(kept, b)
			case i%5 == 1:
				check(b.Fill(t, 1)) // used on another stream: pending for a while
				b.Free()
			case i%5 == 2:
				b.Free()
				b.Free() // repeated
			case i%5 == 3: // dropped: the collector finds it
			default:
				b.Free()
			}
		}
		runtime.GC()
		check(s.Sync())
		check(t.Sync())
		check(json.NewEncoder(os.Stdout).Encode(pool.Stats()))
	}
	for _, b := range kept {
		b.Free()
	}
	check(pool.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal("pooler: ", err)
	}
}
