package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/built"
	"github.com/lastuse/lastuse/internal/tier"
)

// Every text can be set in its kinds, and no two programs have one name.
func TestRead(t *testing.T) {
	progs, err := Read("")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, p := range progs {
		at := p.Area + "/" + p.Name
		assert.False(t, seen[at], at)
		seen[at] = true
		assert.Contains(t, p.Files["main.go"], "func run()", at)
	}
	assert.Greater(t, len(seen), 500)
}

func TestApply(t *testing.T) {
	tests := []struct {
		name, text, buffers, pointers string
	}{
		{"type", "var x []BUF", "var x []alloc.Buffer[float32]", "var x []*ext.Buf"},
		{"make", "MK(n, 1)", "kit.Make(n, 1)", "ext.New(n, 1)"},
		{"sum", "SUM(xs[f(1, 2)])", "kit.Sum(xs[f(1, 2)])", "xs[f(1, 2)].Sum()"},
		{"nested", "SET(b, SUM(c))", "kit.Set(b, float32(kit.Sum(c)))", "b.Fill(float64(c.Sum()))"},
		{"not a word", "SUMS xBUF BUF_", "SUMS xBUF BUF_", "SUMS xBUF BUF_"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.buffers, kinds['A'].apply(test.text))
			assert.Equal(t, test.pointers, kinds['P'].apply(test.text))
		})
	}
}

func TestChanged(t *testing.T) {
	assert.Equal(t, 0, changed("a\nb", "a\nb"))
	assert.Equal(t, 1, changed("a\nb", "a\nx\nb"))
	assert.Equal(t, 2, changed("a\nb\nc", "b\nc\na"))
}

// What compare must see and must not see.
func TestCompare(t *testing.T) {
	tests := []struct {
		name          string
		before, after end
		same          bool
	}{
		{"the same", end{out: "1\n"}, end{out: "1\n"}, true},
		{"other text", end{out: "1\n"}, end{out: "2\n"}, false},
		{"other status", end{out: "1\n"}, end{out: "1\n", status: 2}, false},
		{"broken", end{}, end{broken: "x"}, false},
		{
			"stacks", end{status: 2, out: "panic: x\n\ngoroutine 1"},
			end{status: 2, out: "panic: x\n\ngoroutine 7"}, true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.same, compare(test.before, test.after) == "")
		})
	}
}

// quick are programs of most areas. All of them: go run ./escape/oracle/attacks
var quick = regexp.MustCompile(`/(wgbreak|donebeforework|waittimeout|deferloop|panicerr|counter|` +
	`methodvalue|dupmap|tree|` +
	`ptrcopy|shift|lru|closelocked|getter|viewfield|textcut|derefcopy|maybeclosure|tryassign|ornewloop|errtwo|` +
	`viewbetween|halfway|convstruct|trainer|selectop|gotoover|irreducible2|freereflect|viewiface|` +
	`tblog|writetolib|copyto|jsonnan|walkerr|sortcmplib|unwraprelay|erroras|hashview|g_print|g_write|` +
	`batchdata|iteropts|paths|applysame|strreturn|bitmap32|shared)_[AP]$`)

func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds and rewrites programs")
	}
	progs, err := Read("")
	require.NoError(t, err)
	var some []*Program
	for _, p := range progs {
		if quick.MatchString("/" + p.Name) {
			some = append(some, p)
		}
	}
	require.Greater(t, len(some), 80)
	if !tier.Long { // one of each pair, and of these one in two
		for i := range len(some) / 4 {
			some[i] = some[4*i+i%4]
		}
		some = some[:len(some)/4]
	}
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	verdicts, err := Judge(t.Context(), some, Options{Repo: "../../..", Tool: tool})
	require.NoError(t, err)
	edited := 0
	for _, v := range verdicts {
		assert.Empty(t, v.Fault, v.Program.Name)
		if v.Edits > 0 {
			edited++
		}
	}
	assert.Greater(t, edited, len(some)*3/4, "programs that get no edit attack nothing")
}

// Programs with two frees, a use after the free and a compile error show that a wrong edit would be seen.
func TestJudgeSees(t *testing.T) {
	progs, err := Read("P", "testdata/programs/collections.txtar")
	require.NoError(t, err)
	p := progs[0]
	tr, err := newTrial(t.TempDir(), "../../..", []*Program{p})
	require.NoError(t, err)
	before, texts, err := tr.side(t.Context(), "before.bin")
	require.NoError(t, err)
	at := p.Area + "/" + p.Name
	edits := []string{"\to.Free()\n\to.Free()\n}", "\to.Free()\n\tfmt.Println(o.Sum())\n}", "\tnone\n}"}
	for _, edit := range edits {
		text := texts[at]["main.go"]
		i := strings.LastIndex(text[:strings.Index(text, "\n// Main")], "}")
		require.NoError(t, write(tr.dir+"/progs/"+at+"/main.go", text[:i]+edit+text[i+1:]))
		after, _, err := tr.side(t.Context(), "after.bin")
		require.NoError(t, err)
		assert.NotEmpty(t, compare(before[at], after[at]), edit)
	}
}
