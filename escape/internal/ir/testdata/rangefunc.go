// The body of a range over a function is one, too: it names what it mentions, and leaves by a number.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func all(yield func(*Buf) bool) {}

func rangefunc(limit int) *Buf {
	first := make_(0)
	other := make_(1)
	for b := range all {
		if limit == 0 {
			return first
		}
		if limit == 1 {
			break
		}
		b.Free()
	}
	other.Free()
	return nil
}
