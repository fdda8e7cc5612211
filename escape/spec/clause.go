package spec

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"
)

// An OperandKind says which part of a call an [Operand] is.
type OperandKind uint8

const (
	Recv   OperandKind = iota // the receiver
	Arg                       // one argument, by index or by name
	Args                      // all arguments, the receiver not included
	Result                    // one result, by index
)

// An Operand is a part of a call: the receiver, one or all arguments, a result.
type Operand struct {
	Kind  OperandKind
	Index int    // of an Arg or Result, from 0; meaningless for an Arg with a Name
	Name  string // of an Arg given by name, else ""
}

// String returns the operand as a spec writes it, such as "arg 0".
func (o Operand) String() string {
	switch o.Kind {
	case Recv:
		return "recv"
	case Arg:
		if o.Name != "" {
			return "arg " + o.Name
		}
		return "arg " + strconv.Itoa(o.Index)
	case Args:
		return "args"
	case Result:
		return "result " + strconv.Itoa(o.Index)
	}
	return fmt.Sprintf("operand(%d)", o.Kind)
}

// An Effect is what a function does to one operand.
type Effect uint8

const (
	Owned    Effect = iota // a result that the caller must free
	Freed                  // the call releases the operand's buffer
	Borrowed               // the operand is used during the call only; a result stays another's to free
	Views                  // a result that aliases the operand Of and keeps it in use
	Is                     // a result that is the operand Of itself
	Retained               // borrowed, and one more free is owed
	Escapes                // the operand may be kept: nothing is known about it any more
)

var effectWords = [...]string{"owned", "freed", "borrowed", "views", "is", "retained", "escapes"}

// String returns the word of the grammar.
func (e Effect) String() string {
	if int(e) < len(effectWords) {
		return effectWords[e]
	}
	return fmt.Sprintf("effect(%d)", e)
}

// A CondKind says when a clause holds.
type CondKind uint8

const (
	Always    CondKind = iota // no condition
	ArgTrue                   // the argument Cond.Arg is true
	ArgFalse                  // the argument Cond.Arg is false
	OnSuccess                 // the last result, an error, is nil
	OnError                   // the last result, an error, is not nil
)

// A Cond is the condition that a clause ends in. The zero Cond always holds.
type Cond struct {
	Kind CondKind
	Arg  Operand // of ArgTrue and ArgFalse
}

// String returns the condition as a spec writes it; "" for Always.
func (c Cond) String() string {
	switch c.Kind {
	case ArgTrue:
		return "if " + c.Arg.String() + " is true"
	case ArgFalse:
		return "if " + c.Arg.String() + " is false"
	case OnSuccess:
		return "on success"
	case OnError:
		return "on error"
	}
	return ""
}

// A Clause is one statement about one operand.
type Clause struct {
	Operand    Operand
	Effect     Effect
	Of         Operand // of Views and Is: what the result aliases
	Repeatable bool    // of Freed: freeing again is harmless
	Cond       Cond
}

// String returns the clause as a spec writes it.
func (c Clause) String() string {
	s := c.Operand.String() + " " + c.Effect.String()
	switch c.Effect {
	case Views, Is:
		s += " " + c.Of.String()
	case Freed:
		if c.Repeatable {
			s += " repeatable"
		}
	}
	if c.Cond.Kind != Always {
		s += " " + c.Cond.String()
	}
	return s
}

// A Line says what one function, or each function that a glob matches, does.
type Line struct {
	Name    string // what FullName returns, or a prefix of it followed by "*"
	Clauses []Clause
	Level   Level          // who says so; set when the line is added to a Set
	Pos     token.Position // file and line
	Torn    string         // where another file of its level says something else; "" if none does
	order   int            // position in the Set: lines read first have smaller ones
}

// IsGlob reports whether the line's name ends in a star.
func (l *Line) IsGlob() bool { return strings.HasSuffix(l.Name, "*") }

// String returns the line as a spec writes it.
func (l *Line) String() string { return l.Name + " " + formatClauses(l.Clauses) }

func formatClauses(clauses []Clause) string {
	var b strings.Builder
	for i, c := range clauses {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.String())
	}
	return b.String()
}

// A File is the lines of one spec file, in order.
type File struct {
	Name  string // as given to Parse
	Lines []*Line
}
