package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// session returns n events, with every field somewhere.
func session(n int) []heap.Event {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var all []heap.Event
	now := int64(0)
	for i := range n {
		now += int64(r.IntN(1e6))
		e := heap.Event{Op: heap.Alloc, PID: 1 + r.Uint32N(3), TID: r.Uint32N(5), Time: now, Addr: r.Uint64N(50) + 1, Size: r.Uint64N(1 << 20), Stack: r.Uint64N(5)}
		switch i % 10 {
		case 0:
			e = heap.Event{Op: heap.Stack, PID: 1, Time: now, Stack: r.Uint64N(5), Frames: []heap.Frame{{PC: r.Uint64(), Func: "main.f", File: "/src/f.go", Line: i, Module: "app"}, {}}}
		case 1, 2, 3, 4:
			e.Op, e.Size = heap.Free, 0
		case 5:
			e = heap.Event{Op: heap.CtxDestroy, Class: heap.Buffer, Space: heap.External, Owner: heap.ByProcess, PID: 1<<32 - 1, TID: 1<<32 - 1, Device: -1, Code: -3,
				Time: now, Begin: now - 5, Addr: 1 << 63, Size: 1<<64 - 1, Aux: 1, Ctx: 2, Stream: 3, Pool: 4, Stack: 5, Goroutine: 6, Text: fmt.Sprint("text", i%20)}
		}
		all = append(all, e)
	}
	return all
}

