package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/extent"
)

// A handle is the driver's of a piece of memory, mapped an extent with its handle.
type (
	handle = uint64
	mapped = extent.Extent[handle]
)

// An atlas notes which memory handle is behind which addresses. One handle an extent, whatever its size:
// what the driver takes for mapping depends on the number of handles, hardly on their size. It can neither
// split a handle nor unmap part of one, so extents are moved and given back as a whole.
type atlas struct {
	granule int64 // bytes; 0: the device cannot map

	// order keeps a change of peers apart from all mapping: read-locked over the calls of the driver.
	order sync.RWMutex
	peers []int // devices that may use all mapped memory, as the driver numbers them

	mu      sync.Mutex     // a leaf, held over no call of the driver
	maps    []*reservation // by address
	extents extent.Table[handle]
	stuck   []span // mapped, as the driver did not unmap it, and nobody's
}

type reservation struct {
	p      uintptr
	n      int64
	driver span // as the driver gave it, which may be more
}

// Granularity returns the unit of mapping in bytes, 0 if the device cannot map.
func (d *Device) Granularity() int64 { return d.atlas.granule }

// check returns an error unless [p, p+n) is whole granules of one reserved range. a.mu is held.
func (a *atlas) check(op string, p alloc.Ptr, n int64) error {
	i, ok := slices.BinarySearchFunc(a.maps, uintptr(p), func(r *reservation, p uintptr) int {
		switch {
		case r.p+uintptr(r.n) <= p:
			return -1
		case r.p > p:
			return 1
		}
		return 0
	})
	if !ok {
		return a.wrong(op, p, n, "not in a reserved range")
	}
	r := a.maps[i]
	off := int64(uintptr(p) - r.p)
	if n <= 0 || off%a.granule != 0 || n%a.granule != 0 || off+n > r.n {
		return a.wrong(op, p, n, "not whole granules of one reserved range")
	}
	return nil
}

//go:noinline
func (a *atlas) wrong(op string, p alloc.Ptr, n int64, why string) error {
	return fmt.Errorf("cuda: %s: %d bytes at %#x: %s", op, n, uintptr(p), why)
}

// empty returns an error unless [p, p+n) is reserved and nothing is mapped there.
func (a *atlas) empty(op string, p alloc.Ptr, n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(op, p, n); err != nil {
		return err
	}
	if err := a.extents.Empty(uintptr(p), n); err != nil {
		return fmt.Errorf("cuda: %s: %w", op, err)
	}
	return nil
}

// add notes extents, which are moved by so many bytes.
func (a *atlas) add(all []mapped, by uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range all {
		x.P += by
		a.extents.Add(x)
	}
}

// take removes the extents that fill [p, p+n) and appends them to room.
func (a *atlas) take(op string, p alloc.Ptr, n int64, room []mapped) ([]mapped, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(op, p, n); err != nil {
		return nil, err
	}
	found, err := a.extents.Find(uintptr(p), n)
	if err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", op, err)
	}
	room = append(room, found...)
	a.extents.Remove(uintptr(p), n)
	return room, nil
}

// few is how many extents a Move or an Unmap takes without a Go allocation.
const few = 32

// Reserve takes a range of addresses, aligned to a granule.
func (d *Device) Reserve(size int64) (alloc.Ptr, error) {
	if d.atlas.granule == 0 || size <= 0 || size%d.atlas.granule != 0 {
		return 0, d.atlas.wrong("reserve", 0, size, "not whole granules")
	}
	g := uintptr(d.atlas.granule)
	whole := size
	p, err := d.ctx.MemAddressReserve(whole, int64(g))
	if err == nil && p%g != 0 {
		err = d.ctx.MemAddressFree(p, whole)
		p = 0
	}
	if p == 0 { // a driver that knows no alignment but its own
		whole += int64(g)
		p, err = d.ctx.MemAddressReserve(whole, 0)
	}
	if err != nil {
		return 0, d.work(err)
	}
	from := span{p, whole}
	p = (p + g - 1) &^ (g - 1)
	a := &d.atlas
	r := &reservation{p: p, n: size, driver: from}
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.maps, p, func(r *reservation, p uintptr) int {
		if r.p < p {
			return -1
		}
		return 1
	})
	a.maps = slices.Insert(a.maps, i, r)
	return alloc.Ptr(p), nil
}

// Unreserve gives a range back.
func (d *Device) Unreserve(p alloc.Ptr, size int64) error {
	a := &d.atlas
	if err := d.sweep(p, size); err != nil {
		if err := d.give(err); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.maps, func(r *reservation) bool { return r.p == uintptr(p) && r.n == size })
	if i < 0 {
		return a.wrong("unreserve", p, size, "not a reserved range")
	}
	if err := a.extents.Empty(uintptr(p), size); err != nil {
		return fmt.Errorf("cuda: unreserve: %w", err)
	}
	if err := d.ctx.MemAddressFree(a.maps[i].driver.p, a.maps[i].driver.n); err != nil {
		if err := d.give(err); err != nil {
			return err
		}
	}
	a.maps = slices.Delete(a.maps, i, i+1)
	return nil
}

