// Command twenty uses every generic function of package alloc with twenty element types. A test compares the
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
	use[[2]int32](s)
	use[[3]int32](s)
	use[[4]int32](s)
	use[[5]int32](s)
	use[[6]int32](s)
	use[[7]int32](s)
	use[[8]int32](s)
	use[[9]int32](s)
	use[[10]int32](s)
	use[[11]int32](s)
	use[[12]int32](s)
	use[[13]int32](s)
	use[[14]int32](s)
	use[[15]int32](s)
	use[[16]int32](s)
	use[[17]int32](s)
	use[[18]int32](s)
	use[[19]int32](s)
	use[[20]int32](s)
}
