package early

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// TestRewrittenIsByHand holds lastuse to what an expert does: the same peak and the same mean, nothing
// left to the collector.
func TestRewrittenIsByHand(t *testing.T) {
	for _, program := range Programs {
		t.Run(program, func(t *testing.T) {
			results := map[string]Result{}
			for _, form := range Forms {
				r, err := Run(program, form, 1, 64<<20, true)
				require.NoError(t, err)
				results[form] = r
			}
			hand, rewritten := results["hand"], results["lastuse"]
			require.Equal(t, hand.Peak, rewritten.Peak)
			require.InEpsilon(t, hand.Mean, rewritten.Mean, 1e-9)
			require.Zero(t, rewritten.Late)
			require.LessOrEqual(t, rewritten.Peak, results["defer"].Peak)
			require.Greater(t, results["collector"].Peak, rewritten.Peak)
			require.Positive(t, len(rewritten.Samples))
		})
	}
}

func TestLargest(t *testing.T) {
	hand, err := Largest("blur", "hand", 64<<20, 1<<10)
	require.NoError(t, err)
	_, err = Run("blur", "hand", hand, 64<<20, false)
	require.NoError(t, err)
	_, err = Run("blur", "hand", hand+1, 64<<20, false)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	_, err = Run("blur", "nobody", 1, 0, false)
	require.EqualError(t, err, `early: no form "nobody" of program "blur"`)
}
