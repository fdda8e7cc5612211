// Run runs the programs of a batch, original and rewritten, and writes what
// they showed to standard output as numbers.
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"os"
	"runtime"
	"runtime/debug"

	"oracle.test/backend"
	fixed "oracle.test/fixed/progs"
	orig "oracle.test/orig/progs"
	"oracle.test/rt"
)

var out = bufio.NewWriterSize(os.Stdout, 1<<20)

func put(x int64) {
	var b [binary.MaxVarintLen64]byte
	out.Write(b[:binary.PutVarint(b[:], x)])
}

func text(s string) {
	put(int64(len(s)))
	out.WriteString(s)
}

func main() {
	runs := flag.Int("runs", 4, "runs without faults")
	faults := flag.Int("faults", 1, "runs with a fault at each operation")
	most := flag.Int("most", 48, "operations to fail")
	flag.Parse()
	defer out.Flush()
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(backend.Procs)
	sizes := backend.Sizes(rt.First + rt.Sites)
	put(int64(len(sizes)))
	for _, n := range sizes {
		put(n)
	}
	for i := range orig.Table {
		for r := range *runs {
			ops := both(i, r, -1, false)
			if r < *faults {
				for k := range min(ops, *most) {
					both(i, r, k, false)
					both(i, r, k, true)
				}
			}
		}
		if i%32 == 31 {
			runtime.GC()
		}
		out.Flush()
	}
}

func both(i, run, op int, pn bool) int {
	ops := one(orig.Table[i], 0, run, op, pn)
	one(fixed.Table[i], 1, run, op, pn)
	return ops
}

func one(p rt.Prog, variant, run, op int, pn bool) int {
	c := rt.NewC(p.Seed, run, op, pn)
	var crash any
	func() {
		defer func() { crash = recover() }()
		p.F(c)
	}()
	c.Exit()
	put(int64(p.ID))
	put(int64(variant))
	put(int64(run))
	put(int64(op))
	put(flagged(pn))
	put(flagged(crash != nil))
	text(rt.Check(crash))
	put(int64(c.Ops))
	put(int64(len(c.Events)))
	for _, e := range c.Events {
		put(int64(e.Kind))
		put(e.Value)
		if e.Kind != 0 {
			put(e.Bytes)
			for _, n := range e.Live[:p.Sites] {
				put(int64(n))
			}
		}
	}
	frees, most := c.Books()
	for j := range p.Sites {
		put(int64(frees[j]))
		put(int64(most[j]))
	}
	uaf, twice := c.Faults()
	put(int64(twice))
	put(int64(len(uaf)))
	for _, u := range uaf {
		text(u)
	}
	c.Close()
	return c.Ops
}

func flagged(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
