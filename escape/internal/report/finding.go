package report

import (
	"fmt"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/find"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// Finding returns the words of what is wrong in a function, with its places as [At] marks them.
func (w *Reasons) Finding(f *pointsto.Func, fd find.Finding) string {
	name, made := w.what(f, fd.Site)
	switch {
	case fd.To != find.Nobody:
		return handed(name, fd)
	case fd.Kind == find.Late && fd.Late != nil && fd.Late.Cause != place.InLoop:
		return w.late(f, name, fd)
	case fd.On == find.Dead && fd.Kind != find.Late:
		switch {
		case fd.Kind == find.KeepAlive:
			name += " is not kept alive until its raw pointer is used at " + At(fd.Other)
		case fd.Kind == find.Leak && fd.Other.IsValid():
			name += " is not freed on the path through " + At(fd.Other)
		case fd.Kind == find.Leak:
			name += " is not freed on every path"
		default:
			name += " is never freed"
		}
		return name + made
	case fd.Kind == find.Late:
		return fmt.Sprintf("%s is freed late: the call deferred in a loop at %s runs when the function returns",
			name, At(fd.Other))
	}
	if fd.On == find.Counted && fd.Site.Param >= 0 {
		return fmt.Sprintf("%s is retained more often than it is kept: by %d", name, fd.Owed)
	}
	if fd.On == find.Counted {
		return fmt.Sprintf("%s is owed more frees than it gets: %d", name, fd.Owed)
	}
	if fd.On == find.Begun {
		its := "its " + fd.Field.Name
		switch {
		case fd.Field.Name == "":
			its = "what is in it"
		case fd.Field.Part:
			its = "what is in " + its
		}
		return fmt.Sprintf("%s is given up here, and nobody frees %s, which is made at %s", name, its, At(fd.Other))
	}
	if fd.On == find.Skipped {
		return name + " is taken out here and freed, but not on the path through " + At(fd.Other)
	}
	if fd.On == find.Held {
		return name + " is retained here, but neither kept nor released on the path through " + At(fd.Other)
	}
	if fd.On == find.Some {
		return name + " is never freed, although some of what this may call make it for the caller, as at " + At(fd.Other) + made
	}
	if fd.On == find.Half {
		return fmt.Sprintf("what is in %s of %s is freed at %s if the call before succeeds, and not here, where it fails half-way",
			fd.Field.Name, name, At(fd.Other))
	}
	if fd.On == find.Empty {
		return name + " is empty where this call is deferred, so it frees nothing of what is put there at " + At(fd.Other)
	}
	if fd.On == find.Dropped {
		return name + " is lost: the map that it is in drops it at " + At(fd.Other) + " without a free"
	}
	is, at := "is", " at "+At(fd.Other)
	if !fd.Must {
		is = "may be"
	}
	pending := fd.State&own.Pending != 0
	switch {
	case fd.Kind == find.DoubleFree && fd.View:
		return fmt.Sprintf("a view of %s is freed after %[1]s %s freed%s", name, is, at)
	case fd.Kind == find.DoubleFree && pending:
		return fmt.Sprintf("%s %s freed twice: here and by the deferred call%s", name, is, at)
	case fd.Kind == find.DoubleFree:
		return fmt.Sprintf("%s %s freed twice: first%s", name, is, at)
	case fd.On == find.Returned && pending:
		return fmt.Sprintf("%s %s returned although a deferred call frees it%s", name, is, at)
	case fd.On == find.Returned:
		return fmt.Sprintf("%s %s returned after it is freed%s", name, is, at)
	}
	return fmt.Sprintf("%s %s used after it is freed%s", name, is, at)
}

// OfFields returns the words for what a method forgets, or loses.
func OfFields(fd member.Finding) string {
	fields, of := strings.Join(fd.Fields, ", "), fd.Type.Obj().Name()
	if fd.Said != "" && member.Named(fd.Method.Signature().Recv().Type()) == fd.Type {
		return fmt.Sprintf("%s frees field %s of %s, and the free that %s names leaves it alone; until one of them goes, no edit frees a %[3]s",
			FuncName(fd.Method, fd.Method.Pkg()), fields, of, fd.Said)
	}
	if fd.Said != "" {
		return fmt.Sprintf("%s frees field %s of %s, which %s says is freed with it; until one of them goes, no edit frees a %[3]s",
			FuncName(fd.Method, fd.Method.Pkg()), fields, of, fd.Said)
	}
	if fd.Early.IsValid() {
		return fmt.Sprintf("a reference is taken after field %s of %s is freed at %s: if both are one, it is gone by then",
			fields, of, At(fd.Early))
	}
	if fd.Item {
		return fmt.Sprintf("an item of field %s of %s is overwritten while it owns", fields, of)
	}
	if fd.Lost.IsValid() && fd.Waits {
		return fmt.Sprintf("channel %s of %s is overwritten while things may wait in it", fields, of)
	}
	if fd.Lost.IsValid() && fd.Only != "" {
		return fmt.Sprintf("%s returns where the free of field %s of %s fails, and leaves field %s, which it frees otherwise",
			fd.Method.Name(), fd.Only, of, fields)
	}
	if fd.Lost.IsValid() {
		return fmt.Sprintf("field %s of %s is overwritten while it owns", fields, of)
	}
	if fd.Waits {
		return fmt.Sprintf("%s frees nothing of what waits in channel %s of %s", fd.Method.Name(), fields, of)
	}
	if fd.Only != "" {
		return fmt.Sprintf("%s frees field %s of %s only where there is %s, without which it is made",
			fd.Method.Name(), fields, of, fd.Only)
	}
	text := fmt.Sprintf("%s does not free field %s of %s", fd.Method.Name(), fields, of)
	if fd.Named {
		return text + "; it frees nothing today, so a person has to say that it ends the value's life"
	}
	return text + "; no fix: not proven: what is freed is a part of a parameter"
}

// late returns the words for what is freed late.
func (w *Reasons) late(f *pointsto.Func, name string, fd find.Finding) string {
	cause := [...]string{place.Loop: "the loop", place.Allocates: "the allocation by %s", place.Waits: "the call of %s, which waits,",
		place.Channel: "a channel operation"}[fd.Late.Cause]
	if c := fd.Late.Call; c != nil {
		cause = fmt.Sprintf(cause, calleeName(f, c))
	}
	return fmt.Sprintf("%s is freed late: %s at %s comes between its last use and its free", name, cause, At(fd.Other))
}

// handed returns the words for what happens to a buffer that is somebody else's.
func handed(name string, fd find.Finding) string {
	switch fd.To {
	case find.Receiver:
		return name + " is freed after it was sent on a channel: it is the receiver's"
	case find.Viewer:
		if fd.Kind == find.DoubleFree {
			return name + " is freed again: a view of it is freed before, which is its memory"
		}
		return name + " is used after a view of it is freed, which is its memory"
	case find.Goroutine:
		return name + " is used by a goroutine that nobody waits for, and freed at " + At(fd.Other)
	}
	return name + " is used after it was put back into a pool"
}

// what returns what a buffer is called: by the variable that holds it first, or by what makes it. Made is the
// type and the maker, as far as the name does not say that.
func (w *Reasons) what(f *pointsto.Func, s *pointsto.Site) (name, made string) {
	b := w.Buffer(f, s)
	switch {
	case b.Name != "" && b.Maker != "":
		made = " (" + b.Type + " made by " + b.Maker + ")"
	case b.Maker != "":
		made = " (" + b.Type + ")"
	}
	return b.String(), made
}

// A Buffer is what a site is called in the words of its package.
type Buffer struct {
	Name  string // the variable that holds it first, or a path from it; "" if none does
	Type  string
	Maker string // "" if no call makes it
}

// String returns what stands for the buffer in a text.
func (b Buffer) String() string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Maker != "":
		return "the result of " + b.Maker
	}
	return "the " + b.Type
}

