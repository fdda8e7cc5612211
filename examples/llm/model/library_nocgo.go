//go:build !cgo || !linux

package model

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

func (*library) version() string { return "" }

func (*library) multiply(_ *alloc.Stream, _, _, _ alloc.View[Half], _ alloc.View[byte], _ int, _ bool) error {
	return errNoCgo
}

func (*library) multiplyLogits(_ *alloc.Stream, _ alloc.View[float32], _, _ alloc.View[Half], _ alloc.View[byte],
	_ int) error {
	return errNoCgo
}
