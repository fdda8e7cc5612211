//go:build cgo

package cmem

/*
#include <stdlib.h>
*/
import "C"

import "unsafe"

func allocate(size int) unsafe.Pointer { return C.malloc(C.size_t(size)) }

func release(p unsafe.Pointer, _ int) { C.free(p) }
