package gen

// Printing types: those of variables, and those that a program declares.

import "fmt"

func (w *printer) elem() string {
	if w.f.Generic {
		return "T"
	}
	return "int64"
}

func (w *printer) handleType(r Res) string {
	if r == RMat {
		return "*" + w.rt() + "." + w.mat()
	}
	return w.alloc() + ".Buffer[" + w.elem() + "]"
}

func (w *printer) prefix() string { return fmt.Sprintf("p%d", w.p.ID) }

func (w *printer) pairType(r Res) string {
	name := w.prefix() + "pair"
	if r == RMat {
		name = w.prefix() + "mats"
	}
	text := fmt.Sprintf("type %s struct {\n\ta, b %s\n}\n\n", name, w.handleType(r))
	if w.p.Closes {
		text += fmt.Sprintf("func (p *%s) Close() {\n%s\n%s\n}\n\n", name, w.freeField("p.a", r), w.freeField("p.b", r))
	}
	w.types[name] = text
	return name
}

func (w *printer) varType(v *Var) string {
	h := w.handleType
	switch v.Kind {
	case KBuf, KTwo:
		return h(v.Res)
	case KView:
		return w.alloc() + ".View[" + w.elem() + "]"
	case KRaw:
		return w.alloc() + ".Ptr"
	case KMethod:
		return "func(*" + w.alloc() + ".Stream, " + w.elem() + ") error"
	case KFiller:
		return w.rt() + ".Filler[" + w.elem() + "]"
	case KAny:
		return "any"
	case KEmbed:
		name := w.prefix() + "emb"
		w.types[name] = fmt.Sprintf("type %s struct {\n\t%s\n\ttag int\n}\n\n", name, h(v.Res))
		return name
	case KPtr:
		return "*" + h(v.Res)
	case KPair:
		return w.pairType(v.Res)
	case KPairPtr:
		if v.Form == partForm {
			return "*" + w.partType(v.Res)
		}
		return "*" + w.pairType(v.Res)
	case KArray:
		return "[2]" + h(v.Res)
	case KSlice:
		return "[]" + h(v.Res)
	case KMap:
		return "map[int]" + h(v.Res)
	case KFunc:
		return "func()"
	case KGetter:
		return "func() " + h(v.Res)
	case KKeys:
		return "map[" + h(v.Res) + "]int"
	case KErr:
		return "error"
	case KSeq:
		w.imports["iter"] = true
		return "iter.Seq[" + w.alloc() + ".View[" + w.elem() + "]]"
	case KStack:
		return "*" + w.stackType(v.Res)
	case KBox:
		return "*" + w.boxType()
	case KFreer:
		return "func()"
	case KGroup:
		return w.groupType(v)
	case KLoud:
		return "*" + w.loudType(v)
	case KNode:
		return "*" + w.nodeType(v)
	case KText:
		return "string"
	case KSelf:
		return "*" + w.selfType(v.Res)
	}
	panic("gen: kind without a type")
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

`, name, w.handleType(r), w.freeField("x", r))
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

func (w *printer) kit() string {
	name := w.prefix() + "kit"
	w.types[name] = "type " + name + " struct{}\n\n"
	return name
}
