package escape

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocations returns how many objects are allocated while a text is analyzed, proof and all. They stand for
// work, as they do not depend on what else the machine does.
func allocations(t *testing.T, text string) uint64 {
	least := uint64(math.MaxUint64)
	for range 2 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		require.NotEmpty(t, tried(t, text).proven().Funcs)
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return least
}

// instances generates a generic function of some 600 statements and 64 calls of it, with so many types.
func instances(n int) string {
	var w strings.Builder
	w.WriteString(bufType + "func core[T any](x T, c bool) {\n")
	for i := range 100 {
		fmt.Fprintf(&w, "\tb%d := Must(%[1]d)\n\tif c {\n\t\tb%[1]d.Put(b%[1]d)\n\t}\n\tprintln(%[1]d)\n\t_ = x\n", i)
	}
	w.WriteString("}\n\n")
	for i := range 64 {
		fmt.Fprintf(&w, "type t%d int\n\nfunc f%[1]d(b *Buf) {\n\tcore(t%d(1), true)\n\tb.Put(b)\n}\n\n", i, i%n)
	}
	return w.String()
}

// TestInstances: the same calls of a generic function with one type and with 64 types cost the same.
func TestInstances(t *testing.T) {
	one, many := allocations(t, instances(1)), allocations(t, instances(64))
	t.Logf("%d allocations with one type, %d with 64", one, many)
	require.InEpsilon(t, one, many, 0.03)
}

// many generates n functions of a file, each with a buffer that is to be freed.
func many(n int) string {
	var w strings.Builder
	w.WriteString(bufType)
	for i := range n {
		fmt.Fprintf(&w, "func f%d(c bool) {\n\tb := Must(%[1]d)\n\tif c {\n\t\tb.Put(b)\n\t}\n\tprintln(%[1]d)\n}\n\n", i)
	}
	return w.String()
}

// wide generates a package of n types that own through a field, with methods
// that are not exported: what a field holds on entry is asked for each.
func wide(n int) string {
	var w strings.Builder
	w.WriteString(bufType)
	for i := range n {
		fmt.Fprintf(&w, `
type t%[1]d struct{ b *Buf }

func (t *t%[1]d) grow() { t.b = Must(%[1]d) }

func (t *t%[1]d) Use() {
	t.b = nil
	t.grow()
	t.b.Put(t.b)
}

func (t *t%[1]d) Free() { t.b.Free() }
`, i)
	}
	return w.String()
}

// TestGrowth fits work over the number of functions, and of types, in a package: what no function's own size
// shows. How work grows with that, internal/plan and internal/proof measure.
func TestGrowth(t *testing.T) {
	for name, text := range map[string]func(int) string{"functions": many, "types": wide} {
		const small, large = 50, 400
		few, more := allocations(t, text(small)), allocations(t, text(large))
		exponent := math.Log(float64(more)/float64(few)) / math.Log(float64(large)/float64(small))
		t.Logf("%d %s: %d allocations; %d: %d: exponent %.2f", small, name, few, large, more, exponent)
		require.Less(t, exponent, 1.1, name)
	}
}
