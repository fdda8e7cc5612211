package gen

// Printing what makes a buffer, and the tests of its error.

import "fmt"

func (w *printer) make(s *Make, top bool) {
	dst, eq := w.place(s.Dst), w.assign(s.Decl, top)
	call := w.maker(s, s.Dst.V.Res, s.Err == EMust)
	if v := s.Dst.V; v.Kind == KLoud {
		call = fmt.Sprintf("%s(c, %d)", w.loudMaker(v), s.N)
	}
	switch {
	case s.Err == EMust:
		w.pf("%s %s %s\n", dst, eq, call)
		return
	case !s.Err.tested():
		w.pf("%s, _ %s %s\n", dst, eq, call)
		return
	}
	if s.Via == VFound {
		w.found(s, call)
		return
	}
	var err string
	if s.apart() && !(w.f.Hoist && top) {
		err, eq = fmt.Sprintf("err%d", s.ErrID), ":="
	} else {
		err = w.errName(s.Decl, top, s.ErrID)
	}
	if s.Err == EInvert {
		if s.Case && s.Decl && eq == ":=" {
			w.pf("switch %s, %s := %s; {\ncase %s == nil:\n", dst, err, call, err)
			if w.reads[s.Dst.V] == 0 {
				w.pf("_ = %s\n", s.Dst.V.Name)
			}
			w.block(s.Ok)
			if len(s.Fail) > 0 {
				w.pf("default:\n")
				w.withErr(err, s.Fail)
			}
			w.pf("}\n")
			return
		}
		if s.Decl && eq == ":=" {
			w.pf("if %s, %s := %s; %s == nil {\n", dst, err, call, err)
			if w.reads[s.Dst.V] == 0 {
				w.pf("_ = %s\n", s.Dst.V.Name)
			}
		} else {
			w.pf("%s, %s %s %s\nif %s == nil {\n", dst, err, eq, call, err)
		}
		w.block(s.Ok)
		if len(s.Fail) > 0 {
			w.pf("} else {\n")
			w.withErr(err, s.Fail)
		}
		w.pf("}\n")
		return
	}
	w.pf("%s, %s %s %s\n", dst, err, eq, call)
	w.check(s.Err, err, s.Fail)
}

// found prints a call that says with a boolean whether it made a buffer.
func (w *printer) found(s *Make, call string) {
	dst, ok := w.place(s.Dst), fmt.Sprintf("ok%d", s.ErrID)
	test, yes, no := "!"+ok, s.Fail, []Stmt(nil)
	if s.Err == EInvert {
		test, yes, no = ok, s.Ok, s.Fail
	}
	switch {
	case s.Err == EInvert && s.Decl:
		w.pf("if %s, %s := %s; %s {\n", dst, ok, call, test)
		if w.reads[s.Dst.V] == 0 {
			w.pf("_ = %s\n", dst)
		}
	case s.Decl:
		w.pf("%s, %s := %s\nif %s {\n", dst, ok, call, test)
	default:
		w.pf("var %s bool\n%s, %s = %s\nif %s {\n", ok, dst, ok, call, test)
	}
	w.withErr("", yes)
	if len(no) > 0 {
		w.pf("} else {\n")
		w.withErr("", no)
	}
	w.pf("}\n")
}

// apart reports whether the error has a variable of its own, where the buffer has none.
func (s *Make) apart() bool { return s.Dst.V.Name == blank && s.ErrID%2 == 0 }

// errName returns the variable for an error, declaring it where `:=` does not.
func (w *printer) errName(decl, top bool, id int) string {
	if w.f.Named && w.lit == 0 && !decl {
		return "err"
	}
	if decl && !(w.f.Hoist && top) || w.f.Hoist && top {
		return "err"
	}
	name := fmt.Sprintf("err%d", id)
	w.pf("var %s error\n", name)
	return name
}

func (w *printer) check(how OnErr, err string, fail []Stmt) {
	if how == EWrap {
		w.imports["fmt"] = true
		w.pf("if %s != nil {\n%s = fmt.Errorf(\"make: %%w\", %s)\n}\n", err, err, err)
	}
	if how == EShadow {
		w.pf("if err := %s; err != nil {\n", err)
		err = "err"
	} else {
		w.pf("if %s != nil {\n", err)
	}
	w.withErr(err, fail)
	w.pf("}\n")
}
