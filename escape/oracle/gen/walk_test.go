package gen

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListsArePrinted marks each list that Lists names: what a trial puts there must be in
// the text, once. What Lists does not name must be empty, as the interpreter would run it.
func TestListsArePrinted(t *testing.T) {
	printed, hidden := 0, 0
	for i := range 300 {
		p := Generate(i, uint64(i))
		for _, l := range lists(p) {
			for _, s := range *l {
				named := map[any]bool{}
				for _, inner := range Lists(s) {
					named[inner] = true
				}
				v := reflect.ValueOf(s).Elem()
				for j := range v.NumField() {
					if inner, ok := v.Field(j).Addr().Interface().(*[]Stmt); ok && !named[inner] {
						hidden++
						require.Empty(t, *inner, "program %d: %T.%s", i, s, v.Type().Field(j).Name)
					}
				}
			}
		}
		q := Clone(p, i)
		all := lists(q)
		for j, l := range all {
			*l = append([]Stmt{&Probe{ID: 1000000 + j}}, *l...)
		}
		src, err := Print(q, "test")
		require.NoError(t, err)
		for j := range all {
			printed++
			mark, text := fmt.Sprintf("c.Probe(%d)\n", 1000000+j), src.Main+src.Help
			require.Equal(t, 1, strings.Count(text, mark), "program %d, list %d:\n%s", i, j, text)
		}
	}
	require.NotZero(t, printed)
	require.NotZero(t, hidden)
}
