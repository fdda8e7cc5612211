package gen

import (
	"fmt"
	"strings"
)

func (w *printer) stmt(s Stmt, top bool) {
	switch s := s.(type) {
	case *Make:
		w.make(s, top)
	case *Zero:
		if !(w.f.Hoist && top) {
			w.pf("var %s %s\n_ = %s\n", s.V.Name, w.varType(s.V), s.V.Name)
		}
	case *Assign:
		w.copies(s, top)
	case *Compose:
		w.compose(s, top)
	case *Append:
		w.pf("%s = append(%s, %s)\n", s.V.Name, s.V.Name, w.handle(s.Src))
	case *Put:
		w.pf("%s[%d] = %s\n", s.V.Name, s.Key, w.handle(s.Src))
	case *Get:
		if s.V.Kind == KMap {
			w.pf("if %s, ok := %s[%d]; ok {\n", s.Dst.Name, s.V.Name, s.Key)
		} else {
			w.pf("if len(%s) > %d {\n%s := %s[%d]\n", s.V.Name, s.Key, s.Dst.Name, s.V.Name, s.Key)
		}
		if s.Pop {
			w.pf("%s = %s[1:]\n", s.V.Name, s.V.Name)
		}
		if w.reads[s.Dst] == 0 {
			w.pf("_ = %s\n", s.Dst.Name)
		}
		w.block(s.Body)
		w.pf("}\n")
	case *Use:
		w.use(s)
	case *If:
		if s.Init == 1 && s.Cond.Op == CLen {
			w.pf("if n := %s.Len(); n%%2 == 0 {\n", w.place(s.Cond.Path))
		} else {
			w.pf("if %s {\n", w.cond(s.Cond))
		}
		w.block(s.Then)
		if len(s.Else) > 0 {
			w.pf("} else {\n")
			w.block(s.Else)
		}
		w.pf("}\n")
	case *Flag:
		w.pf("%s := c.B()\n_ = %s\n", s.Name, s.Name)
	case *Loop:
		w.label(s.Label)
		switch s.Kind {
		case LCount:
			w.pf("for range c.N(%d) {\n", s.N)
		case LClause:
			w.pf("for i, n := 0, c.N(%d); i < n; i++ {\n", s.N)
		case LWhile:
			w.pf("for %s {\n", w.cond(s.Cond))
		case LEver:
			w.pf("for {\n")
		case LFunc:
			w.pf("for range %s.Count(c.N(%d)) {\n", w.rt(), s.N)
		}
		w.block(s.Body)
		w.pf("}\n")
	case *Each:
		w.label(s.Label)
		w.pf("for _, %s := range %s {\n", s.V.Name, s.X.Name)
		if w.reads[s.V] == 0 {
			w.pf("_ = %s\n", s.V.Name)
		}
		w.block(s.Body)
		w.pf("}\n")
	case *Switch:
		w.choose(s)
	case *Jump:
		w.pf("%s %s\n", [...]string{"break", "continue", "goto"}[s.Kind], s.Label)
	case *Label:
		w.label(s.Name)
	case *Return:
		w.ret(s)
	case *Panic:
		if s.Exit {
			w.imports["os"] = true
			w.pf("os.Exit(3)\n")
		} else {
			w.pf("panic(%s.Panic(%d))\n", w.rt(), s.X)
		}
	case *Defer:
		free := w.freeCall(s.Path)
		switch s.Kind {
		case DFree:
			w.pf("defer %s\n", free)
		case DLit:
			w.pf("defer func() {\n%s\n}()\n", free)
		case DMethod:
			w.pf("free%d := %s\ndefer free%d()\n", s.ID, strings.TrimSuffix(free, "()"), s.ID)
		case DUse:
			w.pf("defer func() {\nc.Out(%s)\n}()\n", w.peek(s.Path))
		}
	case *Free:
		if s.Told {
			w.drop(s.Path, true)
		} else {
			w.pf("%s\n", w.freeCall(s.Path))
		}
	case *FreeAll:
		w.pf("for _, x := range %s {\n%s\n}\n", s.V.Name, w.freeCall(Of(&Var{Name: "x", Res: s.V.Res})))
	case *Join:
		call := fmt.Sprintf("%s.Quiet(c, %s, %d)", w.rt(), w.handle(s.Arg), s.X)
		if s.Arg.V.Res == RMat {
			call = fmt.Sprintf("%s.Reset(%d)", w.handle(s.Arg), s.X)
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
	case *Closure:
		w.pf("%s %s func() {\n", s.V.Name, w.assign(true, top))
		w.literal(s.Body)
		w.pf("}\n")
	case *CallVar:
		if s.Kind == CLend {
			w.pf("%s.Do(%s)\n", w.rt(), s.V.Name)
		} else {
			w.pf("%s()\n", s.V.Name)
		}
	case *Inline:
		if s.Kind == INow {
			w.pf("func() {\n")
		} else {
			w.pf("%s.Do(func() {\n", w.rt())
		}
		w.literal(s.Body)
		if s.Kind == INow {
			w.pf("}()\n")
		} else {
			w.pf("})\n")
		}
	case *Call:
		w.call(s, top)
	case *Probe:
		w.pf("c.Probe(%d)\n", s.ID)
	case *Escape:
		w.escape(s)
	case *Block:
		w.pf("{\n")
		w.block(s.Body)
		w.pf("}\n")
	case *Select:
		w.pf("select {\ncase %s.Sink[%s](c) <- %s:\n", w.rt(), w.handleType(s.Path.V.Res), w.handle(s.Path))
		w.block(s.Sent)
		w.pf("default:\n")
		w.block(s.Others)
		w.pf("}\n")
	case *Pass:
		w.pf("ch%s := make(chan %s, 1)\nch%s <- %s\n%s := <-ch%s\n",
			s.Dst.Name, w.handleType(s.Dst.Res), s.Dst.Name, w.handle(s.Src), s.Dst.Name, s.Dst.Name)
	default:
		panic("gen: unknown statement")
	}
}

func (w *printer) literal(list []Stmt) {
	w.lit++
	w.block(list)
	w.lit--
}

// recv is p as the receiver of a call.
func (w *printer) recv(p Path) string {
	if p.V.Kind == KPtr || p.V.Kind == KEmbed {
		return p.V.Name
	}
	return w.handle(p)
}

func (w *printer) freeCall(p Path) string {
	if p.V.Res == RMat {
		return w.handle(p) + ".Close()"
	}
	return w.recv(p) + ".Free()"
}

func (w *printer) drop(p Path, free bool) {
	name := "Drop"
	if p.V.Res == RMat {
		name = "DropMat"
	}
	w.pf("%s.%s(%s, %t)\n", w.rt(), name, w.handle(p), free)
}

// peek is the sum of p without an operation.
func (w *printer) peek(p Path) string {
	if p.V.Res == RMat {
		return w.handle(p) + ".Peek()"
	}
	return w.rt() + ".Peek(" + w.handle(p) + ")"
}

// sum is the sum of p, an operation.
func (w *printer) sum(p Path) string {
	switch {
	case p.V.Kind == KView:
		return w.rt() + ".SumView(c, " + p.V.Name + ")"
	case p.V.Res == RMat:
		return w.handle(p) + ".Sum(c)"
	}
	return w.rt() + ".Sum(c, " + w.handle(p) + ")"
}

// maker returns the call that makes a buffer, with two results, or one if must.
func (w *printer) maker(s *Make, res Res, must bool) string {
	if res == RMat {
		if must {
			return fmt.Sprintf("%s.MustMat(c, %d)", w.rt(), s.N)
		}
		return fmt.Sprintf("%s.NewMat(c, %d)", w.rt(), s.N)
	}
	var call string
	switch s.Via {
	case VMake:
		call = fmt.Sprintf("%s.Make[%s](%s, %d)", w.alloc(), w.elem(), w.stream(s.T, false), s.N)
	case VNew:
		call = fmt.Sprintf("%s.New(c, %d)", w.rt(), s.N)
		if w.f.Generic {
			call = fmt.Sprintf("%s.NewOf[T](c, %d)", w.rt(), s.N)
		}
	case VGeneric:
		call = fmt.Sprintf("%s.NewOf[%s](c, %d)", w.rt(), w.elem(), s.N)
	case VAdopt:
		call = fmt.Sprintf("%s.Adopted[%s](c, %d)", w.rt(), w.elem(), s.N)
	}
	if must {
		return w.rt() + ".Must(" + call + ")"
	}
	return call
}

func (w *printer) make(s *Make, top bool) {
	dst, eq := w.place(s.Dst), w.assign(s.Decl, top)
	call := w.maker(s, s.Dst.V.Res, s.Err == EMust)
	switch s.Err {
	case EMust:
		w.pf("%s %s %s\n", dst, eq, call)
		return
	case EDiscard, EIgnore:
		w.pf("%s, _ %s %s\n", dst, eq, call)
		return
	}
	err := w.errName(s.Decl, top, s.ErrID)
	if s.Err == EInvert {
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
	w.pf("if %s != nil {\n", err)
	w.withErr(err, fail)
	w.pf("}\n")
}

func (w *printer) copies(s *Assign, top bool) {
	var dst, src []string
	for i, d := range s.Dst {
		dst = append(dst, w.place(d))
		from := s.Src[i]
		text := w.handle(from)
		if from.V.Kind == d.V.Kind && from.Field < 0 && d.Field < 0 {
			text = from.V.Name
		}
		switch d.V.Kind {
		case KView:
			text = w.recv(from)
			if s.Lo == 0 && s.Hi == 0 && from.V.Kind != KView {
				text += ".All()"
			} else {
				text = fmt.Sprintf("%s.View(%d, %s.Len()-%d)", text, s.Lo, text, s.Hi)
			}
		case KRaw:
			text = w.recv(from) + ".Ptr(c.Q())"
		case KMethod:
			text = w.recv(from) + ".Fill"
		case KEmbed:
			if from.V.Kind != KEmbed {
				text = w.varType(d.V) + "{Buffer: " + text + "}"
			}
		case KPtr, KPairPtr:
			if from.V.Kind != d.V.Kind {
				text = "&" + from.V.Name
			}
		case KFiller, KAny:
			if s.Decl && !(w.f.Hoist && top) && from.V.Kind != d.V.Kind {
				w.pf("var %s %s = %s\n", d.V.Name, w.varType(d.V), text)
				return
			}
		}
		src = append(src, text)
	}
	w.pf("%s %s %s\n", strings.Join(dst, ", "), w.assign(s.Decl, top), strings.Join(src, ", "))
}

func (w *printer) compose(s *Compose, top bool) {
	var elems []string
	for i, p := range s.Src {
		text := w.handle(p)
		switch s.V.Kind {
		case KPair:
			text = fields[i] + ": " + text
		case KMap:
			text = fmt.Sprintf("%d: %s", i, text)
		}
		elems = append(elems, text)
	}
	w.pf("%s %s %s{%s}\n", s.V.Name, w.assign(true, top), w.varType(s.V), strings.Join(elems, ", "))
}

func (w *printer) use(s *Use) {
	stream := w.stream(s.T, s.Init)
	switch s.Op {
	case OTemp:
		w.pf("c.Out(%s.Sum(c, %s.Fresh(c, %d)))\n", w.rt(), w.rt(), s.N)
		return
	case OChain:
		w.pf("c.Out(%s.FreshMat(c, %d).Sum(c))\n", w.rt(), s.N)
		return
	}
	p := s.Args[0]
	mat := p.V.Res == RMat
	any := p.V.Kind == KAny
	if any && (s.Op == OFill || s.Op == OSum) {
		// The handle comes back out of the interface.
		w.pf("if x, ok := %s.(%s); ok {\n", p.V.Name, w.handleType(p.V.Res))
		q := Of(&Var{Name: "x", Res: p.V.Res})
		u := *s
		u.Args = []Path{q}
		w.use(&u)
		w.pf("}\n")
		return
	}
	recv := w.recv(p)
	var call string
	switch s.Op {
	case OSum:
		w.pf("c.Out(%s)\n", w.sum(p))
		return
	case OLen:
		w.pf("c.Out(int64(%s.Len()))\n", recv)
		return
	case OLook:
		w.drop(p, false)
		return
	case OPrint:
		w.imports["fmt"] = true
		w.imports["io"] = true
		w.pf("fmt.Fprint(io.Discard, %s)\n", w.place(p))
		return
	case OKeep:
		w.imports["runtime"] = true
		w.pf("runtime.KeepAlive(%s)\n", w.place(p))
		return
	case OFill, OSet, OExpr:
		switch {
		case mat && s.Init:
			w.pf("%s.Reset(%d)\n", recv, s.X)
			return
		case mat:
			call = fmt.Sprintf("%s.Set(c, %d)", recv, s.X)
		case p.V.Kind == KRaw:
			w.pf("%s.Poke(c, %s, %d)\n", w.rt(), p.V.Name, s.X)
			return
		case p.V.Kind == KMethod:
			call = fmt.Sprintf("%s(%s, %d)", p.V.Name, stream, s.X)
		case s.Op == OSet:
			call = fmt.Sprintf("%s.CopyFrom(%s, %s.Data[%s](%s.Len(), %d))", recv, stream, w.rt(), w.elem(), recv, s.X)
		case s.Op == OExpr && p.V.Kind == KBuf:
			call = fmt.Sprintf("%s.Fill(%s, %s, %d)", w.handleType(RBuffer), w.handle(p), stream, s.X)
		default:
			call = fmt.Sprintf("%s.Fill(%s, %d)", recv, stream, s.X)
		}
	case OMove:
		call = fmt.Sprintf("%s.Move(c, %s, %s)", w.rt(), w.handle(p), w.handle(s.Args[1]))
		if mat {
			call = fmt.Sprintf("%s.MoveFrom(c, %s)", w.handle(p), w.handle(s.Args[1]))
		}
	case OLaunch:
		w.imports[pathHost] = true
		call = fmt.Sprintf("host.Launch(%s, func(a host.Args) {\n%s.Add(host.Slice[%s](a, 0), %d)\n}, %s.Arg())",
			stream, w.rt(), w.elem(), s.X, recv)
	}
	switch {
	case s.Err == ECheck:
		w.pf("if err := %s; err != nil {\n", call)
		w.withErr("err", s.Fail)
		w.pf("}\n")
	case s.X%2 == 0:
		w.pf("%s\n", call)
	default:
		w.pf("_ = %s\n", call)
	}
}

func (w *printer) choose(s *Switch) {
	w.label(s.Label)
	if s.Kind == SSelect {
		w.pf("select {\ncase <-c.Ready():\n")
		w.block(s.Cases[0])
		w.pf("default:\n")
		w.block(s.Cases[len(s.Cases)-1])
		w.pf("}\n")
		return
	}
	switch s.Kind {
	case SDraw:
		w.pf("switch c.N(%d) {\n", len(s.Cases)+1)
	case SLen:
		w.pf("switch %s.Len() %% 2 {\n", w.place(s.Subject))
	case STyped:
		w.pf("switch %s := %s.(type) {\n", s.V.Name, s.Subject.V.Name)
	case SBool:
		w.pf("switch {\n")
	}
	for i, body := range s.Cases {
		switch {
		case s.Default && i == len(s.Cases)-1:
			w.pf("default:\n")
		case s.Kind == STyped:
			w.pf("case %s:\n_ = %s\n", w.handleType(s.V.Res), s.V.Name)
		case s.Kind == SBool:
			w.pf("case c.B():\n")
		default:
			w.pf("case %d:\n", i)
		}
		w.block(body)
		if i < len(s.Fall) && s.Fall[i] {
			w.pf("fallthrough\n")
		}
	}
	w.pf("}\n")
}

func (w *printer) ret(s *Return) {
	f := w.f
	if w.lit > 0 || f.Result == RNone {
		w.pf("return\n")
		return
	}
	err := "nil"
	if s.Fail {
		if err = w.err; err == "" {
			err = w.rt() + ".ErrFailed"
		}
	}
	switch {
	case f.Result == RErr:
		w.pf("return %s\n", err)
	case f.Result == RInt && s.Path.V == nil:
		w.pf("return 0\n")
	case f.Result == RInt:
		w.pf("return %s\n", w.sum(s.Path))
	case f.Named && s.Fail:
		w.pf("return %s, %s\n", f.Clean.Name, err)
	case s.Path.V == nil || s.Fail:
		w.pf("return %s, %s\n", w.zero(f), err)
	default:
		text := w.handle(s.Path)
		if f.Result == RPairPtr && s.Path.V.Kind == KPair {
			text = "&" + s.Path.V.Name
		}
		w.pf("return %s, %s\n", text, err)
	}
}

func (w *printer) call(s *Call, top bool) {
	fn := w.p.Funcs[s.Fn]
	name := w.callee(fn)
	switch s.Via {
	case VValue:
		v := fmt.Sprintf("fn%d", s.ErrID)
		w.pf("%s := %s\nif c.B() {\n%s = %s\n}\n", v, name, v, w.callee(w.p.Funcs[s.Other]))
		name = v
	case VIface:
		v := fmt.Sprintf("w%d", s.ErrID)
		w.pf("var %s %s = %s{}\nif c.B() {\n%s = %s{}\n}\n", v, w.worker(), w.doer(fn), v, w.doer(w.p.Funcs[s.Other]))
		name = v + ".do"
	}
	args := []string{"c"}
	for i, a := range s.Args {
		switch k := fn.Params[i].Kind; {
		case k == a.V.Kind && a.Field < 0:
			args = append(args, a.V.Name)
		case k == KPairPtr && a.V.Kind == KPair:
			args = append(args, "&"+a.V.Name)
		default:
			args = append(args, w.handle(a))
		}
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	switch fn.Result {
	case RNone:
		w.pf("%s\n", call)
		return
	case RInt:
		w.pf("c.Out(%s)\n", call)
		return
	case RErr:
		if s.Err == ECheck {
			w.pf("if err := %s; err != nil {\n", call)
			w.withErr("err", s.Fail)
			w.pf("}\n")
		} else {
			w.pf("_ = %s\n", call)
		}
		return
	}
	eq := w.assign(s.Decl, top)
	if s.Dst == nil {
		w.pf("_, _ = %s\n", call)
		return
	}
	if s.Err == EIgnore || s.Err == EDiscard {
		w.pf("%s, _ %s %s\n", s.Dst.Name, eq, call)
		return
	}
	err := w.errName(s.Decl, top, s.ErrID)
	w.pf("%s, %s %s %s\n", s.Dst.Name, err, eq, call)
	w.check(s.Err, err, s.Fail)
}

// worker is the interface that functions with one buffer and an error meet.
func (w *printer) worker() string {
	name := w.prefix() + "worker"
	w.types[name] = fmt.Sprintf("type %s interface {\n\tdo(c *%s.C, x %s) error\n}\n\n", name, w.rt(), w.handleType(RBuffer))
	return name
}

func (w *printer) doer(f *Func) string {
	name := fmt.Sprintf("%sw%d", w.prefix(), f.Index)
	w.types[name] = fmt.Sprintf("type %s struct{}\n\nfunc (%s) do(c *%s.C, x %s) error { return %s(c, x) }\n\n",
		name, name, w.rt(), w.handleType(RBuffer), w.callee(f))
	return name
}

func (w *printer) escape(s *Escape) {
	h := w.handle(s.Path)
	switch s.Kind {
	case XKeep:
		w.pf("%s.Keep(c, %s)\n", w.rt(), h)
	case XSend:
		w.pf("c.Chan() <- %s\n", h)
	case XField:
		w.pf("c.Held = append(c.Held, %s)\n", h)
	case XGo:
		w.pf("go %s.Idle(c.Enter(), %s)\n", w.rt(), h)
	case XPool:
		w.pf("c.Pool.Put(%s)\n", h)
	case XCleanup:
		w.pf("c.TB().Cleanup(%s)\n", strings.TrimSuffix(w.freeCall(s.Path), "()"))
	case XQueue:
		w.imports[pathHost] = true
		w.pf("host.Launch(c.S(), func(host.Args) {\n%s.Touch(%s)\n})\n", w.rt(), h)
	}
}
