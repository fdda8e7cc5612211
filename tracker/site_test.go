package tracker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
)

func TestSiteOf(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	site := books.SiteOf(SiteID(makeMore(s, 64).Site()))
	require.Regexp(t, `profile_test\.go:\d+$`, site.String())
	require.Equal(t, "github.com/lastuse/lastuse/tracker.makeSome", site.Frames[0].Function)
	require.Equal(t, "github.com/lastuse/lastuse/tracker.makeMore", site.Frames[1].Function)
	require.Zero(t, books.SiteOf(0))
	require.Zero(t, books.SiteOf(1000))
}

// TestUnknownStack shows a site whose stack has no names, as when it was taken where the
// symbol table knows nothing.
func TestUnknownStack(t *testing.T) {
	site := newSite(books.Site{Number: 7, PCs: []uintptr{1, 2}, AllocObjects: 1, AllocBytes: 100})
	require.Equal(t, "unknown", site.String())
	require.Equal(t, "an unknown function", site.function())
	require.Equal(t, "unknown", Frame{}.String())
	require.Equal(t, "(unknown)", profileOf([]Site{site}, 1).Function[0].Name)
	require.Equal(t, "other sites", newSite(books.Site{Number: books.OtherSites}).String())
}

// TestSitesBySize has the site with the most live bytes first.
func TestSitesBySize(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	makeSome(s, 10)
	makeMore(s, 20)
	sites := books.Sites()
	require.Len(t, sites, 2)
	require.EqualValues(t, 20, sites[0].LiveBytes)
	require.EqualValues(t, 10, sites[1].LiveBytes)
}

func BenchmarkForeign(b *testing.B) {
	t := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		t.Alloc(0x1000, 512)
		if t.Free(0x1000) != nil {
			b.Fatal()
		}
	}
}
