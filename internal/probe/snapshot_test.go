package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// small is a plan whose table a test can hold in its hand.
var small = Plan{Accounts: 2, Shards: 4, Sites: 3, Text: 100}

// build returns the bytes of a table with one account of two shards and two sites.
func build(t testing.TB) (image []byte, h *Header) {
	placed := small.Place()
	image = make([]byte, placed.Size)
	h = (*Header)(unsafe.Pointer(&image[0]))
	*h = placed
	h.Rate, h.Accounts.Used, h.Shards.Used, h.Sites.Used = 1, 1, 2, 2
	a := at[Account](image, h.Accounts, 0)
	*a = Account{State: StateOpen, NameLength: 4, Reserved: 9000, Past: Totals{MadeObjects: 1, MadeBytes: 10}}
	copy(a.Name[:], "host")
	*at[Shard](image, h.Shards, 0) = Shard{
		State: StateOpen, MadeObjects: 3, MadeBytes: 300, FreedObjects: 1, FreedBytes: 100, Peak: 250, End: 4, Pending: 7,
	}
	*at[Shard](image, h.Shards, 1) = Shard{
		State: StateOpen, MadeObjects: 2, MadeBytes: 50, FreedObjects: 1, FreedBytes: 20,
		LateObjects: 1, LateBytes: 20, Peak: 50, End: 3, Repeated: 2,
	}
	text := "main.main\tmain.go:7\n"
	copy(image[h.Text.Offset:], text)
	h.Text.Used = uint64(len(text))
	*at[Site](image, h.Sites, 0) = Site{
		Hash: 1, AllocObjects: 2 * ObjectUnit, AllocBytes: 200, FreeObjects: ObjectUnit, FreeBytes: 100, TextLength: uint64(len(text)),
	}
	return image, h
}

func at[T any](image []byte, g Region, i int) *T {
	var zero T
	return (*T)(unsafe.Pointer(&image[g.Offset+uint64(i)*uint64(unsafe.Sizeof(zero))]))
}

func TestRead(t *testing.T) {
	image, _ := build(t)
	s, err := Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	require.Len(t, s.Accounts, 1)
	a := s.Accounts[0]
	require.Equal(t, "host", a.Name)
	require.Equal(t, Totals{
		MadeObjects: 6, MadeBytes: 360, FreedObjects: 2, FreedBytes: 120, LateObjects: 1, LateBytes: 20, Repeated: 2,
	}, a.Totals)
	require.Equal(t, int64(240), a.Live())
	require.Equal(t, int64(4), a.LiveObjects())
	require.Equal(t, int64(7), a.Pending)
	require.Equal(t, int64(9000-240-7), a.Idle())
	require.Equal(t, int64(250+50+10), a.PeakBound)
	require.Equal(t, []uint64{4, 3}, s.Ends)
	require.Zero(t, s.Torn)
	require.Len(t, s.Sites, 1, "the second site never allocated")
	require.Equal(t, "main.main\tmain.go:7\n", s.Sites[0].Stack)
	require.Equal(t, int64(100), s.Sites[0].Live())
}

