//go:build !cgo || !linux

package linear

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
)

// A library is cuBLAS, which cannot be opened without cgo.
type library struct{}

var errNoCgo = errors.New("this program was built without cgo, or not for linux: set CGO_ENABLED=1")

func openLibrary(*cuda.Device, []string) (*library, error) { return nil, errNoCgo }

func (*library) close() {}

// The methods say what those of the other build say.

//lastuse:effect args borrowed
func (*library) dot(*alloc.Stream, alloc.Buffer[byte], alloc.Buffer[float32], alloc.Buffer[float32],
	alloc.Buffer[float32]) error {
	return errNoCgo
}

//lastuse:effect args borrowed
func (*library) add(*alloc.Stream, alloc.Buffer[float32], alloc.Buffer[float32], alloc.Buffer[float32]) error {
	return errNoCgo
}

//lastuse:effect args borrowed
func (*library) scale(*alloc.Stream, alloc.Buffer[float32], alloc.Buffer[float32]) error {
	return errNoCgo
}
