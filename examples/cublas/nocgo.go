//go:build !cgo || !linux

package main

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

func (*library) multiply(*alloc.Stream, alloc.Buffer[float32], alloc.Buffer[float32], alloc.Buffer[float32],
	int) error {
	return errNoCgo
}
