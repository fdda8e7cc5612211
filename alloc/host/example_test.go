package host_test

import (
	"fmt"
	"log"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A Go function is this device's kernel: it runs on the stream, behind the caller.
func ExampleArgs() {
	dev, err := host.Open(host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := pool.DefaultStream()
	b, err := alloc.Make[float64](s, 4)
	if err != nil {
		log.Fatal(err)
	}
	err = host.Launch(s, func(a host.Args) {
		for i := range host.Slice[float64](a, 0) {
			host.Slice[float64](a, 0)[i] = float64(i) * host.Value[float64](a, 1)
		}
	}, b.Arg(), alloc.Scalar(0.5))
	if err != nil {
		log.Fatal(err)
	}
	out := make([]float64, 4)
	err = b.CopyTo(s, out)
	b.Free()
	fmt.Println(out, err)
	// Output: [0 0.5 1 1.5] <nil>
}

// A device says how much of its memory is used.
func ExampleDevice() {
	dev, err := host.Open(host.Options{Capacity: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	free, total, err := dev.MemInfo()
	fmt.Println(dev.Name(), free == total, total>>20, dev.Used(), err)
	// Output: host true 1024 0 <nil>
}

// With a capacity, running out of memory is real; a device that does not map is of the other kind that there
// is.
func ExampleOptions() {
	dev, err := host.Open(host.Options{Name: "small", Capacity: 64 << 20, NoMapping: true})
	if err != nil {
		log.Fatal(err)
	}
	_, err = dev.Alloc(65 << 20)
	fmt.Println(dev.Name(), err != nil)
	// Output: small true
}
