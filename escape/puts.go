package escape

// Puts: what a method does that stores its operand in a field of its receiver, as push
// does to a stack. Seen from its own body the operand leaves. Where the caller follows
// the receiver's fields the call does what the same statement would do there.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// A Put is a store that every call does: operand From becomes the field of what operand
// Into points to, or is appended to it.
type Put struct {
	Into, From int // as in Args
	Field      string
	Append     bool
}

// puts lists the stores of parameters in fields of other parameters, if these are all that
// f does with either but to use them; it then leaves out of s what they say.
func (f *fn) puts(w *flow, s *Summary) []Put {
	if f.obj == nil || len(s.Args) > 64 || slices.ContainsFunc(s.Args, func(e ArgEffect) bool { return e.Freed.K != Never || e.Retained || len(e.Fields) > 0 }) {
		return nil
	}
	for _, r := range s.Res {
		if r.Is|r.Views != 0 {
			return nil
		}
	}
	var out []Put
	stores := map[*value]bool{}
	for _, v := range f.rpo[0].instrs { // what stands here happens once in every call
		if v.op != opStore {
			continue
		}
		if put, ok := f.put(v); ok {
			out = append(out, put)
			stores[v] = true
		}
	}
	if len(out) == 0 || slices.ContainsFunc(f.rpo, func(b *block) bool { return slices.Contains(b.succs, f.rpo[0]) }) {
		return nil
	}
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			if v.op == opPanic || v.op == opStore && !stores[v] && !f.p.plain(v.args[0].typ0()) {
				return nil
			}
		}
	}
	for _, put := range out {
		from, into := w.byDef[f.params[put.From]], w.byDef[f.params[put.Into]]
		if from == nil || into == nil || from.complex != "" || into.complex != "" || !from.onlyIn(stores) || !into.onlyIn(stores) {
			return nil
		}
	}
	return out
}

// onlyIn reports whether o leaves through the stores, if at all.
func (o *object) onlyIn(stores map[*value]bool) bool {
	only := true
	o.eachEvent(func(e event) {
		switch {
		case e.kind == evUse, e.kind == evMove && o.putBy(e.at, stores):
		default:
			only = false
		}
	})
	return only
}

// putBy reports whether at is one of the stores, or what one of them stores.
func (o *object) putBy(at *value, stores map[*value]bool) bool {
	return stores[at] || slices.ContainsFunc(at.users, func(u *value) bool { return stores[u] && u.args[0] == at })
}

// put reads store v of f, if it is one of a parameter in a field of another.
func (f *fn) put(v *value) (Put, bool) {
	if len(v.args) != 2 || v.note.Kind != report.InField {
		return Put{}, false
	}
	into := copied(v.args[1])
	field := v.note.Name
	if into.op != opParam || !isPointer(into.typ0()) {
		return Put{}, false
	}
	x, sig, last := copied(v.args[0]), f.sig, len(f.params)-1
	put := Put{Into: into.index, Field: field}
	if x.op == opAppend {
		old := x.args[0]
		if x.note.Kind != report.Nothing || len(x.args) != 2 || len(x.users) != 1 ||
			old.op != opPart || !old.names(report.Field, field) || copied(old.args[0]) != into || len(old.users) != 1 {
			return Put{}, false
		}
		put.Append = true
		x = copied(x.args[1])
	}
	put.From = x.index
	return put, x.op == opParam && x != into && !f.p.plain(x.typ0()) && !(sig.Variadic() && x.index == last)
}

// replays returns which stores of call v can be done here instead, and where: the caller
// follows the fields that the callee stores in. The summary of the call then says no more
// that the operands leave.
func (l *lower) replays(v *value) []*place {
	s := v.call.sum
	if len(s.Puts) == 0 || v.op != opCall || s.Decided {
		return nil
	}
	var out []*place
	for _, put := range s.Puts {
		into, from := v.operand(put.Into), v.operand(put.From)
		if into == nil || from == nil {
			return nil
		}
		r, path, ok := l.pointee(into)
		if !ok {
			return nil
		}
		st, ok := deref(into.typ0()).Underlying().(*types.Struct)
		if !ok {
			return nil
		}
		i := 0
		for i < st.NumFields() && st.Field(i).Name() != put.Field {
			i++
		}
		at := slices.IndexFunc(r.leaves, func(p *place) bool { return slices.Equal(p.path, append(slices.Clone(path), i)) })
		if at < 0 {
			return nil
		}
		out = append(out, r.leaves[at])
	}
	c := *s
	c.Args = slices.Clone(s.Args)
	for _, put := range s.Puts {
		c.Args[put.Into] = ArgEffect{NilOK: c.Args[put.Into].NilOK}
		c.Args[put.From] = ArgEffect{}
	}
	v.call.sum = &c
	return out
}

// replay does in the caller what call v stores.
func (l *lower) replay(v *value, to []*place) {
	for i, p := range to {
		put := v.call.sum.Puts[i]
		x := v.operand(put.From)
		if put.Append {
			x = l.emit(opAppend, p.typ, v.pos, l.readPlace(p), x)
		}
		l.writePlace(p, x, v.pos)
	}
}

// operand returns the one operand of call v that stands for Args[i], nil if there is none
// or more than one.
func (v *value) operand(i int) *value {
	if j, ok := v.only(1 << i); ok && i < 64 {
		return v.args[j]
	}
	return nil
}
