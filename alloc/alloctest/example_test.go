package alloctest_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// open returns this machine's memory as a device.
func open() *host.Device {
	dev, err := host.Open(host.Options{})
	check(err)
	return dev
}

// check ends an example that went wrong.
func check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
}

// A program meets on cue what a GPU does once in a month.
func ExampleFaulty() {
	dev := alloctest.NewFaulty(open())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	dev.Only("Alloc", "Map")
	dev.FailNth(1)
	_, err = alloc.Make[float32](pool.DefaultStream(), 1000)
	fmt.Println(errors.Is(err, alloctest.ErrInjected))
	dev.Heal()
	b, err := alloc.Make[float32](pool.DefaultStream(), 1000)
	fmt.Println(b.Len(), err)
	b.Free()
	fmt.Println(pool.Close())
	// Output:
	// true
	// 1000 <nil>
	// <nil>
}

// A pool that hands memory over in order gives an Order nothing to find.
func ExampleOrder() {
	dev := alloctest.NewOrder(open(), func(f *alloctest.Finding) { fmt.Println(f) })
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	s, err := pool.NewStream()
	check(err)
	t, err := pool.NewStream()
	check(err)
	b, err := alloc.Make[int32](s, 1<<18)
	check(err)
	check(b.Fill(s, 1))
	t.Wait(s)
	check(b.Fill(t, 2))
	b.Free() // t may still write it
	c, err := alloc.Make[int32](s, 1<<18)
	check(err)
	check(c.Fill(s, 3))
	c.Free()
	check(pool.Close())
	fmt.Println(dev.Err())
	// Output: <nil>
}

// What an Order finds says what was done too early, and what should have come first.
func ExampleFinding() {
	dev := alloctest.NewOrder(open(), func(*alloctest.Finding) {})
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	s, err := pool.NewStream()
	check(err)
	t, err := pool.NewStream()
	check(err)

	b, err := alloc.Make[int32](s, 1<<18)
	check(err)
	check(b.Fill(s, 1))
	b.Free()
	c, err := alloc.Make[int32](s, 1<<18) // the same memory
	check(err)
	check(c.Fill(t, 2)) // without t.Wait(s): b's fill may come after it
	c.Free()
	found, _ := dev.Findings()
	for _, f := range found {
		fmt.Printf("%s after %s: %d bytes, the program's fault: %v\n", f.Now, f.Then, f.Size, f.Program)
	}
	// Output: work on stream 0x3 after work on stream 0x2: 1048576 bytes, the program's fault: true
}

// Work on a Late runs no sooner than somebody must see it.
func ExampleLate() {
	late := alloctest.NewLate(open(), 1)
	pool, err := alloc.NewPool(late, alloc.Options{})
	check(err)
	s := pool.DefaultStream()
	b, err := alloc.Make[int32](s, 2)
	check(err)
	check(late.Launch(s, func([]alloc.Param) { fmt.Println("runs") }, b.Arg()))
	b.Free()
	fmt.Println("freed")
	check(s.Sync())
	fmt.Println(late.Faults(), pool.Close())
	// Output:
	// freed
	// runs
	// <nil> <nil>
}

// A device that can hold a stream back shows whoever tests it what has to wait.
func ExampleHolder() {
	dev := open()
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	s, err := pool.NewStream()
	check(err)
	release, err := alloctest.Holder(dev).Hold(s.Handle())
	check(err)
	e := s.Record()
	fmt.Println(e.Query())
	release()
	check(e.Sync())
	fmt.Println(e.Query())
	// Output:
	// false
	// true
}
