//go:build !cgo || !linux

package main

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
)

const language = "a Go function"

// A library is cuBLAS, which cannot be opened without cgo.
type library struct{}

func openLibrary(string) (*library, error) { return nil, errors.New("cuBLAS: built without cgo") }

func (*library) close() {}

func (*library) multiply(*alloc.Stream, alloc.Buffer[float32], alloc.Buffer[float32], alloc.Buffer[float32], int) error {
	return errors.New("cuBLAS: built without cgo")
}

// product is c = a*b in this machine's memory.
func product(c, a, b []float32, n int) {
	clear(c)
	for i := range n {
		row := c[i*n : (i+1)*n]
		for k := range n {
			x := a[i*n+k]
			for j, y := range b[k*n : (k+1)*n] {
				row[j] += x * y
			}
		}
	}
}
