package report

import (
	"fmt"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	old := func(pos token.Pos) string { return fmt.Sprintf("a.go:%d", pos) }
	moved := func(pos token.Pos) string { return fmt.Sprintf("b.go:%d", pos+100) }
	for _, tt := range []struct {
		text, old, moved string
		places           []Place
	}{
		{"", "", "", nil},
		{"b.go:7 is no place", "b.go:7 is no place", "b.go:7 is no place", nil},
		{"freed at " + At(7), "freed at a.go:7", "freed at b.go:107", []Place{{9, 15, 7}}},
		{At(7) + At(12) + ", too", "a.go:7a.go:12, too", "b.go:107b.go:112, too", []Place{{0, 6, 7}, {6, 13, 12}}},
	} {
		text, places := Words(tt.text, old)
		require.Equal(t, tt.old, text)
		require.Equal(t, tt.places, places)
		require.Equal(t, tt.moved, Again(text, places, moved))
		again, none := Words(text, old)
		require.Equal(t, text, again, "finished texts stay")
		require.Empty(t, none)
	}
	require.Panics(t, func() { Words(mark+"x"+mark, old) })
}
