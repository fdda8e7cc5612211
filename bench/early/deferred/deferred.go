// Package deferred holds the programs of package plain with a deferred Free behind each Make, and each
// loop's body in a function of its own, so that what is deferred runs in each iteration.
package deferred

import "github.com/lastuse/lastuse/bench/early/work"

// Loop is that of package plain.
func Loop(d *work.Dev, batch int) {
	for i := range 64 {
		func() {
			w := d.Make(batch << 16)
			defer w.Free()
			d.Fill(w, float32(i))
			d.Scale(w, 2)
		}()
	}
}

// Blur is that of package plain.
func Blur(d *work.Dev, batch int) {
	const width = 256
	n := batch * width * width
	var out [16]float32
	for frame := range 24 {
		func() {
			source := d.Make(n)
			defer source.Free()
			d.Fill(source, float32(frame))
			rows := d.Make(n)
			defer rows.Free()
			d.BlurRows(rows, source, width)
			soft := d.Make(n)
			defer soft.Free()
			d.BlurColumns(soft, rows, width)
			sharp := d.Make(n)
			defer sharp.Free()
			d.Subtract(sharp, source, soft)
			small := d.Make(n / 4)
			defer small.Free()
			d.Quarter(small, sharp)
			if frame%2 == 0 {
				smaller := d.Make(n / 16)
				defer smaller.Free()
				d.Quarter(smaller, small)
				d.Read(out[:], smaller)
			} else {
				d.Scale(small, 0.5)
				d.Read(out[:], small)
			}
		}()
	}
}

// Train is that of package plain.
func Train(d *work.Dev, batch int) {
	const in, hidden, out = 64, 128, 16
	w1, w2 := d.Make(in*hidden), d.Make(hidden*out)
	defer w1.Free()
	defer w2.Free()
	d.Fill(w1, 0.01)
	d.Fill(w2, 0.02)
	for step := range 12 {
		func() {
			x := d.Make(batch * in)
			defer x.Free()
			d.Fill(x, float32(step))
			h := d.Make(batch * hidden)
			defer h.Free()
			d.MatMul(h, x, w1, batch, in, hidden)
			a := d.Make(batch * hidden)
			defer a.Free()
			d.Rectify(a, h)
			y := d.Make(batch * out)
			defer y.Free()
			d.MatMul(y, a, w2, batch, hidden, out)
			target := d.Make(batch * out)
			defer target.Free()
			d.Fill(target, 1)
			dy := d.Make(batch * out)
			defer dy.Free()
			d.Subtract(dy, y, target)

			g2 := d.Make(hidden * out)
			defer g2.Free()
			d.MatMulLeft(g2, a, dy, batch, hidden, out)
			da := d.Make(batch * hidden)
			defer da.Free()
			d.MatMulRight(da, dy, w2, batch, out, hidden)
			d.Descend(w2, g2)
			dh := d.Make(batch * hidden)
			defer dh.Free()
			d.RectifyBack(dh, da, h)
			g1 := d.Make(in * hidden)
			defer g1.Free()
			d.MatMulLeft(g1, x, dh, batch, in, hidden)
			d.Descend(w1, g1)
		}()
	}
}

// Serve is that of package plain. A cache that has been replaced by a larger one stays until the
// request is answered.
func Serve(d *work.Dev, batch int) {
	const width = 64
	var out [width]float32
	for request := range 6 {
		func() {
			length := batch * 256 * (1 + request%3)
			cache := d.Make(2 * length * width)
			defer cache.Free()
			d.Fill(cache, float32(request))
			for token := range 24 {
				if (length+1)*width > cache.Len() || token == 12 {
					grown := d.Make(cache.Len() + cache.Len()/2)
					defer grown.Free()
					d.Fill(grown, 0)
					d.Copy(grown, cache)
					cache = grown
				}
				func() {
					query := d.Make(width)
					defer query.Free()
					d.Fill(query, float32(token))
					shares := d.Make(length)
					defer shares.Free()
					d.Attend(shares, query, cache)
					answer := d.Make(width)
					defer answer.Free()
					d.Mix(answer, shares, cache)
					d.Read(out[:], answer)
				}()
				length++
			}
		}()
	}
}
