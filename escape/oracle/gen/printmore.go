package gen

// Printing the statements of astmore.go.

import (
	"fmt"
	"strings"
)

func (w *printer) other(s Stmt) {
	switch s := s.(type) {
	case *Group:
		w.group(s.V, s.Kind, "var")
	case *Regroup:
		w.group(s.V, s.Kind, "")
	case *Spawn:
		w.spawn(s)
	case *Wait:
		if s.Kind == JErr {
			w.pf("if err := %s.Wait(); err != nil {\npanic(err)\n}\n", s.V.Name)
		} else {
			w.pf("%s.Wait()\n", s.V.Name)
		}
	case *Wrap:
		w.wrapped(s)
	case *Hold:
		w.pf("c.Lock()\n")
		w.block(s.Body)
		w.pf("c.Unlock()\n")
	case *State:
		w.state(s.V)
	case *Step:
		w.pf("if err := %s.Step(c, %d); err != nil {\n", s.V.Name, s.N)
		w.withErr("err", s.Fail)
		w.pf("}\n")
	case *Recur:
		w.recur(s)
	case *Deeper:
		w.deeper(s)
	case *Mention:
		w.mention(s)
	case *Temp:
		if s.Cond != nil {
			w.pf("%s := %s\n", s.Name, w.cond(s.Cond))
			return
		}
		w.pf("%s := %s\n", s.Name, w.sum(s.Path))
	default:
		panic("gen: unknown statement")
	}
}

func (w *printer) groupType(v *Var) string {
	if v.Form&^groupPtr == int(JErr) {
		w.imports["golang.org/x/sync/errgroup"] = true
		return "errgroup.Group"
	}
	w.imports["sync"] = true
	return "sync.WaitGroup"
}

func (w *printer) group(v *Var, kind JoinKind, decl string) {
	t := w.groupType(v)
	switch {
	case decl == "":
		w.pf("%s = new(%s)\n", v.Name, t)
	case v.Form&groupPtr != 0:
		w.pf("%s := new(%s)\n", v.Name, t)
	default:
		w.pf("var %s %s\n", v.Name, t)
	}
}

// spawn starts a goroutine that lets all others run before it reads.
func (w *printer) spawn(s *Spawn) {
	wg := s.V.Name
	read := "c.Late()\n" + w.handle(s.Arg) + ".Len()\n"
	body := "defer c.Leave()\n" + read
	param, arg := "", ""
	if s.V.Form&groupPtr != 0 { // the variable may hold another one by the time of its end
		param, arg = wg+" *"+w.groupType(s.V), wg
	}
	w.pf("c.Enter()\n")
	switch {
	case s.Kind == JErr:
		w.pf("%s.Go(func() error {\n%sreturn nil\n})\n", wg, body)
	case s.After:
		w.pf("%[1]s.Add(1)\ngo func(%[3]s) {\ndefer c.Leave()\ndefer func() {\n%[2]s}()\ndefer %[1]s.Done()\n}(%[4]s)\n", wg, read, param, arg)
	case s.Kind == JGo:
		w.pf("%s.Go(func() {\n%s})\n", wg, body)
	default:
		w.pf("%[1]s.Add(1)\ngo func(%[3]s) {\ndefer %[1]s.Done()\n%[2]s}(%[4]s)\n", wg, body, param, arg)
	}
}

// selects prints a loop that a select leaves.
func (w *printer) selects(s *Loop) {
	w.pf("{\nticks := %s.Ticks(c.N(%d))\n%s:\nfor {\nselect {\ncase _, ok := <-ticks:\nif !ok {\nbreak %s\n}\n}\n", w.rt(), s.N, s.Label, s.Label)
	w.block(s.Body)
	w.pf("}\n}\n")
}

// wrapped declares a struct that holds a buffer.
func (w *printer) wrapped(s *Wrap) {
	v, h := s.V, w.handle(s.Src)
	switch v.Kind {
	case KLoud:
		w.loudInit(v, v.Name, h)
	case KPairPtr:
		w.pf("%s := &%s{a: %s, b: %s}\n", v.Name, w.partType(v.Res), h, w.handle(s.Common))
	case KNode:
		if v.Form == nodeHelp {
			w.pf("%s := help.New%s(%s)\n", v.Name, strings.TrimPrefix(w.nodeType(v), "help."), h)
			return
		}
		w.pf("%s := &%s{w: %s}\n", v.Name, w.nodeType(v), h)
	default:
		w.pf("%[1]s := &%[2]s{buf: %[3]s}\n%[1]s.self = %[1]s\n", v.Name, w.selfType(v.Res), h)
	}
}

