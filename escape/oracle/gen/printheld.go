package gen

// Printing what holds a buffer or leads back to one: types of the program, literals
// and iterators.

import "fmt"

// freeOf frees what the expression x holds, which may be nothing.
func freeOf(x string, r Res) string {
	if r == RMat {
		return "if " + x + " != nil {\n" + x + ".Close()\n}"
	}
	return x + ".Free()"
}

// elems is the slice, array or map of v.
func (w *printer) elems(v *Var) string {
	if v.Kind == KStack {
		return v.Name + ".list"
	}
	return v.Name
}

// shown is p where it is handed over to be looked at.
func (w *printer) shown(p Path) string {
	if p.V.Kind == KGetter {
		return w.handle(p)
	}
	return w.place(p)
}

// stackType is a struct that owns what its slice holds.
func (w *printer) stackType(r Res) string {
	name := w.prefix() + "stack"
	if r == RMat {
		name += "m"
	}
	w.types[name] = fmt.Sprintf(`type %[1]s struct {
	list []%[2]s
}

func (s *%[1]s) push(b %[2]s) { s.list = append(s.list, b) }

func (s *%[1]s) Close() {
	for _, x := range s.list {
		%[3]s
	}
}

`, name, w.handleType(r), freeOf("x", r))
	return name
}

// boxType is a struct whose buffer can be replaced by a larger one.
func (w *printer) boxType() string {
	name := w.prefix() + "box"
	w.types[name] = fmt.Sprintf(`type %[1]s struct{ buf %[2]s.Buffer[int64] }

func (x *%[1]s) view() %[2]s.View[int64] { return x.buf.All() }

func (x *%[1]s) Close() { x.buf.Free() }

func (x *%[1]s) resize(c *%[3]s.C, n int) error {
	b, err := %[2]s.Make[int64](c.S(), n)
	if err != nil {
		return err
	}
	b.Fill(c.Q(), %[4]d)
	x.buf.Free()
	x.buf = b
	return nil
}

`, name, w.alloc(), w.rt(), boxed)
	return name
}

// heldType is an error that is about a buffer.
func (w *printer) heldType(r Res) string {
	name := w.prefix() + "held"
	if r == RMat {
		name += "m"
	}
	w.types[name] = fmt.Sprintf(`type %[1]s struct{ b %[2]s }

func (e *%[1]s) Error() string {
	if e.b.Len() > 0 {
		return "held"
	}
	return "empty"
}

`, name, w.handleType(r))
	return name
}

// holding is an error that holds p, wrapped in one of several ways.
func (w *printer) holding(p Path, how int) string {
	text := "&" + w.heldType(p.V.Res) + "{" + w.handle(p) + "}"
	switch how % 3 {
	case 0:
		w.imports["fmt"] = true
		return "fmt.Errorf(\"work: %w\", " + text + ")"
	case 1:
		w.imports["errors"] = true
		return "errors.Join(" + w.rt() + ".ErrFailed, " + text + ")"
	}
	return "error(" + text + ")"
}

// getter is a function that returns what the variable text holds.
func (w *printer) getter(text string, from Path, how int) string {
	h := w.handleType(from.V.Res)
	lit := fmt.Sprintf("func() %s { return %s }", h, text)
	switch how % 4 {
	case 1:
		w.imports["sync"] = true
		return "sync.OnceValue(" + lit + ")"
	case 2:
		name := w.prefix() + "again"
		w.types[name] = fmt.Sprintf("func %s[T any](f func() T) func() T {\n\treturn func() T { return f() }\n}\n\n", name)
		return name + "(" + lit + ")"
	case 3:
		return w.rt() + ".Again(" + lit + ")"
	}
	return lit
}

// wrap is what stands around a literal that is stored in a variable.
func (w *printer) wrap(k WrapKind) (before, after string) {
	switch k {
	case WOnce:
		w.imports["sync"] = true
		return "sync.OnceFunc(", ")"
	case WLater:
		name := w.prefix() + "later"
		w.types[name] = fmt.Sprintf("func %s(f func()) func() {\n\treturn func() { f() }\n}\n\n", name)
		return name + "(", ")"
	case WOther:
		return w.rt() + ".Later(", ")"
	}
	return "", ""
}

