package alloctest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/extent"
)

// ErrInjected is the cause of every failure that a [Faulty] makes up, except for a lack of
// memory, which is alloc.ErrOutOfMemory.
var ErrInjected = errors.New("injected failure")

// A Faulty is a device that passes its calls on to another one and fails on cue. A call that
// fails is not passed on. It can do what the other device can. All its methods may be
// called at any time.
type Faulty struct {
	alloc.Device
	mapper   alloc.Mapper
	pinner   alloc.Pinner
	capturer alloc.Capturer
	adopter  alloc.StreamAdopter

	mu     sync.Mutex
	calls  int64
	first  int64 // the calls that fail are those from here
	end    int64 // up to here, counted like calls
	chance float64
	rand   *rand.Rand
	broken bool
	high   int64 // bytes; 0 is no watermark
	used   int64
	slow   int
	lost   int64 // Moves
	asked  map[uintptr]int
	ops    map[string]bool // only these fail; nil is all

	extents extent.Table[struct{}] // as the calls left them
}

// NewFaulty returns a device that passes everything on to dev, for now.
func NewFaulty(dev alloc.Device) *Faulty {
	f := &Faulty{Device: dev, asked: make(map[uintptr]int)}
	f.mapper, _ = dev.(alloc.Mapper)
	f.pinner, _ = dev.(alloc.Pinner)
	f.capturer, _ = dev.(alloc.Capturer)
	f.adopter, _ = dev.(alloc.StreamAdopter)
	return f
}

// Unwrap returns the device behind f.
func (f *Faulty) Unwrap() alloc.Device { return f.Device }

// FailNth makes the n-th call from now fail, and only that one. 1 is the next call.
func (f *Faulty) FailNth(n int64) { f.FailRun(n, 1) }

// FailRun makes the n-th call from now fail and the ones after it, times calls in all. A Move that fails puts
// the memory back, which counts as the next call, Restore.
func (f *Faulty) FailRun(n, times int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.end = f.calls+n, f.calls+n+times
}

// FailRandomly makes each call fail with a chance between 0 and 1.
func (f *Faulty) FailRandomly(chance float64, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chance, f.rand = chance, rand.New(rand.NewPCG(seed, seed))
}

// Only makes the other cues count for calls of some methods alone, given by name.
func (f *Faulty) Only(methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = make(map[string]bool)
	for _, m := range methods {
		f.ops[m] = true
	}
}

// Break makes every call fail from now on.
func (f *Faulty) Break() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = true
}

// Watermark lets the device run out of memory once it has given out bytes.
func (f *Faulty) Watermark(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.high = bytes
}

// SlowEvents makes each event say n times that it is not done before it tells the
// truth.
func (f *Faulty) SlowEvents(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = n
}

// Heal takes back all cues.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.end, f.chance, f.broken, f.high, f.slow, f.ops = 0, 0, 0, false, 0, 0, nil
}

// Calls returns how many calls there were that could have failed.
func (f *Faulty) Calls() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Unmapped returns how many Moves lost their memory.
func (f *Faulty) Unmapped() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// fail returns the error of a call that is to fail. take is how many bytes more the device
// would have given out.
func (f *Faulty) fail(method string, take int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ops == nil || f.ops[method] {
		f.calls++
		if f.broken || f.first <= f.calls && f.calls < f.end || f.chance > 0 && f.rand.Float64() < f.chance {
			return fmt.Errorf("alloctest: %s: %w", method, ErrInjected)
		}
	}
	if take > 0 && f.high > 0 && f.used+take > f.high {
		return fmt.Errorf("alloctest: %s: watermark: %w", method, alloc.ErrOutOfMemory)
	}
	return nil
}

// took notes that the device has given out n bytes.
func (f *Faulty) took(n int64, err error) {
	if err == nil {
		f.mu.Lock()
		f.used += n
		f.mu.Unlock()
	}
}

// MemInfo is like alloc.Device.MemInfo, and fails on cue.
func (f *Faulty) MemInfo() (free, total int64, err error) {
	if err := f.fail("MemInfo", 0); err != nil {
		return 0, 0, err
	}
	return f.Device.MemInfo()
}

// Alloc is like alloc.Device.Alloc. It fails on cue, and with alloc.ErrOutOfMemory above the watermark.
func (f *Faulty) Alloc(size int64) (alloc.Ptr, error) {
	if err := f.fail("Alloc", size); err != nil {
		return 0, err
	}
	p, err := f.Device.Alloc(size)
	f.took(size, err)
	return p, err
}

// Free is like alloc.Device.Free, and fails on cue: the memory is not given back then.
func (f *Faulty) Free(p alloc.Ptr, size int64) error {
	if err := f.fail("Free", 0); err != nil {
		return err
	}
	err := f.Device.Free(p, size)
	f.took(-size, err)
	return err
}

