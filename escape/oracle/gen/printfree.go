package gen

// Printing what frees, what is deferred and what goroutines do.

import (
	"fmt"
	"strings"
)

func (w *printer) deferred(s *Defer) {
	free := w.freeCall(s.Path)
	switch s.Kind {
	case DLook:
		w.deferredLook(s)
	case DNil:
		w.pf("defer func() {\n%s\n}()\n", w.freeOf(s.Path.V.Name, s.Path.V.Res))
	case DAll:
		w.pf("defer func() {\nfor _, x := range %s {\n%s\n}\n}()\n", w.elems(s.Path.V), w.freeCall(Of(&Var{Name: "x", Res: s.Path.V.Res})))
	case DClose:
		w.pf("defer %s\n", free)
	case DFree:
		w.pf("defer %s\n", free)
	case DLit:
		w.pf("defer func() {\n%s\n}()\n", free)
	case DMethod:
		w.pf("release%d := %s\ndefer release%d()\n", s.ID, w.freeValue(s.Path), s.ID)
	case DDo:
		w.pf("defer %s.Do(%s)\n", w.rt(), w.freeValue(s.Path))
	case DUse:
		w.pf("defer func() {\nc.Out(%s)\n}()\n", w.peek(s.Path))
	case DGuard:
		w.guard(s)
	}
}

func (w *printer) free(s *Free) {
	switch s.How {
	case FPart:
		w.pf("%s.Close()\n", s.Path.V.Name)
	case FTold:
		w.drop(s.Path, true)
	case FDo:
		w.pf("%s.Do(%s)\n", w.rt(), w.freeValue(s.Path))
	case FLater, FOwn, FOnce:
		before, after := w.wrap(map[FreeHow]WrapKind{FLater: WOther, FOwn: WLater, FOnce: WOnce}[s.How])
		w.pf("%s%s%s()\n", before, w.freeValue(s.Path), after)
	case FIface:
		w.pf("if x, ok := %s.(interface{ Close() }); ok {\nx.Close()\n}\n", s.Path.V.Name)
	case FGot:
		w.pf("%s.%s(%s)\n", w.rt(), w.got("FreeGot", s.Path.V.Res), s.Path.V.Name)
	case FGotOwn:
		w.pf("%s(%s)\n", w.ownFreeGot(s.Path.V.Res), s.Path.V.Name)
	default:
		w.pf("%s\n", w.freeCall(s.Path))
	}
}

// freeAll frees what v holds.
func (w *printer) freeAll(s *FreeAll) {
	if s.V.Kind == KStack {
		w.pf("%s\n", w.freeCall(Of(s.V)))
		return
	}
	if s.V.Kind == KKeys {
		w.pf("for x := range %s {\n%s\n}\n", s.V.Name, w.freeCall(Of(&Var{Name: "x", Res: s.V.Res})))
		return
	}
	w.pf("for _, x := range %s {\n%s\n}\n", s.V.Name, w.freeCall(Of(&Var{Name: "x", Res: s.V.Res})))
}

func (w *printer) join(s *Join) {
	call := fmt.Sprintf("%s.Quiet(c, %s, %d)", w.rt(), w.handle(s.Arg), s.X)
	if s.Arg.V.Res == RMat {
		call = fmt.Sprintf("%s.Reset(%d)", w.handle(s.Arg), s.X)
	}
	if s.Kind == JErr {
		w.imports["golang.org/x/sync/errgroup"] = true
		w.pf("var eg%d errgroup.Group\neg%d.Go(func() error {\n%s\nreturn nil\n})\n", s.ID, s.ID, call)
		w.block(s.Mid)
		w.pf("if err := eg%d.Wait(); err != nil {\npanic(err)\n}\n", s.ID)
		return
	}
	w.imports["sync"] = true
	w.pf("var wg%d sync.WaitGroup\n", s.ID)
	if s.Kind == JGo {
		w.pf("wg%d.Go(func() {\n%s\n})\n", s.ID, call)
	} else {
		w.pf("wg%d.Add(1)\ngo func() {\ndefer wg%d.Done()\n%s\n}()\n", s.ID, s.ID, call)
	}
	w.block(s.Mid)
	w.pf("wg%d.Wait()\n", s.ID)
}

// freeValue is the free of p as a function value.
func (w *printer) freeValue(p Path) string {
	free := w.freeCall(p)
	if value, ok := strings.CutSuffix(free, "()"); ok {
		return value
	}
	return strings.Replace(free, ".FreeTex(", ".FreerTex(", 1)
}

// mat is the name of the pointer resource of the program.
func (w *printer) mat() string {
	if w.p.Tex {
		return "Tex"
	}
	return "Mat"
}

// freeMat frees what the expression x points to.
func (w *printer) freeMat(x string) string {
	if w.p.Tex {
		return w.rt() + ".FreeTex(" + x + ")"
	}
	return x + ".Close()"
}

// got is the name of a function that takes a getter.
func (w *printer) got(name string, r Res) string {
	if r == RMat {
		name += w.mat()
	}
	return name
}

// ownFreeGot is the program's own function that frees what a getter returns.
func (w *printer) ownFreeGot(r Res) string {
	name := w.prefix() + "freegot"
	if r == RMat {
		name += "m"
		w.types[name] = fmt.Sprintf("func %s(get func() %s) {\n\t%s\n}\n\n", name, w.handleType(r), w.freeMat("get()"))
		return name
	}
	w.types[name] = fmt.Sprintf("func %s[T %s.Elem](get func() %s.Buffer[T]) {\n\tx := get()\n\tx.Len()\n\tx.Free()\n}\n\n", name, w.rt(), w.alloc())
	return name
}

func (w *printer) freeCall(p Path) string {
	switch {
	case p.V.Kind == KFreer:
		return p.V.Name + "()"
	case p.closes():
		return p.V.Name + ".Close()"
	case p.V.Res == RMat:
		return w.freeMat(w.handle(p))
	}
	return w.recv(p) + ".Free()"
}

func (w *printer) drop(p Path, free bool) {
	name := "Drop"
	if p.V.Res == RMat {
		name = "Drop" + w.mat()
	}
	w.pf("%s.%s(%s, %t)\n", w.rt(), name, w.handle(p), free)
}

// freeOf frees what the expression x holds, which may be nothing.
func (w *printer) freeOf(x string, r Res) string {
	if r == RMat {
		return "if " + x + " != nil {\n" + w.freeMat(x) + "\n}"
	}
	return x + ".Free()"
}

// freeField is freeOf in the destructor of what the expression x is a part of.
func (w *printer) freeField(x string, r Res) string {
	if r == RMat && w.p.Insist {
		return w.freeMat(x)
	}
	return w.freeOf(x, r)
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
