// Package buf is a library whose bodies cannot be seen: a spec speaks for it.
package buf

type Buf struct{ p uintptr }

func New(n int) *Buf
func (b *Buf) Free()
func (b *Buf) Fill(x byte)
