package escape

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cputime"
)

const bufType = `package p

type Buf struct{ p uintptr }

//lastuse:effect result 0 owned
func Make(n int) (*Buf, error)

//lastuse:effect result 0 owned
func Must(n int) *Buf

//lastuse:effect recv freed
func (b *Buf) Free()

//lastuse:effect recv borrowed, arg 0 borrowed
func (b *Buf) Put(c *Buf)

`

// long generates a function of about n statements with few buffers alive at once.
func long(n int) string {
	var w strings.Builder
	w.WriteString(bufType + "func long(c bool) error {\n")
	for i := 0; i < n; i += 8 {
		fmt.Fprintf(&w, "\tb%d, err := Make(%d)\n\tif err != nil {\n\t\treturn err\n\t}\n\tif c {\n\t\tb%[1]d.Put(b%[1]d)\n\t}\n\tprintln(%[1]d)\n", i, i)
	}
	w.WriteString("\treturn nil\n}\n")
	return w.String()
}

// measure decides the one function of src and returns how much processor time that took and
// how many objects it allocated, without parsing, type-checking and lowering.
func measure(t *testing.T, src string) (time.Duration, uint64) {
	p, fns := checked(t, "p.go", src)
	best, allocs := time.Duration(math.MaxInt64), uint64(math.MaxUint64)
	for range 3 {
		for _, f := range fns {
			p.build(f)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cputime.Process()
		for _, f := range fns {
			f.flow = analyze(f)
			p.infer(f, f.flow)
		}
		res := &Result{}
		p.reports(fns, res, func(string) ([]byte, error) { return []byte(src), nil })
		best = min(best, cputime.Process()-start)
		runtime.ReadMemStats(&after)
		allocs = min(allocs, after.Mallocs-before.Mallocs)
		require.NotEmpty(t, res.Funcs)
	}
	return best, allocs
}

// TestLinear fits work over code size: the exponent stays close to one while the
// number of buffers alive at once is bounded. Allocations stand for work, as
// they do not depend on what else the machine does; processor time only shows gross errors.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("fits running times")
	}
	small, large := 2000, 16000
	ta, na := measure(t, long(small))
	tb, nb := measure(t, long(large))
	scale := math.Log(float64(large) / float64(small))
	time, work := math.Log(float64(tb)/float64(ta))/scale, math.Log(float64(nb)/float64(na))/scale
	t.Logf("%d statements %v, %d allocations; %d statements %v, %d: exponents %.2f, %.2f", small, ta, na, large, tb, nb, time, work)
	require.Less(t, work, 1.1)
	require.Less(t, time, 1.9, "something is quadratic")
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

// TestLinearFunctions fits work over the number of functions in one file.
func TestLinearFunctions(t *testing.T) {
	const small, large = 50, 400
	_, few := measure(t, many(small))
	_, more := measure(t, many(large))
	exponent := math.Log(float64(more)/float64(few)) / math.Log(float64(large)/float64(small))
	t.Logf("%d functions: %d allocations; %d: %d: exponent %.2f", small, few, large, more, exponent)
	require.Less(t, exponent, 1.1)
}

// TestPingPong decides a loop that rotates 300 buffers through 300 variables.
func TestPingPong(t *testing.T) {
	const n = 300
	var names, rotated []string
	var w strings.Builder
	w.WriteString(bufType + "func rotate(k int) {\n")
	for i := range n {
		fmt.Fprintf(&w, "\tb%d := Must(%[1]d)\n", i)
		names = append(names, fmt.Sprintf("b%d", i))
		rotated = append(rotated, fmt.Sprintf("b%d", (i+1)%n))
	}
	fmt.Fprintf(&w, "\tfor range k {\n\t\t%s = %s\n\t}\n\tb0.Put(b1)\n}\n", strings.Join(names, ", "), strings.Join(rotated, ", "))
	p, fns := checked(t, "p.go", w.String())
	start := cputime.Process()
	res := &Result{}
	p.reports(fns, res, func(string) ([]byte, error) { return []byte(w.String()), nil })
	d := cputime.Process() - start
	require.Empty(t, res.Bugs)
	require.Len(t, res.Funcs, 1)
	require.Len(t, res.Funcs[0].Buffers, n)
	for _, b := range res.Funcs[0].Buffers {
		require.Equal(t, Inserted, b.Verdict, b.Reason)
	}
	t.Logf("%v", d)
	require.Less(t, d, 5*time.Second, "it takes a tenth of a second on a machine of its own")
}
