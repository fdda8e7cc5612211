// Names swapped in a loop are phis of each other, and the end of the loop has no place: it is due behind it.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func step(dst, src *Buf) {}

func swap(n int) *Buf {
	cur, next := make_(n), make_(n)
	for i := 0; i < n; i++ {
		step(next, cur)
		cur, next = next, cur
		if i == 7 {
			break
		}
	}
	next.Free()
	return cur
}
