package gen

// Printing operations, calls, switches and the ways out.

import (
	"fmt"
	"strings"
)

// recv is p as the receiver of a call.
func (w *printer) recv(p Path) string {
	if p.V.Kind == KPtr || p.V.Kind == KEmbed {
		return p.V.Name
	}
	return w.handle(p)
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
	case p.V.Kind == KText:
		return w.rt() + ".TextSum(" + p.V.Name + ")"
	case p.V.Res == RMat:
		return w.handle(p) + ".Sum(c)"
	}
	return w.rt() + ".Sum(c, " + w.handle(p) + ")"
}

// maker returns the call that makes a buffer, with two results, or one if must.
func (w *printer) maker(s *Make, res Res, must bool) string {
	switch {
	case s.Via == VMaybe && res == RMat:
		return fmt.Sprintf("%s.Maybe%s(c, %d)", w.rt(), w.mat(), s.N)
	case s.Via == VFound && res == RMat:
		return fmt.Sprintf("%s.Find%s(c, %d)", w.rt(), w.mat(), s.N)
	case s.Via == VFound:
		return fmt.Sprintf("%s.Find[%s](c, %d)", w.rt(), w.elem(), s.N)
	case s.Via == VMaybe:
		return fmt.Sprintf("%s.Maybe[%s](c, %d)", w.rt(), w.elem(), s.N)
	}
	if res == RMat {
		if must {
			return fmt.Sprintf("%s.Must%s(c, %d)", w.rt(), w.mat(), s.N)
		}
		return fmt.Sprintf("%s.New%s(c, %d)", w.rt(), w.mat(), s.N)
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

func (w *printer) use(s *Use) {
	stream := w.stream(s.T, s.Init)
	switch s.Op {
	case OTemp:
		w.pf("c.Out(%s.Sum(c, %s.Fresh(c, %d)))\n", w.rt(), w.rt(), s.N)
		return
	case OChain:
		w.pf("c.Out(%s.Fresh%s(c, %d).Sum(c))\n", w.rt(), w.mat(), s.N)
		return
	}
	p := s.Args[0]
	mat := p.V.Res == RMat
	if k := p.V.Kind; (k == KAny || k == KErr) && (s.Op == OFill || s.Op == OSum) {
		// The handle comes back out of the interface, or of the error.
		name := "x"
		switch {
		case k == KAny:
			w.pf("if x, ok := %s.(%s); ok {\n", p.V.Name, w.handleType(p.V.Res))
		case s.X%2 == 0:
			w.imports["errors"] = true
			w.pf("if x, ok := errors.AsType[*%s](%s); ok {\n", w.heldType(p.V.Res), p.V.Name)
			name = "x.b"
		default:
			w.imports["errors"] = true
			w.pf("if x := (*%s)(nil); errors.As(%s, &x) {\n", w.heldType(p.V.Res), p.V.Name)
			name = "x.b"
		}
		q := Of(&Var{Name: name, Res: p.V.Res})
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
	case OTwice:
		w.pf("%s.%s(c, %s)\n", w.rt(), w.got("Twice", p.V.Res), p.V.Name)
		return
	case OLook:
		w.drop(p, false)
		return
	case OPrint:
		w.imports["fmt"] = true
		w.imports["io"] = true
		w.pf("fmt.Fprint(io.Discard, %s)\n", w.shown(p))
		return
	case OKeep:
		w.imports["runtime"] = true
		w.pf("runtime.KeepAlive(%s)\n", w.shown(p))
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
	case f.Result == RHeld && (s.Path.V == nil || s.Fail):
		w.pf("return nil\n")
	case f.Result == RHeld && s.Path.V.Kind == KErr:
		w.pf("return %s\n", s.Path.V.Name)
	case f.Result == RHeld:
		w.pf("return %s\n", w.holding(s.Path, f.Index))
	case f.Result == RInt && s.Path.V == nil:
		w.pf("return 0\n")
	case s.Temp != "":
		w.pf("return %s\n", s.Temp)
	case f.Result == RInt:
		w.pf("return %s\n", w.sum(s.Path))
	case f.Named && s.Fail:
		w.pf("return %s, %s\n", f.Clean.Name, err)
	case s.Path.V == nil || s.Fail && !f.beside():
		w.pf("return %s, %s\n", w.zero(f), err)
	default:
		text := w.handle(s.Path)
		if f.Result == RPairPtr && s.Path.V.Kind == KPair {
			text = "&" + s.Path.V.Name
		}
		switch {
		case f.Result == RTwo && s.Path.V.fields() && s.Path.Field < 0:
			text = w.handle(At(s.Path.V, 0)) + ", " + w.handle(At(s.Path.V, 1))
		case f.Result == RTwo:
			text += ", " + text
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
	case RHeld:
		if s.Dst == nil {
			w.pf("_ = %s\n", call)
		} else {
			w.pf("%s %s %s\n", s.Dst.Name, w.assign(s.Decl, top), call)
		}
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
		w.pf("%s_ = %s\n", strings.Repeat("_, ", fn.values()), call)
		return
	}
	if !s.Err.tested() {
		w.pf("%s, _ %s %s\n", w.declared(s.Dst), eq, call)
		return
	}
	if s.Err == EInvert { // its own variable: what is between may assign the usual one
		err := fmt.Sprintf("err%d", s.ErrID)
		w.pf("%s, %s %s %s\n", w.declared(s.Dst), err, eq, call)
		w.block(s.Mid)
		w.pf("if %s == nil {\n", err)
		w.block(s.Ok)
		if len(s.Fail) > 0 {
			w.pf("} else {\n")
			w.withErr(err, s.Fail)
		}
		w.pf("}\n")
		return
	}
	err := w.errName(s.Decl, top, s.ErrID)
	w.pf("%s, %s %s %s\n", w.declared(s.Dst), err, eq, call)
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
	if s.Path.V.Kind == KSelf {
		h = s.Path.V.Name + ".self"
	}
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
		w.pf("c.TB().Cleanup(%s)\n", w.freeValue(s.Path))
	case XVar, XParam, XStruct:
		w.stays(s, h)
	case XList:
		w.pf("c.List.PushBack(%s)\n", h)
	case XTold:
		w.told(h, s.Path.V.Res)
	case XGot:
		w.pf("%s.%s(c, %s)\n", w.rt(), w.got("KeepGot", s.Path.V.Res), s.Path.V.Name)
	case XQueue:
		w.imports[pathHost] = true
		w.pf("host.Launch(c.S(), func(host.Args) {\n%s.Touch(%s)\n})\n", w.rt(), h)
	}
}