// TestReadRefuses gives Read tables whose sizes lie. None may make it allocate what
// it cannot have, or read outside.
func TestReadRefuses(t *testing.T) {
	for name, lie := range map[string]func(*Header){
		"magic":                       func(h *Header) { h.Magic++ },
		"version":                     func(h *Header) { h.Version = 2 },
		"object unit":                 func(h *Header) { h.ObjectUnit = 1 },
		"larger than the file":        func(h *Header) { h.Size++ },
		"size":                        func(h *Header) { h.Size = math.MaxUint64 },
		"more shards used than room":  func(h *Header) { h.Shards.Used = h.Shards.Cap + 1 },
		"shards beyond all bounds":    func(h *Header) { h.Shards.Cap, h.Shards.Used = MaxShards+1, MaxShards+1 },
		"a count that overflows":      func(h *Header) { h.Sites.Cap, h.Sites.Used = 1<<57, 1<<57 },
		"an offset that overflows":    func(h *Header) { h.Sites.Offset = math.MaxUint64 - 7 },
		"an offset in the header":     func(h *Header) { h.Accounts.Offset = 8 },
		"an odd offset":               func(h *Header) { h.Accounts.Offset++ },
		"text that ends outside":      func(h *Header) { h.Text.Cap = h.Size - h.Text.Offset + 1 },
		"text beyond all bounds":      func(h *Header) { h.Text.Cap, h.Text.Used = MaxText+1, MaxText+1 },
		"regions that begin past end": func(h *Header) { h.Shards.Offset = h.Size + 8 },
	} {
		t.Run(name, func(t *testing.T) {
			image, h := build(t)
			lie(h)
			_, err := Read(bytes.NewReader(image), int64(len(image)))
			require.ErrorIs(t, err, ErrNotTable)
		})
	}
	t.Run("shorter than a header", func(t *testing.T) {
		_, err := Read(bytes.NewReader(make([]byte, 100)), 100)
		require.ErrorIs(t, err, ErrNotTable)
	})
	t.Run("shorter than it was", func(t *testing.T) {
		image, _ := build(t)
		_, err := Read(bytes.NewReader(image[:len(image)-5000]), int64(len(image)))
		require.ErrorIs(t, err, io.EOF)
		require.False(t, errors.Is(err, ErrNotTable))
	})
}

// TestReadLyingText checks that a site cannot name text that is not there.
func TestReadLyingText(t *testing.T) {
	for name, lie := range map[string]func(*Site){
		"too long":            func(s *Site) { s.TextLength++ },
		"beyond all bounds":   func(s *Site) { s.TextLength = MaxStack + 1 },
		"offset past the end": func(s *Site) { s.TextOffset = 1 << 40 },
		"sum that overflows":  func(s *Site) { s.TextOffset = math.MaxUint64 },
	} {
		t.Run(name, func(t *testing.T) {
			image, h := build(t)
			lie(at[Site](image, h.Sites, 0))
			s, err := Read(bytes.NewReader(image), int64(len(image)))
			require.NoError(t, err)
			require.Empty(t, s.Sites[0].Stack)
		})
	}
}

// TestReadStopped reads a table whose writer was stopped in the middle.
func TestReadStopped(t *testing.T) {
	image, h := build(t)
	at[Shard](image, h.Shards, 1).MadeObjects++ // begun, and End not yet stored
	s, err := Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	require.Equal(t, 1, s.Torn)

	h.ChangeBegin++ // and this one in the middle of a change of structure
	s, err = Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	require.Equal(t, 2, s.Torn)
}

// moving is a table that changes while it is read.
type moving struct {
	image []byte
	reads int
	step  func(read int) // called before each read
}

func (m *moving) ReadAt(b []byte, off int64) (int, error) {
	m.reads++
	m.step(m.reads)
	return bytes.NewReader(m.image).ReadAt(b, off)
}

// TestReadMoving splits an operation at every store and lets its parts happen around each of
// the reader's reads in turn. Whatever the moment, bytes and objects must be of one instant.
func TestReadMoving(t *testing.T) {
	for moment := 1; moment <= 8; moment++ {
		for split := range 4 {
			image, h := build(t)
			r := at[Shard](image, h.Shards, 0)
			stores := []func(){func() { r.MadeObjects++ }, func() { r.MadeBytes += 1000 }, func() { r.End++ }}
			m := &moving{image: image, step: func(read int) {
				for i, store := range stores {
					if read == moment && i < split || read == moment+1 && i >= split {
						store()
					}
				}
			}}
			s, err := Read(m, int64(len(image)))
			require.NoError(t, err)
			require.Zero(t, s.Torn)
			a := s.Accounts[0]
			require.Equal(t, a.MadeBytes == 1360, a.MadeObjects == 7, "moment %d, split %d", moment, split)
			require.Equal(t, a.MadeObjects == 7, s.Ends[0] == 5, "moment %d, split %d", moment, split)
		}
	}
}

