package main

import "time"

// runTracker runs the pair with books and without, in turns.
func runTracker(r *raw) error {
	goroutines := "(1|4|16)"
	if r.quick {
		goroutines = "(1|4)"
	}
	for range r.count() {
		if err := r.test("bench.test", "books=kept", "^BenchmarkTracker$/.*/rate=(default|none)$/goroutines="+goroutines+"$", r.time(100*time.Millisecond), 1); err != nil {
			return err
		}
		if err := r.test("bare.test", "books=none", "^BenchmarkTracker$/.*/rate=default$/goroutines="+goroutines+"$", r.time(100*time.Millisecond), 1); err != nil {
			return err
		}
	}
	return r.test("books.test", "", "^Benchmark(RateOne|Callers)$", r.time(100*time.Millisecond), r.count())
}

// trackerTables makes the tables of the part tracker.
func trackerTables(f *rawFile, add addTable) {
	for _, g := range values(f.only("Tracker"), "goroutines") {
		t := &table{head: []string{"size", "without books", "with counters", "with counters and sampled stacks", "throughput left"}}
		for _, size := range values(f.only("Tracker"), "size") {
			pick := func(books, rate string) *result {
				if rs := f.only("Tracker", "books="+books, "rate="+rate, "size="+size, "goroutines="+g); len(rs) > 0 {
					return rs[0]
				}
				return nil
			}
			bare, none, kept := pick("none", "default"), pick("kept", "none"), pick("kept", "default")
			if bare == nil || none == nil || kept == nil {
				continue
			}
			x, _ := bare.of("ns/op")
			y, _ := kept.of("ns/op")
			t.rows = append(t.rows, []string{size, bare.cell("ns/op", duration), none.cell("ns/op", duration), kept.cell("ns/op", duration), digits(x.value / y.value)})
		}
		add(g+" goroutines: time of a pair", t)
	}
	t := &table{head: []string{"depth", "runtime.Callers", "a sampled pair at rate 1", "times"}}
	for _, depth := range values(f.only("Callers"), "depth") {
		callers, one := f.only("Callers", "depth="+depth), f.only("RateOne", "depth="+depth)
		if len(one) == 0 {
			continue
		}
		x, _ := callers[0].of("ns/op")
		y, _ := one[0].of("ns/op")
		t.rows = append(t.rows, []string{depth, callers[0].cell("ns/op", duration), one[0].cell("ns/op", duration), digits(y.value / x.value)})
	}
	add("Every stack taken: a site counted and taken back", t)
}

// runNeverFree runs programs that leave all to the collector.
func runNeverFree(r *raw) error {
	if r.quick {
		return r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=1$/shape=(plain|cycles)", "1x", 1, "-neverfree.total=2147483648")
	}
	for range r.count() { // all forms take turns, so that what drifts falls on all alike
		if err := r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=(1|4)$", "1x", 1, "-neverfree.total=4294967296"); err != nil {
			return err
		}
	}
	return r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=1$/shape=plain", "1x", 1, "-neverfree.total=107374182400")
}

// neverFreeTables makes the table of the part neverfree.
func neverFreeTables(f *rawFile, add addTable) {
	t := &table{head: []string{"total", "goroutines", "shape", "explicit frees", "no frees", "times", "wall time in collections", "collections"}}
	for _, r := range f.only("NeverFree", "frees=none") {
		free := f.only("NeverFree", "frees=explicit", "shape="+r.vars["shape"], "goroutines="+r.vars["goroutines"], "total="+r.vars["total"])
		if len(free) == 0 {
			continue
		}
		x, _ := free[0].of("ns/op")
		y, _ := r.of("ns/op")
		gc, _ := r.of("%gc")
		t.rows = append(t.rows, []string{r.vars["total"], r.vars["goroutines"], r.vars["shape"], free[0].cell("ns/op", duration), r.cell("ns/op", duration),
			digits(y.value / x.value), digits(gc.value) + " %", r.cell("collections", digits)})
	}
	add("", t)
}
