// A deferred literal reads a cell: what it holds is asked of memory when the literal runs, at ssa.RunDefers.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func deferred(n int) {
	a := make_(1)
	b := make_(2)
	defer func() {
		if a != nil {
			a.Free()
		}
	}()
	for i := 0; i < n; i++ {
		a = make_(i)
	}
	b.Free()
}
