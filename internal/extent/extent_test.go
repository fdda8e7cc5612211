package extent_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/extent"
)

func TestFind(t *testing.T) {
	var table extent.Table[string]
	for _, x := range []extent.Extent[string]{{P: 30, N: 10, H: "c"}, {P: 10, N: 5, H: "a"},
		{P: 15, N: 5, H: "b"}} {
		require.NoError(t, table.Empty(x.P, x.N))
		table.Add(x)
	}
	for _, tt := range []struct {
		p    uintptr
		n    int64
		want string
		err  string
	}{
		{10, 5, "a", ""},
		{10, 10, "ab", ""},
		{30, 10, "c", ""},
		{12, 8, "", "8 bytes at 0xc: begins within the extent of 5 bytes at 0xa"},
		{10, 7, "", "7 bytes at 0xa: ends within the extent of 5 bytes at 0xf"},
		{15, 20, "", "20 bytes at 0xf: not all of it is mapped"},
		{20, 5, "", "5 bytes at 0x14: not all of it is mapped"},
		{30, 20, "", "20 bytes at 0x1e: not all of it is mapped"},
		{50, 5, "", "5 bytes at 0x32: not all of it is mapped"},
	} {
		all, err := table.Find(tt.p, tt.n)
		got := ""
		for _, x := range all {
			got += x.H
		}
		assert.Equal(t, tt.want, got)
		if tt.err == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, tt.err)
		}
	}
	for p := uintptr(0); p < 50; p++ {
		taken := p+3 > 10 && p < 20 || p+3 > 30 && p < 40
		assert.Equal(t, taken, table.Empty(p, 3) != nil, p)
	}
	for _, tt := range []struct {
		p    uintptr
		n    int64
		want string
	}{{0, 50, "abc"}, {10, 10, "ab"}, {11, 9, "b"}, {10, 9, "a"}, {11, 3, ""}, {20, 10, ""}, {15, 26,
		"bc"}, {50, 9, ""}} {
		got := ""
		for _, x := range table.Inside(tt.p, tt.n) {
			got += x.H
		}
		assert.Equal(t, tt.want, got, "inside %d bytes at %d", tt.n, tt.p)
	}
	table.Remove(10, 10)
	require.Len(t, table.All(), 1)
	assert.NoError(t, table.Empty(0, 30))
}

// A table does what an array of cells does.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var table extent.Table[int]
	var cells [64]int // the extent's number
	for step := 1; step < 5000; step++ {
		p := r.IntN(60)
		n := 1 + r.IntN(min(8, 64-p))
		whole, none := true, true
		for i := p; i < p+n; i++ {
			none = none && cells[i] == 0
			whole = whole && cells[i] != 0
		}
		whole = whole && (p == 0 || cells[p-1] != cells[p]) && (p+n == 64 || cells[p+n-1] != cells[p+n])
		require.Equal(t, none, table.Empty(uintptr(p), int64(n)) == nil)
		all, err := table.Find(uintptr(p), int64(n))
		require.Equal(t, whole, err == nil, "%v %d %d", cells, p, n)
		switch {
		case none:
			table.Add(extent.Extent[int]{P: uintptr(p), N: int64(n), H: step})
			for i := p; i < p+n; i++ {
				cells[i] = step
			}
		case whole:
			for _, x := range all {
				require.Equal(t, cells[x.P], x.H)
			}
			table.Remove(uintptr(p), int64(n))
			clear(cells[p : p+n])
		}
	}
}
