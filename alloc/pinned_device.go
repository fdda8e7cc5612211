package alloc

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/lastuse/lastuse/finalize"
)

// How page-locked memory comes from the device and goes back to it.

// grow gets a segment for class from the device.
func (hp *pinnedHeap) grow(class int) (*pinnedSegment, error) {
	size := classSize(class)
	slots := int64(1)
	if size <= pinnedSlot {
		slots = max(pinnedSlots, pinnedLeast/size)
	}
	ptr, err := hp.allocate(slots * size)
	if err != nil {
		return nil, err
	}
	seg := &pinnedSegment{ptr: ptr, size: slots * size, class: class, blocks: make([]pinnedBlock, slots)}
	for i := range seg.blocks {
		b := &seg.blocks[i]
		b.seg, b.ptr = seg, unsafe.Add(ptr, int64(i)*size)
	}
	return seg, nil
}

// allocate asks the device for page-locked memory, and makes room if it has none left.
func (hp *pinnedHeap) allocate(size int64) (ptr unsafe.Pointer, err error) {
	c := hp.core
	for step := range 4 {
		switch step {
		case 1:
			hp.giveBack(0)
		case 2:
			hp.await()
			hp.giveBack(0)
		case 3:
			c.collectPinned()
			hp.giveBack(0)
		}
		c.calls.Add(1)
		if ptr, err = c.estate.pinner.AllocHost(size); err == nil || !errors.Is(err, ErrOutOfMemory) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	e := c.estate
	e.mu.Lock()
	e.pinned[uintptr(ptr)] = hostMemory{size: size}
	e.mu.Unlock()
	hp.account.AddReserved(size)
	return ptr, nil
}

// A hostMemory is page-locked memory that is to go back.
type hostMemory struct {
	size int64           // bytes
	pin  *runtime.Pinner // of memory that is only registered, and stays its owner's
}

// collectPinned runs a collection and takes back what it found dead.
func (c *core) collectPinned() {
	finalize.Collect(c.options.CollectWait)
	c.drain(-1)
}

// add lists a new segment; its first block is in no list. hp.mu is held.
func (hp *pinnedHeap) add(seg *pinnedSegment) {
	for len(hp.classes) <= seg.class {
		hp.classes = append(hp.classes, pinnedClass{})
	}
	k := &hp.classes[seg.class]
	for i := len(seg.blocks) - 1; i > 0; i-- {
		b := &seg.blocks[i]
		b.next, k.idle = k.idle, b
	}
	old := *hp.index.Load()
	i, _ := slices.BinarySearchFunc(old, uintptr(seg.ptr), (*pinnedSegment).compare)
	all := slices.Insert(slices.Clone(old), i, seg)
	hp.index.Store(&all)
}

// compare says where an address lies: before seg, behind it or in it.
func (seg *pinnedSegment) compare(p uintptr) int {
	switch at := uintptr(seg.ptr); {
	case at+uintptr(seg.size) <= p:
		return -1
	case at > p:
		return 1
	}
	return 0
}

// giveBack gives segments back to the device that are all idle, until at most keep bytes are, and all that is
// registered and not in use to its owners. It returns how many bytes went.
func (hp *pinnedHeap) giveBack(keep int64) (bytes int64, err error) {
	hp.registering.RLock() // what is out of the index is soon out of the device's hands
	defer hp.registering.RUnlock()
	stay := hp.core.graphs.captured.Load() > 0 // giving back may wait for the whole device
	hp.mu.Lock()
	idle := hp.idleBytes()
	var gone []*pinnedSegment
	rest := slices.DeleteFunc(slices.Clone(*hp.index.Load()), func(seg *pinnedSegment) bool {
		if stay || seg.busy > 0 || !seg.registered && idle-bytes <= keep {
			return false
		}
		if bytes += seg.size; seg.registered {
			hp.registered.Add(-1)
		}
		gone = append(gone, seg)
		return true
	})
	if len(gone) > 0 {
		hp.index.Store(&rest)
		hp.forget(gone)
	}
	hp.mu.Unlock()
	if len(gone) > 0 {
		hp.core.quiesce()
	}
	for _, seg := range gone {
		err = errors.Join(err, hp.core.estate.unpinHost(uintptr(seg.ptr)))
		hp.core.calls.Add(1)
	}
	return bytes, err
}

// idleBytes returns how many bytes are idle. hp.mu is held.
func (hp *pinnedHeap) idleBytes() int64 {
	st := hp.account.StatsLocked()
	return st.Reserved - st.Live - st.Pending
}

// forget takes the blocks of segments that go back out of the lists. hp.mu is held.
func (hp *pinnedHeap) forget(gone []*pinnedSegment) {
	for _, seg := range gone {
		k := &hp.classes[seg.class]
		for at := &k.idle; *at != nil; {
			if b := *at; b.seg == seg {
				*at = b.next
			} else {
				at = &b.next
			}
		}
		for i := range seg.blocks {
			if h := seg.blocks[i].header; h != nil {
				hp.owners[seg.blocks[i].owner] = nil // its death, which is still to come, means nothing
			}
		}
	}
}

// unpinHost gives page-locked memory back to the device, once.
func (e *estate) unpinHost(p uintptr) error {
	e.mu.Lock()
	m, there := e.pinned[p]
	delete(e.pinned, p)
	e.mu.Unlock()
	if !there {
		return nil
	}
	e.pinnedAccount.AddReserved(-m.size)
	host := *(*unsafe.Pointer)(unsafe.Pointer(&p))
	if m.pin == nil {
		return e.pinner.FreeHost(host, m.size)
	}
	defer m.pin.Unpin()
	return e.dev.(Registrar).UnregisterHost(host, m.size) // which has registered it
}

// trimPinned gives page-locked memory back until at most keep bytes are idle, and returns how many went.
func (c *core) trimPinned(keep int64) int64 {
	hp := c.pinned.Load()
	if hp == nil {
		return 0
	}
	hp.look(0, math.MaxInt, math.MaxInt)
	hp.settleAll(false)
	n, _ := hp.giveBack(keep)
	return n
}

// closePinned gives all page-locked memory of a closed pool back that is not live, if the work on its streams
// can be waited for.
func (c *core) closePinned() error {
	hp := c.pinned.Load()
	if hp == nil || !c.quiesce() {
		return nil
	}
	hp.settleAll(true)
	_, err := hp.giveBack(0)
	hp.account.Close()
	return err
}

// stats fills in the figures of page-locked memory.
func (c *core) pinnedStats(s *Stats) {
	hp := c.pinned.Load()
	if hp == nil {
		return
	}
	hp.settleAll(false)
	hp.mu.Lock()
	st := hp.account.StatsLocked()
	hp.mu.Unlock()
	s.PinnedLive, s.PinnedPending, s.PinnedReserved = st.Live, st.Pending, st.Reserved
	s.PinnedIdle = st.Reserved - st.Live - st.Pending
	s.PinnedBuffers, s.PinnedMade, s.PinnedLate = st.LiveObjects, st.Made, st.Late
}

// check returns what does not fit together in the books of page-locked memory.
func (hp *pinnedHeap) check() error {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	listed := make(map[*pinnedBlock]bool)
	var live, pending, reserved int64
	for i := range hp.classes {
		for b := hp.classes[i].idle; b != nil; b = b.next {
			listed[b] = true
		}
	}
	for _, seg := range *hp.index.Load() {
		busy := 0
		reserved += seg.size
		for i := range seg.blocks {
			b := &seg.blocks[i]
			owned := b.word.Load()>>pinBits&1 == 1
			if owned && listed[b] {
				return fmt.Errorf("alloc: check: live page-locked block %p is among the idle ones", b.ptr)
			}
			if listed[b] || seg.registered && seg.busy == 0 {
				continue
			}
			busy++
			if owned {
				live += b.size()
			} else {
				pending += b.size()
			}
		}
		if busy != seg.busy {
			return fmt.Errorf("alloc: check: %d page-locked blocks are busy in a segment that counts %d",
				busy, seg.busy)
		}
	}
	if st := hp.account.StatsLocked(); st.Live != live || st.Pending != pending || st.Reserved != reserved {
		return fmt.Errorf("alloc: check: page-locked: "+
			"found %d bytes live, %d pending, %d reserved where the books say %d, %d, %d",
			live, pending, reserved, st.Live, st.Pending, st.Reserved)
	}
	return nil
}

// leftover gives back what is not live in a closed pool.
func (hp *pinnedHeap) leftover() {
	e := hp.core.estate
	if e.enter() {
		_ = hp.core.closePinned()
		_ = hp.core.leave()
		return
	}
	<-e.settled
	_ = hp.core.closePinned()
}
