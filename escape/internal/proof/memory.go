package proof

// What need not be looked into. A proof is asked about a package several times, with fewer edits each time.
// What functions do is known from the original, and from the time before: a body is looked into if it is
// edited and was not accepted, or if nothing is known of it and something that is looked into names it.

import (
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"slices"
)

// A Memory is what Check found out about a package, for the next time that it is asked about it. The zero
// value knows nothing.
type Memory struct {
	sums     map[string]*Summary // what functions do
	edited   map[string]bool     // of these that are edited sums is about the new text
	accepted map[[2]string]bool  // declarations, old and new: their edits were accepted, as sums says
}

// keep remembers what was found out.
func (m *Memory) keep(c *checker) {
	if m == nil {
		return
	}
	*m = Memory{sums: map[string]*Summary{}, edited: map[string]bool{}, accepted: map[[2]string]bool{}}
	for _, f := range c.decls() {
		if c.sums[f] != nil {
			m.sums[localName(f)] = c.effect(f)
		}
	}
	for _, d := range c.diffs {
		if name := nameOf(d.decl); name != "" {
			m.edited[name] = true
		}
		m.accepted[d.texts] = !slices.ContainsFunc(d.edits, func(e *edit) bool { return e.why != nil })
	}
}

// localName names a function within its package.
func localName(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + f.Name()
	}
	return ""
}

// nameOf is localName of what d declares, "" if that is no function.
func nameOf(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return ""
		}
	}
}

// trim takes the bodies out of functions that are not needed.
func (c *checker) trim() {
	m := c.in.Memory
	if m == nil {
		m = &Memory{}
	}
	c.need = map[ast.Decl]bool{}
	edited := map[ast.Decl]bool{}
	for _, d := range c.diffs {
		edited[d.decl] = true
		if d.proven = m.accepted[d.texts]; !d.proven || c.known[nameOf(d.decl)] == nil {
			c.need[d.decl] = true
		}
	}
	for _, f := range c.files { // what was edited the last time, and no longer is
		for _, d := range f.tree.Decls {
			if m.edited[nameOf(d)] && !edited[d] {
				c.need[d] = true
			}
		}
	}
	c.addNamed()
	c.asKnown = map[*ast.Ident]string{}
	for _, f := range c.files {
		for i, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || c.need[d] {
				continue
			}
			c.asKnown[fn.Name] = nameOf(d)
			head := *fn
			head.Body = nil
			f.tree.Decls[i] = &head
		}
	}
}

// addNamed adds to what is needed the functions of which nothing is known that it names, and so on, and what
// a value may be asked for.
func (c *checker) addNamed() {
	byName := map[string][]ast.Decl{}
	for _, f := range c.files {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && c.known[nameOf(d)] == nil {
				byName[fn.Name.Name] = append(byName[fn.Name.Name], d)
			}
		}
	}
	if len(byName) == 0 {
		return
	}
	list := slices.Collect(maps.Keys(c.need))
	add := func(name string) {
		for _, d := range byName[name] {
			if !c.need[d] {
				c.need[d] = true
				list = append(list, d)
			}
		}
	}
	for _, name := range asked {
		add(name)
	}
	for len(list) > 0 {
		d := list[len(list)-1]
		list = list[:len(list)-1]
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				add(id.Name)
			}
			return true
		})
	}
}

// asBefore reports whether the functions that were looked into do to operands and results what was known of
// them: what is known of the others rests on that.
func (c *checker) asBefore() bool {
	for d := range c.need {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || c.known[nameOf(d)] == nil || fn.Name.Name == "init" || fn.Name.Name == "_" {
			continue
		}
		o, ok := c.info.Defs[fn.Name].(*types.Func)
		if !ok || !reflect.DeepEqual(c.effect(o), c.known[nameOf(d)]) {
			return false
		}
	}
	return true
}
