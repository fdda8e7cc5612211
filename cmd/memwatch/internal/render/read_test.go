package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestReadJSON reads what was written: all that a comparison needs is in it.
func TestReadJSON(t *testing.T) {
	want := session(t, heap.Query{})
	var b bytes.Buffer
	require.NoError(t, JSON(&b, session(t, heap.Query{Top: 1})))
	require.NoError(t, JSONLine(&b, want)) // the last counts
	got, err := ReadJSON(&b)
	require.NoError(t, err)
	require.Len(t, got.Processes, len(want.Processes))
	for i := range want.Processes {
		w, g := &want.Processes[i], &got.Processes[i]
		require.Equal(t, w.Live, g.Live)
		require.Len(t, g.Sites, len(w.Sites))
		for j := range w.Sites {
			require.Equal(t, w.Sites[j].Named, g.Sites[j].Named, "it is named anew")
			require.Equal(t, Title(&w.Sites[j]), Title(&g.Sites[j]))
		}
	}
	for _, p := range heap.Diff(want, got).Processes {
		require.Empty(t, p.Sites, p.Name)
	}
}

// FuzzReadJSON reads anything, and whatever is read can be shown and compared.
func FuzzReadJSON(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, JSONLine(&b, session(f, heap.Query{})))
	f.Add(b.String())
	f.Add(`{"schema":"memwatch/1","processes":[{"sites":[{"class":"a","frames":[{"func":"\u001b[2J"}],"live":1}],"hidden":-1}]}`)
	f.Add(`{"schema":"memwatch/1","processes":[{"sites":[{"class":"a","objects":-9223372036854775808}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadJSON(strings.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, ErrSnapshot)
			return
		}
		var out bytes.Buffer
		d := heap.Diff(s, &heap.Snapshot{})
		require.NoError(t, Diff(&out, d, Options{Wide: true}, 0))
		require.NotContains(t, out.String(), "\x1b")
		require.NoError(t, DiffJSON(&out, d, false))
		require.Zero(t, d.Grown)
	})
}
