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
// `oracle -proof -rules -n 600 -seed 48` finds such trials anew when the generator has changed.
var caughtBy = []caught{
	{proof.Same, 48, 17, 0, "a plan, and something else changed"},
	{proof.Silent, 48, 401, 0, "a free that can be seen"},
	{proof.Fresh, 48, 17, 3, "a free put anywhere"},
	{proof.Confined, 48, 2, 4, "a plan, after the buffer was handed on"},
	{proof.Dead, 48, 13, 2, "a plan, before a deferred read"},
	{proof.Once, 48, 63, 0, "a free deleted"},
	{proof.Readable, 48, 35, 0, "a plan, before a dead mention"},
	{proof.Panics, 48, 9, 1, "a plan, where a panic leads to a deferred read"},
	{proof.Deferred, 501, 33, 4, "a plan, before a deferred read"},
	{proof.Joins, 48, 7, 1, "a free put anywhere"},
	{proof.Callbacks, 48, 2, 4, "a plan, after the buffer was handed on"},
	{proof.Bodies, 48, 66, 2, "a plan, after the buffer was handed on"},
}

// uncaught are the rules for which no trial is known yet that they alone withhold.
var uncaught = []proof.Rule{
	proof.Limits, // the generator makes no literal that calls itself; TestRules of the proof has one
}

// TestRulesMatter switches off each rule of the proof: the judge must find out.
func TestRulesMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: loads what programs import")
	}
	p, err := newProver(context.Background(), t.TempDir()+"/prover", false)
	require.NoError(t, err)
	for _, rule := range proof.Rules {
		if slices.Contains(uncaught, rule) {
			continue
		}
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
