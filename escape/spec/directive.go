package spec

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const (
	directivePrefix = "//lastuse:"
	effectWord      = "effect"
	keepWord        = "keep"
)

// Directives reads the //lastuse: comments of a file that was parsed with
// comments. The lines are those of the //lastuse:effect directives in the doc
// comments of functions, methods and methods of interfaces; several directives
// of one function add up. Positions are physical: //line is ignored.
//
// The error joins one [*Error] for each directive that is wrong: bad clauses, an
// operand that the function does not have, an effect in a place that is no doc
// comment of a function, a word other than effect and keep.
func Directives(fset *token.FileSet, file *ast.File, info *types.Info) ([]*Line, error) {
	var lines []*Line
	var errs []*Error
	position := func(pos token.Pos) token.Position {
		p := fset.PositionFor(pos, false)
		return token.Position{Filename: p.Filename, Line: p.Line}
	}
	done := map[*ast.Comment]bool{}
	read := func(doc *ast.CommentGroup, obj types.Object) {
		f, ok := obj.(*types.Func)
		if doc == nil || !ok {
			return
		}
		var line *Line
		for _, comment := range doc.List {
			word, text, ok := directive(comment)
			if !ok || word != effectWord {
				continue
			}
			done[comment] = true
			pos := position(comment.Pos())
			clauses, problems := parseClauses(stripComment(text))
			for _, c := range clauses {
				problems = append(problems, checkClause(c, f.Signature())...)
			}
			for _, err := range problems {
				errs = append(errs, &Error{Pos: pos, Msg: err.Error()})
			}
			if len(problems) > 0 {
				continue
			}
			if line == nil {
				line = &Line{Name: FullName(f), Pos: pos, Level: Directive}
				lines = append(lines, line)
			}
			line.Clauses = append(line.Clauses, clauses...)
		}
	}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			read(d.Doc, info.Defs[d.Name])
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				for _, name := range m.Names {
					read(m.Doc, info.Defs[name])
				}
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List {
			word, text, ok := directive(comment)
			if !ok || done[comment] {
				continue
			}
			fail := func(msg string) {
				errs = append(errs, &Error{Pos: position(comment.Pos()), Msg: msg})
			}
			switch word {
			case effectWord:
				fail("//lastuse:effect belongs in the doc comment of a function")
			case keepWord:
				if strings.TrimSpace(text) == "" {
					fail("//lastuse:keep wants a reason")
				}
			default:
				fail("unknown directive //lastuse:" + word + ": want effect or keep")
			}
		}
	}
	return lines, joinErrors(errs)
}

// Keeps returns the reasons of the //lastuse:keep directives of a file, by
// physical line. A keep without a reason is not in it.
func Keeps(fset *token.FileSet, file *ast.File) map[int]string {
	var keeps map[int]string
	for _, group := range file.Comments {
		for _, comment := range group.List {
			word, text, ok := directive(comment)
			reason := strings.TrimSpace(text)
			if !ok || word != keepWord || reason == "" {
				continue
			}
			if keeps == nil {
				keeps = map[int]string{}
			}
			keeps[fset.PositionFor(comment.Pos(), false).Line] = reason
		}
	}
	return keeps
}

// directive splits //lastuse:WORD TEXT.
func directive(c *ast.Comment) (word, text string, ok bool) {
	rest, ok := strings.CutPrefix(c.Text, directivePrefix)
	if !ok {
		return "", "", false
	}
	word, text = cutName(strings.TrimRight(rest, "\r"))
	return word, text, true
}

// checkClause compares a clause with the function that it is about.
func checkClause(c Clause, sig *types.Signature) (problems []error) {
	add := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	operands, err := c.Operand.Bind(sig)
	add(err)
	for _, o := range operands {
		add(checkType(c, o, sig))
	}
	if c.Effect == Views || c.Effect == Is {
		of, err := c.Of.Bind(sig)
		add(err)
		if err == nil && len(operands) == 1 && c.Effect == Is {
			add(checkIs(operands[0], of[0], sig))
		}
	}
	switch c.Cond.Kind {
	case ArgTrue, ArgFalse:
		arg, err := c.Cond.Arg.Bind(sig)
		add(err)
		if err == nil {
			if b, ok := arg[0].Type(sig).Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
				add(errors.New(c.Cond.String() + ": the argument has type " + arg[0].Type(sig).String() + ", not bool"))
			}
		}
	case OnSuccess, OnError:
		if !HasError(sig) {
			add(errors.New(c.Cond.String() + ": the last result is not an error"))
		}
	}
	return problems
}

// checkType refuses effects on values that can own nothing.
func checkType(c Clause, o Operand, sig *types.Signature) error {
	if c.Operand.Kind == Args || !cannotOwn(c.Effect, o.Type(sig)) {
		return nil // "args" means all arguments, whatever they are
	}
	t := o.Type(sig).String()
	article := "a "
	if strings.IndexByte("aeiou", t[0]) >= 0 {
		article = "an "
	}
	return errors.New(c.Operand.String() + " " + c.Effect.String() + ": " + article + t + " owns nothing")
}

// cannotOwn reports whether an effect says that a value owns something although
// no value of its type can: an error, or a bool, a string or a number that is no
// integer, or a slice or array of these. Integers may be handles.
func cannotOwn(e Effect, t types.Type) bool {
	switch e {
	case Owned, Freed, Retained:
	default:
		return false
	}
	for {
		switch u := types.Unalias(t).(type) {
		case *types.Slice:
			t = u.Elem()
			if b, ok := types.Unalias(t).(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
				return b.Kind() != types.Uintptr // a list of numbers; addresses may be owned
			}
			continue
		case *types.Array:
			t = u.Elem()
			continue
		case *types.Basic:
			return u.Info()&(types.IsBoolean|types.IsString|types.IsFloat|types.IsComplex) != 0
		}
		return types.Identical(t, types.Universe.Lookup("error").Type())
	}
}

// checkIs refuses a result that cannot be the operand itself.
func checkIs(result, of Operand, sig *types.Signature) error {
	r, t := result.Type(sig), of.Type(sig)
	if types.AssignableTo(t, r) || types.AssignableTo(r, t) || types.ConvertibleTo(t, r) ||
		types.IsInterface(r) || types.IsInterface(t) || types.Identical(deref(r), deref(t)) {
		return nil
	}
	return errors.New(result.String() + " is " + of.String() + ": the types are " + r.String() + " and " + t.String())
}
