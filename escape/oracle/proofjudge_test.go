package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/internal/tier"
)

// judged returns some hundred trials of which ask was asked, run where it said yes.
func judged(t *testing.T, programs int, ask func(old, edited gen.Source, without ...proof.Rule) (answer, error)) []*verdict {
	t.Helper()
	r := &referee{ask: ask, seed: 77, caught: map[proof.Rule]int{}}
	var res []*verdict
	for id := range programs {
		list, err := r.program(id, trialsEach)
		require.NoError(t, err)
		res = append(res, list...)
	}
	require.NoError(t, confirm(context.Background(), t.TempDir(), res, options{runs: 6, faults: 1}))
	for _, v := range res {
		require.Empty(t, v.fault, "program %d, trial %d", v.id, v.number)
	}
	return res
}

// TestRefereeConvicts demands that a proof which accepts everything is found out, in each
// kind of trial that can be wrong, and that no right plan is called wrong.
func TestRefereeConvicts(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	tier.Skip(t, "compiles 110 programs with their trials")
	all := judged(t, 110, func(old, edited gen.Source, _ ...proof.Rule) (answer, error) { return answer{edits: 1}, nil })
	wrongs, rights := map[string]int{}, 0
	for _, v := range all {
		switch {
		case v.truth == wrong:
			require.False(t, v.Right, "program %d, trial %d: %s", v.id, v.number, v.why)
			wrongs[v.How]++
		case v.truth == right:
			rights++
		}
	}
	require.Greater(t, rights, 40)
	for _, how := range []string{
		"a free deleted", "a free moved", "a free put anywhere", "a plan, after the buffer was handed on", "a plan, and something else changed",
		"a plan, before a dead mention", "a plan, before a deferred read", "a plan, before a use", "a plan, before a use of a copy",
		"a plan, for another variable", "a plan, some statements earlier", "a plan, where a panic leads to a deferred read",
	} {
		require.NotZero(t, wrongs[how], how)
	}
}

// TestProofRun is a small run of the command.
func TestProofRun(t *testing.T) {
	if testing.Short() {
		t.Skip("judges trials")
	}
	var out, log bytes.Buffer
	n := tier.Of(60, 240)
	wrong, err := run(context.Background(), options{
		proof: true, n: n, batch: n / trialsEach / 2, jobs: 2, seed: 42, runs: 6, faults: 1,
	}, &out, &log)
	require.NoError(t, err, log.String())
	require.Zero(t, wrong, "%s%s", out.String(), log.String())
	require.Contains(t, out.String(), fmt.Sprintf("trials: %d; known to be wrong: ", n))
}
