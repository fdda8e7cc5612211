package main

import (
	"fmt"
	"math"
	"strings"
)

// What of the picture is drawn on, in pixels: its size, and the frame that the lines are in.
const (
	pictureWidth, pictureHeight         = 720, 300
	frameLeft, frameTop                 = 70, 46
	frameRight, frameBottom     float64 = 700, 252
)

// picture draws the foreign heap of both runs over the iterations, as SVG.
func picture(before, after *figures) string {
	top := float64(max(before.Peak, after.Peak, 1))
	step := math.Exp2(math.Ceil(math.Log2(top / 5))) // between the lines of the grid
	top = step * math.Ceil(top/step)
	height := func(bytes float64) float64 { return frameBottom - bytes/top*(frameBottom-frameTop) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`,
		pictureWidth, pictureHeight)
	fmt.Fprintf(&b, "\n<title>The foreign heap of a program before and after lastuse -fix</title>\n")
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", pictureWidth, pictureHeight)
	for y := 0.0; y <= top; y += step {
		fmt.Fprintf(&b, "<path d=\"M%d %.1fH%g\" stroke=\"#ddd\"/>\n", frameLeft, height(y), frameRight)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", frameLeft-8, height(y)+4,
			size(int64(y)))
	}
	for _, run := range []struct {
		f           *figures
		name, color string
		x           int
	}{{before, "as it is", "#0072b2", frameLeft}, {after, "rewritten by lastuse", "#d55e00", 380}} {
		fmt.Fprintf(&b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", run.color)
		for i, bytes := range run.f.Samples {
			x := frameLeft + float64(i)/float64(max(1, len(run.f.Samples)-1))*(frameRight-frameLeft)
			fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], x, height(float64(bytes)))
		}
		fmt.Fprintf(&b, "\"/>\n<text x=\"%d\" y=\"26\" fill=\"%s\" font-weight=\"bold\">%s: %s at its peak</text>\n",
			run.x, run.color, run.name, size(run.f.Peak))
	}
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%d iterations</text>\n", frameRight, frameBottom+22,
		len(before.Samples))
	b.WriteString("</svg>\n")
	return b.String()
}
