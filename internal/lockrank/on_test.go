//go:build lockrank

package lockrank

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

type (
	several struct{}
	low     struct{}
	high    struct{}
)

func (several) Rank() int { return Several }
func (low) Rank() int     { return 1 }
func (high) Rank() int    { return 2 }

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

	var all Mutex[several]
	all.Lock()
	a.Lock()
	assert.NotPanics(t, b.Lock, "by who may have several")
	b.Unlock()
	a.Unlock()
	all.Unlock()
}

func TestReaders(t *testing.T) {
	var m RWMutex[low]
	var under Mutex[high]
	m.RLock()
	under.Lock()
	assert.Panics(t, m.RLock, "a reader twice")
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.RLock()
		m.RUnlock()
	}()
	<-done
	m.RUnlock()
	assert.Panics(t, m.Lock, "the wrong way round")
	under.Unlock()

	m.Lock()
	assert.Panics(t, m.RLock, "the writer reads")
	m.Unlock()
}
