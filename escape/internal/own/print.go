package own

import (
	"fmt"
	"io"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/flow"
)

func (s Status) String() string {
	return words(uint16(s), "absent", "owned", "freed", "moved", "pending", "passed", "given", "unsure", "holed", "turned")
}

// words joins the words of the bits that are set.
func words(set uint16, names ...string) string {
	var out []string
	for k, n := range names {
		if set>>k&1 == 1 {
			out = append(out, n)
		}
	}
	return strings.Join(out, "|")
}

// Print writes what is known of a function: for each group its sites, the conditions they are told apart by,
// and for each moment what each token is, by which values, and which values are needed. A token is #N, and
// #N' if it is older; a combination of conditions is a + or - for each.
func (f *Func) Print(w io.Writer) {
	fmt.Fprintf(w, "func %s\n", f.SSA.Name())
	for _, g := range f.Groups {
		g.print(w)
	}
}

func (g *Group) print(w io.Writer) {
	fmt.Fprint(w, "group")
	for _, s := range g.Sites {
		fmt.Fprintf(w, " #%d", s.N)
	}
	if g.Why() != "" {
		fmt.Fprint(w, ": ")
	}
	fmt.Fprintln(w, g.Why())
	if g.Why() != "" {
		return
	}
	for _, k := range g.conds {
		fmt.Fprintf(w, "if %s\n", k)
	}
	for _, n := range g.Nodes() {
		for _, p := range g.Points(n) {
			node, what := g.f.Graph.Nodes[n], "entry"
			if p.At > 0 && node.Block != nil {
				what = node.Instrs[p.At-1].String()
			}
			if node.Block != nil {
				fmt.Fprintf(w, "%d.%d %s:%s\n", node.Block.Index, node.First+p.At, what, g.text(p))
			}
		}
	}
}

// text writes what is known at a point, where that is something.
func (g *Group) text(p *Point) string {
	var b strings.Builder
	for i, c := range p.s {
		if c == nil {
			continue
		}
		line := ""
		for t, st := range c.st {
			if st == Absent {
				continue
			}
			line += fmt.Sprintf(" #%d%s %s", g.Sites[t/2].N, []string{"", "'"}[t%2], st)
			if st&Owned != 0 {
				line += " " + g.names(c.must[t])
			}
		}
		if p.l[i] != nil && !p.l[i].Empty() {
			line += " needs " + g.names(p.l[i])
		}
		if line == "" {
			continue
		}
		if len(p.s) > 1 {
			sign := ""
			for k := range g.conds {
				sign += []string{"-", "+"}[i>>k&1]
			}
			line = " [" + sign + "]" + line
		}
		b.WriteString(line)
	}
	return b.String()
}

func (g *Group) names(set flow.Bits) string {
	var out []string
	for k, v := range g.Values {
		if set.Has(k) {
			out = append(out, v.Name())
		}
	}
	return "(" + strings.Join(out, " ") + ")"
}
