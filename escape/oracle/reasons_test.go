package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// TestReasons has what the analyzer says of buffers that are made where they are decided, made
// for the caller, through two functions, and made for a box that is resized.
func TestReasons(t *testing.T) {
	b := &Batch{Dir: t.TempDir()}
	require.NoError(t, write(b.path("fixed", false, 7), strings.TrimPrefix(`
package progs
func P7(c *rt.C) {
	b0, err := alloc.Make[int64](c.S(), 8)
	b1, err := p7f1(c)
	b2, err := rt.New(c, 9)
	b2.resize(c, 10)
}
func p7f1(c *rt.C) (alloc.Buffer[int64], error) {
	return p7f2(c)
}
func p7f2(c *rt.C) (alloc.Buffer[int64], error) {
	return rt.New(c, 11)
}
func p7f3(c *rt.C) (alloc.Buffer[int64], error) {
	return rt.New(c, 12)
}
`, "\n")))
	b.Explain = strings.TrimPrefix(`
oracle.test/fixed/progs.P7  progs/p7.go:2:1
	progs/p7.go:3:13: b0 (alloc.Buffer[int64], made by alloc.Make) is reported
		progs/p7.go:3:13: unfreed: b0 is never freed (alloc.Buffer[int64] made by alloc.Make); no fix: no variable holds it
	progs/p7.go:4:13: b1 (alloc.Buffer[int64], made by p7f1) is kept: sent on a channel
		progs/p7.go:4:40: here it leaves
	progs/p7.go:5:13: b2 (alloc.Buffer[int64], made by rt.New) is kept: its variable's address is passed to (*p7box).resize, which may keep it
		progs/p7.go:6:2: here it leaves

oracle.test/fixed/progs.p7f1  progs/p7.go:8:1
	progs/p7.go:9:9: a temporary (alloc.Buffer[int64], made by p7f2) is handed on: returned to the caller

oracle.test/fixed/progs.p7f2  progs/p7.go:11:1
	progs/p7.go:12:9: a temporary (alloc.Buffer[int64], made by rt.New) is handed on: returned to the caller

oracle.test/fixed/progs.p7f3  progs/p7.go:14:1
	progs/p7.go:15:9: a temporary (alloc.Buffer[int64], made by rt.New) is handed on: returned to the caller
`, "\n")
	got := b.reasons()[7]
	for n, want := range map[int]string{
		8:  "is reported: no variable holds it",
		9:  "is passed to (*p7box).resize, which may keep it",
		10: "is passed to (*p7box).resize, which may keep it",
		11: "is kept: sent on a channel",
		12: "is handed on: returned to the caller",
	} {
		require.True(t, strings.HasSuffix(got[n-gen.FirstSite], want), "%d: %q", n, got[n-gen.FirstSite])
	}
	require.Len(t, got, 5)
}
