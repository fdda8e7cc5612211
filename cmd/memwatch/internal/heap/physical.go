package heap

import (
	"slices"
	"sort"
)

// create adds physical memory with one reference.
func (p *process) create(t *thread, e *Event) {
	class := e.Class
	if class != Imported {
		class = Physical
	}
	if old := p.handles[e.Addr]; old != nil { // a release was not seen
		p.unname(old)
		old.refs = 0
		p.collect(old, Replaced)
	}
	// The key is in no table: a handle's number may be in use again while its
	// memory is still mapped.
	if a := p.add(t, e, key{Handles, e.Addr}, class); a != nil {
		a.owner = ByProcess
		a.refs = 1
		a.names = []uint64{e.Addr}
		p.handles[e.Addr] = a
	}
}

// retain adds a reference to the memory mapped at an address.
func (p *process) retain(e *Event) {
	i := p.find(e.Addr)
	if i == len(p.maps) || p.maps[i].addr > e.Addr || p.maps[i].of == nil {
		p.unknown.Handles++
		return
	}
	a := p.maps[i].of
	a.refs++
	if p.handles[e.Aux] == nil {
		p.handles[e.Aux] = a
		a.names = append(a.names, e.Aux)
	}
}

// release takes a reference away on the entry of the call.
func (p *process) release(t *thread, e *Event) {
	t.latest = taken{op: Release, key: key{Handles, e.Addr}, waiting: true}
	a := p.handles[e.Addr]
	if a == nil {
		p.unknown.Handles++
		return
	}
	t.latest.a = a
	if a.refs--; a.refs == 0 {
		p.unname(a)
		p.collect(a, Explicit)
	}
}

// unrelease gives the reference back.
func (p *process) unrelease(l taken) {
	if l.a == nil {
		p.unknown.Handles--
		return
	}
	if l.a.refs++; l.a.refs > 1 {
		return
	}
	for _, n := range l.a.names {
		if p.handles[n] == nil {
			p.handles[n] = l.a
		}
	}
	if l.a.gone {
		p.restore(l.a, Explicit)
	}
}

// unname frees the handles of a for others.
func (p *process) unname(a *allocation) {
	for _, n := range a.names {
		if p.handles[n] == a {
			delete(p.handles, n)
		}
	}
}

// collect ends physical memory that is neither referred to nor mapped.
func (p *process) collect(a *allocation, how How) {
	if a.refs <= 0 && a.maps == 0 && !a.gone {
		p.remove(a, how)
	}
}

// mapIn maps memory. Mappings that are in the way show that an unmap was not seen.
func (p *process) mapIn(e *Event) {
	m := mapping{addr: e.Addr, size: e.Size, of: p.handles[e.Aux]}
	if m.size == 0 || m.size > maxSize || m.end() < m.addr {
		p.dropped++
		return
	}
	i := p.find(m.addr)
	j := i
	for j < len(p.maps) && p.maps[j].addr < m.end() {
		j++
	}
	old := slices.Clone(p.maps[i:j])
	p.maps = slices.Replace(p.maps, i, j, m)
	p.mapped += int64(m.size)
	if m.of != nil {
		m.of.maps++
	} else {
		p.unknown.Handles++
	}
	for _, o := range old {
		p.unmapped(o, Replaced)
	}
}

// unmap takes away the mappings inside a range on the entry of the call.
func (p *process) unmap(t *thread, e *Event) {
	t.latest = taken{op: Unmap, key: key{Handles, e.Addr}, waiting: true}
	end := e.Addr + e.Size
	i := p.find(e.Addr)
	if i < len(p.maps) && p.maps[i].addr < e.Addr {
		i++
	}
	j := i
	for j < len(p.maps) && p.maps[j].end() <= end {
		j++
	}
	if i == j {
		return
	}
	t.latest.unmaps = slices.Clone(p.maps[i:j])
	p.maps = slices.Delete(p.maps, i, j)
	for _, m := range t.latest.unmaps {
		p.unmapped(m, Explicit)
	}
}

// unmapped counts a mapping that is gone.
func (p *process) unmapped(m mapping, how How) {
	p.mapped -= int64(m.size)
	if m.of != nil {
		m.of.maps--
		p.collect(m.of, how)
	}
}

// remap gives a mapping back whose unmap failed, unless its place was taken.
func (p *process) remap(m mapping) {
	i := p.find(m.addr)
	if i < len(p.maps) && p.maps[i].addr < m.end() {
		return
	}
	p.maps = slices.Insert(p.maps, i, m)
	p.mapped += int64(m.size)
	if m.of != nil {
		m.of.maps++
		if m.of.gone {
			p.restore(m.of, Explicit)
		}
	}
}

// find returns the index of the first mapping that ends above addr.
func (p *process) find(addr uint64) int {
	return sort.Search(len(p.maps), func(i int) bool { return p.maps[i].end() > addr })
}

// physical returns all physical memory that is alive, each once, by handle.
func (p *process) physical() []*allocation {
	var all []*allocation
	seen := make(map[*allocation]bool)
	note := func(a *allocation) {
		if a != nil && !a.gone && !seen[a] {
			seen[a] = true
			all = append(all, a)
		}
	}
	for _, a := range p.handles {
		note(a)
	}
	slices.SortFunc(all, func(a, b *allocation) int {
		if a.key.addr < b.key.addr {
			return -1
		}
		return 1
	})
	for _, m := range p.maps {
		note(m.of)
	}
	return all
}
