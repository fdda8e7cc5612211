package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// relation returns the words for what a value is to a token.
func relation(r pointsto.Relation) string {
	var out []string
	for k, n := range []string{"whole", "view", "holder", "maybe", "number"} {
		if r>>k&1 == 1 {
			out = append(out, n)
		}
	}
	return strings.Join(out, "|")
}

// printHolds writes what is known of what values of a function may hold: its sites, and the groups with
// what their values hold.
func printHolds(w io.Writer, f *pointsto.Func) {
	fmt.Fprintf(w, "func %s\n", f.SSA.Name())
	for _, s := range f.Sites {
		fmt.Fprintf(w, "#%d = %s", s.N, s.Value.Name())
		if s.Param >= 0 {
			fmt.Fprintf(w, " parameter %d", s.Param)
		}
		if s.Error != nil {
			fmt.Fprintf(w, ", error %s", s.Error.Name())
		}
		if s.OK != nil {
			fmt.Fprintf(w, ", if %s", s.OK.Name())
		}
		fmt.Fprintln(w)
	}
	for _, g := range f.Groups {
		fmt.Fprint(w, "group")
		for _, v := range g.Values {
			fmt.Fprintf(w, " %s:", v.Name())
			for _, h := range f.Holds(v) {
				fmt.Fprintf(w, "#%d %s,", h.Site.N, relation(h.As))
			}
		}
		if g.Crowded {
			fmt.Fprint(w, " crowded")
		}
		fmt.Fprintln(w)
	}
}
