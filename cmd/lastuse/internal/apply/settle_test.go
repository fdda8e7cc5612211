package apply

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
)

// TestSift compares halving with trying one change after the other, which is right
// and takes as many compilations as there are changes.
func TestSift(t *testing.T) {
	numbered := func(n int) []*Change {
		var list []*Change
		for i := range n {
			list = append(list, &Change{Name: fmt.Sprint(i)})
		}
		return list
	}
	refused := func(list []*Change) (names []string) {
		for _, ch := range list {
			if ch.Refused != "" {
				names = append(names, ch.Name)
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
		compile := func(list []*Change) []breakage {
			count++
			both := 0
			for _, ch := range list {
				if bad[ch.Name] {
					return []breakage{{offset: -1, msg: "bad"}}
				}
				if ch.Name == pair[0] || ch.Name == pair[1] {
					both++
				}
			}
			if both > 1 {
				return []breakage{{offset: -1, msg: "declared twice"}}
			}
			return nil
		}
		slow := numbered(n)
		var kept []*Change
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
	file := filepath.Join(t.TempDir(), "p.go")
	require.NoError(t, os.WriteFile(file, []byte(src), 0o644))
	prog := new(load.Program)
	_, err := prog.Read(file)
	require.NoError(t, err)
	add := func(name, behind, more string) *Change {
		start := strings.Index(src, "func "+name)
		end := start + strings.Index(src[start:], "\n}\n") + 2
		at := start + strings.Index(src[start:end], behind) + len(behind)
		return &Change{Name: name, units: []*load.Unit{{Prog: prog}}, declStart: start, declEnd: end,
			compiled: text{file, []Edit{{10, 10, "import \"runtime\"\n"}, {at, at, more}}}}
	}
	g := &Group{Changes: []*Change{add("a", "if true {", " else {"), add("b", "println(1)", "; println(2)"), add("c", "{", " }")}}
	require.True(t, g.parseEach())
	require.Contains(t, g.Changes[0].Refused, "does not parse")
	require.Empty(t, g.Changes[1].Refused)
	require.Contains(t, g.Changes[2].Refused, "does not parse")
	require.False(t, g.parseEach(), "what is left parses")
}
