package proof_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// A ruleTest is a wrong free that no other rule withholds.
type ruleTest struct {
	rule  proof.Rule
	words string
	text  string
}

// TestRules shows of each rule such frees.
func TestRules(t *testing.T) {
	l := newLab()
	for _, tt := range slices.Concat(sameRules, freedRules, callbacksRules, joinsRules) {
		t.Run(string(tt.rule), func(t *testing.T) {
			held := l.prove(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
			r := l.prove(t, tt.text, tt.rule)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("without the rule: %s: %v", v.Text, v.Why)
			}
		})
	}
}

// TestDifferent is what puts in more than frees, although the statements alone might not show it.
func TestDifferent(t *testing.T) {
	tests := map[string]string{
		"a case falls through into the new default": `
func f(n int) {
	b := Make()
	b.Use()
	switch n {
	case 1:
		next()
		fallthrough
	default: //F
		b.Free() //F
	case 2:
		next()
		b.Free() //F
	}
}
`,
		"a comment for tools moves to another variable": `
var (
//go:embed one //O
	one string
//go:embed one //F
	two string
)
`,
		"a comment for tools moves to another method": `
type user interface {
//lastuse:effect recv borrowed //O
	Use()
//lastuse:effect recv borrowed //F
	Free()
}
`,
		"a comment for tools moves to another function": `
//go:noinline //O
func g() { next() }

//go:noinline //F
func f() {
	b := Make()
	b.Use()
	b.Free() //F
}
`,
	}
	l := newLab()
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			edits := l.prove(t, text).Edits
			require.Len(t, edits, 1)
			require.NotNil(t, edits[0].Why)
			assert.Equal(t, proof.Same, edits[0].Why.Rule)
		})
	}
}

// TestImports is imports that the new text lacks, or does not use.
func TestImports(t *testing.T) {
	const bare, imports = "package p\n\nfunc f() {}\n", "package p\n\nimport \"runtime\"\n\nfunc f() {}\n"
	const used = "package p\n\nimport \"runtime\"\n\nfunc f() { runtime.GC() }\n"
	for _, texts := range [][2]string{{bare, imports}, {used, bare}} {
		edits := proof.Check(&proof.Input{Path: "p", Import: newLab().imports,
			Files: []proof.File{{Name: "p.go", Old: []byte(texts[0]), New: []byte(texts[1])}}}).Edits
		require.Len(t, edits, 1)
		require.NotNil(t, edits[0].Why)
		assert.Contains(t, edits[0].Why.Words, "not only statements differ")
	}
}

// TestRight is what must be accepted.
func TestRight(t *testing.T) {
	tests := map[string]string{
		"last use": `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
}
`,
		"in a case that was not there": `
func f(n int) {
	b := Make()
	switch n {
	case 1:
		b.Use()
		b.Free() //F
	default: //F
		b.Free() //F
	}
}
`,
		"in a loop": `
func f(n int) {
	for range n {
		b := Make()
		b.Use()
		b.Free() //F
	}
}
`,
		"after a failure there is nothing": `
func f() error {
	b, err := Try()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}
`,
		"result computed first": `
func f() int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return r //F
	return b.Sum() //O
}
`,
		"joined by a group with a context": `
func f(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	b := Make()
	for range 3 {
		g.Go(func() error { b.Use(); return ctx.Err() })
	}
	if err := g.Wait(); err != nil {
		b.Free() //F
		return err
	}
	b.Free() //F
	return nil
}
`,
		"joined by a callee": `
func start(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func f() {
	b := Make()
	start(b)
	b.Free() //F
}
`,
		"joined": `
func f() {
	b := Make()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { b.Use() })
	}
	wg.Wait()
	b.Free() //F
}
`,
		"moved": `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
	next()
	b.Free() //O
}
`,
		"seen by a literal that captures nothing": `
func f(c *B) bool {
	b := Make()
	sorted := slices.IsSortedFunc([]*B{b, c}, func(x, y *B) int { return x.Sum() - y.Sum() })
	b.Free() //F
	return sorted
}
`,
		"a value beside another, each freed by its address": `
type M struct{ n *int }

//lastuse:effect result 0 owned
func NewM() M

//lastuse:effect recv freed
func (m *M) Free()

//lastuse:effect recv borrowed
func (m *M) Sum() int

func f() {
	b := NewM()
	print(b.Sum())
	b.Free() //F
	c := NewM()
	print(c.Sum())
	c.Free() //F
}
`,
		"of an older one": `
func f(n int) {
	b := Make()
	b.Use()
	for range n {
		old := b //F
		b = Make()
		old.Free() //F
	}
	b.Free() //F
}
`,
		"elements": `
func f(n int) {
	var bs []*B
	for range n {
		bs = append(bs, Make())
	}
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`,
	}
	l := newLab()
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			r := l.prove(t, text)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("%s: %v", v.Text, v.Why)
			}
		})
	}
}