// loudInit declares x, a loud struct of v's type that holds h.
func (w *printer) loudInit(v *Var, x, h string) {
	w.pf("%[1]s := &%[2]s{c: c, buf: %[3]s}\n_ = %[1]s\n", x, w.loudType(v), h)
	switch v.loudly() {
	case LClose:
		w.pf("%s.done = make(chan struct{})\n", x)
	case LCache:
		w.pf("%[1]s.cache = map[int]bool{%[2]d: true}\n%[1]s.key = %[2]d\n", x, v.Loc)
	case LPrint:
		w.pf("%s.key = %d\n", x, v.Loc)
	case LHook:
		w.pf("%s.hook = func() {\nc.Out(%d)\n}\n", x, v.Loc)
	case LSem:
		w.pf("%[1]s.sem = make(chan int, 1)\n%[1]s.sem <- 1\n", x)
	}
}

// loudFields are what a loud struct has beside its buffer, and what its free does with
// that; %[1]s stands for the release.
var loudFields = [loudKinds]struct{ name, field, free, state string }{
	LLock:  {"lock", "", "x.c.Lock()\n%s\nx.c.Unlock()", "c.Out(1)"},
	LClose: {"chan", "done chan struct{}", "%s\nclose(x.done)", "select {\ncase <-%s.done:\nc.Out(1)\ndefault:\nc.Out(0)\n}"},
	LPrint: {"print", "key int", "%s\nx.c.Out(int64(x.key))", ""},
	LTally: {"tally", "n int64", "%s\nx.n++", "c.Out(%s.n)"},
	LCache: {"cache", "cache map[int]bool\nkey int", "delete(x.cache, x.key)\n%s", "c.Out(int64(len(%s.cache)))"},
	LHook:  {"hook", "hook func()", "x.hook()\n%s", ""},
	LSem:   {"sem", "sem chan int", "%s\nselect {\ncase <-x.sem:\ndefault:\nx.c.Blocked()\n}", "c.Out(int64(len(%s.sem)))"},
}

// loudType is a struct whose free does more than to release.
func (w *printer) loudType(v *Var) string {
	l := loudFields[v.loudly()]
	name := w.prefix() + l.name
	if v.Res == RMat {
		name += "m"
	}
	w.types[name] = fmt.Sprintf("type %[1]s struct {\nc *%[2]s.C\nbuf %[3]s\n%[4]s\n}\n\nfunc (x *%[1]s) Close() {\n%[5]s\n}\n\n",
		name, w.rt(), w.handleType(v.Res), l.field, fmt.Sprintf(l.free, w.freeField("x.buf", v.Res)))
	return name
}

// loudMaker is a function that makes a loud struct with a buffer, which its caller owns by its directive.
func (w *printer) loudMaker(v *Var) string {
	t := w.loudType(v)
	name := fmt.Sprintf("%smake%d", t, v.Loc)
	mk := w.rt() + ".New"
	if v.Res == RMat {
		mk += w.mat()
	}
	old := w.b
	w.b = strings.Builder{}
	w.loudInit(v, "x", "b")
	text := w.b.String()
	w.b = old
	w.types[name] = fmt.Sprintf("//lastuse:effect result 0 owned\nfunc %s(c *%s.C, n int) (*%s, error) {\nb, err := %s(c, n)\nif err != nil {\nreturn nil, err\n}\n%sreturn x, nil\n}\n\n",
		name, w.rt(), t, mk, text)
	return name
}

// state shows what the free of v changes.
func (w *printer) state(v *Var) {
	text := loudFields[v.loudly()].state
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, v.Name)
	}
	w.pf("%s\n", text)
}

// nodeType is a struct whose buffer a getter returns and a method replaces.
func (w *printer) nodeType(v *Var) string {
	base := w.prefix() + "node"
	if v.Form == nodeHelp {
		base = fmt.Sprintf("H%dNode", w.p.ID)
	}
	if v.Res == RMat {
		base += "M"
	}
	if v.Form == nodeHelp && !w.help {
		w.imports[w.dir+"/help"] = true
		return "help." + base
	}
	h := w.handleType(v.Res)
	mk := fmt.Sprintf("b, err := %s.New(c, n)", w.rt())
	fill := fmt.Sprintf("b.Fill(c.Q(), %d)", stepped)
	if v.Res == RMat {
		mk = fmt.Sprintf("b, err := %s.New%s(c, n)", w.rt(), w.mat())
		fill = fmt.Sprintf("b.Reset(%d)", stepped)
	}
	text := fmt.Sprintf(`type %[1]s struct{ w %[2]s }

// W returns what n holds now.
func (n *%[1]s) W() %[2]s { return n.w }

// Step replaces it.
func (x *%[1]s) Step(c *%[3]s.C, n int) error {
	%[4]s
	if err != nil {
		return err
	}
	%[5]s
	x.w = b
	return nil
}

`, base, h, w.rt(), mk, fill)
	if v.Form == nodeHelp {
		text += fmt.Sprintf("// New%[1]s holds b.\nfunc New%[1]s(b %[2]s) *%[1]s { return &%[1]s{w: b} }\n\n", base, h)
	}
	w.types[base] = text
	return base
}

