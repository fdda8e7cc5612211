package spec

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error is one thing that is wrong with a spec or a directive.
type Error struct {
	Pos token.Position // file and line
	Msg string
}

// Error returns file:line: message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.Pos.Filename, e.Pos.Line, e.Msg)
}

// joinErrors returns the errors as one, each on its own line; nil if there are none.
func joinErrors(errs []*Error) error {
	if len(errs) == 0 {
		return nil
	}
	list := make([]error, len(errs))
	for i, e := range errs {
		list[i] = e
	}
	return errors.Join(list...)
}

// Parse reads a spec file. The name is used for positions. The error joins one
// [*Error] for each thing that is wrong; lines without errors are returned all
// the same.
func Parse(filename string, src []byte) (*File, error) {
	var errs []*Error
	file := &File{Name: filename}
	first := map[string]int{} // name → line that has it
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	n := 0
	for text := range bytes.SplitSeq(src, []byte("\n")) {
		n++
		pos := token.Position{Filename: filename, Line: n}
		fail := func(err error) { errs = append(errs, &Error{Pos: pos, Msg: err.Error()}) }
		if !utf8.Valid(text) {
			fail(errors.New("not UTF-8 text"))
			continue
		}
		name, rest := cutName(stripComment(string(text)))
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			fail(err)
			continue
		}
		clauses, clauseErrs := parseClauses(rest)
		for _, err := range clauseErrs {
			fail(err)
		}
		if prev, dup := first[name]; dup {
			fail(fmt.Errorf("%s has a line already, at line %d: write its clauses there, separated by commas", name, prev))
			continue
		}
		first[name] = n
		if len(clauseErrs) == 0 {
			file.Lines = append(file.Lines, &Line{Name: name, Clauses: clauses, Pos: pos})
		}
	}
	return file, joinErrors(errs)
}

// ParseClauses reads the clauses of one function: what stands after the name in
// a spec file, and after //lastuse:effect in a doc comment. The error joins one
// [*Error] at pos for each thing that is wrong.
func ParseClauses(pos token.Position, text string) ([]Clause, error) {
	clauses, problems := parseClauses(stripComment(text))
	var errs []*Error
	for _, err := range problems {
		errs = append(errs, &Error{Pos: pos, Msg: err.Error()})
	}
	if len(errs) > 0 {
		return nil, joinErrors(errs)
	}
	return clauses, nil
}

func stripComment(text string) string {
	text, _, _ = strings.Cut(text, "#")
	return strings.TrimSpace(text)
}

func cutName(text string) (name, rest string) {
	i := strings.IndexFunc(text, unicode.IsSpace)
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i:]
}

// checkName refuses names that no function can have, with the cause. It errs on
// the side of silence: a name that is merely absent is no error.
func checkName(name string) error {
	if i := strings.IndexByte(name, '*'); i >= 0 && i < len(name)-1 && !strings.HasPrefix(name, "(*") {
		return fmt.Errorf("%s: a star stands at the end of a name only", name)
	}
	body, glob := strings.CutSuffix(name, "*")
	if strings.ContainsAny(body, "[]") {
		return fmt.Errorf("%s: names are written without type parameters", name)
	}
	if strings.ContainsAny(body, ",\"'`;{}=") {
		return fmt.Errorf("%s: not the name of a function", name)
	}
	if inner, ok := strings.CutPrefix(body, "("); ok {
		inner, ptr := strings.CutPrefix(inner, "*")
		if strings.Contains(inner, "*") {
			return fmt.Errorf("%s: a star stands at the end of a name only", name)
		}
		typ, method, closed := strings.Cut(inner, ")")
		if !closed {
			if glob && !ptr && inner == "" {
				// "(*": every method with a pointer receiver.
				return nil
			}
			if glob {
				return nil // a glob over types
			}
			return fmt.Errorf("%s: no closing parenthesis", name)
		}
		if _, ident := splitLast(typ); !token.IsIdentifier(ident) || !strings.Contains(typ, ".") && typ != "interface" && typ != "error" {
			return fmt.Errorf("%s: the receiver is written (PKG.T) or (*PKG.T)", name)
		}
		m, dot := strings.CutPrefix(method, ".")
		switch {
		case glob && (m == "" || token.IsIdentifier(m)):
			return nil
		case !dot || !token.IsIdentifier(m):
			return fmt.Errorf("%s: a method is written (PKG.T).M or (*PKG.T).M", name)
		}
		return nil
	}
	if strings.ContainsAny(body, "()") {
		return fmt.Errorf("%s: a method is written (PKG.T).M or (*PKG.T).M", name)
	}
	if glob {
		return nil
	}
	pkg, ident := splitLast(body)
	if pkg == "" || !token.IsIdentifier(ident) {
		return fmt.Errorf("%s: a function is written PKG.F, with the whole import path", name)
	}
	return nil
}

