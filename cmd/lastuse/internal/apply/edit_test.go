package apply

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlaps(t *testing.T) {
	for _, tt := range []struct {
		a, b Edit
		want bool
	}{
		{Edit{3, 3, "a"}, Edit{3, 3, "b"}, true},   // the order would matter
		{Edit{3, 3, "a"}, Edit{4, 4, "b"}, false},  //
		{Edit{3, 5, ""}, Edit{5, 5, "b"}, false},   // after what is deleted
		{Edit{3, 5, ""}, Edit{3, 3, "b"}, true},    // at its start: before or in place of it?
		{Edit{3, 5, ""}, Edit{4, 4, "b"}, true},    // in what is deleted
		{Edit{3, 5, ""}, Edit{4, 8, ""}, true},     //
		{Edit{3, 5, ""}, Edit{5, 8, ""}, false},    //
		{Edit{3, 9, ""}, Edit{5, 6, "x"}, true},    // inside
		{Edit{3, 5, "x"}, Edit{3, 5, "x"}, true},   // the same twice
		{Edit{0, 0, "x"}, Edit{10, 12, ""}, false}, //
	} {
		require.Equal(t, tt.want, tt.a.overlaps(tt.b), "%v %v", tt.a, tt.b)
		require.Equal(t, tt.want, tt.b.overlaps(tt.a), "%v %v", tt.b, tt.a)
	}
}

func TestMerge(t *testing.T) {
	got := merge([]Edit{{5, 5, "b"}, {9, 9, "c"}}, []Edit{{1, 1, "import"}, {7, 8, "d"}}, []Edit{{1, 1, "import"}})
	require.Equal(t, []Edit{{1, 1, "import"}, {5, 5, "b"}, {7, 8, "d"}, {9, 9, "c"}}, got)
}

// FuzzApply: edits act on the text as replacing one after the other from the end
// does, and each byte that stays is found at its old place.
func FuzzApply(f *testing.F) {
	f.Add([]byte("hello, world"), []byte{3, 2, 1, 4, 0, 2})
	f.Add([]byte(""), []byte{0, 0, 3})
	f.Add([]byte("abc"), []byte{0, 3, 0})
	f.Fuzz(func(t *testing.T, src, script []byte) {
		var edits []Edit
		at := 0
		for ; len(script) >= 3; script = script[3:] {
			start := at + int(script[0])
			end := start + int(script[1])
			if end > len(src) {
				break
			}
			edits = append(edits, Edit{start, end, string(bytes.Repeat([]byte{'#'}, int(script[2])))})
			at = end + 1
		}
		want := slices.Clone(src)
		for _, e := range slices.Backward(edits) {
			want = slices.Concat(want[:e.Start], []byte(e.Text), want[e.End:])
		}
		got := apply(src, edits)
		require.Equal(t, string(want), string(got))

		// Mark each old byte with its number to see where it goes.
		for i := range src {
			inside := slices.ContainsFunc(edits, func(e Edit) bool { return e.Start <= i && i < e.End })
			if inside {
				continue
			}
			n := i
			for _, e := range edits {
				if e.End <= i {
					n += len(e.Text) - (e.End - e.Start)
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
