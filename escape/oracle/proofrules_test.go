package main

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// A caught trial is of a program of a seed.
type caught struct {
	rule      proof.Rule
	seed      uint64
	id, trial int
	how       string
}

// caughtBy names for each rule of the proof a wrong trial that nothing else withholds.
// `oracle -proof -rules -n 1500 -seed 48` finds such trials anew when the generator has changed, and
// with `-n 20 -only "calls itself"` that of Limits.
var caughtBy = []caught{
	{proof.Same, 48, 13, 4, "a plan, and something else changed"},
	{proof.Fresh, 48, 2, 1, "a free put anywhere"},
	{proof.Confined, 48, 66, 2, "a plan, after the buffer was handed on"},
	{proof.Dead, 48, 13, 2, "a plan, before a deferred read"},
	{proof.Once, 48, 100, 5, "a free moved"},
	{proof.Silent, 48, 3, 1, "a free that can be seen"},
	{proof.Readable, 48, 25, 4, "a plan, before a dead mention"},
	{proof.Panics, 48, 9, 1, "a plan, where a panic leads to a deferred read"},
	{proof.Deferred, 48, 9, 1, "a plan, where a panic leads to a deferred read"},
	{proof.Joins, 48, 86, 1, "a free put anywhere"},
	{proof.Callbacks, 48, 92, 2, "a free put anywhere"},
	{proof.Bodies, 48, 134, 2, "a plan, after the buffer was handed on"},
	{proof.Limits, 48, 3087, 1, "a free in a literal that calls itself"},
}

// TestRulesMatter switches off each rule of the proof: the judge must find out.
func TestRulesMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: loads what programs import")
	}
	p, err := newProver(context.Background(), t.TempDir()+"/prover", false)
	require.NoError(t, err)
	for _, rule := range proof.Rules {
		t.Run(string(rule), func(t *testing.T) {
			i := slices.IndexFunc(caughtBy, func(c caught) bool { return c.rule == rule })
			require.GreaterOrEqual(t, i, 0, "a rule without a trial")
			c := caughtBy[i]
			r := &referee{ask: p.ask, seed: c.seed, caught: map[proof.Rule]int{}}
			list, err := r.program(c.id, trialsEach)
			require.NoError(t, err)
			j := slices.IndexFunc(list, func(v *verdict) bool { return v.number == c.trial })
			require.GreaterOrEqual(t, j, 0)
			v := list[j]
			require.Equal(t, c.how, v.How, "the generator has changed")
			require.Equal(t, wrong, v.truth)
			require.False(t, v.answer.accepted())
			a, err := p.ask(v.source[0], v.source[1], rule)
			require.NoError(t, err)
			require.True(t, a.accepted(), "withheld by another rule: %v", a.why)
		})
	}
}