// NewStream is like alloc.Device.NewStream, and fails on cue.
func (f *Faulty) NewStream() (uintptr, error) {
	if err := f.fail("NewStream", 0); err != nil {
		return 0, err
	}
	return f.Device.NewStream()
}

// DestroyStream is like alloc.Device.DestroyStream, and fails on cue: the stream goes on then.
func (f *Faulty) DestroyStream(s uintptr) error {
	if err := f.fail("DestroyStream", 0); err != nil {
		return err
	}
	return f.Device.DestroyStream(s)
}

// Sync is like alloc.Device.Sync. If it fails on cue it has waited for nothing.
func (f *Faulty) Sync(s uintptr) error {
	if err := f.fail("Sync", 0); err != nil {
		return err
	}
	return f.Device.Sync(s)
}

// NewEvent is like alloc.Device.NewEvent, and fails on cue.
func (f *Faulty) NewEvent() (uintptr, error) {
	if err := f.fail("NewEvent", 0); err != nil {
		return 0, err
	}
	return f.Device.NewEvent()
}

// DestroyEvent is like alloc.Device.DestroyEvent, and fails on cue.
func (f *Faulty) DestroyEvent(e uintptr) error {
	if err := f.fail("DestroyEvent", 0); err != nil {
		return err
	}
	return f.Device.DestroyEvent(e)
}

// Record is like alloc.Device.Record. If it fails on cue the event stands for what it did before.
func (f *Faulty) Record(e, s uintptr) error {
	if err := f.fail("Record", 0); err != nil {
		return err
	}
	f.mu.Lock()
	f.asked[e] = 0
	f.mu.Unlock()
	return f.Device.Record(e, s)
}

// Query is like alloc.Device.Query. It fails on cue, and says no for as long as SlowEvents wants.
func (f *Faulty) Query(e uintptr) (bool, error) {
	if err := f.fail("Query", 0); err != nil {
		return false, err
	}
	f.mu.Lock()
	f.asked[e]++
	slow := f.asked[e] <= f.slow
	f.mu.Unlock()
	if slow {
		return false, nil
	}
	return f.Device.Query(e)
}

// SyncEvent is like alloc.Device.SyncEvent. If it fails on cue it has waited for nothing.
func (f *Faulty) SyncEvent(e uintptr) error {
	if err := f.fail("SyncEvent", 0); err != nil {
		return err
	}
	return f.Device.SyncEvent(e)
}

// Wait is like alloc.Device.Wait. If it fails on cue the stream waits for nothing.
func (f *Faulty) Wait(s, e uintptr) error {
	if err := f.fail("Wait", 0); err != nil {
		return err
	}
	return f.Device.Wait(s, e)
}

// CopyIn is like alloc.Device.CopyIn. If it fails on cue nothing is copied.
func (f *Faulty) CopyIn(s uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	if err := f.fail("CopyIn", 0); err != nil {
		return err
	}
	return f.Device.CopyIn(s, dst, src, n)
}

// CopyOut is like alloc.Device.CopyOut. If it fails on cue nothing is copied.
func (f *Faulty) CopyOut(s uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	if err := f.fail("CopyOut", 0); err != nil {
		return err
	}
	return f.Device.CopyOut(s, dst, src, n)
}

// Copy is like alloc.Device.Copy. If it fails on cue nothing is copied.
func (f *Faulty) Copy(s uintptr, dst, src alloc.Ptr, n int64) error {
	if err := f.fail("Copy", 0); err != nil {
		return err
	}
	return f.Device.Copy(s, dst, src, n)
}

// Fill is like alloc.Device.Fill. If it fails on cue nothing is written.
func (f *Faulty) Fill(s uintptr, dst alloc.Ptr, pattern uint32, width int, count int64) error {
	if err := f.fail("Fill", 0); err != nil {
		return err
	}
	return f.Device.Fill(s, dst, pattern, width, count)
}

// Granularity is like alloc.Mapper.Granularity, and 0 if the device behind f does not map. It never fails.
func (f *Faulty) Granularity() int64 {
	if f.mapper == nil {
		return 0
	}
	return f.mapper.Granularity()
}

// Reserve is like alloc.Mapper.Reserve, and fails on cue.
func (f *Faulty) Reserve(size int64) (alloc.Ptr, error) {
	if err := f.fail("Reserve", 0); err != nil {
		return 0, err
	}
	return f.mapper.Reserve(size)
}

// Unreserve is like alloc.Mapper.Unreserve, and fails on cue: the addresses stay reserved then.
func (f *Faulty) Unreserve(p alloc.Ptr, size int64) error {
	if err := f.fail("Unreserve", 0); err != nil {
		return err
	}
	return f.mapper.Unreserve(p, size)
}

// rightly panics with an error of the table of extents: the pool asked for what a mapper cannot do. An error
// alone the pool might take for one of the device.
func rightly(method string, err error) {
	if err != nil {
		panic(fmt.Errorf("alloctest: %s: %w", method, err))
	}
}

