// A generic body is built once, and its types stay the pass's: x is marked with its type parameter.
package p

type Buf[T any] struct{ p *T }

func (b Buf[T]) Free() {}

func make_[T any](n int) Buf[T] { return Buf[T]{} }

func pick[T any, F interface{ Free() }](n int, x F) Buf[T] {
	b := make_[T](n)
	if n > 0 {
		x.Free()
		b = make_[T](2)
	}
	return b
}

func generic(n int) {
	b := pick[int](n, make_[string](n))
	switch {
	case n > 1:
		b.Free()
	}
}
