// Command one uses every generic function of package alloc with one element type. A test compares the
// sizes of the binaries.
package main

import (
	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func use[T any](s *alloc.Stream) {
	b, err := alloc.Make[T](s, 10)
	if err != nil {
		panic(err)
	}
	var x T
	all := make([]T, 10)
	b.CopyFrom(s, all)
	b.CopyTo(s, all)
	b.Fill(s, x)
	v := b.View(1, 5)
	alloc.Copy(s, v, b.View(5, 9))
	host.Launch(s, func(host.Args) {}, b.Arg(), v.Arg())
	println(b.Len(), b.Bytes(), b.Ptr(s), v.Ptr(s))
	b.Free()
}

func main() {
	dev, err := host.Open(host.Options{})
	if err != nil {
		panic(err)
	}
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		panic(err)
	}
	s := pool.DefaultStream()
	use[[1]int32](s)
}
