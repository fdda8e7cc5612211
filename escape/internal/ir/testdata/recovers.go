// A panic leads to the deferred call and to the recover block, which has no place; results are cells.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func use(b *Buf) {}

func recovers(n int) (b *Buf, err error) {
	defer func() {
		if r := recover(); r != nil {
			b.Free()
			b = nil
		}
	}()
	b = make_(n)
	if n == 0 {
		panic("none")
	}
	use(b)
	return b, nil
}
