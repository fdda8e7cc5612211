package heap

// context takes the events of contexts and devices.
func (p *process) context(t *thread, e *Event) {
	set := func(ctx uint64) {
		if len(t.ctx) == 0 {
			t.ctx = append(t.ctx, ctx)
		}
		t.ctx[len(t.ctx)-1] = ctx
	}
	switch e.Op {
	case CtxCreate:
		put(p, p.devices, e.Addr, stamped[int32]{e.Device, e.Time})
		t.push(e.Addr)
	case CtxSet:
		if e.Device != NoDevice && e.Addr != 0 {
			put(p, p.devices, e.Addr, stamped[int32]{e.Device, e.Time})
		}
		set(e.Addr)
	case CtxPush:
		t.push(e.Addr)
	case CtxPop:
		if n := len(t.ctx); n > 0 {
			t.ctx = t.ctx[:n-1]
		}
	case CtxDestroy:
		p.endContext(e.Addr, e.Begin)
		p.forgetContext(e.Addr, e.Begin)
	case Primary:
		q := p.primaries[e.Device]
		if q == nil {
			q = new(primary)
			put(p, p.primaries, e.Device, q)
		}
		q.ctx = e.Addr
		q.refs++
		put(p, p.devices, e.Addr, stamped[int32]{e.Device, e.Time})
	case Unprimary:
		// References from before the process was watched are not known, so that
		// only a process seen from its start can be seen to end its context so.
		if q := p.primaries[e.Device]; q != nil {
			if q.refs--; q.refs == 0 && !p.joined {
				p.endContext(q.ctx, e.Begin)
			}
		}
	case Reset:
		ctx := uint64(0)          // of memory whose context is not known
		if e.Device == NoDevice { // the current one, whose context is the device
			if n := len(t.ctx); n > 0 {
				ctx = t.ctx[n-1]
			}
			p.endWhere(Context, func(a *allocation) bool {
				return a.owner == ByContext && a.ctx == ctx && a.at <= e.Begin
			})
			return
		}
		if q := p.primaries[e.Device]; q != nil {
			ctx = q.ctx
			q.refs = 0
		}
		p.endWhere(Context, func(a *allocation) bool {
			if a.at > e.Begin {
				return false
			}
			switch a.owner {
			case ByContext:
				return a.ctx == ctx && (ctx != 0 || a.device == e.Device || a.device == NoDevice)
			case ByDevice:
				return a.device == e.Device
			}
			return false
		})
	}
}

// endContext ends what belongs to ctx and was allocated before begin.
func (p *process) endContext(ctx uint64, begin int64) {
	if ctx == 0 {
		return
	}
	p.endWhere(Context, func(a *allocation) bool {
		return a.owner == ByContext && a.ctx == ctx && a.at <= begin
	})
}

// forgetContext makes ctx no thread's current context, unless a new one has its
// number. A primary context is not forgotten: its handle is good again when it is
// retained the next time.
func (p *process) forgetContext(ctx uint64, begin int64) {
	if p.devices[ctx].at > begin {
		return
	}
	delete(p.devices, ctx)
	for _, t := range p.threads {
		for i, c := range t.ctx {
			if c == ctx {
				t.ctx[i] = 0
			}
		}
	}
}

// maxContexts bounds the stack of one thread's current contexts.
const maxContexts = 1 << 10

// push makes ctx the current context above the others.
func (t *thread) push(ctx uint64) {
	if len(t.ctx) >= maxContexts {
		t.ctx = append(t.ctx[:0], t.ctx[1:]...)
	}
	t.ctx = append(t.ctx, ctx)
}
