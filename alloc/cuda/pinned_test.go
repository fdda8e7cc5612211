//go:build cgo && linux

package cuda

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A range goes when the copies that use it directly are over, and serves none from then on.
func TestPinnedRanges(t *testing.T) {
	var r ranges
	r.add(4096, 8192)
	assert.Nil(t, r.use(0, 4096))
	assert.Nil(t, r.use(8192, 8192), "part of it lies beyond")
	a, b := r.use(4096, 8192), r.use(8192, 4096)
	assert.NotNil(t, a)
	assert.NotNil(t, b)
	var over atomic.Int32
	gone := make(chan int32)
	go func() {
		r.drop(4096)
		gone <- over.Load()
	}()
	for r.use(4096, 1) != nil {
		a.copies.Done()
	}
	over.Add(1)
	a.copies.Done()
	over.Add(1)
	b.copies.Done()
	assert.EqualValues(t, 2, <-gone)
	r.drop(4096)
}
