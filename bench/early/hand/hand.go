// Package hand holds the programs of package plain with each buffer freed as early as its author
// knows how, by hand.
package hand

import "github.com/lastuse/lastuse/bench/early/work"

// Loop is that of package plain.
func Loop(d *work.Dev, batch int) {
	for i := range 64 {
		w := d.Make(batch << 16)
		d.Fill(w, float32(i))
		d.Scale(w, 2)
		w.Free()
	}
}

// Blur is that of package plain.
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
		rows.Free() // three planes are the most there ever are
		sharp := d.Make(n)
		d.Subtract(sharp, source, soft)
		source.Free()
		soft.Free()
		small := d.Make(n / 4)
		d.Quarter(small, sharp)
		sharp.Free()
		if frame%2 == 0 {
			smaller := d.Make(n / 16)
			d.Quarter(smaller, small)
			small.Free()
			d.Read(out[:], smaller)
			smaller.Free()
		} else {
			d.Scale(small, 0.5)
			d.Read(out[:], small)
			small.Free()
		}
	}
}

// Train is that of package plain.
func Train(d *work.Dev, batch int) {
	const in, hidden, out = 64, 128, 16
	w1, w2 := d.Make(in*hidden), d.Make(hidden*out)
	d.Fill(w1, 0.01)
	d.Fill(w2, 0.02)
	for step := range 12 {
		// Forward. The backward pass needs all activations but the last.
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
		y.Free()
		target.Free()

		// Backward: each layer's activations go with its gradient.
		g2 := d.Make(hidden * out)
		d.MatMulLeft(g2, a, dy, batch, hidden, out)
		a.Free()
		da := d.Make(batch * hidden)
		d.MatMulRight(da, dy, w2, batch, out, hidden)
		dy.Free()
		d.Descend(w2, g2)
		g2.Free()
		dh := d.Make(batch * hidden)
		d.RectifyBack(dh, da, h)
		da.Free()
		h.Free()
		g1 := d.Make(in * hidden)
		d.MatMulLeft(g1, x, dh, batch, in, hidden)
		x.Free()
		dh.Free()
		d.Descend(w1, g1)
		g1.Free()
	}
	w1.Free()
	w2.Free()
}

// Serve is that of package plain.
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
				cache.Free()
				cache = grown
			}
			query := d.Make(width)
			d.Fill(query, float32(token))
			shares := d.Make(length)
			d.Attend(shares, query, cache)
			query.Free()
			answer := d.Make(width)
			d.Mix(answer, shares, cache)
			shares.Free()
			d.Read(out[:], answer)
			answer.Free()
			length++
		}
		cache.Free()
	}
}
