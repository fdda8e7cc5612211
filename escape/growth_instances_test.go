package escape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// instances generates a generic function of some 600 statements and 64 calls of it, with so many types.
func instances(n int) string {
	var w strings.Builder
	w.WriteString(bufType + "func core[T any](x T, c bool) {\n")
	for i := range 100 {
		fmt.Fprintf(&w, "\tb%d := Must(%[1]d)\n\tif c {\n\t\tb%[1]d.Put(b%[1]d)\n\t}\n\tprintln(%[1]d)\n\tprintln(x)\n", i)
	}
	w.WriteString("}\n\n")
	for i := range 64 {
		fmt.Fprintf(&w, "type t%d int\n\nfunc f%[1]d(b *Buf) {\n\tcore(t%d(1), true)\n\tb.Put(b)\n}\n\n", i, i%n)
	}
	return strings.Replace(w.String(), "println(x)", "_ = x", -1)
}

// TestInstances: the same calls of a generic function with one type and with 64 types cost the same.
func TestInstances(t *testing.T) {
	_, one := measure(t, instances(1))
	_, many := measure(t, instances(64))
	t.Logf("%d allocations with one type, %d with 64", one, many)
	require.InEpsilon(t, one, many, 0.02)
}
