package gen

// Backward liveness over the tree. A location is a variable, or one field of a
// pair. Liveness is strong: copying a handle into a variable that is dead is no
// use; operations are. A container is one location: all that it holds lives
// until the last use of it or of anything loaded from it.

// Info is what liveness says of one statement.
type Info struct {
	In     Set // locations live before it
	Out    Set // locations live after it
	During Set // locations live while it runs: its operands, and what is live after it
}

// Liveness holds the Info of every statement of a function.
type Liveness struct {
	At   map[Stmt]*Info
	head map[Stmt]Set
	goes map[string]Set
	lits map[*Var]Set
	// What a call of a literal assigns before it, or somebody after it, reads it.
	kills map[*Var]Set
	done  bool
	// Whether copies and tests are reads even if nobody uses them: no free may stand in front of one.
	copies bool

	// What boolean variables are known to be, and the analysis without one of
	// them: what holds before it is drawn.
	flags map[string]bool
	less  func(flag string) *Liveness
}

// target is where break and continue lead.
type target struct {
	label    string
	loop     bool
	brk, cnt Set
}

type liveCtx struct {
	exit    Set // live at a return: what deferred functions read
	lit     *Set
	targets []target
}

func (c liveCtx) push(t target) liveCtx {
	c.targets = append(c.targets[:len(c.targets):len(c.targets)], t)
	return c
}

// leave is what is live when the function, or the literal, returns.
func (c liveCtx) leave() Set {
	if c.lit != nil {
		return *c.lit
	}
	return c.exit
}

// Analyze computes the liveness of f over all its paths.
func Analyze(f *Func) *Liveness { return analyze(f, nil, nil) }

// readable is Analyze for who may put no free in front of a copy, or of a test of the name.
func readable(f *Func) *Liveness {
	l := newLiveness(nil, nil)
	l.copies = true
	return l.run(f)
}

// analyze is Analyze over the paths on which flags have these values, and a type
// switch takes the clause of the type that is there.
func analyze(f *Func, flags map[string]bool, less func(string) *Liveness) *Liveness {
	return newLiveness(flags, less).run(f)
}

func (l *Liveness) run(f *Func) *Liveness {
	Walk(f.Body, func(s Stmt) bool { // before anything grows: more is known of calls later, never less
		if c, ok := s.(*Closure); ok && c.Wrap == WNone {
			l.kills[c.V] = l.killed(c.Body)
		}
		return true
	})
	for !l.done {
		l.done = true
		// What a deferred function reads is live at every exit after the defer.
		// Such defers stand at the top level only, outside loops.
		var exits []Set
		var exit Set
		for _, s := range f.Body {
			exits = append(exits, exit)
			switch s := s.(type) {
			case *Defer:
				if s.Kind == DUse || s.Kind == DGuard {
					exit = exit.with(s.Path)
				}
			case *Done:
				exit = exit.without(s.Of.Path)
			}
		}
		out := exit
		for i := len(f.Body) - 1; i >= 0; i-- {
			out = l.stmt(f.Body[i], out, liveCtx{exit: exits[i]})
		}
	}
	return l
}

func newLiveness(flags map[string]bool, less func(string) *Liveness) *Liveness {
	return &Liveness{At: map[Stmt]*Info{}, head: map[Stmt]Set{}, goes: map[string]Set{}, lits: map[*Var]Set{},
		kills: map[*Var]Set{}, flags: flags, less: less}
}

func (l *Liveness) block(list []Stmt, out Set, c liveCtx) Set {
	for i := len(list) - 1; i >= 0; i-- {
		out = l.stmt(list[i], out, c)
	}
	return out
}

// grow merges t into the set kept for s and asks for another round if it grew.
func grow[K comparable](l *Liveness, m map[K]Set, k K, t Set) {
	n := m[k].or(t)
	if n != m[k] {
		m[k] = n
		l.done = false
	}
}