// splitLast cuts a qualified name at its last dot: an import path may have dots
// in its last element, an identifier has none.
func splitLast(name string) (pkg, ident string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// parseClauses reads clauses separated by commas. It goes on after a bad clause,
// so that all errors of a line are seen at once.
func parseClauses(text string) (clauses []Clause, errs []error) {
	if strings.TrimSpace(text) == "" {
		return nil, []error{errors.New("no clause: say what the function does, as in \"arg 0 borrowed\"")}
	}
	for part := range strings.SplitSeq(text, ",") {
		p := &words{list: strings.Fields(part)}
		c, err := p.clause()
		if err == nil && len(p.list) > 0 {
			err = fmt.Errorf("unexpected %q after %q (clauses are separated by commas)", strings.Join(p.list, " "), c.String())
		}
		if err == nil {
			err = c.check()
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		clauses = append(clauses, c)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return clauses, nil
}

// words is the parser's input: the words of one clause that were not read yet.
type words struct{ list []string }

// next returns the next word and steps over it; "" at the end.
func (p *words) next() string {
	if len(p.list) == 0 {
		return ""
	}
	w := p.list[0]
	p.list = p.list[1:]
	return w
}

// take steps over the next word if it is w.
func (p *words) take(w string) bool {
	if len(p.list) > 0 && p.list[0] == w {
		p.list = p.list[1:]
		return true
	}
	return false
}

func (p *words) clause() (c Clause, err error) {
	if len(p.list) == 0 {
		return c, errors.New("empty clause between commas")
	}
	if c.Operand, err = p.operand(); err != nil {
		return c, err
	}
	word := p.next()
	i := slices.Index(effectWords[:], word)
	switch {
	case word == "":
		return c, fmt.Errorf("%s: no effect: want one of %s", c.Operand, strings.Join(effectWords[:], ", "))
	case i < 0:
		return c, fmt.Errorf("unknown effect %q: want one of %s", word, strings.Join(effectWords[:], ", "))
	}
	c.Effect = Effect(i)
	switch c.Effect {
	case Freed:
		c.Repeatable = p.take("repeatable")
	case Views, Is:
		if len(p.list) == 0 {
			return c, fmt.Errorf("%s %s: want the operand that it %s", c.Operand, c.Effect, c.Effect)
		}
		if c.Of, err = p.operand(); err != nil {
			return c, err
		}
	}
	c.Cond, err = p.cond()
	return c, err
}

func (p *words) operand() (Operand, error) {
	switch word := p.next(); word {
	case "recv":
		return Operand{Kind: Recv}, nil
	case "args":
		return Operand{Kind: Args}, nil
	case "arg":
		n := p.next()
		if n == "" {
			return Operand{}, errors.New("arg: want an index from 0 or a name")
		}
		if isNumber(n) {
			i, err := index(n)
			return Operand{Kind: Arg, Index: i}, err
		}
		if !token.IsIdentifier(n) || n == "_" {
			return Operand{}, fmt.Errorf("arg %s: want an index from 0 or a name", n)
		}
		return Operand{Kind: Arg, Name: n}, nil
	case "result":
		n := p.next()
		if !isNumber(n) {
			return Operand{}, fmt.Errorf("result %s: want an index from 0", n)
		}
		i, err := index(n)
		return Operand{Kind: Result, Index: i}, err
	case "":
		return Operand{}, errors.New("no operand: want recv, arg N, arg NAME, args or result N")
	default:
		return Operand{}, fmt.Errorf("unknown operand %q: want recv, arg N, arg NAME, args or result N", word)
	}
}

func isNumber(s string) bool {
	return s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] == '-' || s[0] == '+')
}

// maxIndex is far above the number of parameters that a function has and far
// below the range in which arithmetic on indices could overflow.
const maxIndex = 1 << 16

func index(s string) (int, error) {
	i, err := strconv.ParseUint(s, 10, 64)
	if err != nil || i >= maxIndex {
		return 0, fmt.Errorf("%s is not an index: want a number from 0", s)
	}
	return int(i), nil
}

func (p *words) cond() (Cond, error) {
	switch {
	case p.take("on"):
		switch word := p.next(); word {
		case "success":
			return Cond{Kind: OnSuccess}, nil
		case "error":
			return Cond{Kind: OnError}, nil
		default:
			return Cond{}, fmt.Errorf("on %s: want \"on success\" or \"on error\"", word)
		}
	case p.take("if"):
		arg, err := p.operand()
		if err != nil {
			return Cond{}, err
		}
		if arg.Kind != Arg {
			return Cond{}, fmt.Errorf("if %s: a condition asks for one argument, as in \"if arg 0 is true\"", arg)
		}
		if !p.take("is") {
			return Cond{}, fmt.Errorf("if %s: want \"is true\" or \"is false\"", arg)
		}
		switch word := p.next(); word {
		case "true":
			return Cond{Kind: ArgTrue, Arg: arg}, nil
		case "false":
			return Cond{Kind: ArgFalse, Arg: arg}, nil
		default:
			return Cond{}, fmt.Errorf("if %s is %s: want true or false", arg, word)
		}
	}
	return Cond{}, nil
}

// check refuses clauses that make no sense for any function.
func (c Clause) check() error {
	isResult := c.Operand.Kind == Result
	switch c.Effect {
	case Owned, Views, Is:
		if !isResult {
			return fmt.Errorf("%s %s: only a result can be %s", c.Operand, c.Effect, map[Effect]string{
				Owned: "owned", Views: "a view", Is: "another operand",
			}[c.Effect])
		}
	case Freed, Retained:
		if isResult {
			return fmt.Errorf("%s %s: a result is never %s by the call that makes it", c.Operand, c.Effect, c.Effect)
		}
	}
	switch c.Effect {
	case Is:
		if c.Of.Kind == Args || c.Of.Kind == Result {
			return fmt.Errorf("%s is %s: want recv or one argument", c.Operand, c.Of)
		}
	case Views:
		if c.Of == c.Operand {
			return fmt.Errorf("%s views %s: nothing is a view of itself", c.Operand, c.Of)
		}
	}
	return nil
}
