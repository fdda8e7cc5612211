package alloc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

// graphMemory is the memory of one graph: chunks, each of whole granules and a live block of the pool's, with
// the site of the Capture. They are fresh or observed complete when they come, since a launch is in no order
// with the stream that they came from. A capture cuts them into spans. A later capture of the same graph has
// the same chunks, less what buffers that have left the function still own: its launches run behind those of
// the one before.
type graphMemory struct {
	core   *core
	stream *Stream // origin of the captures

	mu     lockrank.Mutex[rankMemory]
	chunks []chunk             // by address
	left   map[*block]struct{} // buffers that have left their capture; freed ones may be among them
	users  uint64              // bits of the timelines that were given something of it
	refs   int                 // the graph, and buffers that have left and are not free
}

// A chunk is what the pool gave at once.
type chunk struct {
	header *header
	gen    uint64
	ptr    Ptr
	size   int64
	seq    uintptr
	sample books.Sample // to be named
}

// An inner is what a buffer in graph memory has in its block. It is under memory.mu.
type inner struct {
	memory *graphMemory
	run    *capture // whose function has made it, as long as that has not ended
	users  uint64   // bits of the members that were given it
	freed  bool
	needs  []stamp // if it was freed later: what must have run before a capture may have the memory
}

// use notes that m has been given the buffer, or work with it.
func (in *inner) use(m *member) { in.users |= 1 << (m.index % 64) }

// A span is a part of a chunk.
type span struct {
	ptr   Ptr
	size  int64
	owner *block  // nil: nobody's
	after []point // what must come before the work of the next owner
}

func newGraphMemory(s *Stream) *graphMemory {
	return &graphMemory{core: s.core, stream: s, left: make(map[*block]struct{}), refs: 1}
}

