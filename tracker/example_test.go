package tracker_test

import (
	"fmt"

	"github.com/lastuse/lastuse/tracker"
)

// Memory that a C library made is told to the tracker when it is made and before it is freed.
func Example() {
	books := tracker.New(tracker.Options{})

	const mat = uintptr(0x7f0000001000)      // as C.newMat() returned it
	books.Alloc(mat, 4<<20)                  // after it was made
	fmt.Println(books.Bytes(), "bytes live") // also in Go's own terms: books.Stats()
	fmt.Println(books.Free(mat))             // before C.freeMat(mat)
	fmt.Println(books.Bytes(), "bytes live")

	// Output:
	// 4194304 bytes live
	// <nil>
	// 0 bytes live
}

func ExampleTracker_Stats() {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 3<<20)
	books.Alloc(0x2000, 1<<20)
	_ = books.Free(0x2000)
	fmt.Println(books.Stats())

	// Output:
	// live 3.0 MiB in 1, peak 4.0 MiB, total 4.0 MiB in 2, freed 1, late 0
}
