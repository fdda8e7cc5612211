package gen

import (
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strings"
)

// Source is a program as Go files: Main is one file of package progs, Help one
// of package help, empty if the program has no function there.
type Source struct {
	Main, Help string
}

// Import paths of generated code. The folder of a batch stands for Dir.
const (
	PathRT   = "oracle.test/rt"
	pathLib  = "github.com/lastuse/lastuse/alloc"
	pathHost = pathLib + "/host"
)

// Entry is the name of the entry function of the program numbered id.
func Entry(id int) string { return fmt.Sprintf("P%d", id) }

// Print returns the source of p; dir is the import path of the folder that
// holds its two packages.
func Print(p *Program, dir string) (Source, error) {
	var res Source
	for _, help := range []bool{false, true} {
		w := &printer{p: p, imports: map[string]bool{}, types: map[string]string{}, dir: dir, help: help}
		n := 0
		used := p.reachable()
		for _, f := range p.Funcs {
			if f.Help == help && used[f.Index] {
				w.function(f)
				n++
			}
		}
		if help {
			w.f = &Func{Help: true}
			for _, v := range p.nodes() {
				w.nodeType(v)
				n++
			}
		}
		if n == 0 {
			continue
		}
		text, err := w.file()
		if err != nil {
			return res, err
		}
		if help {
			res.Help = text
		} else {
			res.Main = text
		}
	}
	return res, nil
}

type printer struct {
	p       *Program
	b       strings.Builder
	imports map[string]bool
	types   map[string]string
	dir     string
	help    bool

	f     *Func
	err   string // name of the error in scope, "" if none
	reads map[*Var]int
	lit   int // depth of literals
	gotos map[string]bool
	jumps map[string]bool
}

