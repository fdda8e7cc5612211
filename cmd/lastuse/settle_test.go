package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSift compares halving with trying one change after the other, which is right
// and takes as many compilations as there are changes.
func TestSift(t *testing.T) {
	numbered := func(n int) []*change {
		var list []*change
		for i := range n {
			list = append(list, &change{name: fmt.Sprint(i)})
		}
		return list
	}
	refused := func(list []*change) (names []string) {
		for _, ch := range list {
			if ch.refused != "" {
				names = append(names, ch.name)
			}
		}
		return names
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(1000)
		bad := map[string]bool{} // alone
		pair := [2]string{}      // together
		for range r.IntN(4) {
			bad[fmt.Sprint(r.IntN(n))] = true
		}
		if r.IntN(2) == 0 {
			pair = [2]string{fmt.Sprint(r.IntN(n)), fmt.Sprint(r.IntN(n))}
		}
		count := 0
		compile := func(list []*change) []breakage {
			count++
			both := 0
			for _, ch := range list {
				if bad[ch.name] {
					return []breakage{{offset: -1, msg: "bad"}}
				}
				if ch.name == pair[0] || ch.name == pair[1] {
					both++
				}
			}
			if both > 1 {
				return []breakage{{offset: -1, msg: "declared twice"}}
			}
			return nil
		}
		slow := numbered(n)
		var kept []*change
		for _, ch := range slow {
			if broken := compile(append(slices.Clone(kept), ch)); broken != nil {
				ch.refuse("no")
				continue
			}
			kept = append(kept, ch)
		}
		fast := numbered(n)
		count = 0
		got := sift(nil, fast, compile)
		require.Equal(t, refused(slow), refused(fast))
		require.Len(t, got, n-len(refused(fast)))
		require.LessOrEqual(t, count, 1+2*11*len(refused(fast)), "%d changes, %v refused", n, refused(fast))
	}
}

// TestParseEach has an edit after which the parser loses its way in the next function:
// the one that has the edit is to blame.
func TestParseEach(t *testing.T) {
	src := "package p\n\nfunc a() {\n\tif true {\n\t}\n}\n\nfunc b() {\n\tprintln(1)\n}\n\nfunc c() {\n}\n"
	prog := &program{source: map[string][]byte{"p.go": []byte(src)}}
	add := func(name, behind, more string) *change {
		start := strings.Index(src, "func "+name)
		end := start + strings.Index(src[start:], "\n}\n") + 2
		at := start + strings.Index(src[start:end], behind) + len(behind)
		return &change{name: name, units: []*unit{{prog: prog}}, declStart: start, declEnd: end,
			compiled: text{"p.go", []edit{{10, 10, "import \"runtime\"\n"}, {at, at, more}}}}
	}
	g := &group{changes: []*change{add("a", "if true {", " else {"), add("b", "println(1)", "; println(2)"), add("c", "{", " }")}}
	require.True(t, g.parseEach())
	require.Contains(t, g.changes[0].refused, "does not parse")
	require.Empty(t, g.changes[1].refused)
	require.Contains(t, g.changes[2].refused, "does not parse")
	require.False(t, g.parseEach(), "what is left parses")
}
