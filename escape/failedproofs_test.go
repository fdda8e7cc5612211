package escape

import (
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// TestFailedProofs demands that functions in which the proof failed are said, in the order of the text.
func TestFailedProofs(t *testing.T) {
	fn := func(pos token.Pos, name string) *types.Func {
		return types.NewFunc(pos, nil, name, types.NewSignatureType(nil, nil, nil, nil, nil, false))
	}
	const why = "the proof of it failed, please report this: "
	require.Equal(t, []Skipped{{"b", 3, why + "index out of range"}, {"a", 9, why + "nil map"}}, failedProofs(map[*types.Func]*proof.Summary{
		fn(9, "a"): {Failed: "nil map"}, fn(3, "b"): {Failed: "index out of range"}, fn(1, "c"): {},
	}))
}
