package place

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Free is a statement to insert.
type Free struct {
	Sites []*pointsto.Site // what it frees
	Name  Name
	At    Where
	Guard bool // what has the name may be nil
	// What has the name may be an operand, which goes by this one; none if it may not.
	Unless Name
	Holes  bool      // an element of it may be nil
	Since  *Since    // nil if it is due where ways begin
	Behind *ssa.Call // of a literal that may have it inside, right behind which it is due: see Inside
	value  ssa.Value
}

// A Where is where a statement may stand.
type Where struct {
	Place    *ir.Place   // nil: between the results of Return and the return
	Return   *ssa.Return // nil: at Place
	Deferred bool        // it is deferred there
	Ends     bool        // deferred, it frees what its name holds when the function ends
}

// Pos returns in front of what it is.
func (w Where) Pos() token.Pos {
	if w.Place != nil {
		return w.Place.Pos
	}
	return w.Return.Pos()
}

// NonNil reports whether a branch that leads there tells that a value is not nil, or a field was read by it
// before.
func (w Where) NonNil(v ssa.Value) bool {
	if w.Place == nil || w.Place.Block == nil {
		return false
	}
	on, _ := ir.NonNil(w.Place.Block, nil, func(x ssa.Value) bool { return x == v })
	uses := v.Referrers()
	return on || uses != nil && slices.ContainsFunc(*uses, func(i ssa.Instruction) bool {
		_, field := i.(*ssa.FieldAddr)
		return field && ir.Before(i, w.Place.At)
	})
}

// A Name is by what a buffer goes where it is freed: a variable, or a field of one, that holds
// it; or a name that is made for it, since none does.
type Name struct {
	Var    *types.Var
	Field  *memory.Field // of Var; nil: Var itself
	Result ssa.Value     // made for this result of a call, or part. With Var, for what the header gives it
	Save   *ir.Place     // made for what Var holds here
}

// Type returns the type of what has the name.
func (n Name) Type() types.Type {
	if n.Field != nil {
		return n.Field.Of()
	}
	if n.Var != nil {
		return n.Var.Type()
	}
	return n.Result.Type()
}

// Text returns what stands in the source for a variable or a field of one.
func (n Name) Text() string {
	if n.Field != nil {
		return n.Var.Name() + n.Field.Text()
	}
	return n.Var.Name()
}

// A Text says what can be written.
type Text interface {
	// Stands returns the function in whose text a place is, which is the function itself or the body of a
	// range in it; nil if nobody wrote a statement there.
	Stands(at Where) *ssa.Function
	// Names reports whether a name means what it should at a place, or can be made so that it does.
	Names(n Name, at Where) bool
	// Tests reports whether a test can stand at a place for whether what has a name, or is in it, is nil, if
	// its free asks for one.
	Tests(n Name, at Where) bool
	// Goes tells of a position whether it is in a statement that goes if some calls do.
	Goes(calls []*ssa.Call) func(pos token.Pos) bool
	// Loop returns where the loop begins that is nearest around a position.
	Loop(pos token.Pos) token.Pos
}

// A Verdict says what becomes of what a site makes.
type Verdict struct {
	Site    *pointsto.Site
	Due     bool          // the program does not free it on some path, nor hand it on
	Missed  int           // runs that stay open: there is no spot
	Held    bool          // its frees are withheld: see the package comment
	Why     string        // its group is not decided; "" if it is
	Perhaps *pointsto.Act // by which the program may free it; nil if what it does is known
}

// Plan returns the frees of a function in the order of the text, and what becomes of each
// site that is a call.
func Plan(p *ir.Package, f *own.Func, text Text) (frees []Free, verdicts []Verdict) {
	for _, g := range f.Groups {
		if g.Why() != "" {
			for _, s := range g.Sites {
				if s.Param < 0 {
					verdicts = append(verdicts, Verdict{Site: s, Why: g.Why()})
				}
			}
			continue
		}
		pl := newPlanner(p, f, g, text)
		spots, vs := pl.plan()
		frees, verdicts = append(frees, pl.statements(spots)...), append(verdicts, pl.shared(vs)...)
	}
	slices.SortStableFunc(frees, func(a, b Free) int { return int(a.At.Pos() - b.At.Pos()) })
	return frees, verdicts
}

