package gen

// Printing statements.

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
	case *Clear:
		w.pf("%s = %s\n", w.place(s.Path), w.nothing(s.Path.V.Res))
	case *Resize:
		w.pf("if err := %s.resize(c, %d); err != nil {\n", s.V.Name, s.N)
		w.withErr("err", s.Fail)
		w.pf("}\n")
	case *For:
		w.label(s.Label)
		v := s.Make.Dst.V
		w.pf("for %s := %s; c.More(); ", v.Name, w.maker(s.Make, v.Res, true))
		if v.Res == RMat {
			w.pf("%s.Reset(%d) {\n", v.Name, s.Post.X)
		} else {
			w.pf("%s.Fill(c.Q(), %d) {\n", v.Name, s.Post.X)
		}
		w.block(s.Body)
		w.pf("}\n")
	case *Assign:
		w.copies(s, top)
	case *Compose:
		w.compose(s, top)
	case *Append:
		if s.V.Kind == KStack && s.V.Loc%2 == 0 {
			w.pf("%s.push(%s)\n", s.V.Name, w.handle(s.Src))
		} else {
			w.pf("%s = append(%s, %s)\n", w.elems(s.V), w.elems(s.V), w.handle(s.Src))
		}
	case *Put:
		w.pf("%s[%d] = %s\n", s.V.Name, s.Key, w.handle(s.Src))
	case *Get:
		xs := w.elems(s.V)
		switch {
		case s.V.Kind == KMap:
			w.pf("if %s, ok := %s[%d]; ok {\n", s.Dst.Name, xs, s.Key)
		case s.V.Kind == KKeys:
			w.pf("for %s, i := range %s {\nif i != %d {\ncontinue\n}\n", s.Dst.Name, xs, s.Key)
		case s.Pop && s.Last:
			w.pf("if n := len(%s); n > 0 {\n%s := %s[n-1]\n%s = %s[:n-1]\n", xs, s.Dst.Name, xs, xs, xs)
		default:
			w.pf("if len(%s) > %d {\n%s := %s[%d]\n", xs, s.Key, s.Dst.Name, xs, s.Key)
			if s.Pop {
				w.pf("%s = %s[1:]\n", xs, xs)
			}
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
		draw := "c.B()"
		if s.Of.V != nil {
			draw = w.place(s.Of) + " != nil"
		}
		w.pf("%s := %s\n_ = %s\n", s.Name, draw, s.Name)
	case *Loop:
		if s.Kind != LSelect {
			w.label(s.Label)
		}
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
		case LChan:
			w.pf("for range %s.Ticks(c.N(%d)) {\n", w.rt(), s.N)
		case LSelect:
			w.selects(s)
			return
		}
		w.block(s.Body)
		w.pf("}\n")
	case *Each:
		w.each(s)
		if w.reads[s.V] == 0 {
			w.pf("_ = %s\n", s.V.Name)
		}
		w.block(s.Body)
		w.pf("}\n")
		if s.Seq == QPull {
			w.pf("stop()\n}\n")
		}
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
		} else if s.Spin {
			w.pf("for {\nc.Tick()\n}\n")
		} else if s.With.V != nil {
			w.pf("panic(%s)\n", w.handle(s.With))
		} else {
			w.pf("panic(%s.Panic(%d))\n", w.rt(), s.X)
		}
	case *Defer:
		w.deferred(s)
	case *Done:
		w.done(s.Of)
	case *Free:
		w.free(s)
	case *FreeAll:
		w.freeAll(s)
	case *Join:
		w.join(s)
	case *Closure:
		before, after := w.wrap(s.Wrap)
		w.pf("%s %s %sfunc() {\n", s.V.Name, w.assign(true, top), before)
		w.literal(s.Body)
		w.pf("}%s\n", after)
	case *CallVar:
		if s.Kind == CLend {
			w.pf("%s.Do(%s)\n", w.rt(), s.V.Name)
		} else {
			w.pf("%s()\n", s.V.Name)
		}
	case *Inline:
		switch s.Kind {
		case INow:
			w.pf("func() {\n")
		case ILend:
			w.pf("%s.Do(func() {\n", w.rt())
		case ITimes:
			w.pf("%s.Times(c.N(%d), func() {\n", w.rt(), s.N)
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
		if s.Shadow != "" {
			w.pf("%s := 0\n_ = %s\n", s.Shadow, s.Shadow)
		}
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
		w.other(s)
	}
}

func (w *printer) literal(list []Stmt) {
	w.lit++
	w.block(list)
	w.lit--
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
		if s.Store {
			w.pf("*%s = *%s\n", d.V.Name, from.V.Name)
			return
		}
		switch d.V.Kind {
		case KView:
			text = w.recv(from)
			if from.V.Kind == KBox && s.Lo == 0 && s.Hi == 0 {
				text = from.V.Name + ".view()"
			} else if s.Lo == 0 && s.Hi == 0 && from.V.Kind != KView {
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
		case KFreer:
			text = w.freeValue(from)
		case KText:
			text = w.text(from, s.How)
		case KSelf:
			text = w.leads(from, s.How)
		case KPair:
			if from.V.Kind == KPairPtr && from.Field < 0 {
				text = "*" + from.V.Name
			}
		case KPtr, KPairPtr:
			if from.V.Kind != d.V.Kind {
				text = "&" + from.V.Name
			}
		case KGetter:
			text = w.getter(text, from, s.How)
		case KErr:
			if from.V.Kind != KErr {
				text = w.holding(from, s.How)
			}
		case KSeq:
			text = w.iterator(text, s.How)
		case KBox:
			text = "&" + w.boxType() + "{buf: " + text + "}"
		}
		switch d.V.Kind {
		case KFiller, KAny, KErr:
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
		case KKeys:
			text = fmt.Sprintf("%s: %d", text, i)
		case KPair:
			text = fields[i] + ": " + text
		case KMap:
			text = fmt.Sprintf("%d: %s", i, text)
		}
		elems = append(elems, text)
	}
	list := strings.Join(elems, ", ")
	typ := w.varType(s.V)
	if s.V.Kind == KStack || s.V.Kind == KPairPtr {
		typ = "&" + typ[1:]
		if list != "" {
			list = "list: []" + w.handleType(s.V.Res) + "{" + list + "}"
		}
	}
	w.pf("%s %s %s{%s}\n", s.V.Name, w.assign(s.V != w.f.Clean, top), typ, list)
}
