package proof_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pair shows where a rule ends: the first text is accepted, and the second, which is as near as can be and
// wrong, is withheld with the words. Where the first is empty no rule accepts such a one.
type pair struct{ name, right, wrong, words string }

// TestPairs proves the pairs of the files beside this one.
func TestPairs(t *testing.T) {
	l := newLab()
	for _, tt := range slices.Concat(conditionPairs, namedPairs, endPairs, partPairs, calleePairs, memoryPairs,
		operandPairs, elementPairs, groupPairs, closurePairs, libraryPairs,
		viewerPairs, theirPairs, capturePairs, channelPairs, dataPairs, parameterPairs, rewrittenPairs,
		zeroPairs, keptPairs, clearPairs, valuePairs, nestedPairs, constraintPairs, writePairs, aliasPairs,
		grownPairs, copiedPairs, instancePairs, readPairs, unlessPairs, numberPairs, waitPairs, destroyerPairs, followedPairs,
		handsPairs, handsStructPairs, hoistedPairs, subtestPairs, pointerPairs) {
		t.Run(tt.name, func(t *testing.T) {
			if tt.right != "" {
				r := l.prove(t, tt.right)
				require.NotEmpty(t, r.Edits)
				for _, v := range r.Withheld() {
					t.Errorf("%s: %v", v.Text, v.Why)
				}
			}
			held := l.prove(t, tt.wrong).Withheld()
			require.NotEmpty(t, held, "the wrong one")
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}
