package effect

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
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
		out = s.param(out, s.operand(i), p)
	}
	for i, r := range s.Results {
		name := fmt.Sprintf("result %d", i)
		out = s.owned(out, name, r)
		for _, p := range r.Parts {
			out = s.is(s.owned(out, name+p.Path, p.Is), name+p.Path, p.Is)
		}
		for j := range s.Params {
			if r.Views>>j&1 == 1 {
				out = append(out, name+" views "+s.operand(j))
			}
			for k, set := range r.told() {
				if *set>>j&1 == 1 {
					out = append(out, name+told[k]+s.operand(j))
				}
			}
		}
		out = r.Hands.text(s.is(out, name, r), name)
	}
	if len(out) == 0 {
		return "borrows"
	}
	return strings.Join(out, ", ")
}

// orNil says that an operand, or what is owned, may be nil.
const orNil = " or nil"

// withError says that a result is owned beside an error, too.
const withError = " whatever the error"

// filled says that what escapes is only given something, turned that parts of it become others of it.
const (
	filled = " filled"
	turned = " turned"
)

// grows says how a slice escapes.
const grows = " grows"

// given says that a field is given something, and madeText when.
const given = " given "

var madeText = [...]string{1: " on success", 2: " on error", 3: ""}

// how is 1 if it is made on each call that does not fail, 2 if on some that fail, or the sum.
func (m Made) how() (how int) {
	if m.Success {
		how = 1
	}
	if m.Fails {
		how += 2
	}
	return how
}

// handleOnly says that nothing looks at the memory of an operand.
const handleOnly = " by its handle"

// calledText says how a function is called.
var calledText = [...]string{InTurn: " called in turn", Once: " called once"}

// param adds the text of what is done to an operand, or to a part of one.
func (s *Summary) param(out []string, name string, p Param) []string {
	if p.Freed.Cond != Never {
		t := name + " freed"
		if p.Repeatable {
			t += " repeatable"
		}
		if p.TakesNil {
			t += orNil
		}
		out = append(out, t+s.when(p.Freed))
	} else if p.TakesNil { // a line may say that it is freed
		out = append(out, name+" borrowed"+orNil)
	}
	if p.Escapes.Cond != Never {
		out = append(out, name+" escapes"+s.when(p.Escapes))
	}
	if p.Filled {
		out = append(out, name+filled)
	}
	if p.Turned {
		out = append(out, name+turned)
	}
	if p.Takes.Own {
		out = append(out, name+grows)
	}
	for j := range s.Params {
		if p.Takes.Of>>j&1 == 1 {
			out = append(out, name+grows+" by "+s.operand(j))
		}
	}
	for _, m := range p.Made {
		out = append(out, fmt.Sprintf("%s%s%d%s", name, given, m.Field, madeText[m.how()]))
	}
	if p.Retained {
		out = append(out, name+" retained")
	}
	if p.Sets.Lends {
		out = append(out, name+" lent")
	}
	if p.Calls != Anyhow {
		out = append(out, name+calledText[p.Calls])
	}
	out = p.Hands.text(out, name)
	if p.Reads == Handle {
		out = append(out, name+handleOnly)
	}
	if w := p.Sets.When; w.Cond != Never {
		out = append(out, name+" set"+s.when(w))
		if w.Cond == Maybe && p.Replaces() {
			out[len(out)-1] += " and then freed before"
		}
	}
	for _, x := range p.Parts {
		if x.Is.Borrows() {
			out = append(out, name+x.Path+" borrowed")
		}
		out = s.param(out, name+x.Path, x.Is)
	}
	return out
}

// told are the words for what a result has to do with an operand which specs have no words for.
var told = [...]string{" needs ", " tells ", " shows "}

func (r *Result) told() [len(told)]*uint64 { return [...]*uint64{&r.Needs, &r.Tells, &r.Shows} }

// is adds the text of what says that a result, or a part of one, is a parameter.
func (s *Summary) is(out []string, name string, r Result) []string {
	for j := range s.Params {
		if r.Is>>j&1 == 0 {
			continue
		}
		t := name + " is " + s.operand(j)
		if !r.Must {
			t += " maybe"
		}
		out = append(out, t)
	}
	return out
}

