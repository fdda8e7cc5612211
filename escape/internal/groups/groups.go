// Package groups is about groups that wait for goroutines, sync.WaitGroup and errgroup.Group: which
// goroutines one waits for, and where it does.
//
// # Words
//
//   - A group is a variable, or a field of one ([Group]).
//   - It is known ([Finder.Waits]) if nobody gets at it but who starts a goroutine in it, says Done in one
//     that it counts, or waits for it. Others might wait for another one, or count one less.
//   - A call waits for a group if it is of the group's method, or of a function that has waited for it on
//     each way back: its summary says so, and [Finder.Waited] finds that out.
//
// # The way through
//
// What uses a group is found from the variable that it is in, through the fields that lead to it and the
// literals that capture it. A literal that captures it waits for it where it is called, or says Done to it
// in go statements, or does nothing with it.
package groups

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// A Group is a part of what Base leads to, a rune for each field.
type Group struct {
	Base ssa.Value
	Path string
}

// At returns the group that an address leads to.
func At(v ssa.Value) (g Group) {
	for g.Base = v; ; {
		field, ok := g.Base.(*ssa.FieldAddr)
		if !ok {
			return g
		}
		g.Base, g.Path = field.X, step(field)+g.Path
	}
}

func step(f *ssa.FieldAddr) string { return string(rune(f.Field + 1)) }

// A Finder finds what is done with groups.
type Finder struct {
	IR   *ir.Package
	Does func(*ssa.CallCommon) *effect.Summary // what a call does; never nil
}

// Call returns what a call of a group's method is, and the group; "" if it is none.
func Call(c *ssa.CallCommon) (name string, of Group) {
	if callee := c.StaticCallee(); callee != nil && callee.Signature.Recv() != nil { // no method value
		fn, _ := callee.Object().(*types.Func)
		return method(fn), At(c.Args[0])
	}
	return "", Group{}
}

// method returns the name of a method of a group; "" if it is none.
func method(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil || groups[fn.Pkg().Path()] == "" {
		return ""
	}
	if fn.FullName() == groups[fn.Pkg().Path()]+fn.Name() {
		return fn.Name()
	}
	return ""
}

// groups has, by package, what the names of the methods of a group begin with.
var groups = map[string]string{
	"sync":                       "(*sync.WaitGroup).",
	"golang.org/x/sync/errgroup": "(*golang.org/x/sync/errgroup.Group).",
}

// Waits returns the instructions that wait for a group; false: it is not known.
func (f *Finder) Waits(g Group) (waits []ssa.Instruction, ok bool) {
	u := &uses{f: f, of: g}
	return u.waits, u.known(g.Base, g.Path)
}

// uses are those of one group.
type uses struct {
	f     *Finder
	of    Group
	waits []ssa.Instruction
}

// known reports whether all is known that uses a group at a path of what v leads to.
func (u *uses) known(v ssa.Value, path string) bool {
	for _, i := range *v.Referrers() {
		ok := false
		switch i := i.(type) {
		case *ssa.DebugRef:
			ok = true
		case *ssa.FieldAddr:
			rest, leads := strings.CutPrefix(path, step(i))
			ok = !leads || u.known(i, rest)
		case *ssa.MakeClosure:
			ok = u.captured(i, v, path)
		case *ssa.Call:
			ok = u.called(i, v, path)
		}
		if !ok {
			return false
		}
	}
	return true
}

// called reports whether it is known what a call does with a group that is at a path of its operand.
func (u *uses) called(i *ssa.Call, v ssa.Value, path string) bool {
	if u.f.waitsFor(&i.Call, v, path) {
		u.waits = append(u.waits, i)
		return true
	}
	name, _ := Call(&i.Call)
	return path == "" && i.Call.Args[0] == v && (name == "Go" || name == "SetLimit" || added(i) > 0)
}

// waitsFor reports whether a call has waited for the group at a path of its operand when it returns.
func (f *Finder) waitsFor(c *ssa.CallCommon, v ssa.Value, path string) bool {
	callee := calls.Called(c)
	if m, bound := c.Value.(*ssa.MakeClosure); bound {
		callee = calls.Method(m.Fn.(*ssa.Function))
	}
	for k, a := range calls.Operands(c) {
		if a == v && (method(callee) == "Wait" && path == "" || slices.Contains(f.Does(c).Param(k).Waits, path)) {
			return true
		}
	}
	return false
}

// captured reports whether it is known what a literal, or a method value, does with a group that is at a path
// of what it captures.
func (u *uses) captured(m *ssa.MakeClosure, v ssa.Value, path string) bool {
	fn := m.Fn.(*ssa.Function)
	if calls.Method(fn) == nil {
		some := false
		for k, b := range m.Bindings {
			some = some || b == v && touches(fn.FreeVars[k], path)
		}
		if !some || u.f.onlyDone(m, u.of) {
			return true
		}
	}
	for _, i := range *m.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Call:
			if i.Call.Value != ssa.Value(m) || !u.called(i, v, path) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// touches reports whether what is at a path of what v leads to is used.
func touches(v ssa.Value, path string) bool { return len(users(v, path)) > 0 }

// users lists what uses what is at a path of what v leads to.
func users(v ssa.Value, path string) (out []ssa.Instruction) {
	for _, i := range *v.Referrers() {
		field, ok := i.(*ssa.FieldAddr)
		if !ok {
			out = append(out, i)
		} else if rest, leads := strings.CutPrefix(path, step(field)); leads {
			out = append(out, users(field, rest)...)
		}
	}
	return slices.DeleteFunc(out, func(i ssa.Instruction) bool { _, ref := i.(*ssa.DebugRef); return ref })
}

// Waited returns the groups, by their paths from what v leads to, that a function has waited for whenever it
// returns. v is its operand, or what it captures.
func (f *Finder) Waited(fn *ssa.Function, v ssa.Value) (paths []string) {
	if _, pointer := v.Type().Underlying().(*types.Pointer); !pointer {
		return nil
	}
	some := map[string]bool{}
	f.waitedIn(v, "", some)
	for _, path := range slices.Sorted(maps.Keys(some)) {
		if waits, ok := f.Waits(Group{v, path}); ok && !leaves(fn, waits) {
			paths = append(paths, path)
		}
	}
	return paths
}

// waitedIn collects the paths at which a call waits for something.
func (f *Finder) waitedIn(v ssa.Value, path string, some map[string]bool) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			f.waitedIn(i, path+step(i), some)
		case *ssa.Call:
			for k, a := range calls.Operands(&i.Call) {
				for _, rest := range f.Does(&i.Call).Param(k).Waits {
					some[path+rest] = some[path+rest] || a == v
				}
			}
			if f.waitsFor(&i.Call, v, "") {
				some[path] = true
			}
		}
	}
	maps.DeleteFunc(some, func(_ string, is bool) bool { return !is })
}

// leaves reports whether a function may return without having come through one of some instructions.
func leaves(fn *ssa.Function, through []ssa.Instruction) bool {
	stops := func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(through, func(i ssa.Instruction) bool { return i.Block() == b })
	}
	seen := map[*ssa.BasicBlock]bool{}
	open := []*ssa.BasicBlock{fn.Blocks[0]}
	if fn.Recover != nil {
		open = append(open, fn.Recover) // after a panic anywhere
	}
	for len(open) > 0 {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[b] || stops(b) {
			continue
		}
		seen[b] = true
		if _, returns := b.Instrs[len(b.Instrs)-1].(*ssa.Return); returns {
			return true
		}
		open = append(open, b.Succs...)
	}
	return false
}
