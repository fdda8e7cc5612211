package trace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "trace: it does not begin with lastuse.trace.v1",
		"lastuse.trace.v2 \"x\"\n":                "trace: it does not begin with lastuse.trace.v1",
		"lastuse.trace.v1 x\n":                    "trace: line 1: the device's name is x",
		"lastuse.trace.v1 \"x\"\nz 1 2 3\n":       "trace: line 2: it is neither m with 4 numbers nor f with 3",
		"lastuse.trace.v1 \"x\"\nm 1 -1 3 4\n":    "trace: line 2: stream -1, 4 bytes: out of range",
		"lastuse.trace.v1 \"x\"\nm 1 1 zz 4\n":    `trace: line 2: strconv.ParseUint: parsing "zz": invalid syntax`,
		"lastuse.trace.v1 \"x\"\nm 1 1 3 -4\n":    "trace: line 2: stream 1, -4 bytes: out of range",
		"lastuse.trace.v1 \"x\"\nm 1 99999 3 1\n": "trace: line 2: stream 99999, 1 bytes: out of range",
	} {
		_, err := Read(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
	tr, err := Read(strings.NewReader("lastuse.trace.v1 \"x\"\nm 1 0 10 5\nm 2 0 10 6\nf 3 0 99\nf 4 0 1"))
	require.NoError(t, err, "the last line is cut off")
	require.Len(t, tr.Events, 1)
	require.Equal(t, 2, tr.Skipped)
}

// TestReplay goes on after what finds no memory, or stops there.
func TestReplay(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: 4 << 20, CollectWait: 1})
	require.NoError(t, err)
	tr := &Trace{Events: []Event{{Ptr: 1, Size: 3 << 20}, {Ptr: 2, Size: 3 << 20}, {Free: true, Ptr: 2},
		{Ptr: 3, Size: 100}}}
	r, err := tr.Replay(p, 0)
	require.NoError(t, err)
	require.Equal(t, []int{1, 6}, []int{r.Failures, r.Steps})
	require.Zero(t, r.Stats.Live)
	r, err = tr.Replay(p, 1)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{r.Failures, r.Steps}, "the second Make has failed")
	require.Zero(t, r.Stats.Live)
	require.NoError(t, p.Close())
}

// FuzzRead: in what is read no address is made twice without a free between, and each free has its make.
func FuzzRead(f *testing.F) {
	f.Add([]byte("lastuse.trace.v1 \"x\"\nm 1 0 10 5\nf 4 0 10\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		live := map[uint64]int64{}
		for _, e := range tr.Events {
			size, ok := live[e.Ptr]
			require.Equal(t, e.Free, ok)
			if delete(live, e.Ptr); e.Free {
				require.Equal(t, size, e.Size)
			} else {
				live[e.Ptr] = e.Size
			}
		}
	})
}
