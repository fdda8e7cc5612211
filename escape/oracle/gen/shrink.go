package gen

import (
	"reflect"
	"slices"
)

// Clone returns a copy of p whose statements can be changed.
func Clone(p *Program, id int) *Program {
	q := *p
	q.ID = id
	q.Funcs = nil
	for _, f := range p.Funcs {
		g := *f
		g.Body = cloneList(f.Body)
		q.Funcs = append(q.Funcs, &g)
	}
	return &q
}

func cloneList(list []Stmt) []Stmt {
	var res []Stmt
	for _, s := range list {
		v := reflect.New(reflect.TypeOf(s).Elem())
		v.Elem().Set(reflect.ValueOf(s).Elem())
		t := v.Interface().(Stmt)
		if w, ok := t.(*Switch); ok {
			w.Cases = slices.Clone(w.Cases)
			w.Fall = slices.Clone(w.Fall)
		}
		for _, l := range Lists(t) {
			*l = cloneList(*l)
		}
		res = append(res, t)
	}
	return res
}

// Size returns the number of statements of the functions in use.
func Size(p *Program) int {
	n := 0
	used := p.reachable()
	for i, f := range p.Funcs {
		if used[i] {
			n++
			Walk(f.Body, func(Stmt) bool { n++; return true })
		}
	}
	return n
}

// reachable says which functions the entry can call.
func (p *Program) reachable() []bool {
	seen := make([]bool, len(p.Funcs))
	var visit func(int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		Walk(p.Funcs[i].Body, func(s Stmt) bool {
			if c, ok := s.(*Call); ok {
				for _, t := range c.targets() {
					visit(t)
				}
			}
			return true
		})
	}
	visit(0)
	return seen
}

// lists returns all statement lists of the functions in use, in a fixed order.
func lists(p *Program) []*[]Stmt {
	var res []*[]Stmt
	var add func(l *[]Stmt)
	add = func(l *[]Stmt) {
		res = append(res, l)
		for _, s := range *l {
			for _, inner := range Lists(s) {
				add(inner)
			}
		}
	}
	used := p.reachable()
	for i, f := range p.Funcs {
		if used[i] {
			add(&f.Body)
		}
	}
	return res
}

// Smaller returns programs that are p with something left out, the boldest
// first, no more than most. They are repaired where that left names without a
// declaration; whether they still show what p shows is for the caller to see.
func Smaller(p *Program, most int) []*Program {
	var res []*Program
	seen := map[int]int{}
	try := func(change func(q *Program) bool) {
		if len(res) >= most {
			return
		}
		q := Clone(p, len(res))
		if !change(q) {
			return
		}
		repair(q)
		n := Size(q)
		if n >= Size(p) && seen[n] > 8 || Valid(q) != nil {
			return
		}
		seen[n]++
		res = append(res, q)
	}
	all := lists(p)
	total := 0
	for _, l := range all {
		total = max(total, len(*l))
	}
	for size := total; size > 0; size /= 2 {
		for i, l := range all {
			if len(*l) < size {
				continue
			}
			for at := 0; at+size <= len(*l); at += size {
				try(func(q *Program) bool {
					m := lists(q)[i]
					*m = slices.Delete(*m, at, at+size)
					return true
				})
			}
		}
	}
	for i, l := range all {
		for at, s := range *l {
			for k := range Lists(s) {
				try(func(q *Program) bool { return unwrap(lists(q)[i], at, k) })
			}
			try(func(q *Program) bool { return simplify((*lists(q)[i])[at]) })
		}
	}
	return res
}

// unwrap replaces statement at of l by what is in its k-th list.
func unwrap(l *[]Stmt, at, k int) bool {
	s := (*l)[at]
	switch s := s.(type) {
	case *Make, *Use, *Call, *Closure, *Resize, *Recur:
		return false
	case *If:
		if s.Cond.Op == CNever {
			return false // an exit would end the whole batch
		}
	}
	in := *Lists(s)[k]
	if len(in) == 0 {
		return false
	}
	*l = slices.Concat((*l)[:at:at], in, (*l)[at+1:])
	return true
}

