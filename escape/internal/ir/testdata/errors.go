// The value and the error of a call are one tuple, and the branch on the error has a place on each edge.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func try(n int) (*Buf, error) { return nil, nil }

func errors(n int) error {
	a, err := try(n)
	if err != nil {
		return err
	}
	b, err := try(n + 1)
	if err != nil {
		a.Free()
		return err
	} else if n == 2 {
		b.Free()
	}
	a, b = b, a
	return nil
}
