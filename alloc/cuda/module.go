package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
)

// A Module is code loaded onto a device. Its kernels keep it loaded for as long as they can be reached;
// Unload unloads it at once. Modules are told apart by their contents alone: kernels of the same name in two
// of them are two kernels.
type Module struct {
	*loaded
	net   runtime.Cleanup
	names map[string]string // of kernels in the module, by the expressions of [CompileOptions]
}

// loaded is the part of a module that the net can reach.
type loaded struct {
	b      *base
	handle uintptr
	books  *moduleBooks
	site   books.Sample
	at     int // index in modules.all

	bytes atomic.Int64 // measured
	state atomic.Int64 // launches being enqueued; unloading is added once, when it begins

	mu     sync.Mutex // held over nothing: a graph's Close takes it
	graphs int        // that launch kernels of it
	dead   bool       // to be unloaded when there are none
	late   bool       // by the collector
	gone   bool       // unloaded
}

const unloading = 1 << 32

// modules are those loaded on one device.
type modules struct {
	mu    sync.Mutex
	all   []*loaded
	books map[*tracker.Tracker]*moduleBooks
}

// moduleBooks are a tracker's books of modules, while there are any. Written under modules.mu.
type moduleBooks struct {
	tracker *tracker.Tracker
	account *books.Account
	mu      *sync.Mutex // the shard's
	shard   *books.Shard
	count   int
}

// made counts a module of size bytes that the caller of LoadModule has loaded.
func (m *moduleBooks) made(l *loaded, size int64) {
	m.account.AddReserved(size)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shard.Alloc(size)
	if sample := m.shard.Sample(); sample != 0 {
		l.site = m.shard.Site(sample, size)
	}
}

// freed counts that a module of size bytes has been unloaded.
func (m *moduleBooks) freed(l *loaded, size int64, late bool) {
	m.account.AddReserved(-size)
	m.mu.Lock()
	defer m.mu.Unlock()
	if late {
		m.shard.Late(size)
	} else {
		m.shard.Free(size)
	}
	m.shard.Unsite(l.site, size, late)
}

// LoadModule loads PTX, a cubin or a fatbin onto the device of a pool; the driver compiles PTX. The data may
// be changed afterwards. The error of a text that does not compile holds what the compiler said. If the
// device is out of memory the pool's idle segments are given back and loading is tried again.
//
// The module is counted in the books of the pool's tracker, in an account of its own. Its bytes are those by
// which the device's free memory fell meanwhile, which is all that can be known of it: what other programs do
// at that moment is measured too, and small modules share what an earlier one reserved.
//
//lastuse:effect result 0 owned on success, arg data borrowed, arg p borrowed
func LoadModule(p *alloc.Pool, data []byte) (*Module, error) {
	b, err := device(p.Device())
	if err != nil {
		return nil, fmt.Errorf("cuda: load module: %w", err)
	}
	if b.closed.Load() {
		return nil, fmt.Errorf("cuda: load module: device %w: load before its Close", alloc.ErrClosed)
	}
	l, err := b.modules.load(b, p.Tracker(), data)
	if errors.Is(err, alloc.ErrOutOfMemory) {
		p.Trim(0)
		l, err = b.modules.load(b, p.Tracker(), data)
	}
	if err != nil {
		return nil, err
	}
	m := &Module{loaded: l}
	// Unloading waits for the device: not on the collector's goroutine.
	m.net = runtime.AddCleanup(m, func(l *loaded) { go l.unload(true) }, l)
	return m, nil
}

func (ms *modules) load(b *base, t *tracker.Tracker, data []byte) (*loaded, error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	before, _, err := b.ctx.MemGetInfo()
	if err != nil {
		return nil, b.work(err)
	}
	handle, err := b.ctx.ModuleLoad(data)
	if err != nil {
		return nil, b.work(err)
	}
	l := &loaded{b: b, handle: handle, at: len(ms.all)}
	ms.all = append(ms.all, l)
	own := ms.books[t]
	if own == nil {
		account := books.Of(t).NewAccount(fmt.Sprintf("cuda:%d modules (measured)", b.ordinal))
		mu := new(sync.Mutex)
		own = &moduleBooks{tracker: t, account: account, mu: mu, shard: account.NewShard(mu)}
		if ms.books == nil {
			ms.books = make(map[*tracker.Tracker]*moduleBooks)
		}
		ms.books[t] = own
	}
	l.books = own
	own.count++
	size := fallen(b, before)
	l.bytes.Store(size)
	own.made(l, size)
	return l, nil
}

// fallen returns by how many bytes the device's free memory has fallen.
func fallen(b *base, before int64) int64 {
	after, _, err := b.ctx.MemGetInfo()
	if err != nil {
		return 0
	}
	return max(0, before-after)
}

// Bytes returns the device memory that the module takes, as measured.
//
//lastuse:effect recv borrowed
func (m *Module) Bytes() int64 { return m.bytes.Load() }

// Unload unloads the module, once; later calls do nothing. It waits until the device has done the work that
// it has. Kernels of the module fail afterwards with [ErrUnloaded]. While a graph has kernels of it, or a
// capture is under way, the module stays loaded and Unload does not wait.
//
//lastuse:effect recv freed repeatable
func (m *Module) Unload() error {
	m.net.Stop()
	err := m.unload(false)
	runtime.KeepAlive(m)
	return err
}

// unload is called by Unload, the net and the device's Close, in any order, and does its work once.
func (l *loaded) unload(late bool) error {
	for {
		n := l.state.Load()
		if n >= unloading {
			return nil
		}
		if l.state.CompareAndSwap(n, n+unloading) {
			break
		}
	}
	for l.state.Load() != unloading {
		runtime.Gosched() // a launch is being enqueued
	}
	l.mu.Lock()
	l.dead, l.late = true, late
	wait := l.graphs > 0
	l.mu.Unlock()
	if wait {
		return nil // for them
	}
	return l.b.deviceWide(l.finish)
}

// finish is the rest of unload, when no graph launches kernels of the module any more.
func (l *loaded) finish() error {
	l.mu.Lock()
	gone, late := l.gone, l.late
	l.gone = true
	l.mu.Unlock()
	if gone {
		return nil
	}
	b, ms := l.b, &l.b.modules
	ms.mu.Lock()
	defer ms.mu.Unlock()
	_ = b.ctx.Synchronize() // no kernel may be running; what else is wrong the unloading says
	err := b.ctx.ModuleUnload(l.handle)
	last := len(ms.all) - 1
	ms.all[l.at] = ms.all[last]
	ms.all[l.at].at = l.at
	ms.all[last] = nil
	ms.all = ms.all[:last]
	l.books.freed(l, l.bytes.Load(), late)
	if l.books.count--; l.books.count == 0 {
		delete(ms.books, l.books.tracker)
		l.books.account.Close()
	}
	if err != nil {
		return b.give(err)
	}
	return nil
}

// close unloads what is left.
func (ms *modules) close(b *base) {
	for {
		ms.mu.Lock()
		n := len(ms.all)
		var l *loaded
		if n > 0 {
			l = ms.all[n-1]
		}
		ms.mu.Unlock()
		if l == nil {
			return
		}
		_ = l.unload(true)
		_ = l.finish() // whatever graph has it
	}
}
