package tracker

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

var (
	// ErrDoubleFree is in the chain of the error for a pointer that was freed
	// before and has not been allocated since.
	ErrDoubleFree = errors.New("double free")
	// ErrUnknownPointer is in the chain of the error for a pointer that the tracker was
	// never told of, or that was freed so long ago that it has been forgotten.
	ErrUnknownPointer = errors.New("unknown pointer")
)

// A FreeError says what was wrong with a call of [Tracker.Free]. It answers errors.Is for
// ErrDoubleFree or ErrUnknownPointer.
type FreeError struct {
	Err   error   // ErrDoubleFree or ErrUnknownPointer
	Ptr   uintptr // the argument
	Size  int64   // bytes that it had, for a double free
	Made  []Frame // where it was allocated, for a double free; may be empty
	Freed []Frame // where it was freed first; may be empty
}

func (e *FreeError) Error() string {
	s := fmt.Sprintf("tracker: free %#x: %v", e.Ptr, e.Err)
	if len(e.Made) > 0 {
		s += fmt.Sprintf(" of %d bytes made at %v", e.Size, e.Made[0])
	}
	if len(e.Freed) > 0 {
		s += fmt.Sprintf(", first freed at %v", e.Freed[0])
	}
	return s
}

func (e *FreeError) Unwrap() error { return e.Err }

const (
	foreignStripes = 16
	freedKept      = 512 // freed pointers remembered, in each stripe
	freeDepth      = 6   // calls remembered that led to a free, Free among them
)

// foreign is memory made by somebody else. A pointer belongs to the stripe that
// its address hashes to.
type foreign struct {
	account *books.Account
	live    atomic.Uint64 // bytes, for the exact peak
	missed  atomic.Int64  // allocations at an address that was still live
	stripes [foreignStripes]stripe
}

type stripe struct {
	mu     *lockrank.Mutex[rankForeign] // the shard's: see books.Account.NewShard
	shard  *books.Shard
	live   map[uintptr]block   // protected by mu
	freed  map[uintptr]freedAt // protected by mu; at most freedKept, those in order
	order  []uintptr           // ring of freed pointers, the oldest at oldest; protected by mu
	oldest int                 // protected by mu
	_      [64]byte
}

type rankForeign struct{}

func (rankForeign) Rank() int { return lockrank.Shard }

// A block is foreign memory that is live.
type block struct {
	size   int64
	sample books.Sample
}

// freedAt remembers a pointer that was freed.
type freedAt struct {
	block
	pcs   [freeDepth]uintptr
	place int // in the stripe's ring
}

// theForeign returns t's foreign memory, making its account on first use.
func (t *Tracker) theForeign() *foreign {
	if f := t.foreign.Load(); f != nil {
		return f
	}
	t.foreignOnce.Do(func() {
		f := &foreign{account: t.books.NewForeign("foreign")}
		for i := range f.stripes {
			mu := new(lockrank.Mutex[rankForeign])
			shard := f.account.NewShard(mu)
			f.stripes[i] = stripe{mu: mu, shard: shard, live: map[uintptr]block{}, freed: map[uintptr]freedAt{}}
		}
		t.foreign.Store(f)
	})
	return t.foreign.Load()
}

// stripe returns the stripe of a pointer.
func (f *foreign) stripe(ptr uintptr) *stripe {
	return &f.stripes[(uint64(ptr)*0x9e3779b97f4a7c15)>>60]
}

// Alloc tells the tracker that somebody else, such as C.malloc, has made size bytes
// at ptr. Call it after the memory was made. For a zero ptr, a failed allocation, it does
// nothing. Each such allocation is taken with its stack, unless Options.Rate is negative.
//
// If ptr is live already then its free was never told: it is taken as freed now, and
// counted in Stats.Missed. Alloc panics if size is negative.
func (t *Tracker) Alloc(ptr uintptr, size int64) {
	if size < 0 {
		panic(fmt.Sprintf("tracker: alloc %#x: negative size %d", ptr, size))
	}
	if ptr == 0 {
		return
	}
	f := t.theForeign()
	s := f.stripe(ptr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.live[ptr]; ok {
		f.missed.Add(1)
		f.end(s, ptr, old)
	}
	b := block{size: size}
	s.shard.Alloc(size)
	if m := s.shard.Sample(); m != 0 {
		b.sample = s.shard.Site(m, size)
	}
	s.live[ptr] = b
	delete(s.freed, ptr)
	f.account.RaisePeak(f.live.Add(uint64(size)))
	probe.Alloc(ptr, uintptr(size), uintptr(b.sample.Site()), s.shard.Seq())
	s.shard.Record(books.Made, ptr, size)
}

// Free tells the tracker that the memory at ptr, which it was told of by
// [Tracker.Alloc], is about to be freed. Call it before the memory is freed, since another
// thread may be given the same address right after. If the pointer is not live the error is a
// *[FreeError] and the books stay as they are. For a zero ptr, as for C's free, it does nothing.
func (t *Tracker) Free(ptr uintptr) error {
	if ptr == 0 {
		return nil
	}
	f := t.foreign.Load()
	if f == nil {
		return &FreeError{Err: ErrUnknownPointer, Ptr: ptr}
	}
	s := f.stripe(ptr)
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.live[ptr]
	if !ok {
		old, ok := s.freed[ptr]
		if !ok {
			return &FreeError{Err: ErrUnknownPointer, Ptr: ptr}
		}
		s.shard.Repeat()
		return &FreeError{
			Err: ErrDoubleFree, Ptr: ptr, Size: old.size,
			Made: t.SiteOf(SiteID(old.sample.Site())).Frames, Freed: frames(old.pcs[:]),
		}
	}
	f.end(s, ptr, b)
	s.shard.Record(books.Freed, ptr, b.size)
	at := freedAt{block: b}
	if t.Rate() >= 0 {
		books.Walk(at.pcs[:])
	}
	s.remember(ptr, at)
	return nil
}

// end takes a live block out of the books. The caller holds s.mu.
func (f *foreign) end(s *stripe, ptr uintptr, b block) {
	delete(s.live, ptr)
	f.live.Add(-uint64(b.size))
	s.shard.Free(b.size)
	s.shard.Unsite(b.sample, b.size, false)
	probe.Free(ptr, uintptr(b.size), uintptr(b.sample.Site()), s.shard.Seq(), probe.Explicit)
}

// remember keeps a freed pointer and forgets the oldest one if there are too
// many. Allocators give an address out again soon, so a pointer may stand in the ring many
// times: only its newest place counts. The caller holds s.mu.
func (s *stripe) remember(ptr uintptr, at freedAt) {
	if len(s.order) < freedKept {
		at.place = len(s.order)
		s.order = append(s.order, ptr)
	} else {
		at.place = s.oldest
		if old := s.order[at.place]; s.freed[old].place == at.place {
			delete(s.freed, old)
		}
		s.order[at.place] = ptr
		s.oldest = (s.oldest + 1) % freedKept
	}
	s.freed[ptr] = at
}
