package escape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cputime"
	"github.com/lastuse/lastuse/internal/tier"
)

// TestTooLarge declines a function of more values than the limit, says so, and goes
// on: the function that calls it and the one after it are decided.
func TestTooLarge(t *testing.T) {
	src := "func large(b *Buf, x int) {\n" + strings.Repeat("\tx++\n", 2000) + "}\n" +
		"func lends() { b := Must(1); large(b, 1) }\nfunc small() { b := Must(1); b.Put(b) }\n"
	c := tried(t, bufType+src)
	c.limit = 1000
	res := c.planned()
	require.Len(t, res.Skipped, 1)
	require.Equal(t, "p.large", res.Skipped[0].Name)
	require.Equal(t, "too large to decide in bounded work", res.Skipped[0].Reason)
	require.Len(t, res.Funcs, 2)
	require.Equal(t, Kept, res.Funcs[0].Buffers[0].Verdict)
	require.Contains(t, res.Funcs[0].Buffers[0].Reason, "not decided: too large")
	require.Equal(t, Inserted, res.Funcs[1].Buffers[0].Verdict)
}

// TestDeep decides functions that nest deeply or branch often: bounded work, and no
// stack that overflows.
func TestDeep(t *testing.T) {
	n := tier.Of(1000, 2000)
	const deep = 400 // the parser takes a thousand scopes
	nested := func(open, inner, closing string) string {
		return strings.Repeat(open, deep) + inner + strings.Repeat(closing, deep)
	}
	for name, body := range map[string]string{
		"blocks":      nested("{\n", "b.Put(b)\n", "}\n"),
		"conditions":  nested("if x > 0 {\n", "b.Put(b)\n", "}\n"),
		"loops":       strings.Repeat("for range x {\nx--\n}\n", n) + "b.Put(b)\n",
		"parentheses": "b.Put(" + nested("(", "b", ")") + ")\n",
		"and":         "if x > 0" + strings.Repeat(" && x > 1", n) + " {\nb.Put(b)\n}\n",
		"else if": "if x == 0 {\n" + func() string {
			var w strings.Builder
			for i := range deep {
				fmt.Fprintf(&w, "} else if x == %d {\nb.Put(b)\n", i)
			}
			return w.String() + "}\n"
		}(),
		"switch": "switch x {\n" + func() string {
			var w strings.Builder
			for i := range n {
				fmt.Fprintf(&w, "case %d:\nb.Put(b)\n", i)
			}
			return w.String() + "}\n"
		}(),
		"literals": nested("func() {\n", "b.Put(b)\n", "}()\n"),
		"gotos": func() string {
			var w strings.Builder
			for i := range n {
				fmt.Fprintf(&w, "if x == %d {\ngoto done\n}\n", i)
			}
			return w.String() + "b.Put(b)\ndone:\n"
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			start := cputime.Process()
			res := tried(t, bufType+"func deep(x int) {\n\tb := Must(1)\n"+body+"\tprintln(x)\n}\n").proven()
			d := cputime.Process() - start
			require.Empty(t, res.Bugs)
			require.Less(t, d, 20*time.Second)
			require.NotEmpty(t, len(res.Funcs)+len(res.Skipped), "it is decided, or said not to be")
			t.Logf("%v, skipped %v", d.Round(time.Millisecond), res.Skipped)
		})
	}
}