func newPlanner(p *ir.Package, f *own.Func, g *own.Group, text Text) *planner {
	pl := &planner{ir: p, f: f, g: g, text: text, moves: map[int][]*own.Point{}, alone: map[own.Token]bool{}}
	for _, n := range g.Nodes() {
		pl.moves[n] = g.Points(n)
	}
	return pl
}

// plan places the frees of all tokens. Where one would free another token that is freed elsewhere or by
// another name, it is placed by names that hold it alone, or withheld.
func (pl *planner) plan() (map[own.Token][]*spot, []Verdict) {
	spots, of := map[own.Token][]*spot{}, map[own.Token]*placing{}
	var all []*placing
	for t := range own.Token(pl.g.Tokens()) {
		if !pl.g.IsParam(t) {
			of[t] = pl.begin(t)
			all = append(all, of[t])
		}
	}
	pl.sink(all)
	for _, p := range all {
		spots[p.t] = pl.finish(p)
	}
	pl.share(spots)
	for again := true; again; {
		again = false
		for _, p := range all {
			t := p.t
			switch {
			case len(spots[t]) == 0:
			case pl.g.Harmless()&own.Unsure != 0 && (pl.comesOn(of[t]) || pl.comesOn(of[t^1])):
				// A second run would free once more behind the frees of some ways, where that is harmless.
				delete(spots, t)
				again = true
			case pl.agree(t, spots):
			case pl.alone[t]:
				delete(spots, t)
				again = true
			default:
				pl.alone[t], again = true, true
				*p = *pl.begin(t)
				pl.sink([]*placing{p})
				spots[t] = pl.finish(p)
			}
		}
	}
	verdicts := make([]Verdict, 0, len(pl.g.Sites))
	for k, site := range pl.g.Sites {
		if site.Param >= 0 {
			continue
		}
		a, b := own.Token(2*k), own.Token(2*k+1)
		v := Verdict{Site: site, Due: of[a].due || of[b].due, Missed: of[a].missed + of[b].missed}
		if !v.Due {
			v.Perhaps = pl.perhaps(a)
			v.Due = v.Perhaps != nil && pl.leaves(a)
		}
		v.Held = v.Due && len(spots[a])+len(spots[b]) == 0
		verdicts = append(verdicts, v)
	}
	return spots, verdicts
}

// perhaps returns the first act, in the order of the nodes, that may free a token, and behind which it is not
// known whether it is owned; nil if there is none.
func (pl *planner) perhaps(t own.Token) *pointsto.Act {
	for _, n := range pl.g.Nodes() {
		for _, p := range pl.moves[n] {
			if st := p.Status(t); st&own.Unsure == 0 || st&own.Owned == 0 {
				continue
			}
			for _, m := range p.Meetings() {
				if m.Token == t && pl.g.Sites[t/2].Does(m.Act, m.As).Do == pointsto.End {
					return &m.Act
				}
			}
		}
	}
	return nil
}

// shared gives the verdicts of sites that have what others make to these: that is what the program makes.
func (pl *planner) shared(verdicts []Verdict) (out []Verdict) {
	of := map[*pointsto.Site]*Verdict{}
	for k, v := range verdicts {
		of[v.Site] = &verdicts[k]
	}
	for _, w := range verdicts {
		for _, s := range w.Site.Makers(pl.g.Sites) {
			if v := of[s]; v != nil && s != w.Site {
				v.Due, v.Missed, v.Held = v.Due || w.Due, v.Missed+w.Missed, v.Held || w.Held
			}
		}
	}
	return slices.DeleteFunc(verdicts, func(v Verdict) bool { return v.Site.Joint() })
}

