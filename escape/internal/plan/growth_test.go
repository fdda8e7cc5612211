package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// shapes are functions of n statements, in which buffers meet in different ways.
var shapes = map[string]func(n int) string{
	"one behind the other": lines("", "b%[1]d := Must(1)\nb%[1]d.Use()\n", ""),
	"one variable":         lines("var b *Buf\n", "b = Must(1)\nb.Use()\n", ""),
	"branches":             lines("", "b%[1]d := Must(1)\nif c {\nb%[1]d.Use()\n}\n", ""),
	"errors": lines("", "b%[1]d, err := Make(1)\nif err != nil {\nreturn err\n}\n"+
		"b%[1]d.Use()\n", ""),
	"loops":       lines("", "for range 3 {\nb := Must(1)\nif c {\nbreak\n}\nb.Use()\n}\n", ""),
	"passed on":   lines("b0 := Must(1)\n", "b0.Use()\nif c {\nprintln()\n}\n", ""),
	"handed over": lines("b := Must(1)\n", "if c {\nb.Free()\nb = Must(1)\n}\n", "b.Use()\n"),
	"cases":       lines("switch m {\n", "case %[1]d:\nb := Must(1)\nb.Use()\n", "}\n"),
	"merged": lines("var b *Buf\nswitch m {\n", "case %[1]d:\nb = Must(1)\n",
		"}\nif b != nil {\nb.Use()\n}\n"),
	"deferred":     lines("", "b%[1]d := Must(1)\ndefer b%[1]d.Free()\nb%[1]d.Use()\n", ""),
	"one field":    lines("var p struct{ a, b *Buf }\n", "p.a = Must(1)\np.a.Use()\n", ""),
	"fields":       lines("", "p%[1]d := struct{ a, b *Buf }{Must(1), Must(2)}\np%[1]d.a.Use()\n", ""),
	"one slice":    lines("var s []*Buf\n", "s = append(s, Must(1))\n", "println(len(s))\n"),
	"slices":       lines("", "b%[1]d := Must(1)\ns%[1]d := []*Buf{b%[1]d}\ns%[1]d[0].Use()\n", ""),
	"slices grown": lines("", "b%[1]d := Must(1)\nvar s%[1]d []*Buf\nfor range m {\ns%[1]d = append(s%[1]d, b%[1]d)\n}\n", ""),
	"joined": func(n int) string {
		return "import \"sync\"\n" + lines("", "b%[1]d := Must(1)\nvar g%[1]d sync.WaitGroup\n"+
			"g%[1]d.Go(func() { b%[1]d.Use() })\ng%[1]d.Wait()\n", "")(n)
	},
	"one beside all": lines("a := Must(1)\n", "b%[1]d := Must(1)\nif c {\nboth(a, b%[1]d)\n}\n", ""),
}

func lines(head, line, tail string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString("func f(c bool, m int) error {\n" + head)
		for k := range n {
			s := line
			if strings.Contains(line, "%") {
				s = fmt.Sprintf(line, k+1)
			}
			b.WriteString(s)
		}
		return b.String() + tail + "return nil\n}\n"
	}
}

// TestGrowth demands work that grows with the size of a function, and not faster: from
// 500 pieces to 2,000, which are 1,000 to 10,000 statements, by at most 4.4.
func TestGrowth(t *testing.T) {
	tier.Skip(t, "functions of 10,000 statements")
	for name, shape := range shapes {
		work := func(n int) int {
			steps := 0
			_, src := headed(shape(n))
			for _, f := range Run(check(t, src)).Funcs {
				steps += f.Own.Work()
			}
			return steps
		}
		small, large := work(500), work(2000)
		t.Logf("%-22s %8d %8d", name, small, large)
		require.NotZero(t, small)
		require.LessOrEqual(t, float64(large), 4.4*float64(small), name)
	}
}
