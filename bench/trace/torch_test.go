package trace

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// TestReadTorch reads what testdata/snapshot.py has written, in the protocol of Python's pickler and in that of PyTorch's.
func TestReadTorch(t *testing.T) {
	const base = 0x7f3a40000000
	for _, name := range []string{"snapshot-5.pickle", "snapshot-2.pickle"} {
		tr, err := Open(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.Equal(t, "cuda:0", tr.Device)
		us := time.Microsecond
		require.Equal(t, []Event{
			{Ptr: base, Size: 1000},       // freed without having been made
			{Ptr: base + 1536, Size: 600}, // live at the end without having been made
			{Free: true, Ptr: base, Size: 1000},
			{At: 10 * us, Ptr: base + 0x200000, Size: 3000000},
			{At: 20 * us, Stream: 1, Ptr: base, Size: 700},
			{Free: true, At: 30 * us, Ptr: base + 0x200000, Size: 3000000},
			{At: 40 * us, Ptr: base + 0x200000, Size: 4000000},
		}, tr.Events)
		require.Equal(t, 1, tr.Skipped, "the allocation that failed")
		require.EqualValues(t, 4001300, tr.Peak())
	}
	b, err := os.ReadFile("testdata/snapshot-5.pickle")
	require.NoError(t, err)
	tr, err := ReadTorch(bytes.NewReader(b), 1)
	require.NoError(t, err)
	require.Equal(t, []Event{{Ptr: base + 1<<30, Size: 512}}, tr.Events)
	_, err = ReadTorch(bytes.NewReader(b), 2)
	require.EqualError(t, err, "trace: torch: device 2 of 2")
}

// TestReadTorchReal reads a snapshot that PyTorch 2.11 took of some tensors on two streams of an H200, and finds in it what
// bench/peers/trace_text.py found: `torch_record.py tiny torch-2.11.trace.gz --snapshot torch-2.11.pickle`.
func TestReadTorchReal(t *testing.T) {
	got, err := Open("testdata/torch-2.11.pickle")
	require.NoError(t, err)
	want, err := Open("testdata/torch-2.11.trace.gz")
	require.NoError(t, err)
	require.Len(t, want.Events, 120)
	require.Zero(t, got.Skipped)
	require.Equal(t, want, got)
	require.Equal(t, 2, got.Streams())
	require.EqualValues(t, 17_044_340, got.Peak(), "as PyTorch's own statistics said")
}

func TestReadTorchRefuses(t *testing.T) {
	for _, c := range []struct{ name, pickle, want string }{
		{"nothing", "", "trace: torch: the pickle is damaged: unexpected EOF"},
		{"a function", "\x80\x04cos\nsystem\n.", "trace: torch: the pickle holds more than plain data: instruction 0x63"},
		{"a call", "\x80\x04)R.", "trace: torch: the pickle holds more than plain data: instruction 0x52"},
		{"a number", "\x80\x04K\x01.", "trace: torch: the pickle is no memory snapshot: it has no device_traces"},
		{"an empty stack", "\x80\x04.", "trace: torch: the pickle is damaged"},
		{"no mark", "\x80\x04]K\x01e.", "trace: torch: the pickle is damaged"},
		{"a short string", "\x80\x04\x8c\xffab.", "trace: torch: the pickle is damaged: unexpected EOF"},
		{"a huge string", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "trace: torch: the pickle is damaged"},
		{"a huge integer", "\x80\x04\x8a\x0a0123456789.", "trace: torch: the pickle has an integer of 10 bytes"},
		{"an event that is none", "\x80\x04}\x8c\x0ddevice_traces](]K\x01aes.", "trace: torch: event 0: it is no dict"},
	} {
		_, err := ReadTorch(bytes.NewReader([]byte(c.pickle)), 0)
		require.EqualError(t, err, c.want, c.name)
	}
}

// TestIntegers: Python writes as few bytes as two's complement needs; PyTorch writes some addresses and handles of streams with
// 64 bits and no sign.
func TestIntegers(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "\x7f": 127, "\xff": -1, "\x80": -128, "\x80\x00": 128, "\x00\x00\x00\x40\x3a\x7f": 0x7f3a40000000,
		"\xff\xff\xff\xff\xff\xff\xff\x7f": 1<<63 - 1, "\x00\x00\x00\x00\x00\x00\x00\x80\x00": -1 << 63,
	} {
		x, err := integer([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, x, "%x", text)
	}
}

// TestOpen tells forms apart, compressed ones too.
func TestOpen(t *testing.T) {
	out, _ := record(t, alloc.Options{}, 1, 50)
	own, err := Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	var rmm bytes.Buffer
	require.NoError(t, own.WriteRMM(&rmm))
	for name, text := range map[string][]byte{"own": out.Bytes(), "rmm": rmm.Bytes()} {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, err := w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		for suffix, b := range map[string][]byte{"": text, ".gz": z.Bytes()} {
			file := filepath.Join(t.TempDir(), name+suffix)
			require.NoError(t, os.WriteFile(file, b, 0o666))
			tr, err := Open(file)
			require.NoError(t, err)
			require.Len(t, tr.Events, len(own.Events))
		}
	}
	_, err = Open(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzReadTorch(f *testing.F) {
	for _, name := range []string{"snapshot-2.pickle", "snapshot-5.pickle", "torch-2.11.pickle"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := ReadTorch(bytes.NewReader(b), 0)
		if err != nil {
			return
		}
		live := map[uint64]bool{}
		for _, e := range tr.Events {
			require.Equal(t, e.Free, live[e.Ptr], "no address is made twice, or freed without having been made")
			live[e.Ptr] = !e.Free
		}
		tr.Steps()
	})
}
