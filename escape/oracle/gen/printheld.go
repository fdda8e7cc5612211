package gen

// Printing what holds a buffer or leads back to one: literals and iterators.

import "fmt"

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
	if once(how) {
		w.imports["sync"] = true
		return "sync.OnceValue(" + lit + ")"
	}
	switch how % 4 {
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
