package main

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlaps(t *testing.T) {
	for _, tt := range []struct {
		a, b edit
		want bool
	}{
		{edit{3, 3, "a"}, edit{3, 3, "b"}, true},   // the order would matter
		{edit{3, 3, "a"}, edit{4, 4, "b"}, false},  //
		{edit{3, 5, ""}, edit{5, 5, "b"}, false},   // after what is deleted
		{edit{3, 5, ""}, edit{3, 3, "b"}, true},    // at its start: before or in place of it?
		{edit{3, 5, ""}, edit{4, 4, "b"}, true},    // in what is deleted
		{edit{3, 5, ""}, edit{4, 8, ""}, true},     //
		{edit{3, 5, ""}, edit{5, 8, ""}, false},    //
		{edit{3, 9, ""}, edit{5, 6, "x"}, true},    // inside
		{edit{3, 5, "x"}, edit{3, 5, "x"}, true},   // the same twice
		{edit{0, 0, "x"}, edit{10, 12, ""}, false}, //
	} {
		require.Equal(t, tt.want, tt.a.overlaps(tt.b), "%v %v", tt.a, tt.b)
		require.Equal(t, tt.want, tt.b.overlaps(tt.a), "%v %v", tt.b, tt.a)
	}
}

func TestMerge(t *testing.T) {
	got := merge([]edit{{5, 5, "b"}, {9, 9, "c"}}, []edit{{1, 1, "import"}, {7, 8, "d"}}, []edit{{1, 1, "import"}})
	require.Equal(t, []edit{{1, 1, "import"}, {5, 5, "b"}, {7, 8, "d"}, {9, 9, "c"}}, got)
}

// FuzzApply: edits act on the text as replacing one after the other from the end
// does, and each byte that stays is found at its old place.
func FuzzApply(f *testing.F) {
	f.Add([]byte("hello, world"), []byte{3, 2, 1, 4, 0, 2})
	f.Add([]byte(""), []byte{0, 0, 3})
	f.Add([]byte("abc"), []byte{0, 3, 0})
	f.Fuzz(func(t *testing.T, src, script []byte) {
		var edits []edit
		at := 0
		for ; len(script) >= 3; script = script[3:] {
			start := at + int(script[0])
			end := start + int(script[1])
			if end > len(src) {
				break
			}
			edits = append(edits, edit{start, end, string(bytes.Repeat([]byte{'#'}, int(script[2])))})
			at = end + 1
		}
		want := slices.Clone(src)
		for _, e := range slices.Backward(edits) {
			want = slices.Concat(want[:e.start], []byte(e.text), want[e.end:])
		}
		got := apply(src, edits)
		require.Equal(t, string(want), string(got))

		// Mark each old byte with its number to see where it goes.
		for i := range src {
			inside := slices.ContainsFunc(edits, func(e edit) bool { return e.start <= i && i < e.end })
			if inside {
				continue
			}
			n := i
			for _, e := range edits {
				if e.end <= i {
					n += len(e.text) - (e.end - e.start)
				}
			}
			require.Equal(t, src[i], got[n])
			require.Equal(t, i, oldOffset(edits, n), "byte %d became byte %d", i, n)
		}
		for n := range got {
			if o := oldOffset(edits, n); o < 0 || o > len(src) {
				t.Fatalf("byte %d of the new text was byte %d of %d", n, o, len(src))
			}
		}
	})
}

func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.go":      "a/b.go",
		"a/with x.go": "a/with x.go",
		"a/grüße.go":  "a/grüße.go",
		"a/q\"t.go":   `"a/q\"t.go"`,
		"a/b\\c.go":   `"a/b\\c.go"`,
		"a/t\tn\n.go": `"a/t\011n\012.go"`,
	} {
		require.Equal(t, want, quote(name))
	}
}

func TestStartsWithPosition(t *testing.T) {
	require.True(t, startsWithPosition("a/b.go:3: text"))
	require.True(t, startsWithPosition("/x/b.spec:13:4: text\nmore"))
	require.False(t, startsWithPosition("go: module 3:4"))
	require.False(t, startsWithPosition("open x: no such file"))
}
