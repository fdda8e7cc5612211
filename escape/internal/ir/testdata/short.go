// Nothing can stand between the operands of && and ||: a branch that two edges share is forced.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func (b *Buf) ok() bool { return false }

func make_(n int) *Buf { return nil }

func short(n int) int {
	b := make_(n)
	if n > 0 && b.ok() {
		n++
	}
	if n > 5 || n < 2 {
		return n
	}
	both := n == 3 && make_(n).ok()
	if both {
		b.Free()
	}
	return 0
}