func (l *Liveness) stmt(s Stmt, out Set, c liveCtx) Set {
	in := out
	during := out
	switch s := s.(type) {
	case *Make:
		in = out.without(s.Dst)
		fail := l.block(s.Fail, in, c)
		if s.Err == EInvert {
			in = l.block(s.Ok, out, c).without(s.Dst)
		}
		in = in.or(fail.without(s.Dst))
		during = in
	case *Zero:
		in = out.without(Of(s.V))
	case *Clear:
		in = out.without(s.Path)
	case *Resize: // the old buffer is freed, unless there is no new one
		in = out.without(Of(s.V)).or(l.block(s.Fail, out, c))
		during = in
	case *For:
		head := l.head[s]
		post := l.stmt(s.Post, head, c)
		h := l.block(s.Body, post, c.push(target{s.Label, true, out, post})).or(out)
		grow(l, l.head, Stmt(s), h)
		in, during = l.stmt(s.Make, h, c), h
	case *Assign:
		in = out.without(s.Dst...)
		for i, d := range s.Dst {
			src := s.Src[i]
			k := d.V.Kind
			if k == KView || k == KRaw { // a call on the handle
				in = in.with(src)
				continue
			}
			if d.V.fields() && d.Field < 0 && src.V.fields() {
				for f := range 2 {
					if out.holds(At(d.V, f)) {
						in = in.with(At(src.V, f))
					}
				}
			} else if out.holds(d) {
				in = in.with(src)
			}
		}
		during = in.or(out)
	case *Compose:
		in = out.without(Of(s.V))
		for i, src := range s.Src {
			if out.holds(At(s.V, i)) {
				in = in.with(src)
			}
		}
	case *Append:
		if out.holds(Of(s.V)) {
			in = in.with(s.Src)
		}
	case *Put:
		if out.holds(Of(s.V)) {
			in = in.with(s.Src)
		}
	case *Get:
		body := l.block(s.Body, out, c)
		if body.holds(Of(s.Dst)) {
			body = body.without(Of(s.Dst)).with(Of(s.V))
		}
		in = out.or(body)
	case *Use:
		fail := out
		if s.Err == ECheck {
			fail = l.block(s.Fail, out, c)
		}
		in = out.or(fail).with(s.Args...)
		during = in
	case *If:
		then, other := l.block(s.Then, out, c), l.block(s.Else, out, c)
		in = then.or(other)
		if v, ok := l.decided(s.Cond); ok {
			in = other
			if v {
				in = then
			}
		}
		in = in.with(l.operands(s.Cond)...)
		during = in
	case *Flag:
		if _, ok := l.flags[s.Name]; ok {
			in = l.less(s.Name).At[s].In
		}
	case *Loop:
		head := l.head[s]
		b := c.push(target{s.Label, true, out, head})
		h := l.block(s.Body, head, b)
		if s.Kind == LWhile {
			switch v, ok := l.decided(s.Cond); {
			case ok && !v:
				h = out
			case !ok:
				h = h.or(out)
			}
			h = h.with(l.operands(s.Cond)...)
		} else if s.Kind != LEver {
			h = h.or(out)
		}
		grow(l, l.head, Stmt(s), h)
		in, during = h, h
	case *Each:
		head := l.head[s]
		h := l.block(s.Body, head, c.push(target{s.Label, true, out, head}))
		if h.holds(Of(s.V)) {
			h = h.without(Of(s.V)).with(Of(s.X))
		}
		if s.Seq != QNone { // the iterator reads the buffer
			h = h.with(Of(s.X))
		}
		h = h.or(out)
		grow(l, l.head, Stmt(s), h)
		in, during = h, h
		if s.Lit != nil && h.holds(Of(s.X)) {
			in = h.without(Of(s.X)).with(s.Lit...)
		}
	case *Switch:
		b := c.push(target{s.Label, false, out, Set{}})
		in = Set{}
		if !s.Default && (s.Kind != STyped || l.less == nil) {
			in = out
		}
		next := out
		for i := len(s.Cases) - 1; i >= 0; i-- {
			o := out
			if i < len(s.Fall) && s.Fall[i] {
				o = next
			}
			next = l.block(s.Cases[i], o, b)
			h := next
			if s.Kind == STyped && i > 0 && l.less != nil {
				continue // the subject is known to be of the first clause's type
			}
			if s.Kind == STyped && i == 0 && h.holds(Of(s.V)) {
				h = h.without(Of(s.V)).with(s.Subject)
			}
			in = in.or(h)
		}
		if s.Kind == SLen {
			in = in.with(s.Subject)
		}
		during = in
	case *Jump:
		in = l.jump(s, c)
		during = in
	case *Label:
		grow(l, l.goes, s.Name, out)
	case *Return:
		in = c.leave()
		if s.Path.V != nil {
			in = in.with(s.Path)
		}
		during = in
	case *Panic:
		in = c.exit.with(s.With)
		if s.Exit {
			in = Set{}
		}
		during = in
	case *Defer: // what DLook reads is pinned where it runs
		if s.Kind == DUse || s.Kind == DLook {
			in = in.with(s.Path)
		}
	case *Done:
		if l.flags == nil { // something before it might panic, and deferred code read it
			in = in.with(s.Of.Path)
		}
	case *Free:
		if s.How == FTold {
			in = in.with(s.Path)
			during = in
		}
	case *FreeAll:
	case *Join:
		o := out.with(s.Arg)
		in = l.block(s.Mid, o, c).with(s.Arg)
		during = in
	case *Closure:
		var none Set
		grow(l, l.lits, s.V, l.block(s.Body, none, liveCtx{exit: c.exit, lit: &none}))
		if s.Wrap == WNone {
			if k := l.killed(s.Body); k != l.kills[s.V] {
				l.kills[s.V] = k
				l.done = false
			}
		}
	case *CallVar:
		in = out
		if s.Kind == CPlain {
			in = in.minus(l.kills[s.V])
		}
		in = in.or(l.lits[s.V])
		during = in.or(out)
	case *Inline:
		b := c
		b.targets = nil
		if s.Kind != ITimes {
			b.lit = &out
			in = l.block(s.Body, out, b)
		} else {
			head := l.head[s]
			b.lit = &head
			h := l.block(s.Body, head, b).or(out)
			grow(l, l.head, Stmt(s), h)
			in = h
		}
		during = in
	case *Call:
		in = l.call(s, out, c)
		during = in
	case *Probe:
	case *Escape:
		in = in.with(s.Path)
		during = in
	case *Block:
		in = l.block(s.Body, out, c)
		during = in
	case *Select:
		b := c.push(target{"", false, out, Set{}})
		in = l.block(s.Sent, out, b).or(l.block(s.Others, out, b)).with(s.Path)
		during = in
	case *Pass:
		in = out.without(Of(s.Dst))
		if out.holds(Of(s.Dst)) {
			in = in.with(s.Src)
		}
	default:
		in, during = l.other(s, out, c)
	}
	if l.copies {
		switch s.(type) {
		case *Assign, *Compose, *Append, *Put, *Get, *Each, *Wrap, *Pass:
			in = in.with(Reads(s)...)
		}
	}
	l.At[s] = &Info{In: in, Out: out, During: during}
	return in
}
