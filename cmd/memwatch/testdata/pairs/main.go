// Pairs makes and frees a buffer without a pause, for a measurement of what being
// watched costs. It prints the nanoseconds of a pair, for each tenth of a second.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func main() {
	log.SetFlags(0)
	dev, err := host.Open(host.Options{})
	check(err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	s := pool.DefaultStream()
	for {
		start := time.Now()
		n := 0
		for time.Since(start) < 100*time.Millisecond {
			for range 1000 {
				b, err := alloc.Make[float32](s, 256)
				check(err)
				b.Free()
			}
			n += 1000
		}
		fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(n))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("pairs: ", err)
	}
}
