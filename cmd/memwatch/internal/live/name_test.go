//go:build linux && (amd64 || arm64)

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestScript names a program of Python by what it runs.
func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		"python3 /src/train/finetune.py --lr 1":       "finetune.py",
		"python3 -u -X dev -W error train.py":         "train.py",
		"python3 -m torch.distributed.run t.py":       "-m torch.distributed.run",
		"python3 -c secret":                           "",
		"python3 -uBc secret":                         "",
		"python3 -csecret":                            "",
		"python3 -Im timeit":                          "-m timeit",
		"python3 -mtimeit":                            "-m timeit",
		"python3 -uX dev train.py":                    "train.py",
		"python3 -Wignore train.py":                   "train.py",
		"python3 --check-hash-based-pycs always t.py": "t.py",
		"python3 -":                                   "",
		"python3":                                     "",
		"python3 -m":                                  "",
		"python3 " + strings.Repeat("x", 100):         strings.Repeat("x", 48),
		"python3 -m " + strings.Repeat("x", 4000):     "-m " + strings.Repeat("x", 48),
	} {
		require.Equal(t, want, script(strings.Split(line, " ")), line)
	}
	require.Equal(t, "x"+strings.Repeat("é", 23), script([]string{"python3", "x" + strings.Repeat("é", 40)}), "no half of a letter")
}

// TestStalledName has programs of Python keep who reads their command lines waiting: events of others go
// on, and whoever answers in the end gets its name, unless its number is another's by then.
func TestStalledName(t *testing.T) {
	w, err := New(Options{NoProbes: true})
	require.NoError(t, err)
	defer w.Close()
	h := heap.New(heap.Options{Blank: true})
	w.sink = h.Apply
	answer, asked := make(chan struct{}), make(chan int, mostNaming)
	w.arguments = func(pid int) []string {
		asked <- pid
		<-answer
		return []string{"python3", "train.py"}
	}
	const pid = 1 << 30 // nobody's, and those behind it
	for i := range 2 * mostNaming {
		w.processes[uint32(pid+i)] = &process{start: 5}
		h.Apply(&heap.Event{Op: heap.Start, PID: uint32(pid + i), Time: 1, Size: 5, Text: "python3"})
		w.title(pid+i, 5, "python3")
	}
	for range mostNaming {
		<-asked
	}
	w.title(pid-1, 5, "trainer")
	require.Empty(t, asked, "few wait, and only for Python")
	w.processes[pid] = &process{start: 6} // its number is another's
	close(answer)
	named := func() (n int) {
		w.hear()
		for _, p := range h.Snapshot(heap.Query{}).Processes {
			if p.Name == "python3 train.py" {
				require.NotEqual(t, uint32(pid), p.PID)
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return named() == mostNaming-1 }, time.Minute, time.Millisecond)
}