func encode(t testing.TB, events []heap.Event) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, 0, Header{Wall: 1e18, Tool: "test"})
	require.NoError(t, err)
	for i := range events {
		require.NoError(t, w.Write(&events[i]))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func decode(b []byte) (events []heap.Event, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		var e heap.Event
		if err := r.Read(&e); err == io.EOF {
			return events, nil
		} else if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 10, 5000} {
		want := session(n)
		got, err := decode(encode(t, want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestReplayGivesTheSameHeap replays a session into a second heap.
func TestReplayGivesTheSameHeap(t *testing.T) {
	events := session(3000)
	live, replayed := heap.New(heap.Options{}), heap.New(heap.Options{})
	for i := range events {
		live.Apply(&events[i])
	}
	again, err := decode(encode(t, events))
	require.NoError(t, err)
	for i := range again {
		replayed.Apply(&again[i])
	}
	require.Equal(t, live.Snapshot(heap.Query{}), replayed.Snapshot(heap.Query{}))
}

// TestCutAnywhere cuts a file at every length: each is refused at the cut or in the
// chunk before it.
func TestCutAnywhere(t *testing.T) {
	whole := encode(t, session(200))
	for n := range whole {
		_, err := decode(whole[:n])
		require.ErrorIs(t, err, ErrFormat, "%d bytes", n)
		var f *FormatError
		require.ErrorAs(t, err, &f)
		require.Equal(t, int64(n), f.Offset, "%d bytes: %v", n, err)
	}
}

// TestFlipAnywhere damages each byte: the sums find it.
func TestFlipAnywhere(t *testing.T) {
	whole := encode(t, session(100))
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		_, err := decode(b)
		require.ErrorIs(t, err, ErrFormat, "byte %d", i)
	}
	_, err := decode(append(bytes.Clone(whole), 0))
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, fmt.Sprintf("at byte %d: it goes on", len(whole)))
}

// TestSalvage opens a file that was cut off at every length, or damaged: what is before that is read.
func TestSalvage(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, 0, Header{Tool: "test"})
	require.NoError(t, err)
	want := session(200)
	ends := []int{b.Len()} // of chunks
	for i := range want {
		require.NoError(t, w.Write(&want[i]))
		if i%50 == 49 {
			require.NoError(t, w.Flush())
			ends = append(ends, b.Len())
		}
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "a")
	read := func(b []byte) (n int, damage *FormatError, err error) {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		r, err := Open(path)
		if err != nil {
			return 0, nil, err
		}
		defer r.Close()
		for {
			var e heap.Event
			if err := r.Read(&e); err == io.EOF {
				return n, r.Damage, nil
			}
			require.NoError(t, err)
			require.Equal(t, want[n], e)
			n++
		}
	}
	n, damage, err := read(b.Bytes())
	require.NoError(t, err)
	require.Nil(t, damage)
	require.Equal(t, 200, n)
	for cut := 0; cut < b.Len(); cut += 17 {
		whole := 0
		for i, end := range ends {
			if cut >= end {
				whole = 50 * i
			}
		}
		for _, bad := range [][]byte{b.Bytes()[:cut], slices.Concat(b.Bytes()[:cut], []byte{b.Bytes()[cut] ^ 1}, b.Bytes()[cut+1:])} {
			n, damage, err := read(bad)
			require.Equal(t, whole, n, "at %d", cut)
			if whole == 0 {
				require.ErrorIs(t, err, ErrFormat, "at %d", cut)
			} else {
				require.NoError(t, err)
				require.ErrorIs(t, damage, ErrFormat)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for name, b := range map[string]string{
		"empty":         "",
		"other file":    "\x7fELF and more",
		"version":       magic + "\x02",
		"lying size":    magic + "\x01\xff\xff\xff\xff\x00\x00\x00\x00",
		"size too big":  magic + "\x01\x01\x00\x10\x00\x00\x00\x00\x00",
		"no chunk":      magic + "\x01\x00\x00\x00\x00\x00\x00\x00\x00",
		"in the header": magic + "\x01\x01",
	} {
		_, err := decode([]byte(b))
		require.ErrorIs(t, err, ErrFormat, name)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	w, err := Create(path, 0, Header{Tool: "test"})
	require.NoError(t, err)
	events := session(50)
	for i := range events {
		require.NoError(t, w.Write(&events[i]))
	}
	requireSoFar(t, path, 0) // nothing of it is there yet
	require.NoError(t, w.Flush())
	requireSoFar(t, path, 50)
	require.NoError(t, w.Close())
	require.Equal(t, uint64(50), w.Count())
	require.Error(t, w.Write(&events[0]))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, "test", r.Header.Tool)
	var e heap.Event
	require.NoError(t, r.Read(&e), "Open leaves it at the first event")
	require.Equal(t, events[0], e)

	_, err = Create(path, 0, Header{})
	require.ErrorIs(t, err, os.ErrExist, "never over another file")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), link))
	_, err = Create(link, 0, Header{})
	require.ErrorIs(t, err, os.ErrExist, "never through a link")
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrFormat)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	start := time.Now()
	_, err = Open(fifo)
	require.ErrorIs(t, err, ErrFormat)
	require.Less(t, time.Since(start), time.Second)
}

// requireSoFar reads so many events of a file that is being written.
func requireSoFar(t *testing.T, path string, want int) {
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	require.True(t, r.Writing)
	require.Nil(t, r.Damage)
	var e heap.Event
	for range want {
		require.NoError(t, r.Read(&e))
	}
	require.Equal(t, io.EOF, r.Read(&e))
}

// TestFollow reads a file as it is written, until its end, until its Writer dies, and until it is told to
// stop.
func TestFollow(t *testing.T) {
	events := session(30)
	for _, end := range []string{"closed", "died", "stopped", "damaged"} {
		path := filepath.Join(t.TempDir(), "a")
		w, err := Create(path, 0, Header{Tool: "test"})
		require.NoError(t, err)
		stop := make(chan struct{})
		r, err := Follow(path, stop)
		require.NoError(t, err)
		require.True(t, r.Writing)
		got, over := make(chan heap.Event), make(chan error, 1)
		go func() {
			for {
				var e heap.Event
				if err := r.Read(&e); err != nil {
					over <- err
					return
				}
				got <- e
			}
		}()
		for i := range events {
			require.NoError(t, w.Write(&events[i]))
			if i%10 == 9 {
				require.NoError(t, w.Flush())
				for j := i - 9; j <= i; j++ {
					require.Equal(t, events[j], <-got)
				}
			}
		}
		switch end {
		case "closed":
			require.NoError(t, w.Close())
			require.Equal(t, io.EOF, <-over)
		case "died":
			require.NoError(t, w.c.Close())
			require.ErrorContains(t, <-over, "the file ends before its end record")
		case "stopped":
			close(stop)
			require.ErrorIs(t, <-over, ErrFormat, "it was not read to its end")
		case "damaged":
			_, err := w.w.Write([]byte("this is no chunk"))
			require.NoError(t, err)
			require.ErrorContains(t, <-over, "a chunk of")
		}
		require.NoError(t, r.Close())
		if end == "died" {
			r, err := Open(path)
			require.NoError(t, err)
			require.False(t, r.Writing)
			require.ErrorContains(t, r.Damage, "the file ends before its end record")
			require.NoError(t, r.Close())
		}
	}
}

