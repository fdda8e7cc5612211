//go:build cgo && linux

package cuda

import (
	"testing"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// BenchmarkDo is what a call costs that makes the device's context current.
func BenchmarkDo(b *testing.B) {
	e := start(b, alloc.Options{})
	f := func() error { return nil }
	for b.Loop() {
		_ = e.dev.Do(f)
	}
}

// BenchmarkCallback is the time from a callback's enqueuing on an idle stream until it runs; C-ns is that of
// a C function that sets a flag, by cuLaunchHostFunc, which is seen by a thread that spins.
func BenchmarkCallback(b *testing.B) {
	e := start(b, alloc.Options{})
	ran := make(chan struct{})
	f := func() { ran <- struct{}{} }
	for b.Loop() {
		if err := e.s.Callback(f); err != nil {
			b.Fatal(err)
		}
		<-ran
	}
	if d, ok := drvtest.Flagged(e.Path, e.s.LaunchHandle(), b.N); ok {
		b.ReportMetric(float64(d.Nanoseconds())/float64(b.N), "C-ns/op")
	}
}

// BenchmarkTimed is what recording an event with the time costs, and asking for the time between two.
func BenchmarkTimed(b *testing.B) {
	e := start(b, alloc.Options{})
	first := e.s.RecordTimed()
	for b.Loop() {
		if _, err := e.s.RecordTimed().Sub(first); err != nil {
			b.Fatal(err)
		}
	}
}
