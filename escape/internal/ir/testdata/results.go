// A named result is assigned by return and read behind it: the place of the return is its ssa.Return.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func results(n int) (out *Buf, err error) {
	out = make_(n)
	if n == 0 {
		return
	}
	tmp := make_(n + 1)
	if n == 1 {
		return tmp, nil
	}
	return make_(2), err
}