func TestLimit(t *testing.T) {
	var b bytes.Buffer
	const limit = 256 << 10
	w, err := NewWriter(&b, limit, Header{})
	require.NoError(t, err)
	events := session(1000)
	var n int
	for ; err == nil; n++ {
		err = w.Write(&events[n%1000])
	}
	require.ErrorIs(t, err, ErrFull)
	require.NoError(t, w.Close())
	require.LessOrEqual(t, b.Len(), limit)
	require.Greater(t, b.Len(), limit/2)
	got, err := Check(&b)
	require.NoError(t, err, "a full file is a good file")
	require.Equal(t, uint64(n-1), got)
}

// TestStrings writes more text than a file's list may hold: it becomes empty, and
// the file stays readable.
func TestStrings(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, 0, Header{})
	require.NoError(t, err)
	long := strings.Repeat("x", maxText+100)
	const n = maxStrung/maxText + 50
	for i := range n {
		require.NoError(t, w.Write(&heap.Event{Op: heap.Exec, PID: 1, Text: fmt.Sprintf("%08d%s", i, long)}))
	}
	require.NoError(t, w.Close())
	r, err := NewReader(&b)
	require.NoError(t, err)
	var e heap.Event
	var empty int
	for {
		err := r.Read(&e)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, len(e.Text), maxText)
		if e.Text == "" {
			empty++
		}
	}
	require.InDelta(t, 50, empty, 2)
}

type brokenWriter struct{ left int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriteErrorStays(t *testing.T) {
	w, err := NewWriter(&brokenWriter{left: 100 << 10}, 0, Header{})
	require.NoError(t, err)
	events := session(1000)
	for i := 0; err == nil; i++ {
		err = w.Write(&events[i%1000])
	}
	require.ErrorContains(t, err, "disk full")
	require.ErrorContains(t, w.Close(), "disk full")
}

// FuzzRead reads anything. What is accepted must be the same when written again.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, session(20)))
	f.Add(encode(f, nil))
	f.Add([]byte(magic + "\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := decode(b)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		again, err := decode(encode(t, events))
		require.NoError(t, err)
		require.Equal(t, events, again)
	})
}

// FuzzPayload reads any payload with its sum made right, which the fuzzer above
// cannot guess.
func FuzzPayload(f *testing.F) {
	whole := encode(f, session(20))
	f.Add(whole[headerSize+8+12:])
	f.Add([]byte{endOp, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) == 0 || len(payload) > maxChunk {
			return
		}
		var b bytes.Buffer
		w, err := NewWriter(&b, 0, Header{})
		require.NoError(t, err)
		w.chunk = append(w.chunk, payload...)
		w.flush()
		events, err := decode(b.Bytes())
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
		}
		h := heap.New(heap.Options{Allocations: 1000})
		for i := range events {
			h.Apply(&events[i])
		}
		h.Snapshot(heap.Query{})
	})
}

func BenchmarkWrite(b *testing.B) {
	events := session(1000)
	w, err := NewWriter(io.Discard, 1<<50, Header{})
	require.NoError(b, err)
	b.ReportAllocs()
	for i := range b.N {
		if err := w.Write(&events[i%1000]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.size)/float64(b.N), "B/event")
}
