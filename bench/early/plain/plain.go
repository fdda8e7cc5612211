// Package plain holds four programs that never free: what a Go programmer writes who trusts the
// collector. The sibling packages hold the same programs with frees: deferred by a careful author,
// rewritten by lastuse (from these sources, see bench/early/rewrite.go), and by hand by an expert.
package plain

import "github.com/lastuse/lastuse/bench/early/work"

// Loop makes a workspace in each iteration: the program that the idea of lastuse started from.
func Loop(d *work.Dev, batch int) {
	for i := range 64 {
		w := d.Make(batch << 16)
		d.Fill(w, float32(i))
		d.Scale(w, 2)
	}
}

// Blur runs frames of batch planes of 256 by 256 pixels through a pipeline of filters.
func Blur(d *work.Dev, batch int) {
	const width = 256
	n := batch * width * width
	var out [16]float32
	for frame := range 24 {
		source := d.Make(n)
		d.Fill(source, float32(frame))
		rows := d.Make(n)
		d.BlurRows(rows, source, width)
		soft := d.Make(n)
		d.BlurColumns(soft, rows, width)
		sharp := d.Make(n)
		d.Subtract(sharp, source, soft)
		small := d.Make(n / 4)
		d.Quarter(small, sharp)
		if frame%2 == 0 {
			smaller := d.Make(n / 16)
			d.Quarter(smaller, small)
			d.Read(out[:], smaller)
		} else {
			d.Scale(small, 0.5)
			d.Read(out[:], small)
		}
	}
}

// Train runs steps of training of a perceptron with a hidden layer, on batch samples at a time.
func Train(d *work.Dev, batch int) {
	const in, hidden, out = 64, 128, 16
	w1, w2 := d.Make(in*hidden), d.Make(hidden*out)
	d.Fill(w1, 0.01)
	d.Fill(w2, 0.02)
	for step := range 12 {
		x := d.Make(batch * in)
		d.Fill(x, float32(step))
		h := d.Make(batch * hidden)
		d.MatMul(h, x, w1, batch, in, hidden)
		a := d.Make(batch * hidden)
		d.Rectify(a, h)
		y := d.Make(batch * out)
		d.MatMul(y, a, w2, batch, hidden, out)
		target := d.Make(batch * out)
		d.Fill(target, 1)
		dy := d.Make(batch * out)
		d.Subtract(dy, y, target)

		g2 := d.Make(hidden * out)
		d.MatMulLeft(g2, a, dy, batch, hidden, out)
		da := d.Make(batch * hidden)
		d.MatMulRight(da, dy, w2, batch, out, hidden)
		d.Descend(w2, g2)
		dh := d.Make(batch * hidden)
		d.RectifyBack(dh, da, h)
		g1 := d.Make(in * hidden)
		d.MatMulLeft(g1, x, dh, batch, in, hidden)
		d.Descend(w1, g1)
	}
}

// Serve answers requests one after another, each with a cache of keys that grows with the answer,
// as a server of a language model does. Prompts are batch times as long as the first.
func Serve(d *work.Dev, batch int) {
	const width = 64
	var out [width]float32
	for request := range 6 {
		length := batch * 256 * (1 + request%3)
		cache := d.Make(2 * length * width)
		d.Fill(cache, float32(request))
		for token := range 24 {
			if (length+1)*width > cache.Len() || token == 12 {
				grown := d.Make(cache.Len() + cache.Len()/2)
				d.Fill(grown, 0)
				d.Copy(grown, cache)
				cache = grown
			}
			query := d.Make(width)
			d.Fill(query, float32(token))
			shares := d.Make(length)
			d.Attend(shares, query, cache)
			answer := d.Make(width)
			d.Mix(answer, shares, cache)
			d.Read(out[:], answer)
			length++
		}
	}
}
