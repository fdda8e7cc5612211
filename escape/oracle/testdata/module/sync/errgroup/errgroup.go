// Package errgroup stands in for the one that programs import, which is no part of
// the standard library.
package errgroup

import "sync"

// Group is goroutines that Wait joins.
type Group struct {
	wg   sync.WaitGroup
	once sync.Once
	err  error
}

// Go runs f on a goroutine.
func (g *Group) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	})
}

// Wait waits for all of them and returns the first error.
func (g *Group) Wait() error {
	g.wg.Wait()
	return g.err
}
