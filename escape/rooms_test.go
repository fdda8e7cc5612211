package escape

import (
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/shadow"
)

var roomsDiff = flag.String("rooms-diff", "", "write where the rooms differ from the analyzer into this file")

// TestRoomsBeside runs the rooms beside the analyzer over all goldens of one file, and
// compares for each call that makes a buffer in front of which lines frees are inserted. With
// -rooms-diff FILE it writes what differs, to be read and judged:
//
//	same      both insert frees, in the same lines
//	elsewhere both do, in other lines
//	new       the rooms alone insert
//	old       the analyzer alone inserts
//	withheld  the proof does not accept an edit of the rooms
func TestRoomsBeside(t *testing.T) {
	var out strings.Builder
	total := map[string]int{}
	eachGolden(t, func(name, src string, before int) { beside(t, &out, total, name, src, before) })
	head := fmt.Sprintf("same %d, elsewhere %d, new %d, old %d; of %d edits the proof accepts %d\n",
		total["same"], total["elsewhere"], total["new"], total["old"],
		total["edits"], total["edits"]-total["withheld"])
	t.Log(head)
	if *roomsDiff != "" {
		require.NoError(t, os.WriteFile(*roomsDiff, []byte(head+out.String()), 0o666))
	}
	require.GreaterOrEqual(t, total["same"], leastSame, "in fewer places than before")
}

// eachGolden calls do with each golden of one file, whose own lines begin behind the first few.
func eachGolden(t *testing.T, do func(name, src string, before int)) {
	for _, dir := range []string{"rewrite", "proven", "stages"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.txtar")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			src, lines := string(a.Files[0].Data), 0
			if dir != "stages" {
				head := bufType
				if imports, rest, ok := strings.Cut(src, "\n\n"); ok && strings.HasPrefix(src, "import") {
					head = strings.Replace(bufType, "package p\n", "package p\n\n"+imports+"\n", 1)
					src = rest
				}
				lines = strings.Count(head, "\n")
				src = head + src
			}
			do(dir+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), src, lines)
		}
	}
}

// leastSame is in how many places the rooms have agreed with the analyzer. It only grows.
const leastSame = 475

// beside compares the two on one file.
func beside(t *testing.T, out *strings.Builder, total map[string]int, name, src string, before int) {
	p, fns := checked(t, "p.go", src)
	res := &Result{}
	p.reports(fns, res, func(string) ([]byte, error) { return []byte(src), nil })
	line := func(pos token.Pos) int { return p.fset.Position(pos).Line - before }
	tf := p.fset.File(p.files[0].FileStart)
	next := func(pos token.Pos) int { // the line of what stands behind a free
		at := tf.Offset(pos)
		for text := strings.TrimLeft(src[at:], "; \t\n"); ; text = strings.TrimLeft(text, "; \t\n") {
			at = len(src) - len(text)
			if !strings.HasPrefix(text, "//") {
				return line(tf.Pos(min(at, len(src))))
			}
			_, text, _ = strings.Cut(text, "\n")
		}
	}
	older, newer := map[int][]int{}, map[int][]int{}
	for _, f := range res.Funcs {
		for _, b := range f.Buffers {
			for _, fr := range b.Frees {
				older[line(b.Site)] = append(older[line(b.Site)], next(fr.Pos))
			}
		}
	}
	r := shadow.Run(&shadow.Input{Fset: p.fset, Files: p.files, Types: p.types, Info: p.info, Set: p.set,
		Text: func(string) []byte { return []byte(src) }})
	require.NoError(t, r.IR.Verify(), name)
	for _, v := range r.Prove(&shadow.Asker{GoVersion: "go1.26", Sizes: types.SizesFor("gc", "amd64")}).Edits {
		total["edits"]++
		if !v.Accepted() {
			total["withheld"]++
			fmt.Fprintf(out, "%s:%d withheld: %s (%s, line %d)\n", name, v.Pos.Line-before, v.Text, v.Why.Words,
				v.Why.At.Line-before)
		}
	}
	why := map[int]string{}
	for _, f := range r.Funcs {
		for _, v := range f.Verdicts {
			why[line(v.Site.Pos())] = r.Why.Of(f.Own.Func, &v).Short()
		}
		for _, fr := range f.Frees {
			pos := fr.At.Pos()
			if fr.At.Place != nil && fr.At.Place.Kind == ir.Else {
				pos-- // the analyzer's stands at the brace
			}
			for _, s := range fr.Sites {
				at := line(s.Pos())
				newer[at] = append(newer[at], next(pos))
			}
		}
	}
	var sites []int
	for at := range older {
		sites = append(sites, at)
	}
	for at := range newer {
		if older[at] == nil {
			sites = append(sites, at)
		}
	}
	slices.Sort(sites)
	for _, at := range sites {
		slices.Sort(older[at])
		slices.Sort(newer[at])
		kind := "elsewhere"
		switch {
		case slices.Equal(older[at], newer[at]):
			kind = "same"
		case older[at] == nil:
			kind = "new"
		case newer[at] == nil:
			kind = "old"
		}
		total[kind]++
		if kind != "same" {
			fmt.Fprintf(out, "%s:%d %s: %v → %v (%s)\n", name, at, kind, older[at], newer[at], why[at])
		}
	}
}
