package tracker

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:noinline
func free(t *Tracker, p uintptr) error { return t.Free(p) }

func TestForeign(t *testing.T) {
	books := New(Options{})
	books.Alloc(0x1000, 100)
	books.Alloc(0x2000, 50)
	require.Equal(t, int64(150), books.Bytes())
	require.NoError(t, books.Free(0x1000))
	require.Equal(t, int64(50), books.Bytes())
	st := books.Stats()
	require.Equal(t, int64(150), st.Peak, "exact")
	require.Equal(t, int64(150), st.Total)
	require.Equal(t, int64(1), st.Freed)
	require.Zero(t, st.Reserved, "nothing is reserved for it")
	require.NoError(t, books.Free(0x2000))
	require.Zero(t, books.Bytes())
}

func TestForeignErrors(t *testing.T) {
	books := New(Options{})
	require.ErrorIs(t, books.Free(0x1000), ErrUnknownPointer, "nothing was ever allocated")
	books.Alloc(0x1000, 100)
	require.ErrorIs(t, books.Free(0x1008), ErrUnknownPointer, "inside a block is not its pointer")
	require.NoError(t, free(books, 0x1000))

	err := books.Free(0x1000)
	require.ErrorIs(t, err, ErrDoubleFree)
	require.NotErrorIs(t, err, ErrUnknownPointer)
	var fe *FreeError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, int64(100), fe.Size)
	require.True(t, strings.HasSuffix(fe.Made[0].Function, ".TestForeignErrors"), "%v", fe.Made)
	require.True(t, strings.HasSuffix(fe.Freed[0].Function, ".free"), "%v", fe.Freed)
	require.Regexp(t, `^tracker: free 0x1000: double free of 100 bytes made at \S+foreign_test\.go:\d+, first freed at \S+foreign_test\.go:\d+$`, err.Error())
	require.Equal(t, int64(1), books.Stats().Repeated)
	require.Zero(t, books.Bytes(), "the books stay as they are")

	books.Alloc(0x1000, 7)
	require.NoError(t, books.Free(0x1000), "the address has been given out again")
}

func TestForeignNil(t *testing.T) {
	books := New(Options{})
	books.Alloc(0, 100)
	require.NoError(t, books.Free(0))
	require.Zero(t, books.Stats().Made)
	require.PanicsWithValue(t, "tracker: alloc 0x1: negative size -1", func() { books.Alloc(1, -1) })
}

// TestForeignMissedFree allocates an address that is still live: somebody forgot to tell.
func TestForeignMissedFree(t *testing.T) {
	books := New(Options{})
	books.Alloc(0x1000, 100)
	books.Alloc(0x1000, 30)
	st := books.Stats()
	require.Equal(t, int64(30), st.Live)
	require.Equal(t, int64(1), st.Missed)
	require.Equal(t, int64(1), st.LiveObjects)
	require.Equal(t, int64(100), st.Peak)
}

// TestForeignForgets frees so many pointers that the first is forgotten: then it is
// unknown, and memory does not grow.
func TestForeignForgets(t *testing.T) {
	books := New(Options{Rate: -1})
	const n = 4 * foreignStripes * freedKept
	for p := uintptr(16); p <= n*16; p += 16 {
		books.Alloc(p, 1)
		require.NoError(t, books.Free(p))
	}
	require.ErrorIs(t, books.Free(16), ErrUnknownPointer)
	require.ErrorIs(t, books.Free(n*16), ErrDoubleFree)
	f := books.foreign.Load()
	for i := range f.stripes {
		require.LessOrEqual(t, len(f.stripes[i].freed), freedKept)
		require.LessOrEqual(t, len(f.stripes[i].order), freedKept)
	}
}

func TestForeignWithoutSites(t *testing.T) {
	books := New(Options{Rate: -1})
	books.Alloc(0x1000, 100)
	require.NoError(t, books.Free(0x1000))
	err := books.Free(0x1000)
	require.ErrorIs(t, err, ErrDoubleFree)
	require.EqualError(t, err, "tracker: free 0x1000: double free")
	require.Empty(t, books.Sites())
}

