package escape

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecidedLater has plans that depend on what is known later. Where deferred code reads the buffer
// on one path only, its free is deferred on that path, and comes at once on the other. What a call does
// may depend on a condition that is tested later.
func TestDecidedLater(t *testing.T) {
	head := strings.Replace(bufType, "package p\n", "package p\n\nimport \"fmt\"\n", 1)
	for name, tt := range map[string]struct {
		src   string
		frees []string
	}{
		"registered": {strings.Replace(head, "recv freed", "recv freed repeatable", 1) + `
func f(n int) {
	b := Must(n)
	if n > 10 {
		defer func() {
			b.Put(b)
		}()
	} else {
		fmt.Println("small")
	}
	fmt.Println("done")
}
`, []string{"defer b.Free()", "b.Free()"}},
		"tested later": {head + `
func take(b *Buf, del bool) {
	b.Put(b)
	if del {
		b.Free()
	}
	fmt.Println("taken")
}

func f(n int, del bool) {
	b := Must(n)
	take(b, del)
	if !del {
		if n > 3 {
			b.Free()
		}
	}
}
`, []string{"b.Free()"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, fns := checked(t, "p.go", tt.src)
			res := &Result{}
			p.reports(fns, res, func(string) ([]byte, error) { return []byte(tt.src), nil })
			require.Empty(t, res.Bugs)
			require.Len(t, res.Funcs, 1)
			require.Len(t, res.Funcs[0].Buffers, 1)
			b := res.Funcs[0].Buffers[0]
			require.Equal(t, Inserted, b.Verdict, b.Reason)
			var frees []string
			for _, fr := range b.Frees {
				frees = append(frees, fr.Text)
			}
			require.Equal(t, tt.frees, frees)
		})
	}
}