// partType is a struct that shares its second field with others.
func (w *printer) partType(r Res) string {
	name := w.prefix() + "part"
	if r == RMat {
		name += "m"
	}
	w.types[name] = fmt.Sprintf("type %[1]s struct{ a, b %[2]s }\n\nfunc (p *%[1]s) Close() { %[3]s }\n\n",
		name, w.handleType(r), w.freeField("p.a", r))
	return name
}

// selfType is a struct that leads to itself.
func (w *printer) selfType(r Res) string {
	name := w.prefix() + "self"
	if r == RMat {
		name += "m"
	}
	w.types[name] = fmt.Sprintf("type %[1]s struct {\nself *%[1]s\nbuf %[2]s\n}\n\nfunc (s *%[1]s) again() *%[1]s { return s.self }\n\n",
		name, w.handleType(r))
	return name
}

// leads is another name of a struct that leads to itself.
func (w *printer) leads(from Path, how int) string {
	if how%2 == 1 {
		return from.V.Name + ".again()"
	}
	return from.V.Name + ".self"
}

// text is a string in the memory of what from holds, or of another such string.
func (w *printer) text(from Path, how int) string {
	switch {
	case from.V.Kind == KText && how%3 == 0:
		return from.V.Name + "[:]"
	case from.V.Kind == KText:
		return from.V.Name
	case how%2 == 0:
		return w.rt() + "." + w.got("Text", from.V.Res) + "(" + w.handle(from) + ")"
	}
	w.imports["unsafe"] = true
	return fmt.Sprintf("unsafe.String((*byte)(%[1]s.Pointer()), 8*%[1]s.Len())", w.handle(from))
}

// mention names a buffer where nothing reads it.
func (w *printer) mention(s *Mention) {
	h := w.handle(s.Path)
	switch s.How {
	case MFalse:
		w.pf("if false {\n_ = %s.Len()\n}\n", h)
	case MConst:
		w.pf("const debug%[1]d = false\nif debug%[1]d {\nc.Out(int64(%[2]s.Len()))\n}\n", s.ID, h)
	case MBlank:
		w.pf("_ = %s\n", h)
	default:
		w.pf("dead%[1]d := %[2]s\n_ = dead%[1]d\n", s.ID, h)
	}
}

// stays stores a string, and has it looked at when the program ends.
func (w *printer) stays(s *Escape, h string) {
	name := fmt.Sprintf("%stext%d", w.prefix(), s.ID)
	switch s.Kind {
	case XVar:
		w.types[name] = fmt.Sprintf("var %s string\n\n", name)
		w.pf("%[1]s = %[2]s\nc.Watch(&%[1]s)\n", name, h)
	case XParam:
		w.types[name] = fmt.Sprintf("func %s(to *string, s string) { *to = s }\n\n", name)
		w.pf("to%[1]d := new(string)\n%[2]s(to%[1]d, %[3]s)\nc.Watch(to%[1]d)\n", s.ID, name, h)
	case XStruct:
		w.types[name] = fmt.Sprintf("type %s struct{ s string }\n\n", name)
		w.pf("in%[1]d := &%[2]s{}\nin%[1]d.s = %[3]s\nc.Watch(&in%[1]d.s)\n", s.ID, name, h)
	}
}

// nodes returns variables of the types that another package declares for p.
func (p *Program) nodes() []*Var {
	var res []*Var
	used := p.reachable()
	for i, f := range p.Funcs {
		if !used[i] {
			continue
		}
		Walk(f.Body, func(s Stmt) bool {
			if s, ok := s.(*Wrap); ok && s.V.Kind == KNode && s.V.Form == nodeHelp {
				res = append(res, s.V)
			}
			return true
		})
	}
	return res
}

// told hands h to fmt in a struct whose String method keeps it.
func (w *printer) told(h string, r Res) {
	name := w.prefix() + "teller"
	if r == RMat {
		name += "m"
	}
	w.imports["fmt"], w.imports["io"] = true, true
	w.types[name] = fmt.Sprintf(`type %[1]s struct{ b %[2]s }

var %[1]sLast %[2]s

func (t *%[1]s) String() string {
	%[1]sLast = t.b
	return ""
}

`, name, w.handleType(r))
	w.pf("fmt.Fprint(io.Discard, &%s{%s})\n", name, h)
}
