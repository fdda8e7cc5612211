package escape

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDischargeReason: where a loop hands each element on in two ways, the first in the
// source is the reason, in every run.
func TestDischargeReason(t *testing.T) {
	src := bufType + "var one, two *Buf\n\nfunc hand(bs []*Buf) {\n\tfor _, b := range bs {\n\t\tone = b\n\t\ttwo = b\n\t}\n}\n"
	for range 20 {
		p, fns := checked(t, "p.go", src)
		require.Len(t, fns, 1)
		require.Contains(t, p.summaryOf(fns[0].obj).Args[0].Via, "each element: stored in package variable one")
	}
}
