// Package host runs queued functions at once.
package host

import "github.com/lastuse/lastuse/alloc"

// Args are the arguments of a queued function.
type Args struct{ list []any }

// Launch runs f.
//
//lastuse:effect arg args borrowed, arg s borrowed
func Launch(s *alloc.Stream, f func(Args), args ...alloc.Arg) error {
	if s.Bad {
		return alloc.ErrFault
	}
	var a Args
	for _, x := range args {
		d, err := x.Data()
		if err != nil {
			return err
		}
		a.list = append(a.list, d)
	}
	queue <- f
	(<-queue)(a)
	return nil
}

// queue holds what is launched: it keeps the function, as a real stream does.
var queue = make(chan func(Args), 1)

// Slice is the memory of argument i.
func Slice[T any](a Args, i int) []T { return a.list[i].([]T) }
