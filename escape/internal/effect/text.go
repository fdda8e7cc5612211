package effect

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/lastuse/lastuse/escape/spec"
)

// String returns the text of a summary.
func (s *Summary) String() string {
	if s.Unknown {
		return "unknown"
	}
	var out []string
	for i, p := range s.Params {
		name := s.operand(i)
		if p.Freed.Cond != Never {
			t := name + " freed"
			if p.Repeatable {
				t += " repeatable"
			}
			out = append(out, t+s.when(p.Freed))
		}
		if p.Escapes.Cond != Never {
			out = append(out, name+" escapes"+s.when(p.Escapes))
		}
		if p.Retained {
			out = append(out, name+" retained")
		}
	}
	for i, r := range s.Results {
		name := fmt.Sprintf("result %d", i)
		if r.Owned.Cond != Never {
			t := name + " owned"
			if r.Nil {
				t += " or nil"
			}
			out = append(out, t+s.when(r.Owned))
		}
		for j := range s.Params {
			if r.Views>>j&1 == 1 {
				out = append(out, name+" views "+s.operand(j))
			}
			if r.Tells>>j&1 == 1 {
				out = append(out, name+" tells "+s.operand(j))
			}
			if r.Shows>>j&1 == 1 {
				out = append(out, name+" shows "+s.operand(j))
			}
			if r.Is>>j&1 == 1 {
				t := name + " is " + s.operand(j)
				if !r.Must {
					t += " maybe"
				}
				out = append(out, t)
			}
		}
	}
	if len(out) == 0 {
		return "borrows"
	}
	return strings.Join(out, ", ")
}

func (s *Summary) operand(i int) string {
	if s.Recv {
		if i == 0 {
			return "recv"
		}
		i--
	}
	return fmt.Sprintf("arg %d", i)
}

func (s *Summary) when(w When) string {
	switch w.Cond {
	case OnSuccess:
		return " on success"
	case OnError:
		return " on error"
	case IfTrue:
		return " if " + s.operand(w.Param) + " is true"
	case IfFalse:
		return " if " + s.operand(w.Param) + " is false"
	case Maybe:
		return " maybe"
	case OnTrue:
		return s.onTrue()
	}
	return ""
}

// onTrue returns the condition that the last result is true.
func (s *Summary) onTrue() string { return fmt.Sprintf(" if result %d is true", len(s.Results)-1) }

// Parse reads the text of a summary of a function with a signature.
func Parse(text string, sig *types.Signature) (*Summary, error) {
	switch text {
	case "unknown":
		return Worst(sig), nil
	case "borrows":
		return Blank(sig), nil
	}
	s := Blank(sig)
	for _, t := range strings.Split(text, ", ") {
		t, maybe := strings.CutSuffix(t, " maybe")
		t, onTrue := strings.CutSuffix(t, s.onTrue())
		plain := strings.Replace(t, " or nil", "", 1)
		views := strings.NewReplacer(" tells ", " views ", " shows ", " views ").Replace(plain)
		cs, err := spec.ParseClauses(token.Position{}, views)
		if err != nil {
			return nil, fmt.Errorf("parse summary: %q: %w", t, err)
		}
		bound := spec.Bind(cs, sig)
		if len(bound) == 0 {
			return nil, fmt.Errorf("parse summary: %q: no such operand", t)
		}
		for _, c := range bound {
			if r := c.Operand.Index; strings.Contains(plain, " tells ") {
				s.Results[r].Tells |= 1 << s.index(c.Of)
				continue
			} else if strings.Contains(plain, " shows ") {
				s.Results[r].Shows |= 1 << s.index(c.Of)
				continue
			}
			s.add(c, plain != t, maybe)
			if onTrue && c.Operand.Kind == spec.Result {
				s.Results[c.Operand.Index].Owned.Cond = OnTrue
			}
		}
	}
	return s, nil
}
