// Package errgroup has the shape of golang.org/x/sync/errgroup, small enough to
// load in no time.
package errgroup

import (
	"context"
	"sync"
)

type Group struct {
	wg   sync.WaitGroup
	once sync.Once
	err  error
}

func WithContext(ctx context.Context) (*Group, context.Context) { return new(Group), ctx }

func (g *Group) Go(f func() error) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	}()
}

func (g *Group) Wait() error {
	g.wg.Wait()
	return g.err
}