// simplify makes s plainer and reports whether it could.
func simplify(s Stmt) bool {
	switch s := s.(type) {
	case *Make:
		switch {
		case s.Via != VMake && s.Via != VMaybe && s.Via != VFound: // what is tested for may be nothing
			s.Via = VMake
		case s.Err == EWrap:
			s.Err = ECheck
		case s.Err == ECheck && s.Via != VMaybe && s.Via != VFound:
			s.Err, s.Fail = EMust, nil
		case s.T:
			s.T = false
		default:
			return false
		}
		return true
	case *Closure:
		if s.Wrap != WNone {
			s.Wrap = WNone
			return true
		}
	case *Use:
		switch {
		case s.Err == ECheck:
			s.Err, s.Fail = EIgnore, nil
		case s.T:
			s.T = false
		default:
			return false
		}
		return true
	case *Call:
		if s.Err == EWrap {
			s.Err = ECheck
			return true
		}
	case *If:
		if s.Cond.Op != CDraw && s.Cond.Op != CNever {
			s.Cond = &Cond{Op: CDraw}
			return true
		}
	case *Loop:
		if s.Kind != LCount && s.Kind != LWhile && s.Kind != LEver {
			s.Kind = LCount
			return true
		}
	}
	return false
}

// repair drops what refers to names that are gone, until nothing does.
func repair(p *Program) {
	for range 20 {
		r := &repairer{ok: true}
		for _, f := range p.Funcs {
			scope := map[*Var]bool{}
			for _, v := range f.Params {
				scope[v] = true
			}
			if f.Clean != nil {
				scope[f.Clean] = true
			}
			r.gotos = map[string]bool{}
			r.flags = map[string]bool{}
			for _, s := range f.Body {
				if l, ok := s.(*Label); ok {
					r.gotos[l.Name] = true
				}
			}
			r.list(&f.Body, scope, nil, true)
		}
		if r.ok {
			return
		}
	}
}

type repairer struct {
	ok    bool
	gotos map[string]bool
	flags map[string]bool
}

// where is a loop (or, without continue, a switch) around a statement.
type where struct {
	label string
	loop  bool
}

func (r *repairer) list(l *[]Stmt, outer map[*Var]bool, around []where, top bool) {
	scope := map[*Var]bool{}
	for v := range outer {
		scope[v] = true
	}
	var res []Stmt
	for _, s := range *l {
		if !r.keep(s, scope, around) {
			r.ok = false
			continue
		}
		if f, ok := s.(*Flag); ok {
			r.flags[f.Name] = true
		}
		vars, inside := Declares(s)
		in := around
		switch s := s.(type) {
		case *Loop:
			in = append(in[:len(in):len(in)], where{s.Label, true})
		case *Each:
			in = append(in[:len(in):len(in)], where{s.Label, true})
		case *For:
			in = append(in[:len(in):len(in)], where{s.Label, true})
		case *Make:
			if s.Case {
				in = append(in[:len(in):len(in)], where{"", false})
			}
		case *Switch:
			in = append(in[:len(in):len(in)], where{s.Label, false})
		case *Select:
			in = append(in[:len(in):len(in)], where{"", false})
		case *Closure, *Inline, *Recur:
			in = nil
		}
		for _, inner := range Lists(s) {
			if inner == inside {
				with := map[*Var]bool{}
				for v := range scope {
					with[v] = true
				}
				for _, v := range vars {
					with[v] = true
				}
				r.list(inner, with, in, false)
			} else {
				r.list(inner, scope, in, false)
			}
		}
		if inside == nil {
			for _, v := range vars {
				scope[v] = true
			}
		}
		res = append(res, s)
	}
	*l = res
}

// keep reports whether everything that s refers to is there.
func (r *repairer) keep(s Stmt, scope map[*Var]bool, around []where) bool {
	for _, p := range Reads(s) {
		if !scope[p.V] {
			return false
		}
	}
	switch s := s.(type) {
	case *Make:
		return s.Decl || scope[s.Dst.V] || s.Dst.V.Name == blank
	case *Assign:
		if !s.Decl {
			for _, d := range s.Dst {
				if !scope[d.V] {
					return false
				}
			}
		}
	case *Jump:
		if s.Kind == JGoto {
			return r.gotos[s.Label]
		}
		for _, w := range around {
			if (s.Label == "" || w.label == s.Label) && (w.loop || s.Kind == JBreak) {
				return true
			}
		}
		return false
	case *If:
		return r.flagged(s.Cond)
	case *Loop:
		return r.flagged(s.Cond)
	case *Defer:
		if s.Kind == DGuard {
			r.flags[s.name()] = true
		}
		return s.Kind != DUse && s.Kind != DGuard || len(around) == 0
	case *Done:
		return r.flags[s.Of.name()]
	}
	return true
}

func (r *repairer) flagged(c *Cond) bool {
	return c == nil || (c.Op != CFlag || r.flags[c.Var]) && r.flagged(c.X) && r.flagged(c.Y)
}
