package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lastuse/lastuse/alloc"
)

// An atlas notes which memory handle is behind each granule of the reserved ranges. One handle a granule: the driver can
// unmap a handle only whole, and the pool moves and gives back single granules.
type atlas struct {
	granule int64 // bytes; 0: the device cannot map

	mu    sync.Mutex
	maps  []*reservation // by address
	stuck []span         // mapped, as the driver did not unmap it, and nobody's
	peers []int          // devices that may use all mapped memory, as the driver numbers them
}

type reservation struct {
	p       uintptr
	n       int64
	handles []uint64 // one a granule, 0 where nothing is mapped; up to the highest that was ever mapped
	driver  span     // as the driver gave it, which may be more
}

// Granularity returns the unit of mapping in bytes, 0 if the device cannot map.
func (d *Device) Granularity() int64 { return d.atlas.granule }

// find returns the handles behind [p, p+n), all of which must be zero or all not, as mapped says.
func (a *atlas) find(op string, p alloc.Ptr, n int64, mapped bool) ([]uint64, error) {
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
		return nil, a.wrong(op, p, n, "not in a reserved range")
	}
	r := a.maps[i]
	first := int64(uintptr(p)-r.p) / a.granule
	if n <= 0 || int64(uintptr(p)-r.p)%a.granule != 0 || n%a.granule != 0 || uintptr(p)+uintptr(n) > r.p+uintptr(r.n) {
		return nil, a.wrong(op, p, n, "not whole granules of one reserved range")
	}
	last := first + n/a.granule
	if !mapped && last > int64(len(r.handles)) {
		// Ranges are reserved much larger than they are filled, and filled from their start.
		r.handles = append(r.handles, make([]uint64, last-int64(len(r.handles)))...)
	}
	if last > int64(len(r.handles)) {
		return nil, a.wrong(op, p, n, "not all of it is mapped")
	}
	h := r.handles[first:last]
	for _, x := range h {
		if (x != 0) != mapped {
			return nil, a.wrong(op, p, n, map[bool]string{true: "not all of it is mapped", false: "part of it is mapped"}[mapped])
		}
	}
	return h, nil
}

//go:noinline
func (a *atlas) wrong(op string, p alloc.Ptr, n int64, why string) error {
	return fmt.Errorf("cuda: %s: %d bytes at %#x: %s", op, n, uintptr(p), why)
}

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
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.maps, func(r *reservation) bool { return r.p == uintptr(p) && r.n == size })
	if i < 0 {
		return a.wrong("unreserve", p, size, "not a reserved range")
	}
	if err := d.sweep(p, size); err != nil {
		if err := d.give(err); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(a.maps[i].handles, func(h uint64) bool { return h != 0 }) {
		return a.wrong("unreserve", p, size, "part of it is mapped")
	}
	if err := d.ctx.MemAddressFree(a.maps[i].driver.p, a.maps[i].driver.n); err != nil {
		if err := d.give(err); err != nil {
			return err
		}
	}
	a.maps = slices.Delete(a.maps, i, i+1)
	return nil
}

// Map puts fresh memory behind [p, p+size).
func (d *Device) Map(p alloc.Ptr, size int64) error {
	a := &d.atlas
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := d.sweep(p, size); err != nil {
		return d.work(err)
	}
	h, err := a.find("map", p, size, false)
	if err != nil {
		return err
	}
	for i := range h {
		if h[i], err = d.ctx.MemCreate(a.granule); err != nil {
			h[i] = 0
			d.release(h[:i])
			return d.work(err)
		}
	}
	if err := d.attach(p, h); err != nil {
		d.release(h)
		return d.work(err)
	}
	return nil
}

// attach maps handles one after the other from p on and opens them to this device and its peers. On error none of them is
// mapped. Access is what fails last: the driver may find there that it lacks memory for its page tables.
func (d *Device) attach(p alloc.Ptr, h []uint64) error {
	a := &d.atlas
	size := int64(len(h)) * a.granule
	for i, x := range h {
		if err := d.ctx.MemMap(uintptr(p)+uintptr(i)*uintptr(a.granule), a.granule, x); err != nil {
			if i > 0 {
				d.detach(p, int64(i)*a.granule)
			}
			return err
		}
	}
	err := d.ctx.MemSetAccess(uintptr(p), size, d.ctx.Device())
	for i := 0; err == nil && i < len(a.peers); i++ {
		err = d.ctx.MemSetAccess(uintptr(p), size, a.peers[i])
	}
	if err != nil {
		d.detach(p, size)
	}
	return err
}

// detach undoes what attach has mapped. What the driver does not unmap now is asked of it again before the addresses are
// used for anything else.
func (d *Device) detach(p alloc.Ptr, size int64) {
	if d.ctx.MemUnmap(uintptr(p), size) != nil {
		d.atlas.stuck = append(d.atlas.stuck, span{uintptr(p), size})
	}
}

// sweep unmaps what detach could not unmap in [p, p+size).
func (d *Device) sweep(p alloc.Ptr, size int64) error {
	a := &d.atlas
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

// release gives handles back and forgets them.
func (d *Device) release(h []uint64) {
	for i := range h {
		if h[i] != 0 {
			_ = d.ctx.MemRelease(h[i])
			h[i] = 0
		}
	}
}

// Move puts the memory from behind [src, src+size) behind [dst, dst+size).
func (d *Device) Move(dst, src alloc.Ptr, size int64) error {
	a := &d.atlas
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := d.sweep(dst, size); err != nil {
		return d.work(err)
	}
	// The unmapped range first: finding it may put the handles of its reservation elsewhere.
	to, err := a.find("move", dst, size, false)
	if err != nil {
		return err
	}
	from, err := a.find("move", src, size, true)
	if err != nil {
		return err
	}
	if err := d.ctx.MemUnmap(uintptr(src), size); err != nil {
		return d.work(err)
	}
	if err := d.attach(dst, from); err != nil {
		// Back to where it was. Should that fail as well, the memory is given up, which is the only consistent state left.
		if again := d.attach(src, from); again != nil {
			d.release(from)
			return fmt.Errorf("%w: %w: %w", d.work(err), alloc.ErrUnmapped, d.work(again))
		}
		return d.work(err)
	}
	copy(to, from)
	clear(from)
	return nil
}

// Unmap gives the memory behind [p, p+size) back.
func (d *Device) Unmap(p alloc.Ptr, size int64) error {
	a := &d.atlas
	a.mu.Lock()
	defer a.mu.Unlock()
	h, err := a.find("unmap", p, size, true)
	if err != nil {
		return err
	}
	if err := d.ctx.MemUnmap(uintptr(p), size); err != nil {
		if err := d.give(err); err != nil {
			return err
		}
	}
	d.release(h)
	return nil
}