// Buffer returns what a site of f is called.
func (w *Reasons) Buffer(f *pointsto.Func, s *pointsto.Site) Buffer {
	v, t, path := s.Value, s.Value.Type(), ""
	if p, ok := v.(*memory.Field); ok {
		v, t, path = p.Root, p.Of(), p.Text()
	}
	relative := relativeTo(f)
	b := Buffer{Type: strings.ReplaceAll(types.TypeString(t, relative), "_Ctype_", "C.")}
	if c := memory.CallOf(v); c != nil {
		b.Maker = calleeName(f, &c.Call)
	}
	switch p, operand := v.(*ssa.Parameter); {
	case operand && s.Handed() == nil:
		b.Name = p.Name() + path
		return b
	case operand:
		c, _ := calls.Ranged(f.SSA)
		if of, ok := c.Call.Value.(*ssa.Call); ok {
			c = of
		}
		b.Maker = calleeName(f, &c.Call)
	}
	of := v
	if a, ok := v.(*memory.Assigned); ok { // what a literal that the call runs gives a variable
		of = a.Slot
		if p, ok := of.(*memory.Field); ok {
			of, path = p.Root, p.Text()
		}
	}
	b.Name = w.called(f, of, path)
	return b
}

// relativeTo qualifies what is of other packages than a function.
func relativeTo(f *pointsto.Func) types.Qualifier { return qualified(f.SSA.Pkg.Pkg) }