func (w *printer) file() (string, error) {
	var b strings.Builder
	name := "progs"
	if w.help {
		name = "help"
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n", name)
	for _, i := range slices.Sorted(maps.Keys(w.imports)) {
		fmt.Fprintf(&b, "\t%q\n", i)
	}
	b.WriteString(")\n\n")
	for _, t := range slices.Sorted(maps.Keys(w.types)) {
		b.WriteString(w.types[t])
	}
	b.WriteString(w.b.String())
	src := b.String()
	if !strings.Contains(src, "alloc.") { // it was for what is not printed after all
		src = strings.Replace(src, "\""+pathLib+"\"\n", "", 1)
	}
	text, err := format.Source([]byte(src))
	if err != nil {
		return b.String(), fmt.Errorf("print program %d: %w", w.p.ID, err)
	}
	return string(text), nil
}

func (w *printer) pf(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

func (w *printer) rt() string    { w.imports[PathRT] = true; return "rt" }
func (w *printer) alloc() string { w.imports[pathLib] = true; return "alloc" }

var fields = [...]string{"a", "b"}

// place is the expression that p names, for assignment too.
func (w *printer) place(p Path) string {
	if p.Field < 0 {
		return p.V.Name
	}
	switch p.V.Kind {
	case KTwo:
		return p.V.Name + fields[p.Field]
	case KPair, KPairPtr:
		return p.V.Name + "." + fields[p.Field]
	}
	return fmt.Sprintf("%s[%d]", p.V.Name, p.Field)
}

// handle is p as a value of the handle's type.
func (w *printer) handle(p Path) string {
	switch p.V.Kind {
	case KEmbed:
		return p.V.Name + ".Buffer"
	case KPtr:
		return "*" + p.V.Name
	case KGetter:
		return p.V.Name + "()"
	case KBox, KLoud, KSelf:
		return p.V.Name + ".buf"
	case KNode:
		return p.V.Name + ".W()"
	case KAny:
		return fmt.Sprintf("%s.(%s)", p.V.Name, w.handleType(p.V.Res))
	}
	return w.place(p)
}

func (w *printer) funcName(f *Func) string {
	switch {
	case f.Index == 0:
		return Entry(w.p.ID)
	case f.Help:
		return fmt.Sprintf("H%dF%d", w.p.ID, f.Index)
	case f.Method:
		return fmt.Sprintf("f%d", f.Index)
	}
	return fmt.Sprintf("%sf%d", w.prefix(), f.Index)
}

// callee is the expression that calls f from the function being printed.
func (w *printer) callee(f *Func) string {
	name := w.funcName(f)
	switch {
	case f.Help && !w.help:
		w.imports[w.dir+"/help"] = true
		name = "help." + name
	case f.Method:
		name = "(" + w.kit() + "{})." + name
	}
	if f.Generic {
		if w.f.Generic {
			return name + "[T]"
		}
		if f.Index%2 == 0 && len(f.Params) > 0 {
			return name // inferred, where there are parameters
		}
		return name + "[int64]"
	}
	return name
}

// terminal reports whether s ends a function in the compiler's eyes.
func terminal(s Stmt) bool {
	switch s := s.(type) {
	case *Return:
		return true
	case *Panic:
		return !s.Exit
	}
	return false
}

// names returns the number of names that v has.
func (v *Var) names() int {
	if v.Kind == KTwo {
		return 2
	}
	return 1
}

// declared is v on the left side of an assignment.
func (w *printer) declared(v *Var) string {
	if v.Kind != KTwo {
		return v.Name
	}
	if v.Name == blank {
		return "_, _"
	}
	return w.place(At(v, 0)) + ", " + w.place(At(v, 1))
}

// declares returns the variables that s declares in the block it stands in.
func declares(s Stmt) []*Var {
	switch s := s.(type) {
	case *Make:
		if s.Decl && s.Err != EInvert { // which declares it in a header
			return []*Var{s.Dst.V}
		}
	case *Zero:
		return []*Var{s.V}
	case *Assign:
		if s.Decl {
			var res []*Var
			for _, d := range s.Dst {
				res = append(res, d.V)
			}
			return res
		}
	case *Compose:
		return []*Var{s.V}
	case *Closure:
		return []*Var{s.V}
	case *Call:
		if s.Dst != nil && s.Decl {
			return []*Var{s.Dst}
		}
	case *Pass:
		return []*Var{s.Dst}
	case *Group:
		return []*Var{s.V}
	case *Wrap:
		return []*Var{s.V}
	}
	return nil
}

// count counts the reads of variables, the labels used and the gotos.
func (w *printer) count(list []Stmt) {
	Walk(list, func(s Stmt) bool {
		for _, p := range Reads(s) {
			w.reads[p.V]++
		}
		if j, ok := s.(*Jump); ok && j.Label != "" {
			w.jumps[j.Label] = true
		}
		return true
	})
}

// op returns `:=` or `=`.
func (w *printer) assign(decl, top bool) string {
	if decl && !(w.f.Hoist && top) {
		return ":="
	}
	return "="
}

func (w *printer) stream(t, quiet bool) string {
	switch {
	case quiet:
		return "c.Q()"
	case t:
		return "c.T()"
	}
	return "c.S()"
}

func (w *printer) list(list []Stmt, top bool) {
	for i, s := range list {
		w.stmt(s, top)
		if _, ok := s.(*Label); ok && i == len(list)-1 {
			w.pf("{\n}\n")
		}
		if w.f.Hoist && top {
			continue
		}
		if _, ok := s.(*Zero); ok {
			continue
		}
		for _, v := range declares(s) {
			if v.Kind == KTwo || w.reads[v] == 0 {
				w.pf("%s = %s\n", strings.Join(slices.Repeat([]string{blank}, v.names()), ", "), w.declared(v))
			}
		}
	}
}

func (w *printer) block(list []Stmt) { w.list(list, false) }

// withErr prints list with name as the error in scope.
func (w *printer) withErr(name string, list []Stmt) {
	old := w.err
	w.err = name
	w.block(list)
	w.err = old
}

func (w *printer) label(name string) {
	if w.jumps[name] {
		w.pf("%s:\n", name)
	}
}

func (w *printer) cond(c *Cond) string {
	switch c.Op {
	case CDraw:
		return "c.B()"
	case CMore:
		return "c.More()"
	case CNever:
		return "c.Never()"
	case CFlag:
		return c.Var
	case CPos:
		if c.Path.V.Res == RMat {
			return w.handle(c.Path) + ".Sum(c) > 0"
		}
		return fmt.Sprintf("%s.Pos(c, %s)", w.rt(), w.handle(c.Path))
	case CLen:
		return w.place(c.Path) + ".Len()%2 == 0"
	case CSet:
		return c.Path.V.Name + " != nil"
	case CNil:
		if c.Path.V.Res == RBuffer {
			return w.place(c.Path) + ".Len() > 0"
		}
		return w.place(c.Path) + " != nil"
	case CTemp:
		if c.Res == RMat {
			return fmt.Sprintf("%s.Fresh%s(c, %d).Sum(c) > 0", w.rt(), w.mat(), c.N)
		}
		return fmt.Sprintf("%s.Sum(c, %s.Fresh(c, %d)) > 0", w.rt(), w.rt(), c.N)
	case CNot:
		if c.X.Op == CSet || c.X.Op == CNil && c.X.Path.V.Res == RMat {
			return w.place(c.X.Path) + " == nil"
		}
		return "!(" + w.cond(c.X) + ")"
	case CAnd:
		return "(" + w.cond(c.X) + ") && (" + w.cond(c.Y) + ")"
	}
	return "(" + w.cond(c.X) + ") || (" + w.cond(c.Y) + ")"
}
