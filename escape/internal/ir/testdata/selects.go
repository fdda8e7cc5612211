// A select gets no default: it would no longer wait. Each clause begins with a place.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func selects(in, out chan *Buf, done chan bool) {
	keep := make_(1)
	for {
		select {
		case b := <-in:
			b.Free()
		case out <- keep:
			keep = make_(2)
		case <-done:
			return
		}
	}
}