// iterator is an iterator over the halves of the buffer text.
func (w *printer) iterator(text string, how int) string {
	if how%2 == 1 {
		return w.halves() + "(" + text + ")"
	}
	return w.rt() + ".Halves(" + text + ")"
}

// halves is the program's own function that returns such an iterator.
func (w *printer) halves() string {
	name := w.prefix() + "halves"
	w.imports["iter"] = true
	w.types[name] = fmt.Sprintf(`func %s[T %s.Elem](b %[3]s.Buffer[T]) iter.Seq[%[3]s.View[T]] {
	return func(yield func(%[3]s.View[T]) bool) {
		n := b.Len()
		if n > 0 && yield(b.View(0, n/2)) {
			yield(b.View(n/2, n))
		}
	}
}

`, name, w.rt(), w.alloc())
	return name
}

// each prints the head of a range.
func (w *printer) each(s *Each) {
	switch {
	case s.Seq == QPull:
		w.imports["iter"] = true
		w.pf("{\nnext, stop := iter.Pull(%s)\n", w.iterator(w.handle(s.Lit[0]), s.Lit[0].V.Loc))
		w.label(s.Label)
		w.pf("for %s, ok := next(); ok; %s, ok = next() {\n", s.V.Name, s.V.Name)
		return
	case s.Seq == QVar:
		w.label(s.Label)
		w.pf("for %s := range %s {\n", s.V.Name, s.X.Name)
		return
	case s.Seq != QNone:
		w.label(s.Label)
		w.pf("for %s := range %s {\n", s.V.Name, w.iterator(w.handle(s.Lit[0]), int(s.Seq-QOther)))
		return
	}
	x := w.elems(s.X)
	if s.Lit != nil {
		x = "[]" + w.handleType(s.X.Res) + "{"
		for i, p := range s.Lit {
			if i > 0 {
				x += ", "
			}
			x += w.handle(p)
		}
		x += "}"
	}
	w.label(s.Label)
	w.pf("for _, %s := range %s {\n", s.V.Name, x)
}

// guard defers a read as long as a flag is not set.
func (w *printer) guard(s *Defer) {
	x := s.name()
	cond := x
	switch s.By {
	case GPlain, GFunction:
		w.pf("%s := false\n", x)
	case GPointer:
		w.pf("%s := new(bool)\n", x)
		cond = "*" + x
	case GField:
		w.pf("%s := struct{ ok bool }{}\n", x)
		cond = x + ".ok"
	case GLiteral:
		w.pf("%[1]s := false\nset%[1]s := func() { %[1]s = true }\n_ = set%[1]s\n", x)
	case GMethod:
		w.pf("%s := &%s.State{}\n", x, w.rt())
		cond = x + ".Done"
	}
	w.pf("defer func() {\nif !%s {\nc.Out(%s)\n}\n}()\n", cond, w.peek(s.Path))
}

// done sets the flag of a guarded defer.
func (w *printer) done(s *Defer) {
	x := s.name()
	switch s.By {
	case GPlain:
		w.pf("%s = true\n", x)
	case GPointer:
		w.pf("*%s = true\n", x)
	case GField:
		w.pf("%s.ok = true\n", x)
	case GLiteral:
		w.pf("set%s()\n", x)
	case GFunction:
		w.pf("%s.Set(&%s)\n", w.rt(), x)
	case GMethod:
		w.pf("%s.Finish()\n", x)
	}
}

// deferredLook defers a read of what s.Path holds now.
func (w *printer) deferredLook(s *Defer) {
	h := w.handleType(s.Path.V.Res)
	x := Of(&Var{Name: "x", Res: s.Path.V.Res})
	switch {
	case s.Lit:
		w.pf("defer func() {\nc.Out(%s)\n}()\n", w.peek(s.Path))
	case s.ID%2 == 1:
		w.pf("defer func(x %s) {\nc.Out(%s)\n}(%s)\n", h, w.peek(x), w.handle(s.Path))
	case s.Path.V.Res == RMat:
		w.pf("defer %s.Report(c)\n", w.handle(s.Path))
	default:
		w.pf("defer %s.Report(c, %s)\n", w.rt(), w.handle(s.Path))
	}
}
