package escape

// Where values are needed, and whether objects can be decided one instance at a
// time.

// propagates reports whether instruction u does not need its operand v itself
// but only hands it to a member of the same web.
func (w *flow) propagates(v, u *value) bool {
	switch u.op {
	case opSet, opCmp, opNot, opDiscard, opGap, opCopy, opPack, opClosure, opAddr, opBound, opPhi:
		return !w.readsName(v, u)
	}
	return false
}

// isUseful reports whether v leads to a use at all.
func (w *flow) isUseful(v *value) bool {
	if s := w.useful[v]; s != 0 {
		return s == 1
	}
	// Iterative: chains are long in generated code.
	seen := map[*value]bool{v: true}
	stack := []*value{v}
	found := false
	for len(stack) > 0 && !found {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range x.users {
			switch {
			case u.op == opSet && u.place.root.exposed != "":
				found = true
			case !w.propagates(x, u):
				found = true
			case (u.op == opCopy || u.op == opPack || u.op == opClosure || u.op == opAddr || u.op == opBound || u.op == opPhi) && !seen[u]:
				if w.useful[u] == 1 {
					found = true
				} else if w.useful[u] == 0 {
					seen[u] = true
					stack = append(stack, u)
				}
			}
		}
	}
	if found {
		w.useful[v] = 1
		return true
	}
	for x := range seen {
		w.useful[x] = 2
	}
	return false
}

// liveIn reports whether v is used on some path from the entry of b, by an
// instruction that needs it, before it is defined again.
func (w *flow) liveIn(v *value, b *block) bool { return w.liveBlocks(v)[b] }

func (w *flow) liveBlocks(v *value) map[*block]bool {
	if s, ok := w.live[v]; ok {
		return s
	}
	s := map[*block]bool{}
	w.live[v] = s
	var stack []*block
	mark := func(b *block) {
		// v is needed in b, before any definition in b.
		if !s[b] {
			s[b] = true
			stack = append(stack, b)
		}
	}
	out := func(b *block) {
		if b != v.blk {
			mark(b)
		}
	}
	for _, u := range v.users {
		switch {
		case u.op == opPhi:
			if w.isUseful(u) {
				for i, a := range u.args {
					if a == v {
						out(u.blk.preds[i])
					}
				}
			}
		case w.readsName(v, u):
			if u.blk != v.blk {
				mark(u.blk)
			}
		case u.op == opSet && u.place.root.exposed == "":
		case u.op == opCmp || u.op == opNot || u.op == opDiscard || u.op == opGap:
		case w.propagates(v, u) && u.op != opSet && !w.ownerOp(u) && !w.isUseful(u):
			// A collection that nobody looks at is handed its elements all the same.
		default:
			if u.blk != v.blk {
				mark(u.blk)
			}
		}
	}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range b.preds {
			out(p)
		}
	}
	return s
}

// check finds what keeps o from being decided one instance at a time.
func (w *flow) check(o *object) {
	if o.complex != "" {
		return
	}
	b := o.def.blk
	if o.kind == objParam {
		return
	}
	pos := indexOf(b, o.def)
	for _, m := range o.order[:o.nOwn] {
		if m == o.def || w.fresh(origin(m), o) {
			continue
		}
		if !w.liveIn(m, b) && !(m.op == opPhi && m.blk == b && w.liveAfter(m, b, pos)) {
			continue
		}
		if m.blk == b && m.op != opPhi && indexOf(b, m) > pos && !w.liveIn(m, b) {
			// made of the next one; phis of one block all stand for the round before, in whatever order
			continue
		}
		o.complex = "an earlier one is still in use when the next is made"
		return
	}
}

// liveAfter reports whether v, defined in b before index pos, is needed after.
func (w *flow) liveAfter(v *value, b *block, pos int) bool {
	for _, u := range v.users {
		if u.blk == b && u.op != opPhi && (w.readsName(v, u) || !(u.op == opSet && u.place.root.exposed == "") && u.op != opCmp && u.op != opDiscard && u.op != opNot) && indexOf(b, u) > pos {
			return true
		}
	}
	for _, s := range b.succs {
		if w.liveIn(v, s) {
			return true
		}
		for i, p := range s.preds {
			if p == b {
				for _, u := range s.instrs {
					if u.op == opPhi && u.args[i] == v && w.isUseful(u) {
						return true
					}
				}
			}
		}
	}
	return false
}

func indexOf(_ *block, v *value) int { return v.at }
