package books

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// names returns the functions of return addresses.
func names(pcs []uintptr) []string {
	var all []string
	for it := runtime.CallersFrames(pcs); len(pcs) > 0; {
		f, more := it.Next()
		all = append(all, f.Function)
		if !more {
			break
		}
	}
	return all
}

// take returns the key of its caller's stack, and the stack's calls from its caller on. It may
// be inlined into nothing, since the key begins where take returns to.
//
//go:noinline
func take() (key []uintptr, calls []string) {
	var k [maxDepth]uintptr
	key = slices.Clone(Walk(k[:]))
	var pcs [20 * maxDepth]uintptr
	return key, names(pcs[:runtime.Callers(2, pcs[:])])
}

// inlined is so small that the compiler puts it into its callers.
func inlined(f func()) { f() }

// TestWalk compares the quick walk with runtime.Callers: it must name the same calls in the same
// order, but may leave out those that were inlined.
func TestWalk(t *testing.T) {
	check := func() {
		key, all := take()
		quick := names(key)
		if quick[0] != all[0] { // Walk was not inlined into take
			quick = quick[1:]
		}
		require.Equal(t, all[0], quick[0])
		require.GreaterOrEqual(t, len(quick), min(maxDepth-1, len(all)/2))
		rest := all
		for _, name := range quick {
			if strings.Contains(name, "wrap") {
				continue // the compiler's, which runtime.Callers leaves out
			}
			i := slices.Index(rest, name)
			require.GreaterOrEqual(t, i, 0, "%s is not in %v", name, rest)
			rest = rest[i+1:]
		}
	}
	for _, depth := range []int{0, 1, 10, maxDepth - 1, maxDepth, 10 * maxDepth} {
		deep(depth, check)
		inlined(func() { deep(depth, check) })
	}
	done := make(chan struct{})
	go func() { // the stack's very end
		defer close(done)
		check()
	}()
	<-done
	defer func() {
		require.NotNil(t, recover())
		deep(3, check)
	}()
	defer check() // while a panic is under way
	var p *int
	*p = 1 // and a signal's frame is on the stack
}

// TestWalkTellsCallsApart has two calls of one function on different lines.
func TestWalkTellsCallsApart(t *testing.T) {
	var keys [2][]uintptr
	for i := range keys {
		keys[i], _ = take()
	}
	require.Equal(t, keys[0], keys[1])
	other, _ := take()
	require.NotEqual(t, keys[0], other)
}

// TestWalkWhileStacksMove takes stacks on goroutines whose stacks grow and shrink and
// that are stopped all the time.
func TestWalkWhileStacksMove(t *testing.T) {
	b := New(Options{Rate: 1})
	a := b.NewAccount("host")
	stop := make(chan struct{})
	var gc, wg sync.WaitGroup
	gc.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC() // shrinks stacks
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			s := shardOf(a)
			for i := range 300 {
				done := make(chan struct{})
				go func() {
					defer close(done)
					deep(i%100, func() { s.Unsite(sampled(s, 1), 1, false) })
				}()
				<-done
			}
		})
	}
	wg.Wait()
	close(stop)
	gc.Wait()
	require.LessOrEqual(t, len(b.Sites()), 100)
	for _, s := range b.Sites() {
		require.Zero(t, s.LiveObjects)
		require.True(t, strings.Contains(Frames(s.PCs)[1].Function, "TestWalkWhileStacksMove"), "%v",
			Frames(s.PCs))
	}
}
