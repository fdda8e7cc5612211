package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/tracker"
)

// A meter watches the foreign heap while the program runs. All sizes are bytes.
type meter struct {
	w       io.Writer
	t       *tracker.Tracker
	begin   time.Time
	cycles  uint32 // collections before the start
	figures figures
}

// figures are what examples/quickstart reads; the names are its contract.
type figures struct {
	Block      int64   // one workspace, its size class included
	Peak       int64   // most bytes live at once
	LiveAtExit int64   // bytes live when the last iteration was over
	Frees      int64   // buffers freed by the program
	LateFrees  int64   // buffers freed by the collector, because nobody did
	GCCycles   int64   // collections during the run
	Wall       int64   // nanoseconds
	Samples    []int64 // live bytes in each iteration, just after the allocation
}

// watch starts the measurement of what t counts.
func (m *meter) watch(t *tracker.Tracker) {
	m.t = t
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	m.cycles = st.NumGC
	m.begin = time.Now()
}

// sample prints and notes the size of the foreign heap in iteration i.
func (m *meter) sample(i int) {
	live := m.t.Bytes()
	m.figures.Samples = append(m.figures.Samples, live)
	fmt.Fprintf(m.w, "iteration %3d   foreign heap %s\n", i, size(live))
}

// finish ends the measurement.
func (m *meter) finish() {
	f := &m.figures
	f.Wall = time.Since(m.begin).Nanoseconds()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	st := m.t.Stats()
	if len(f.Samples) > 0 {
		f.Block = f.Samples[0]
	}
	f.Peak = st.Peak
	f.LiveAtExit = st.Live
	f.Frees, f.LateFrees = st.Freed, st.Late
	f.GCCycles = int64(mem.NumGC - m.cycles)
}

// summary prints the figures.
func (m *meter) summary() {
	f := &m.figures
	fmt.Fprintf(m.w, "peak %s, live at exit %s, explicit frees %d, late frees %d, GC cycles %d, %v\n",
		size(f.Peak), size(f.LiveAtExit), f.Frees, f.LateFrees, f.GCCycles, time.Duration(f.Wall).Round(time.Millisecond))
}

// note prints a remark on what was seen.
func (m *meter) note(format string, args ...any) { fmt.Fprintf(m.w, format+"\n", args...) }

func (m *meter) writeFile(name string) error {
	data, err := json.Marshal(&m.figures)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

// writeProfile writes the call sites for go tool pprof.
func (m *meter) writeProfile(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return m.t.WriteProfile(f)
}

// size prints bytes in binary units.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