// owned adds the text of what says that a result, or a part of one, is owned.
func (s *Summary) owned(out []string, name string, r Result) []string {
	if r.Owned.Cond == Never {
		return out
	}
	t := name + " owned"
	if r.Holes {
		t += " with holes"
	}
	if r.Nil {
		t += orNil
	}
	if r.Error {
		t += withError
	}
	return append(out, t+s.when(r.Owned))
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
		t, handle := strings.CutSuffix(t, handleOnly)
		if handle {
			t += " borrowed"
		}
		t, fills := strings.CutSuffix(t, filled)
		t, turns := strings.CutSuffix(t, turned)
		if fills || turns {
			t += " borrowed"
		}
		t, more, err := cutMore(t, sig)
		if err != nil {
			return nil, err
		}
		t, path := cutPath(t)
		t, failed := strings.CutSuffix(t, withError)
		full := strings.Replace(t, " with holes", "", 1)
		plain := strings.Replace(full, orNil, "", 1)
		word := slices.IndexFunc(told[:], func(word string) bool { return strings.Contains(plain, word) })
		if word >= 0 {
			plain = strings.Replace(plain, told[word], " views ", 1)
		}
		cs, err := spec.ParseClauses(token.Position{}, plain)
		if err != nil {
			return nil, fmt.Errorf("parse summary: %q: %w", t, err)
		}
		bound := spec.Bind(cs, sig)
		if len(bound) == 0 {
			return nil, fmt.Errorf("parse summary: %q: no such operand", t)
		}
		for _, c := range bound {
			if word >= 0 {
				*s.Results[c.Operand.Index].told()[word] |= 1 << s.index(c.Of)
				continue
			}
			if more.hands.Of != 0 && c.Operand.Kind == spec.Result {
				s.Results[c.Operand.Index].Hands.add(more.hands)
				continue
			}
			of := s
			if path != "" {
				of = Blank(sig)
			}
			of.add(c, plain != full, maybe)
			if c.Operand.Kind == spec.Result {
				r := &of.Results[c.Operand.Index]
				r.Holes, r.Error = r.Holes || full != t, r.Error || failed
			}
			if handle && c.Operand.Kind != spec.Result {
				of.Params[of.index(c.Operand)].Reads = Handle
			}
			if (fills || turns) && c.Operand.Kind != spec.Result {
				p := &of.Params[of.index(c.Operand)]
				p.Filled, p.Turned = p.Filled || fills, p.Turned || turns
			}
			if c.Operand.Kind != spec.Result {
				of.Params[of.index(c.Operand)].gets(more)
			}
			if onTrue && c.Operand.Kind == spec.Result {
				of.Results[c.Operand.Index].Owned.Cond = OnTrue
			}
			if path != "" {
				s.put(c.Operand, path, of)
			}
		}
	}
	return s, nil
}

// more is what a clause says of an operand that no spec has words for.
type more struct {
	made  *Made
	takes Takes
	hands Hands
	calls Calls
}

// cutMore returns a clause that says such a thing as one that says that the operand is borrowed.
func cutMore(clause string, sig *types.Signature) (rest string, m more, err error) {
	rest, m.hands = cutHands(clause)
	rest, m.calls = cutCalled(rest)
	if rest, m.takes, err = cutGrows(rest, sig); err != nil {
		return "", m, err
	}
	rest, m.made = cutMade(rest)
	return rest, m, nil
}

// gets adds what a clause says more of an operand.
func (p *Param) gets(m more) {
	if m.made != nil {
		p.Made = append(p.Made, *m.made)
	}
	if m.calls != Anyhow {
		p.Calls = m.calls
	}
	p.Takes = Takes{p.Takes.Own || m.takes.Own, p.Takes.Of | m.takes.Of}
	p.Hands.add(m.hands)
}

// cutCalled returns a clause that says how a function is called as one that says that it is borrowed.
func cutCalled(clause string) (borrowed string, c Calls) {
	for c := InTurn; c <= Once; c++ {
		if name, ok := strings.CutSuffix(clause, calledText[c]); ok {
			return name + " borrowed", c
		}
	}
	return clause, Anyhow
}

// cutMade returns a clause that says that a field is given something as one that says that the operand is
// borrowed.
func cutMade(clause string) (borrowed string, m *Made) {
	name, rest, ok := strings.Cut(clause, given)
	if !ok {
		return clause, nil
	}
	number, when, _ := strings.Cut(rest, " ")
	field, err := strconv.Atoi(number)
	if err != nil {
		return clause, nil
	}
	return name + " borrowed", &Made{Field: field, Success: when != "on error", Fails: when != "on success"}
}

// cutGrows returns a clause that says how a slice grows as one that says that it is borrowed.
func cutGrows(clause string, sig *types.Signature) (borrowed string, t Takes, err error) {
	name, by, ok := strings.Cut(clause, grows)
	if !ok {
		return clause, t, nil
	}
	if by, ok = strings.CutPrefix(by, " by "); !ok {
		return name + " borrowed", Takes{Own: true}, nil
	}
	cs, err := spec.ParseClauses(token.Position{}, by+" borrowed")
	if err != nil {
		return "", t, fmt.Errorf("parse summary: %q: %w", clause, err)
	}
	for _, c := range spec.Bind(cs, sig) {
		t.Of |= 1 << Blank(sig).index(c.Operand)
	}
	return name + " borrowed", t, nil
}

// cutPath returns a clause without the path to the part that it is about, and the path.
func cutPath(clause string) (whole, path string) {
	words := strings.Split(clause, " ")
	k := 0 // of the word that ends the operand
	if len(words) > 1 && (words[0] == "arg" || words[0] == "result") {
		k = 1
	}
	at := strings.IndexAny(words[k], ".[")
	if at < 0 {
		return clause, ""
	}
	words[k], path = words[k][:at], words[k][at:]
	return strings.Join(words, " "), path
}

// put adds what another summary says of an operand, or of a result, as of a part of it.
func (s *Summary) put(o spec.Operand, path string, of *Summary) {
	if o.Kind == spec.Result {
		r := &s.Results[o.Index]
		r.Parts = Put(r.Parts, path, of.Results[o.Index])
		return
	}
	i := s.index(o)
	was, _ := find(s.Params[i].Parts, path)
	is := of.Params[i]
	if is.Freed.Cond == Never {
		is.Freed, is.Repeatable = was.Freed, was.Repeatable
	}
	if is.Escapes.Cond == Never {
		is.Escapes = was.Escapes
	}
	is.Retained = is.Retained || was.Retained
	is.Takes = Takes{is.Takes.Own || was.Takes.Own, is.Takes.Of | was.Takes.Of}
	s.Params[i].Parts = Put(s.Params[i].Parts, path, is)
}
