//go:build lockrank

package lockrank

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

type (
	least struct{}
	low   struct{}
	high  struct{}
)

func (least) Rank() int { return Least }
func (low) Rank() int   { return 1 }
func (high) Rank() int  { return 2 }

func TestOrder(t *testing.T) {
	var a, b Mutex[low]
	var c Mutex[high]
	a.Lock()
	c.Lock()
	c.Unlock()
	a.Unlock()

	c.Lock()
	assert.Panics(t, a.Lock, "the wrong way round")
	assert.True(t, a.TryLock(), "waits for nobody")
	a.Unlock()
	c.Unlock()

	a.Lock()
	assert.Panics(t, b.Lock, "two of one rank")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Lock()
		b.Unlock()
		assert.Panics(t, a.Unlock, "another's")
	}()
	<-done
	a.Unlock()

	var all Mutex[least]
	all.Lock()
	a.Lock()
	assert.NotPanics(t, b.Lock, "under the least")
	b.Unlock()
	a.Unlock()
	all.Unlock()
}