func qualified(in *types.Package) types.Qualifier {
	return func(q *types.Package) string {
		if q == in {
			return ""
		}
		return q.Name()
	}
}

// calleeName returns the name of what a call names.
func calleeName(f *pointsto.Func, c *ssa.CallCommon) string {
	if fn := calls.Called(c); fn != nil {
		return fullName(fn.Origin(), relativeTo(f))
	}
	if memory.BodyOf(c) != nil {
		return "the body of a loop"
	}
	if load, ok := c.Value.(*ssa.UnOp); ok {
		if g, ok := load.X.(*ssa.Global); ok {
			return strings.TrimPrefix(relativeTo(f)(g.Pkg.Pkg)+"."+g.Name(), ".")
		}
	}
	return "a function"
}

// called returns the variable that holds a value first, and the path of a part of that; "" if none does.
func (w *Reasons) called(f *pointsto.Func, v ssa.Value, path string) string {
	if names := w.Names(v); len(names) > 0 {
		return names[0].Name() + path
	}
	for _, i := range *v.Referrers() { // variables in memory
		s, ok := i.(*ssa.Store)
		if !ok || s.Val != v {
			continue
		}
		root, part := f.Origin(s.Addr), ""
		if p, ok := root.(*memory.Field); ok {
			root, part = p.Root, p.Text()
		}
		if names := w.Names(root); len(names) > 0 {
			return names[0].Name() + part + path
		}
	}
	return ""
}

// FuncName returns the name of a function as it is said in a package: with its own where that is another.
func FuncName(f *types.Func, in *types.Package) string {
	return fullName(f.Origin(), qualified(in))
}

// fullName returns the name of a function, with its package where that is another.
func fullName(f *types.Func, relative types.Qualifier) string {
	if r := f.Signature().Recv(); r != nil {
		t, pointer := types.Unalias(r.Type()), false
		if p, ok := t.(*types.Pointer); ok {
			t, pointer = p.Elem(), true
		}
		text, _, _ := strings.Cut(types.TypeString(t, relative), "[")
		if pointer {
			text = "(*" + text + ")"
		}
		return text + "." + f.Name()
	}
	if q := f.Pkg(); q != nil && relative(q) != "" {
		return q.Name() + "." + f.Name()
	}
	if c, ok := strings.CutPrefix(f.Name(), "_Cfunc_"); ok {
		return "C." + c
	}
	return f.Name()
}
