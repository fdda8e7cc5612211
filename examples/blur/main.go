// Blur runs an image through a pipeline of several steps on a device: three box blurs both ways, which make a
// soft picture, mixed with the sharp one into a glow. It writes the picture as before.png and after.png. On a
// GPU the kernels are PTX, else Go functions; the pictures are the same.
//
//	go run ./examples/blur [-size pixels] [-radius pixels] [-host] [-o folder]
//
// The Free calls in pipeline.go are where lastuse -fix puts them: each temporary goes back right behind the
// last step that reads it, so that the picture takes four planes of device memory however many steps there
// are.
package main

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

type options struct {
	size, radius int // pixels
	onHost       bool
	folder       string
}

func main() {
	var o options
	flag.IntVar(&o.size, "size", 512, "width and height of the picture in pixels")
	flag.IntVar(&o.radius, "radius", 6, "how far one blur reaches, in pixels")
	flag.BoolVar(&o.onHost, "host", false, "do not use a GPU")
	flag.StringVar(&o.folder, "o", ".", "where the pictures go")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "blur:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o options) error {
	if o.size < 1 || o.size > 1<<14 || o.radius < 0 {
		return fmt.Errorf("size %d, radius %d: want 1 to %d, and at least 0", o.size, o.radius, 1<<14)
	}
	if !o.onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			return process(w, gpu, loadPTX, o)
		}
		fmt.Fprintln(w, "no GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return process(w, dev, goFunctions, o)
}

func process(w io.Writer, dev alloc.Device, load func(*alloc.Pool) (kernels, error), o options) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := pool.Close(); err == nil {
			err = cerr
		}
	}()
	s, err := pool.NewStream()
	if err != nil {
		return err
	}
	k, err := load(pool)
	if err != nil {
		return err
	}
	before := draw(o.size)
	after := image.NewRGBA(before.Bounds())
	plane := make([]float32, o.size*o.size)
	for c := range 3 {
		for i := range plane {
			plane[i] = float32(before.Pix[4*i+c])
		}
		if err := glow(s, k, plane, o.size, o.radius); err != nil {
			return err
		}
		for i, v := range plane {
			after.Pix[4*i+c] = uint8(max(0, min(255, math.Round(float64(v)))))
			after.Pix[4*i+3] = 255
		}
	}
	for name, img := range map[string]image.Image{"before.png": before, "after.png": after} {
		if err := write(filepath.Join(o.folder, name), img); err != nil {
			return err
		}
	}
	st := pool.Stats()
	fmt.Fprintf(w, "%d steps on 3 planes of %s: at most %s of device memory live, %s live now\n", steps,
		humanize.IBytes(uint64(4*len(plane))), humanize.IBytes(uint64(st.PeakLive)), humanize.IBytes(uint64(st.Live)))
	return nil
}

// draw makes a picture with sharp edges: discs of all colours over a chequered ground.
func draw(size int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			c := color.RGBA{24, 26, 38, 255}
			if (16*x/size+16*y/size)%2 == 0 {
				c = color.RGBA{38, 42, 58, 255}
			}
			for i := range 7 {
				angle := 2 * math.Pi * float64(i) / 7
				cx, cy := float64(size)*(0.5+0.3*math.Cos(angle)), float64(size)*(0.5+0.3*math.Sin(angle))
				if math.Hypot(float64(x)-cx, float64(y)-cy) < 0.09*float64(size) {
					hue := func(shift float64) uint8 { return uint8(128 + 127*math.Cos(angle+shift)) }
					c = color.RGBA{hue(0), hue(2.1), hue(4.2), 255}
				}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func write(path string, img image.Image) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := png.Encode(f, img); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
