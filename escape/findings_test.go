package escape

import (
	"cmp"
	"flag"
	"fmt"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/shadow"
)

var findingsDiff = flag.String("findings-diff", "", "write where the findings of the rooms differ from the analyzer's into this file")

// leastFound is how many findings the rooms have had in common with the analyzer. It only grows.
const leastFound = 656

// A said is a finding as it is compared.
type said struct {
	line     int
	category string
}

// TestFindingsBeside runs the rooms beside the analyzer over all goldens of one file, and compares what they
// find, by category and line. With -findings-diff FILE it writes what differs:
//
//	new  the rooms alone find it
//	old  the analyzer alone does
func TestFindingsBeside(t *testing.T) {
	var out strings.Builder
	total := map[string]int{}
	eachGolden(t, func(name, src string, before int) {
		p, fns := checked(t, "p.go", src)
		res := &Result{}
		p.reports(fns, res, func(string) ([]byte, error) { return []byte(src), nil })
		line := func(pos token.Pos) int { return p.fset.Position(pos).Line - before }
		older, newer := map[said]string{}, map[said]string{}
		for _, f := range res.Funcs {
			for _, fd := range f.Findings {
				older[said{line(fd.Pos), fd.Category}] = fd.Message
			}
		}
		r := shadow.Run(&shadow.Input{Fset: p.fset, Files: p.files, Types: p.types, Info: p.info, Set: p.set,
			Text: func(string) []byte { return []byte(src) }})
		for _, f := range r.Funcs {
			for _, fd := range f.Findings {
				text, _ := report.Words(r.Why.Finding(f.Own.Func, fd), p.line)
				newer[said{line(fd.Pos), fd.Kind.String()}] = text
			}
		}
		differ(&out, total, name, older, newer)
	})
	head := fmt.Sprintf("same %d, %d of them in other words, new %d, old %d\n", total["same"], total["other words"],
		total["new"], total["old"])
	t.Log(head)
	if *findingsDiff != "" {
		require.NoError(t, os.WriteFile(*findingsDiff, []byte(head+out.String()), 0o666))
	}
	require.GreaterOrEqual(t, total["same"], leastFound, "fewer findings than before")
}

// differ counts what two have found, and writes what one alone did.
func differ(out *strings.Builder, total map[string]int, name string, older, newer map[said]string) {
	var all []said
	for at := range older {
		all = append(all, at)
	}
	for at := range newer {
		if _, both := older[at]; !both {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b said) int {
		return cmp.Or(a.line-b.line, strings.Compare(a.category, b.category))
	})
	for _, at := range all {
		was, isOld := older[at]
		is, isNew := newer[at]
		kind := "same"
		switch {
		case !isNew:
			kind = "old"
		case !isOld:
			kind = "new"
		}
		total[kind]++
		if was, _, _ = strings.Cut(was, "; no fix"); kind == "same" && was != is {
			total["other words"]++
			fmt.Fprintf(out, "%s:%d words: %s → %s\n", name, at.line, was, is)
		}
		if kind != "same" {
			fmt.Fprintf(out, "%s:%d %s %s: %s\n", name, at.line, kind, at.category, was+is)
		}
	}
}