// Map puts fresh memory behind [p, p+size), one extent.
func (d *Device) Map(p alloc.Ptr, size int64) error {
	a := &d.atlas
	a.order.RLock()
	defer a.order.RUnlock()
	if err := a.empty("map", p, size); err != nil {
		return err
	}
	if err := d.sweep(p, size); err != nil {
		return d.work(err)
	}
	h, err := d.ctx.MemCreate(size)
	if err != nil {
		return d.work(err)
	}
	x := [1]mapped{{P: uintptr(p), N: size, H: h}}
	if err := d.attach(x[:], 0); err != nil {
		_ = d.ctx.MemRelease(h)
		return d.work(err)
	}
	a.add(x[:], 0)
	return nil
}

// attach maps extents, which lie side by side, so many bytes above their addresses, and opens them to this
// device and its peers. On error none of them is mapped. Access is what fails last: the driver may find
// there that it lacks memory for its page tables.
func (d *Device) attach(all []mapped, by uintptr) error {
	p, size := all[0].P+by, int64(0)
	for _, x := range all {
		if err := d.ctx.MemMap(p+uintptr(size), x.N, x.H); err != nil {
			if size > 0 {
				d.detach(p, size)
			}
			return err
		}
		size += x.N
	}
	err := d.ctx.MemSetAccess(p, size, d.ctx.Device())
	for i := 0; err == nil && i < len(d.atlas.peers); i++ {
		err = d.ctx.MemSetAccess(p, size, d.atlas.peers[i])
	}
	if err != nil {
		d.detach(p, size)
	}
	return err
}

// detach undoes what attach has mapped. What the driver does not unmap now is asked of it again before the
// addresses are used for anything else.
func (d *Device) detach(p uintptr, size int64) {
	if d.ctx.MemUnmap(p, size) != nil {
		a := &d.atlas
		a.mu.Lock()
		a.stuck = append(a.stuck, span{p, size})
		a.mu.Unlock()
	}
}

// sweep unmaps what detach could not unmap in [p, p+size).
func (d *Device) sweep(p alloc.Ptr, size int64) error {
	a := &d.atlas
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 0; i < len(a.stuck); {
		x := a.stuck[i]
		if x.p >= uintptr(p)+uintptr(size) || x.p+uintptr(x.n) <= uintptr(p) {
			i++
			continue
		}
		if err := d.ctx.MemUnmap(x.p, x.n); err != nil {
			return err
		}
		a.stuck = slices.Delete(a.stuck, i, i+1)
	}
	return nil
}

// release gives handles back.
func (d *Device) release(all []mapped) {
	for _, x := range all {
		_ = d.ctx.MemRelease(x.H)
	}
}

// Move puts the memory from behind [src, src+size), whole extents, behind [dst, dst+size).
func (d *Device) Move(dst, src alloc.Ptr, size int64) error {
	a := &d.atlas
	a.order.RLock()
	defer a.order.RUnlock()
	if err := a.empty("move", dst, size); err != nil {
		return err
	}
	if err := d.sweep(dst, size); err != nil {
		return d.work(err)
	}
	var room [few]mapped
	all, err := a.take("move", src, size, room[:0])
	if err != nil {
		return err
	}
	if err := d.ctx.MemUnmap(uintptr(src), size); err != nil {
		a.add(all, 0)
		return d.work(err)
	}
	by := uintptr(dst) - uintptr(src)
	if err := d.attach(all, by); err != nil {
		// Back to where it was. Should that fail as well, the memory is given up, which is the only
		// consistent state left.
		if again := d.attach(all, 0); again != nil {
			d.release(all)
			return fmt.Errorf("%w: %w: %w", d.work(err), alloc.ErrUnmapped, d.work(again))
		}
		a.add(all, 0)
		return d.work(err)
	}
	a.add(all, by)
	return nil
}

// Unmap gives the memory behind [p, p+size), whole extents, back.
func (d *Device) Unmap(p alloc.Ptr, size int64) error {
	a := &d.atlas
	a.order.RLock()
	defer a.order.RUnlock()
	var room [few]mapped
	all, err := a.take("unmap", p, size, room[:0])
	if err != nil {
		return err
	}
	if err := d.ctx.MemUnmap(uintptr(p), size); err != nil {
		if err := d.give(err); err != nil {
			a.add(all, 0)
			return err
		}
	}
	d.release(all)
	return nil
}
