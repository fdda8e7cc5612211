package gen

// Liveness across the statements of astmore.go. What goroutines read is no matter of
// paths: the interpreter knows until when they run.

func (l *Liveness) other(s Stmt, out Set, c liveCtx) (in, during Set) {
	in, during = out, out
	switch s := s.(type) {
	case *Group:
		in = out.without(Of(s.V))
	case *Regroup:
	case *Wait:
		in = out.with(Of(s.V))
	case *Spawn, *Temp:
		in = in.with(Reads(s)...)
		during = in
	case *Wrap:
		in = out.without(Of(s.V))
		if out.holds(At(s.V, 0)) {
			in = in.with(s.Src)
		}
		if s.Common.V != nil && out.holds(At(s.V, 1)) {
			in = in.with(s.Common)
		}
	case *Hold:
		in = l.block(s.Body, out, c)
		during = in
	case *Recur:
		return l.recur(s, out, c)
	case *Deeper:
		return l.deeper(s, out, c)
	case *State:
	case *Step: // the former buffer is somebody else's, unless there is no new one
		in = out.without(Of(s.V)).or(l.block(s.Fail, out, c))
		during = in
	case *Mention: // nothing reads it, but a free in front of it would not read well
		if l.less == nil {
			in = in.with(s.Path)
			during = in
		}
	default:
		panic("gen: unknown statement")
	}
	return in, during
}