// mapping checks a call that needs nothing to be mapped in [dst, dst+size) and, unless src is 0, whole
// extents behind src.
func (f *Faulty) mapping(method string, dst, src alloc.Ptr, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dst != 0 {
		rightly(method, f.extents.Empty(uintptr(dst), size))
	}
	if src != 0 {
		_, err := f.extents.Find(uintptr(src), size)
		rightly(method, err)
	}
}

// moved notes where extents have gone: from src, unless it is 0, to dst, unless it is 0.
func (f *Faulty) moved(dst, src alloc.Ptr, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []extent.Extent[struct{}]{{P: uintptr(dst), N: size}}
	if src != 0 {
		found, _ := f.extents.Find(uintptr(src), size)
		all = slices.Clone(found)
		f.extents.Remove(uintptr(src), size)
	}
	for _, x := range all {
		if src != 0 {
			x.P += uintptr(dst) - uintptr(src)
		}
		if dst != 0 {
			f.extents.Add(x)
		}
	}
}

// Map is like alloc.Mapper.Map. It fails on cue, and with alloc.ErrOutOfMemory above the watermark. What is
// mapped already is a panic, as is for Move and Unmap what is not whole extents.
func (f *Faulty) Map(p alloc.Ptr, size int64) error {
	f.mapping("Map", p, 0, size)
	if err := f.fail("Map", size); err != nil {
		return err
	}
	err := f.mapper.Map(p, size)
	f.took(size, err)
	if err == nil {
		f.moved(p, 0, size)
	}
	return err
}

// Move is like alloc.Mapper.Move. If it fails on cue both ranges are as before; if Restore, which it then
// counts as a call, fails too, the memory is gone as alloc.ErrUnmapped says.
func (f *Faulty) Move(dst, src alloc.Ptr, size int64) error {
	f.mapping("Move", dst, src, size)
	if err := f.fail("Move", 0); err != nil {
		if again := f.fail("Restore", 0); again != nil {
			again = fmt.Errorf("%w: %w: %w", err, alloc.ErrUnmapped, again)
			if err = f.mapper.Unmap(src, size); err == nil {
				f.took(-size, nil)
				f.moved(0, src, size)
				f.mu.Lock()
				f.lost++
				f.mu.Unlock()
				err = again
			}
		}
		return err
	}
	err := f.mapper.Move(dst, src, size)
	switch {
	case err == nil:
		f.moved(dst, src, size)
	case errors.Is(err, alloc.ErrUnmapped):
		f.moved(0, src, size)
	}
	return err
}

// Unmap is like alloc.Mapper.Unmap. If it fails on cue the range stays mapped.
func (f *Faulty) Unmap(p alloc.Ptr, size int64) error {
	f.mapping("Unmap", 0, p, size)
	if err := f.fail("Unmap", 0); err != nil {
		return err
	}
	err := f.mapper.Unmap(p, size)
	f.took(-size, err)
	if err == nil {
		f.moved(0, p, size)
	}
	return err
}

// AllocHost is like alloc.Pinner.AllocHost: errors.ErrUnsupported if the device behind f does not pin. It
// fails on cue, and its bytes count towards the watermark.
func (f *Faulty) AllocHost(size int64) (unsafe.Pointer, error) {
	if f.pinner == nil {
		return nil, errors.ErrUnsupported
	}
	if err := f.fail("AllocHost", size); err != nil {
		return nil, err
	}
	p, err := f.pinner.AllocHost(size)
	f.took(size, err)
	return p, err
}

// FreeHost is like alloc.Pinner.FreeHost, and fails on cue.
func (f *Faulty) FreeHost(p unsafe.Pointer, size int64) error {
	if err := f.fail("FreeHost", 0); err != nil {
		return err
	}
	err := f.pinner.FreeHost(p, size)
	f.took(-size, err)
	return err
}

// Capturing is like alloc.Capturer.Capturing, and false if the device behind f does not capture. It never
// fails on cue.
func (f *Faulty) Capturing(s uintptr) (bool, error) {
	if f.capturer == nil {
		return false, nil
	}
	return f.capturer.Capturing(s)
}

// AdoptStream is like alloc.StreamAdopter.AdoptStream: errors.ErrUnsupported if the device behind f adopts
// none. It fails on cue.
func (f *Faulty) AdoptStream(s uintptr) error {
	if f.adopter == nil {
		return errors.ErrUnsupported
	}
	if err := f.fail("AdoptStream", 0); err != nil {
		return err
	}
	return f.adopter.AdoptStream(s)
}

// Staged is like alloc.Stager.Staged, and 0 if the device behind f stages nothing.
func (f *Faulty) Staged() int64 {
	if d, ok := f.Device.(alloc.Stager); ok {
		return d.Staged()
	}
	return 0
}
