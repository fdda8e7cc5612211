//go:build !linux

package books

import (
	"errors"
	"unsafe"
)

// A mapping is the shared memory of a table.
type mapping struct{ base unsafe.Pointer }

// mapTable reports that there are no tables here.
func mapTable(int64) (mapping, error) { return mapping{}, errors.ErrUnsupported }

// release has nothing to give back.
func (mapping) release() {}