// TestForeignStorm has many goroutines allocate, free and double free.
func TestForeignStorm(t *testing.T) {
	books := New(Options{})
	var wg sync.WaitGroup
	// So many pointers are remembered in each stripe, whoever runs first.
	const each = freedKept * foreignStripes / 8 / 2
	for g := range uintptr(8) {
		wg.Go(func() {
			for i := range uintptr(each) {
				p := (g*each + i + 1) * 16
				books.Alloc(p, int64(i))
				if err := books.Free(p); err != nil {
					t.Error(err)
				}
				if err := books.Free(p); !errors.Is(err, ErrDoubleFree) {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		if live := books.Bytes(); live < 0 {
			t.Error("live is", live)
		}
	}
	wg.Wait()
	st := books.Stats()
	n := int64(8 * each)
	require.Equal(t, []int64{0, 0, n, n, n}, []int64{st.Live, st.LiveObjects, st.Made, st.Freed, st.Repeated})
	for _, s := range books.Sites() {
		require.Zero(t, s.LiveBytes)
		require.Zero(t, s.LiveObjects)
	}
}

// TestForeignReuse gives addresses out again, as allocators do. A pointer that was among the
// last to be freed is known, however often its address was freed before.
func TestForeignReuse(t *testing.T) {
	books := New(Options{Rate: -1, NoTable: true})
	rng := rand.New(rand.NewPCG(3, 4))
	var ptrs []uintptr // of one stripe
	books.Alloc(1, 1)
	f := books.foreign.Load()
	for p := uintptr(16); len(ptrs) < 40; p += 16 {
		if f.stripe(p) == f.stripe(16) {
			ptrs = append(ptrs, p)
		}
	}
	for range 4 * freedKept {
		// The later ones seldom.
		p := ptrs[rng.IntN(1+rng.IntN(len(ptrs)))]
		books.Alloc(p, 8)
		require.NoError(t, books.Free(p))
	}
	last := map[uintptr]bool{}
	for range freedKept / 2 {
		p := ptrs[rng.IntN(1+rng.IntN(len(ptrs)))]
		books.Alloc(p, 8)
		require.NoError(t, books.Free(p))
		last[p] = true
	}
	require.Greater(t, len(last), 20)
	for p := range last {
		require.ErrorIs(t, books.Free(p), ErrDoubleFree)
	}
	require.Len(t, f.stripe(16).order, freedKept)
	require.LessOrEqual(t, len(f.stripe(16).freed), len(ptrs))
}

// FuzzForeign runs a script against a map. Each byte is an operation on one of 16 addresses.
func FuzzForeign(f *testing.F) {
	f.Add([]byte{0x01, 0x81, 0x81, 0x01, 0x01, 0x8f})
	f.Fuzz(func(t *testing.T, script []byte) {
		books := New(Options{NoTable: true})
		live, dead := map[uintptr]int64{}, map[uintptr]bool{}
		rng := rand.New(rand.NewPCG(1, 2))
		var sum, peak int64
		for _, op := range script {
			p := uintptr(op&0xf) * 8
			switch {
			case p == 0: // neither call does anything
				books.Alloc(0, 5)
				if err := books.Free(0); err != nil {
					t.Fatal(err)
				}
			case op < 0x80:
				size := rng.Int64N(1000)
				sum += size - live[p]
				live[p] = size
				delete(dead, p)
				books.Alloc(p, size)
				peak = max(peak, sum)
			default:
				err := books.Free(p)
				size, ok := live[p]
				if ok != (err == nil) || dead[p] != errors.Is(err, ErrDoubleFree) || (!ok && !dead[p]) != errors.Is(err, ErrUnknownPointer) {
					t.Fatalf("free %#x: %v; live %v, dead %v", p, err, ok, dead[p])
				}
				if ok {
					sum -= size
					delete(live, p)
					dead[p] = true
				}
			}
			if got := books.Bytes(); got != sum {
				t.Fatalf("%d bytes live, want %d", got, sum)
			}
		}
		st := books.Stats()
		if st.Peak != peak || st.LiveObjects != int64(len(live)) {
			t.Fatalf("peak %d, objects %d, want %d, %d", st.Peak, st.LiveObjects, peak, len(live))
		}
		var bySite int64
		for _, s := range books.Sites() {
			bySite += s.LiveBytes
		}
		if bySite != sum {
			t.Fatalf("%d bytes live at all sites, want %d", bySite, sum)
		}
	})
}
