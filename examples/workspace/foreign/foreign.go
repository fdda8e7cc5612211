// Package foreign hides the allocation behind a helper in another package, as
// real programs do.
package foreign

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
)

// ForeignAlloc returns a buffer of n elements on s. The caller owns it; nothing
// but its body says so.
//
//go:noinline
func ForeignAlloc[T any](s *alloc.Stream, n int) (alloc.Buffer[T], error) {
	b, err := alloc.Make[T](s, n)
	if err != nil {
		return alloc.Buffer[T]{}, fmt.Errorf("workspace of %d elements: %w", n, err)
	}
	return b, nil
}
