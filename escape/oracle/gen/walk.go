package gen

// Lists returns pointers to the statement lists inside s that Print prints, in source order. Any
// other list of s is empty: what is no part of the text must not run either.
func Lists(s Stmt) []*[]Stmt {
	switch s := s.(type) {
	case *Make:
		return branches(s.Err, &s.Ok, &s.Fail)
	case *Get:
		return []*[]Stmt{&s.Body}
	case *Use:
		return branches(s.Err, &s.Fail)
	case *If:
		return []*[]Stmt{&s.Then, &s.Else}
	case *Loop:
		return []*[]Stmt{&s.Body}
	case *Each:
		return []*[]Stmt{&s.Body}
	case *Switch:
		var res []*[]Stmt
		for i := range s.Cases {
			res = append(res, &s.Cases[i])
		}
		return res
	case *Join:
		return []*[]Stmt{&s.Mid}
	case *Closure:
		return []*[]Stmt{&s.Body}
	case *Inline:
		return []*[]Stmt{&s.Body}
	case *Call:
		return branches(s.Err, &s.Mid, &s.Ok, &s.Fail)
	case *Block:
		return []*[]Stmt{&s.Body}
	case *Select:
		return []*[]Stmt{&s.Sent, &s.Others}
	case *Resize:
		return []*[]Stmt{&s.Fail}
	case *For:
		return []*[]Stmt{&s.Body}
	case *Hold:
		return []*[]Stmt{&s.Body}
	case *Step:
		return []*[]Stmt{&s.Fail}
	case *Recur:
		return []*[]Stmt{&s.Body}
	case *Deeper:
		return []*[]Stmt{&s.Least}
	}
	return nil
}

// branches returns those of the lists of a statement that its error leads to: Fail comes last.
func branches(how OnErr, all ...*[]Stmt) []*[]Stmt {
	switch {
	case !how.tested():
		return nil
	case how == EInvert:
		return all
	}
	return all[len(all)-1:]
}

// Walk calls do for every statement in list and below, parents first, until do
// says no to a statement's insides.
func Walk(list []Stmt, do func(Stmt) bool) {
	for _, s := range list {
		if do(s) {
			for _, l := range Lists(s) {
				Walk(*l, do)
			}
		}
	}
}

// Reads returns the paths that s itself, not what is inside it, reads or frees.
func Reads(s Stmt) []Path {
	switch s := s.(type) {
	case *Make:
		if s.Dst.Field >= 0 {
			return []Path{s.Dst}
		}
	case *Assign:
		return s.Src
	case *Compose:
		return s.Src
	case *Append:
		return []Path{Of(s.V), s.Src}
	case *Put:
		return []Path{Of(s.V), s.Src}
	case *Get:
		return []Path{Of(s.V)}
	case *Use:
		return s.Args
	case *If:
		return s.Cond.paths()
	case *Flag:
		if s.Of.V != nil {
			return []Path{s.Of}
		}
	case *Loop:
		return s.Cond.paths()
	case *Each:
		if s.Lit != nil {
			return s.Lit
		}
		return []Path{Of(s.X)}
	case *Clear:
		return []Path{s.Path}
	case *Resize:
		return []Path{Of(s.V)}
	case *Switch:
		if s.Subject.V != nil {
			return []Path{s.Subject}
		}
	case *Return:
		if s.Path.V != nil {
			return []Path{s.Path}
		}
	case *Defer:
		return []Path{s.Path}
	case *Free:
		return []Path{s.Path}
	case *FreeAll:
		return []Path{Of(s.V)}
	case *Join:
		return []Path{s.Arg}
	case *CallVar:
		return []Path{Of(s.V)}
	case *Call:
		return s.Args
	case *Escape:
		return []Path{s.Path}
	case *Select:
		return []Path{s.Path}
	case *Pass:
		return []Path{s.Src}
	case *Panic:
		if s.With.V != nil {
			return []Path{s.With}
		}
	case *Spawn:
		return []Path{Of(s.V), s.Arg}
	case *Wait:
		return []Path{Of(s.V)}
	case *Regroup:
		return []Path{Of(s.V)}
	case *Wrap:
		if s.Common.V != nil {
			return []Path{s.Src, s.Common}
		}
		return []Path{s.Src}
	case *Hold:
		return []Path{Of(s.V)}
	case *State:
		return []Path{Of(s.V)}
	case *Step:
		return []Path{Of(s.V)}
	case *Deeper:
		return []Path{s.Arg}
	case *Mention:
		return []Path{s.Path}
	case *Temp:
		if s.Cond != nil {
			return s.Cond.paths()
		}
		return []Path{s.Path}
	}
	return nil
}

// Declares returns every variable that s brings into scope, with the lists
// that they are visible in: nil for the rest of the block s stands in.
func Declares(s Stmt) (vars []*Var, inside *[]Stmt) {
	switch s := s.(type) {
	case *Get:
		return []*Var{s.Dst}, &s.Body
	case *Each:
		return []*Var{s.V}, &s.Body
	case *For:
		return []*Var{s.Make.Dst.V}, &s.Body
	case *Recur:
		return []*Var{s.Last}, &s.Body
	case *Switch:
		if s.Kind == STyped && len(s.Cases) > 0 {
			return []*Var{s.V}, &s.Cases[0]
		}
		return nil, nil
	case *Make:
		if s.Decl && s.Err == EInvert {
			return []*Var{s.Dst.V}, &s.Ok
		}
	}
	return declares(s), nil
}
