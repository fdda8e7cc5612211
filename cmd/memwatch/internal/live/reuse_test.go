//go:build linux && amd64

package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// TestReuse takes reports of processes that are gone when they are read, and whose number is used again at
// once.
func TestReuse(t *testing.T) {
	var alloc uint16
	for _, p := range probes.All() {
		if p.Symbol == "cuMemAlloc_v2" {
			alloc = p.ID()
		}
	}
	const pid = 1 << 30 // nobody's
	at := int64(0)
	report := func(kind bpf.Kind, start int) *bpf.Report {
		at++
		r := &bpf.Report{Kind: kind}
		r.Raw = probes.Raw{Probe: alloc, Phase: probes.Success, PID: pid, TID: pid, Time: at, Begin: at, Start: uint64(start) * uint64(time.Second)}
		r.Raw.Words[0], r.Raw.Words[1] = uint64(at)<<12, uint64(1000*start)
		return r
	}
	for name, reports := range map[string][]*bpf.Report{
		"both ends are reported":   {report(bpf.Call, 1), report(bpf.Exit, 1), report(bpf.Call, 2), report(bpf.Exit, 2)},
		"the first end is lost":    {report(bpf.Call, 1), report(bpf.Call, 2), report(bpf.Exit, 2)},
		"an end comes out of turn": {report(bpf.Call, 1), report(bpf.Call, 2), report(bpf.Exit, 1), report(bpf.Exit, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New(Options{NoProbes: true})
			require.NoError(t, err)
			defer w.Close()
			h := heap.New(heap.Options{})
			w.sink = h.Apply
			for _, r := range reports {
				w.take(r)
			}
			w.resolver.finish(w.sink)
			all := h.Snapshot(heap.Query{}).Processes
			require.Len(t, all, 2, "%+v", all)
			for _, p := range all {
				require.True(t, p.Exited, "%+v", p)
				require.Equal(t, int64(10*p.Start), p.AtExit, "it had what its own calls made")
			}
		})
	}
}

// TestExpected waits for the report of an end no longer than until later ones have come, however many wait.
func TestExpected(t *testing.T) {
	require.True(t, expected(10, 9, 1<<20), "what waits may be older")
	require.False(t, expected(10, 9, 0), "nothing waits")
	require.False(t, expected(10, 10, 1<<20), "all that waits is younger")
}
