//go:build linux && amd64

package live

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// TestPythonRate measures what frames of Python take from a program, by how many there are. Figures depend on
// the machine; the test fails only if a call is neither seen nor counted as lost.
//
//	go test ./cmd/memwatch/internal/live -run TestPythonRate -v -rate.calls 200000
func TestPythonRate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	tier.Skip(t, "some seconds for each of nine depths")
	lib, exe := buildFake(t)
	say := func(r *running, depth, versions int) string {
		r.say(fmt.Sprintf("rate %d %d %d", *rateCalls, depth, versions))
		return r.out.Text()
	}
	t.Logf("a pair of calls takes %s ns without probes", say(start(t, exe), 0, 0))
	for _, c := range []struct {
		name           string
		o              Options
		deep, versions int // frames, and whether their codes have versions, as from 3.12 on
	}{
		{"no stacks", Options{NoStacks: true}, 30, 0},
		{"not looked for", Options{NoPython: true}, 30, 0},
		{"none", Options{}, 0, 0},
		{"1 frame", Options{}, 1, 1},
		{"10 frames", Options{}, 10, 1},
		{"30 frames", Options{}, 30, 1},
		{"100 frames", Options{}, 100, 1},
		{"10 frames of 3.11", Options{}, 10, 0},
		{"30 frames of 3.11", Options{}, 30, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Libraries = []string{lib}
			w := watch(t, c.o)
			f := follow(t, w)
			r := start(t, exe)
			pid := uint32(r.Process.Pid)
			r.say("good")
			if !c.o.NoPython && !c.o.NoStacks {
				awaitPython(t, w, pid)
			}
			r.say("good")
			t.Logf("a pair of calls takes %s ns", say(r, c.deep, c.versions))
			require.Eventually(t, func() bool {
				var n uint64
				for _, s := range f.process(pid).Sites {
					n += s.AllocObjects
				}
				books := w.session.LedgerOf(pid)
				return books.Allocs == uint64(*rateCalls)+2 && n <= books.Allocs && n+books.LostRing+books.LostCalls >= books.Allocs
			}, time.Minute, 20*time.Millisecond)
		})
	}
}