// sparse is a table with nothing but zeros behind its image, and counts the bytes that are read of it.
type sparse struct {
	image []byte
	read  int
}

func (s *sparse) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(s.image)) {
		copy(b, s.image[off:])
	}
	s.read += len(b)
	return len(b), nil
}

// TestReadLittle reads tables that claim all the text that there may be and never hold still. What no site
// names is not read, and what they name is read once.
func TestReadLittle(t *testing.T) {
	for _, last := range []uint64{0, MaxText - 20} { // where the last site's text begins
		image, h := build(t)
		h.Size = 1 << 40
		h.Text.Cap, h.Text.Used = MaxText, MaxText
		h.ChangeBegin++
		*at[Site](image, h.Sites, 1) = Site{AllocObjects: ObjectUnit, TextOffset: last, TextLength: 20}
		r := &sparse{image: image}
		s, err := Read(r, 1<<40)
		require.NoError(t, err)
		require.Equal(t, 1, s.Torn)
		require.Equal(t, "main.main\tmain.go:7\n", s.Sites[0].Stack)
		require.Len(t, s.Sites[1].Stack, 20)
		require.Less(t, r.read, int(last)+1<<20)
	}
}

func FuzzRead(f *testing.F) {
	image, _ := build(f)
	f.Add(image[:HeaderSize], image[HeaderSize:])
	f.Fuzz(func(t *testing.T, head, rest []byte) {
		image := make([]byte, HeaderSize+len(rest))
		copy(image, head)
		copy(image[HeaderSize:], rest)
		r := bytes.NewReader(image)
		s, text, _, err := read(r, int64(len(image))) // Read only looks again
		if err != nil || s.addText(r, text) != nil {
			return
		}
		for i := range s.Accounts {
			s.Accounts[i].Idle()
		}
		for i := range s.Sites {
			if n := len(s.Sites[i].Stack); n > MaxStack {
				t.Fatalf("a stack of %d bytes", n)
			}
		}
	})
}

// TestLayout pins the layout: a change of any line here is a new version.
func TestLayout(t *testing.T) {
	var a Account
	var s Shard
	var c Site
	var h Header
	offsets := map[string]uintptr{
		"Header.Rate": unsafe.Offsetof(h.Rate), "Header.AllocMarker": unsafe.Offsetof(h.AllocMarker),
		"Header.Accounts": unsafe.Offsetof(h.Accounts), "Header.Text": unsafe.Offsetof(h.Text),
		"Account.Reserved": unsafe.Offsetof(a.Reserved), "Account.Past": unsafe.Offsetof(a.Past), "Account.Name": unsafe.Offsetof(a.Name),
		"Shard.End": unsafe.Offsetof(s.End), "Shard.MadeObjects": unsafe.Offsetof(s.MadeObjects), "Shard.LateObjects": unsafe.Offsetof(s.LateObjects), "Shard.Account": unsafe.Offsetof(s.Account),
		"Site.Last": unsafe.Offsetof(c.Last), "Site.TextOffset": unsafe.Offsetof(c.TextOffset),
	}
	require.Equal(t, map[string]uintptr{
		"Header.Rate": 32, "Header.AllocMarker": 56, "Header.Accounts": 72, "Header.Text": 168,
		"Account.Reserved": 16, "Account.Past": 48, "Account.Name": 192,
		"Shard.End": 0, "Shard.MadeObjects": 48, "Shard.LateObjects": 64, "Shard.Account": 88,
		"Site.Last": 64, "Site.TextOffset": 72,
	}, offsets)
	require.Equal(t, "lastuse1", string(binary.BigEndian.AppendUint64(nil, Magic)))
}
