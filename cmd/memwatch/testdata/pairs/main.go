// Pairs makes and frees a buffer without a pause, for a measurement of what being
// watched costs. For each line that it reads it does so for a tenth of a second and prints the nanoseconds of a pair, and how
// many pairs that were. It does nothing unasked: what it printed before would wait in the pipe and be taken for
// what it does now.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
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
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
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
		fmt.Println(float64(time.Since(start).Nanoseconds())/float64(n), n)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("pairs: ", err)
	}
}
