package alloc

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/lockrank"
)

// What a graph names: the buffers outside of it that its work uses, and page-locked memory. It pins them as
// long as it may be launched. A Free ends the handle, and the graph is not launched any more; the memory is
// pending until the last graph that names it is closed or updated, and then until the launches have run.

const (
	// numBits is how many bits stand for timelines.
	numBits = 63
	// heldBit is the one of block.others that says that a graph names the block.
	heldBit = 1 << numBits
)

// graphs are what a core knows of its graphs.
type graphs struct {
	captured atomic.Int64 // streams that are being captured

	mu      lockrank.Mutex[rankNaming]
	held    map[*block]int // how many graphs name each block
	retired []retired
}

// A retired executable goes back to the device when its launches have run.
type retired struct {
	exec  uintptr
	needs []stamp
}

// names are what one graph names.
type names struct {
	known   map[any]struct{} // both of the following
	buffers []named
	pinned  []namedPinned
	kept    map[any]func() // what else it has, and how to let go of it
}

// A named is a buffer.
type named struct {
	header *header
	gen    uint64
	block  *block
	heap   *heap // the block's, which stays that as long as the graph names it
	ours   bool  // see names.settle
}

// A namedPinned is page-locked memory, which is pinned.
type namedPinned struct {
	heap  *pinnedHeap
	block *pinnedBlock
	gen   uint64
	ours  bool
}

// add adds a buffer, and reports whether it was not known yet.
func (n *names) add(x named) bool {
	fresh := n.learn(x)
	if fresh {
		n.buffers = append(n.buffers, x)
	}
	return fresh
}

// addPinned is add for page-locked memory.
func (n *names) addPinned(x namedPinned) bool {
	fresh := n.learn(x)
	if fresh {
		n.pinned = append(n.pinned, x)
	}
	return fresh
}

func (n *names) learn(x any) bool {
	if _, known := n.known[x]; known {
		return false
	}
	if n.known == nil {
		n.known = make(map[any]struct{})
	}
	n.known[x] = struct{}{}
	return true
}

// settle ends the capture. What its function has freed itself after it had used it is the graph's alone: its
// memory is kept as long, and its Free keeps no launch from using it.
func (n *names) settle() {
	for i := range n.buffers {
		x := &n.buffers[i]
		x.ours = x.header.word.Load()>>pinBits != x.gen
	}
	for i := range n.pinned {
		x := &n.pinned[i]
		x.ours = x.block.word.Load()>>pinBits != x.gen
	}
}

// check returns an error if something that the graph names has been freed.
func (n *names) check(op string) error {
	for i := range n.buffers {
		if x := &n.buffers[i]; x.header.word.Load()>>pinBits != x.gen && !x.ours {
			return n.freed(i, op)
		}
	}
	for i := range n.pinned {
		if x := &n.pinned[i]; x.block.word.Load()>>pinBits != x.gen && !x.ours {
			return x.heap.used(x.block, x.gen, op+": page-locked memory that the graph names: "+keepNamed)
		}
	}
	return nil
}

// keepNamed is what to do about memory that a graph names and that has been freed.
const keepNamed = "Free it behind the last Launch, or Update to work without it"

// freed returns the error for buffer i, which has been freed.
func (n *names) freed(i int, op string) error {
	x := n.buffers[i]
	return x.header.useError(x.gen, fmt.Sprintf("%s: buffer %d of %d that the graph names, of %s: %s",
		op, i+1, len(n.buffers), sizeText(x.block.room()), keepNamed))
}

// inHands reports whether somebody has pinned some of it, beside the graph.
func (n *names) inHands() bool {
	return slices.ContainsFunc(n.buffers, func(x named) bool { return x.header.word.Load()&pinMask != 0 }) ||
		slices.ContainsFunc(n.pinned, func(x namedPinned) bool { return x.block.word.Load()&pinMask > 1 })
}

// usedOn notes that work on hp's stream is given what the graph names.
func (n *names) usedOn(hp *heap) {
	for _, x := range n.buffers {
		x.block.usedBy(x.heap, hp)
	}
	for _, x := range n.pinned {
		x.block.usedOn(&hp.line)
	}
}

// letGo ends the pins. The graph was launched on the timelines in mask.
func (n *names) letGo(c *core, mask uint64) {
	for _, x := range n.buffers {
		c.graphs.letGo(x, mask)
	}
	for _, x := range n.pinned {
		x.heap.unpin(x.block)
	}
	for _, f := range n.kept {
		f()
	}
	*n = names{}
}

// hold notes that one graph more names b, which is pinned. g.mu is held.
func (g *graphs) hold(b *block) {
	if g.held == nil {
		g.held = make(map[*block]int)
	}
	g.held[b]++
	b.others.Or(heldBit)
}

// letGo notes that one graph less names x, which it used on the timelines in mask. If it has been freed and
// this was the last one, its block waits for its users from now on.
func (g *graphs) letGo(x named, mask uint64) {
	b, hp := x.block, x.heap
	gone := func() bool {
		g.mu.Lock() // nobody names b anew before it is settled whether it has been freed
		defer g.mu.Unlock()
		g.held[b]--
		if g.held[b] > 0 {
			b.others.Or(mask)
			return false
		}
		delete(g.held, b)
		if b.inner != nil {
			return b.inner.memory.letGo(b, mask)
		}
		hp.mu.Lock()
		defer hp.mu.Unlock()
		b.others.And(^uint64(heldBit))
		if _, freed := hp.held[b]; freed {
			delete(hp.held, b)
			hp.core.tellFreed(b)
			b.checked = nil // as nobody looks at it any more: see release
			b.others.Or(mask)
			b.stamp = hp.line.now()
			hp.enqueue(b)
		}
		return false
	}()
	if gone {
		b.inner.memory.giveBack()
	}
}