// agree reports whether all that the frees of t free is freed there, by the same value.
func (pl *planner) agree(t own.Token, spots map[own.Token][]*spot) bool {
	for _, s := range spots[t] {
		ts, _ := s.point.Held(s.value)
		for _, u := range ts {
			operand := s.unless.Var != nil && pl.g.IsParam(u)
			if !operand && s.point.Status(u)&own.Owned != 0 && !slices.ContainsFunc(spots[u], s.same) {
				return false
			}
		}
	}
	return true
}

// statements returns a free for each spot, one for all tokens that it frees.
func (pl *planner) statements(spots map[own.Token][]*spot) []Free {
	var out []Free
	var of []*origin
	all := map[*origin][]own.Token{}
	done := map[[2]any]int{} // where and value → index of the free
	for t := range own.Token(pl.g.Tokens()) {
		for _, s := range spots[t] {
			k, ok := done[[2]any{s.at, s.value}]
			behind := pl.inside(s)
			if !ok {
				k = len(out)
				done[[2]any{s.at, s.value}] = k
				out = append(out, Free{Name: s.name, Unless: s.unless, At: s.at, Behind: behind, value: s.value})
				of = append(of, s.since)
			}
			f := &out[k]
			if f.Behind != behind {
				f.Behind = nil
			}
			all[of[k]] = append(all[of[k]], t)
			for _, site := range pl.g.Sites[t/2].Makers(pl.g.Sites) {
				if !slices.Contains(f.Sites, site) {
					f.Sites = append(f.Sites, site)
				}
			}
			f.Guard = f.Guard || pl.nothing(s, s.point, t) || s.empty
			f.Holes = f.Holes || s.point.Status(t)&own.Holed != 0
		}
	}
	since := map[*origin]*Since{}
	for o, tokens := range all {
		since[o] = pl.since(o, tokens, spots)
	}
	for k, o := range of {
		out[k].Since = since[o]
	}
	return out
}

// nothing reports whether the value that is freed for t may be nil at a point, or what leads to it.
func (pl *planner) nothing(s *spot, p *own.Point, t own.Token) bool {
	through := s.name.Through() && pl.g.Sites[t/2].Owning() == nil
	nillable := s.name.Nillable() && !pl.f.Collects(s.value) // else where it is nothing, it has no elements
	return p.Status(t)&own.Absent != 0 && (nillable || through) && pl.f.MayBeNil(s.value) && !s.at.NonNil(s.value)
}

// Nillable reports whether what has the name may be nil, by its type.
func (n Name) Nillable() bool {
	switch n.Type().Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map:
		return true
	}
	return false
}

// Through reports whether the name is of a part of what a pointer leads to that a call returned.
func (n Name) Through() bool {
	return n.Field != nil && n.Field.Memory && !memory.InMemory(n.Field.Root)
}

// String returns what is freed, by which name.
func (f Free) String() string {
	var s strings.Builder
	for k, site := range f.Sites {
		if k > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "#%d", site.N)
	}
	switch {
	case f.Name.Save != nil:
		s.WriteString(" by a name for what " + f.Name.Var.Name() + " holds before")
	case f.Name.Result == nil:
		s.WriteString(" by " + f.Name.Text())
	case f.Name.Var != nil:
		s.WriteString(" by a name in front of what declares " + f.Name.Var.Name())
	default:
		s.WriteString(" by a name of its own")
	}
	switch {
	case f.At.Ends:
		s.WriteString(", whatever that holds when the function ends")
	case f.At.Deferred:
		s.WriteString(" when the function ends")
	}
	if f.Since != nil && f.Since.Spots > 1 {
		fmt.Fprintf(&s, ", one of %d since %s", f.Since.Spots, f.Since.After)
	}
	if f.Guard {
		s.WriteString(" if that is not nil")
	}
	if f.Unless.Var != nil {
		s.WriteString(" unless it is " + f.Unless.Text())
	}
	if f.Holes {
		s.WriteString(" as far as its elements are not")
	}
	return s.String()
}
