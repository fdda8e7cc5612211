// A goto joins paths at a label: that is marked with all that is assigned again somewhere.
package p

type Buf struct{ p *int }

func (b *Buf) Free() {}

func make_(n int) *Buf { return nil }

func jumps(n int) {
	a := make_(1)
	i := 0
again:
	a.Free()
	a = make_(2)
	i++
	if i < n {
		goto again
	}
outer:
	for {
		for range n {
			if i == 7 {
				continue outer
			}
			if i == 8 {
				break outer
			}
		}
		goto end
	}
end:
	a.Free()
}

func again(n int) {
	a := make_(1)
retry:
	b := make_(2)
	if n > 1 {
		c := make_(3)
		c = b
		a = c
		goto retry
	}
	a.Free()
}

func falls(n int) {
	a := make_(1)
	switch n {
	case 1:
		a = make_(2)
		fallthrough
	case 2:
		a.Free()
	}
next:
	for b := a; b != nil; b = make_(3) {
		for range n {
			continue next
		}
		return
	}
}
