//go:build linux && amd64

package live

import (
	"debug/elf"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/unwind"
)

// TestByPointers decides whether frame pointers tell all of a stack.
func TestByPointers(t *testing.T) {
	full := make([]uint64, mostByPointer)
	for i := range full {
		full[i] = uint64(i + 1)
	}
	for _, c := range []struct {
		name         string
		pointers     []uint64
		walk         []uint64
		end          unwind.End
		keep         int // so many of its frames keep a pointer
		good, better bool
	}{
		{"both find the same", []uint64{1, 2, 3}, []uint64{1, 2, 3}, unwind.Whole, 3, true, true},
		{"the last keeps none", []uint64{1, 2, 3}, []uint64{1, 2, 3}, unwind.Unknown, 2, true, true},
		{"what starts a thread is missed", []uint64{1, 2, 3}, []uint64{1, 2, 3, 4}, unwind.Whole, 2, true, false},
		{"what starts a program is missed", []uint64{1, 2, 3}, []uint64{1, 2, 3, 4, 5}, unwind.Whole, 2, true, false},
		{"a caller is missed", []uint64{1, 2, 3}, []uint64{1, 2, 3, 4, 5, 6}, unwind.Whole, 2, false, false},
		{"callers are missed, and more may be", []uint64{1, 2, 3}, []uint64{1, 2, 3, 4}, unwind.Unknown, 2, false, false},
		{"one between is missed", []uint64{1, 2, 4}, []uint64{1, 2, 3, 4}, unwind.Whole, 1, false, false},
		{"the same by chance", []uint64{1, 2, 3}, []uint64{1, 2, 3}, unwind.Whole, 1, false, false},
		{"the first keeps none", []uint64{1}, []uint64{1, 2, 3, 4}, unwind.Whole, 0, false, false},
		{"the first keeps none, and there are no more", []uint64{1, 7}, []uint64{1}, unwind.Broken, 0, false, true},
		{"there are no tables", []uint64{1, 2, 3}, []uint64{1}, unwind.Unknown, 0, true, true},
		{"there are none from there on", []uint64{1, 2, 3}, []uint64{1, 2}, unwind.Unknown, 1, true, true},
		{"nor is it certain where that is", []uint64{1, 2, 3, 4}, []uint64{1, 2, 3}, unwind.Unknown, 1, false, false},
		{"the copy was too short", []uint64{1, 2, 3}, []uint64{1, 2}, unwind.Cut, 2, true, true},
		{"as deep as the programs look", full, append(full, 100, 101, 102, 103), unwind.Whole, mostByPointer + 4, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := unwind.Walked{Frames: c.walk, End: c.end, Pointers: c.keep}
			require.Equal(t, c.good, byPointers(c.pointers, &w))
			if !c.good {
				require.Equal(t, c.better, better(c.pointers, &w))
			}
		})
	}
}

// TestAwait asks for what is not answered: the one who asked goes on after a while, the next at once, and
// when the answer has come there are answers again.
func TestAwait(t *testing.T) {
	crowded := false
	u := newUnwinder(func() bool { return crowded })
	defer u.close()
	done := 0
	u.patience = time.Minute
	require.True(t, u.await(func() { done++ }))
	hold := make(chan struct{})
	u.patience = time.Millisecond
	require.False(t, u.await(func() { <-hold }))
	u.patience = time.Hour
	require.False(t, u.await(func() { done = 100 }))
	close(hold)
	require.Eventually(t, func() bool { return u.await(func() { done++ }) }, time.Minute, time.Millisecond)
	require.Equal(t, 2, done)
	crowded = true
	require.False(t, u.await(func() { done = 100 }), "the ring fills")
	p := &watched{}
	for range maxLookups {
		require.True(t, p.allows())
	}
	require.False(t, p.allows())
	p.since = p.since.Add(-2 * time.Second)
	require.True(t, p.allows())
}

// TestDamagedTables watches a program whose unwind tables lie, in several ways. Every call is counted, and
// its site is at least the function that made it.
func TestDamagedTables(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	for name, damage := range map[string]func(b []byte){
		"ones":   func(b []byte) { fill(b, func(int) byte { return 0xff }) },
		"zeroes": func(b []byte) { fill(b, func(int) byte { return 0 }) },
		"states": func(b []byte) { fill(b[20:], func(int) byte { return 0x0a }) },
		"noise": func(b []byte) {
			x := uint32(1)
			fill(b, func(int) byte { x = x*1664525 + 1013904223; return byte(x >> 24) })
		},
		"some": func(b []byte) {
			x := uint32(7)
			fill(b, func(i int) byte {
				if x = x*1664525 + 1013904223; x>>24 < 16 {
					return byte(x >> 16)
				}
				return b[i]
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			lib, exe := buildFrameless(t, "-fomit-frame-pointer")
			spoil(t, exe, ".eh_frame", damage)
			w := watch(t, Options{Libraries: []string{lib}, Copies: bpf.NeededCopies})
			w.unwinder.patience = time.Minute
			f := follow(t, w)
			r := start(t, exe)
			pid := uint32(r.Process.Pid)
			fmt.Fprintln(r.in, 3)
			r.out.Scan()
			var p heap.Process
			require.Eventually(t, func() bool {
				p = f.process(pid)
				var n uint64
				named := true
				for _, s := range p.Sites {
					n += s.AllocObjects
					named = named && len(s.Frames) > 0
				}
				return n == 3*128 && named
			}, time.Minute, 5*time.Millisecond)
			require.False(t, p.Inexact)
			for _, s := range p.Sites {
				require.Contains(t, s.Frames[0].Func, "inner")
			}
		})
	}
}

func fill(b []byte, with func(i int) byte) {
	for i := range b {
		b[i] = with(i)
	}
}

// spoil changes a section of a file.
func spoil(t *testing.T, path, section string, damage func(b []byte)) {
	e, err := elf.Open(path)
	require.NoError(t, err)
	defer e.Close()
	s := e.Section(section)
	require.NotNil(t, s)
	b, err := s.Data()
	require.NoError(t, err)
	damage(b)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(b, int64(s.Offset))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
