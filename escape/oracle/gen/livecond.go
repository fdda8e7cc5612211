package gen

// What conditions need, and what is known of them.

// decided evaluates c as far as the flags decide it.
func (l *Liveness) decided(c *Cond) (value, ok bool) {
	switch c.Op {
	case CFlag:
		value, ok = l.flags[c.Var]
		return value, ok
	case CSet: // who knows types knows that an interface that holds a nil pointer is not nil
		if value, ok = l.flags[c.set()]; ok {
			return value, ok
		}
		return true, c.N == 1 && l.less != nil
	case CNot:
		value, ok = l.decided(c.X)
		return !value, ok
	case CAnd, COr:
		settles := c.Op == COr // the value of one side that decides both
		x, okx := l.decided(c.X)
		y, oky := l.decided(c.Y)
		if okx && x == settles || oky && y == settles {
			return settles, true
		}
		return !settles, okx && oky
	}
	return false, false
}

// operands returns the operands of c that can be evaluated.
func (l *Liveness) operands(c *Cond) []Path {
	if l.copies { // a test reads the name, whatever it asks
		return c.paths()
	}
	if c.Op == CAnd || c.Op == COr {
		if x, ok := l.decided(c.X); ok && x == (c.Op == COr) {
			return l.operands(c.X)
		}
		return append(l.operands(c.X), l.operands(c.Y)...)
	}
	switch c.Op {
	case CNot:
		return l.operands(c.X)
	case CSet:
		return nil
	case CNil: // whether a pointer is nil does not ask what it points to
		if c.Path.V.Res == RMat {
			return nil
		}
	}
	return c.paths()
}

// set is the flag that says whether an interface has been set, which a condition asks that knows more of what
// was put there.
func (c *Cond) set() string { return c.Path.V.Name + " set" }

// sets returns the flags of interfaces that c asks.
func (c *Cond) sets() []string {
	switch {
	case c == nil:
		return nil
	case c.Op == CSet:
		return []string{c.set()}
	}
	return append(c.X.sets(), c.Y.sets()...)
}

// paths returns the operands of c.
func (c *Cond) paths() []Path {
	if c == nil {
		return nil
	}
	var res []Path
	if c.Path.V != nil {
		res = append(res, c.Path)
	}
	return append(append(res, c.X.paths()...), c.Y.paths()...)
}
