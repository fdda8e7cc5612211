// Closures that are called in turn share cells: each names those it mentions, and no more.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func closures(n int) {
	var cur *Buf
	other := make_(1)
	open := func() { cur = make_(n) }
	shut := func() {
		if cur != nil {
			cur.Free()
		}
		cur = nil
	}
	open()
	shut()
	open()
	other.Free()
	func() { shut() }()
}