// layout returns the memory cut into spans for a new capture. What buffers own that
// have left an older capture is left out, until work on it is known to be over. No stream is captured yet on
// behalf of this one, so that all of them can be asked.
func (g *graphMemory) layout() []span {
	g.mu.Lock()
	var needs []stamp
	for b := range g.left {
		for _, n := range b.inner.needs {
			needs = latest(needs, n)
		}
	}
	g.mu.Unlock()
	for _, n := range needs {
		n.look()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var taken []*block
	for b := range g.left {
		if b.inner.freed && b.others.Load()&heldBit == 0 &&
			!slices.ContainsFunc(b.inner.needs, func(n stamp) bool { return !n.complete() }) {
			delete(g.left, b)
		} else {
			taken = append(taken, b)
		}
	}
	slices.SortFunc(taken, func(a, b *block) int { return cmp.Compare(a.ptr, b.ptr) })
	var spans []span
	for _, x := range g.chunks {
		at, end := x.ptr, x.ptr+Ptr(x.size)
		for _, b := range taken {
			if b.ptr < at || b.ptr >= end {
				continue
			}
			if b.ptr > at {
				spans = append(spans, span{ptr: at, size: int64(b.ptr - at)})
			}
			spans = append(spans, span{ptr: b.ptr, size: b.size, owner: b})
			at = b.ptr + Ptr(b.size)
		}
		if at < end {
			spans = append(spans, span{ptr: at, size: int64(end - at)})
		}
	}
	return spans
}

// at returns where the span that begins at p is, or would be.
func (k *capture) at(p Ptr) (int, bool) {
	return slices.BinarySearchFunc(k.spans, p, func(s span, p Ptr) int { return cmp.Compare(s.ptr, p) })
}

// extend adds chunks to the spans of k that have come since.
func (k *capture) extend() {
	g := k.memory
	g.mu.Lock()
	defer g.mu.Unlock()
	if k.over {
		return
	}
	for _, x := range g.chunks {
		if i, known := k.at(x.ptr); !known {
			k.spans = slices.Insert(k.spans, i, span{ptr: x.ptr, size: x.size})
		}
	}
}

// place gives b, which has a size, the best of the spans that m may have now, and reports whether there is
// one.
func (k *capture) place(m *member, b *block) (bool, error) {
	g := k.memory
	g.mu.Lock()
	defer g.mu.Unlock()
	if k.over {
		return false, errEnded
	}
	behind := func(p point) bool { return p.member == m || m.knowsOf(p.member) > p.number }
	best := -1
	for i := range k.spans {
		s := &k.spans[i]
		if s.owner != nil || s.size < b.size || best >= 0 && s.size >= k.spans[best].size ||
			slices.ContainsFunc(s.after, func(p point) bool { return !behind(p) }) {
			continue
		}
		best = i
	}
	if best < 0 {
		return false, nil
	}
	s := k.spans[best]
	b.ptr = s.ptr
	k.spans[best] = span{ptr: s.ptr, size: b.size, owner: b}
	if s.size > b.size {
		s.ptr, s.size = s.ptr+Ptr(b.size), s.size-b.size
		k.spans = slices.Insert(k.spans, best+1, s)
	}
	return true, nil
}

// vacate takes back what b has: who has it next comes behind what the members that used b have been given so
// far. g.mu is held.
func (k *capture) vacate(b *block) {
	i, _ := k.at(b.ptr)
	s := &k.spans[i]
	s.owner = nil
	for _, m := range k.members {
		if b.inner.users>>(m.index%64)&1 != 0 {
			s.after = append(s.after, point{member: m, number: m.count})
		}
	}
	if i+1 < len(k.spans) && k.merge(i) {
		s = &k.spans[i]
	}
	if i > 0 {
		k.merge(i - 1)
	}
}

// merge joins the spans i and i+1 if they are nobody's, lie side by side in one chunk and wait for the same
// members.
func (k *capture) merge(i int) bool {
	l, r := &k.spans[i], &k.spans[i+1]
	if l.owner != nil || r.owner != nil || l.ptr+Ptr(l.size) != r.ptr || len(l.after) != len(r.after) ||
		slices.ContainsFunc(k.memory.chunks, func(x chunk) bool { return x.ptr == r.ptr }) {
		return false
	}
	for j := range l.after { // both in the order of the members
		if l.after[j].member != r.after[j].member {
			return false
		}
	}
	for j := range l.after {
		l.after[j].number = max(l.after[j].number, r.after[j].number)
	}
	l.size += r.size
	k.spans = slices.Delete(k.spans, i+1, i+2)
	return true
}

// keep ends a capture of which an executable was made: the buffers that its function has made and not freed
// belong to whoever has them.
func (k *capture) keep() {
	_ = k.core.grapher.DestroyGraph(k.graph)
	g := k.memory
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range k.made {
		if in := x.block.inner; !in.freed {
			in.run = nil
			g.left[x.block] = struct{}{}
			g.refs++
		}
	}
	k.made, k.spans = nil, nil
}

// releaseInner is release for a block of graph memory.
func (c *core) releaseInner(b *block, h *header) {
	g, hp := b.inner.memory, b.heap()
	g.mu.Lock()
	in := b.inner
	in.freed = true
	gone := false
	if k := in.run; k != nil {
		in.run = nil
		switch {
		case b.others.Load() != 0: // somebody outside of the capture has it
			g.left[b] = struct{}{}
			g.refs++
		case !k.over: // else its function makes nothing any more
			k.vacate(b)
		}
	}
	if _, left := g.left[b]; left && b.others.Load()&heldBit == 0 {
		gone = g.leave(b)
	}
	g.mu.Unlock()
	hp.mu.Lock()
	b.header = h
	hp.strip(b)
	hp.mu.Unlock()
	if gone {
		g.giveBack()
	}
}

// leave notes that b, which has left and been freed, is nobody's when the streams that it was used on are
// past this point. It reports whether the memory is. g.mu is held.
func (g *graphMemory) leave(b *block) bool {
	mask := b.others.Load() | b.heap().line.bit
	b.inner.needs = g.core.stamps(nil, mask)
	g.users |= mask
	g.refs--
	return g.refs == 0
}

// letGo notes that no graph names b any more, of those that used it on the timelines in mask. It reports
// whether the memory is nobody's now.
func (g *graphMemory) letGo(b *block, mask uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b.others.Or(mask)
	b.others.And(^uint64(heldBit))
	return b.inner.freed && g.leave(b)
}

// retain keeps the memory until close is called once more.
func (g *graphMemory) retain() {
	g.mu.Lock()
	g.refs++
	g.mu.Unlock()
}

// usedOn notes that launches on the timelines in mask have used the memory.
func (g *graphMemory) usedOn(mask uint64) {
	g.mu.Lock()
	g.users |= mask
	g.mu.Unlock()
}

// close says that the graph is closed, or that none has come about, or ends what retain began.
func (g *graphMemory) close() {
	g.mu.Lock()
	g.refs--
	gone := g.refs == 0
	g.mu.Unlock()
	if gone {
		g.giveBack()
	}
}

// giveBack frees the chunks: they are pending until all that used them has run. Nobody else has the memory.
func (g *graphMemory) giveBack() {
	for _, x := range g.chunks {
		x.header.block.others.Or(g.users)
		x.header.free(x.gen)
	}
	g.chunks = nil
}

// grow gets a chunk in which size bytes fit.
func (g *graphMemory) grow(s *Stream, size int64) error {
	x, err := s.chunk(size)
	if err != nil {
		return err
	}
	g.mu.Lock()
	if g.refs == 0 { // given back meanwhile
		g.mu.Unlock()
		x.header.free(x.gen)
		return errEnded
	}
	defer g.mu.Unlock()
	i, _ := slices.BinarySearchFunc(g.chunks, x.ptr, func(y chunk, p Ptr) int { return cmp.Compare(y.ptr, p) })
	g.chunks = slices.Insert(g.chunks, i, x)
	return nil
}

// name tells those who watch of the chunks that have come during a capture, with the caller's site.
func (g *graphMemory) name() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.chunks {
		x := &g.chunks[i]
		if x.seq == 0 {
			continue
		}
		b := x.header.block
		hp := b.heap()
		if x.sample != 0 {
			x.sample = hp.shard.Site(x.sample, b.size)
			hp.mu.Lock()
			b.site = x.sample
			hp.mu.Unlock()
		}
		probe.Alloc(uintptr(x.ptr), uintptr(x.size), uintptr(x.sample.Site()), x.seq)
		x.seq = 0
	}
}

var errEnded = fmt.Errorf("the capture has ended: enqueue before its function returns: %w", ErrCapturing)
