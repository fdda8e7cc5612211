package alloc_test

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
)

// The middle of an image of four rows is copied into one of its own.
func ExampleCopy2D() {
	pool, s := open(alloc.Options{})
	image, err := alloc.Make[int32](s, 4*4)
	check(err)
	middle, err := alloc.Make[int32](s, 2*2)
	check(err)
	check(image.CopyFrom(s, []int32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}))
	check(alloc.Copy2D(s, middle, 2, image.View(4+1, 16), 4, 2, 2))
	image.Free()
	got := make([]int32, 4)
	check(middle.CopyTo(s, got))
	middle.Free()
	fmt.Println(got)
	check(pool.Close())
	// Output: [11 12 21 22]
}

// Memory of the program's own is read by the device itself.
func ExampleRegister() {
	pool, s := open(alloc.Options{})
	weights := alloc.Pages[float32](1000)
	weights[999] = 42
	h, err := alloc.Register(pool, weights)
	check(err)
	b, err := alloc.Make[float32](s, len(weights))
	check(err)
	check(alloc.Upload(s, b, h)) // returns at once
	h.Free()                     // weights stay as they are until the copy has run
	got := make([]float32, len(weights))
	check(b.CopyTo(s, got))
	b.Free()
	fmt.Println(got[999])
	check(pool.Close())
	// Output: 42
}
