// Arrow times pairs of Allocate and Free of Apache Arrow's allocators for Go: the default one, which
// makes a slice that the collector takes back, and the one that checks for leaks. It is a module of its own
// so that lastuse needs nothing of it. It prints lines that benchstat reads.
//
//	cd bench/peers/arrow && go run . [count]
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	count := 10
	if len(os.Args) > 1 {
		n, err := strconv.Atoi(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, "arrow:", err)
			os.Exit(2)
		}
		count = n
	}
	sizes := []struct {
		name string
		size int
	}{{"256B", 256}, {"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}, {"16MiB", 16 << 20}, {"64MiB", 64 << 20}}
	for _, a := range []struct {
		name string
		memory.Allocator
	}{
		{"arrow-go", memory.NewGoAllocator()},
		{"arrow-go-checked", memory.NewCheckedAllocator(memory.NewGoAllocator())},
	} {
		for _, s := range sizes {
			for range count {
				n := 0
				begin := time.Now()
				for time.Since(begin) < 20*time.Millisecond {
					for range 10 {
						a.Free(a.Allocate(s.size))
					}
					n += 10
				}
				fmt.Printf("BenchmarkMakeFree/size=%s/pool=%s %d %.1f ns/op\n", s.name, a.name, n, float64(time.Since(begin))/float64(n))
			}
		}
	}
}
