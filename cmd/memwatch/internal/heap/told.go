package heap

// A program that uses the lastuse runtime keeps books of its buffers in a table that
// can be read at any time, so that they are exact however late one looks. They come
// as events whose numbers replace those before:
//
//	Addr    bytes ever allocated          Size    bytes that are live
//	Aux     allocations ever              Ctx     allocations that are live
//	Pool    bytes freed late              Stream  allocations freed late
//	Code    1 if the numbers are estimates from samples
//	Begin   when a site allocated last, if that is known
//
// With a Stack they are those of a site, with Stack 0 those of the whole process.
// Sites need not add up to the whole: some allocations may have no site. Single
// buffers are not known then, and events of single buffers are passed over.
//
// Buffers are parts of a driver's memory and not added to it. A program whose driver
// was never seen to give it any, as one on the host's own memory, is shown by its
// buffers alone: see byTable.

// tell takes an event of that kind.
func (p *process) tell(e *Event) {
	if e.Size > e.Addr || e.Ctx > e.Aux || e.Addr > maxSize<<10 || e.Pool > e.Addr-e.Size || e.Stream > e.Aux-e.Ctx {
		p.h.bad++ // what is live or freed was allocated
		return
	}
	t := Tally{
		Live: int64(e.Size), Objects: int64(e.Ctx), AllocBytes: e.Addr, AllocObjects: e.Aux,
		FreedBytes: e.Addr - e.Size, FreedObjects: e.Aux - e.Ctx,
	}
	if !p.told {
		p.told, p.tabled = true, true
		p.endWhere(Replaced, func(a *allocation) bool { return a.class == Buffer })
		p.classes[Buffer] = Tally{}
	}
	if e.Stack == 0 {
		t.Peak = max(p.classes[Buffer].Peak, t.Live)
		p.classes[Buffer] = t
		p.toldHows = toldHows(e, t)
		return
	}
	s := p.site(e.Stack, Buffer)
	if s == nil {
		p.dropped++
		return
	}
	t.Peak = max(s.Peak, t.Live)
	s.Tally = t
	s.low.fell(t.Live)
	s.past.note(e.Time, &t)
	s.told, s.estimate, s.latest = true, e.Code == 1, e.Begin
	s.hows = toldHows(e, t)
}

// toldHows returns how what was freed was freed.
func toldHows(e *Event, t Tally) [numHows]Freed {
	return [numHows]Freed{
		Late:     {Bytes: e.Pool, Objects: e.Stream},
		Explicit: {Bytes: t.FreedBytes - e.Pool, Objects: t.FreedObjects - e.Stream},
	}
}

// byTable reports whether the process's numbers are those of its buffers: it has a
// table, and no memory of its own was seen to come from a driver.
func (p *process) byTable() bool {
	if !p.tabled {
		return false
	}
	for c := range NumClasses {
		if c.Own() && p.classes[c].AllocObjects > 0 {
			return false
		}
	}
	return true
}

// endTold ends what was told when the process ends.
func (p *process) endTold() {
	if !p.told {
		return
	}
	whole := &p.classes[Buffer]
	p.toldHows[Exited] = Freed{Bytes: uint64(whole.Live), Objects: uint64(whole.Objects)}
	for _, t := range append(p.toldSites(), whole) {
		t.FreedBytes += uint64(t.Live)
		t.FreedObjects += uint64(t.Objects)
		t.Live, t.Objects = 0, 0
	}
	p.told = false
}

func (p *process) toldSites() (all []*Tally) {
	for _, s := range p.sites {
		if s.told {
			all = append(all, &s.Tally)
		}
	}
	return all
}
