package alloc_test

import (
	"math/rand/v2"
	"sync"
)

// A storm is a script whose steps several goroutines take at once, each with buffers of its own, on the same
// streams of one pool. Which of them is quicker is left to chance.
func (m *script) storm(goroutines int, seed uint64) error {
	var wg sync.WaitGroup
	for g := range goroutines {
		c := m.child(goroutines)
		r := rand.New(rand.NewPCG(seed, uint64(g)))
		for range 200 {
			c.bytes = append(c.bytes, byte(r.Uint32N(254))) // what is above is for one goroutine
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for len(c.bytes) > 0 && m.wrong.get() == nil {
				c.step()
			}
			for len(c.buffers) > 0 && m.wrong.get() == nil {
				c.free()
			}
			for _, h := range c.pinned {
				h.Free()
			}
		}()
	}
	wg.Wait()
	m.bytes = nil
	return m.run()
}

// child returns a script that does what one goroutine of several may do.
func (m *script) child(of int) *script {
	c := *m
	c.bytes, c.steps, c.share = nil, nil, int64(of)
	for _, s := range scriptSteps {
		if !s.alone {
			for range s.often {
				c.steps = append(c.steps, s.do)
			}
		}
	}
	return &c
}
