package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotes has the words of each note that has some.
func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		note         Note
		words, steps string
	}{
		{Note{}, "", "a part of it is read"},
		{Note{Kind: Field, Name: "x"}, "", "its field x is read"},
		{Note{Kind: Slice}, "", "a slice of it is taken"},
		{Note{Kind: Element}, "", "an element of it is taken"},
		{Note{Kind: Lent}, "", "lent to a function literal"},
		{Note{Kind: InField, Name: "x", Of: "*T"}, "stored in field x of *T", "a part of it is read"},
		{Note{Kind: InPart, Of: "v"}, "stored in a field of v", "a part of it is read"},
		{Note{Kind: InElement, Of: "[]T"}, "stored in an element of []T", "a part of it is read"},
		{Note{Kind: InVariable, Name: "v"}, "stored in package variable v", "a part of it is read"},
		{Note{Kind: InKey, Of: "map[T]int"}, "stored as a key of map[T]int", "a part of it is read"},
		{Note{Kind: InPointee}, "stored through a pointer", "a part of it is read"},
		{Note{Kind: HeldReads}, "read by deferred code if something panics", "a part of it is read"},
	} {
		require.Equal(t, tt.words, tt.note.String())
		require.Equal(t, tt.steps, tt.note.Step())
	}
	for k := InField; k <= Somewhere; k++ {
		require.NotEmpty(t, Note{Kind: k}.String(), "%d: a buffer that is stored there is kept with a reason", k)
	}
}
