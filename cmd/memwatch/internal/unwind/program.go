package unwind

import "fmt"

// Bounds on what a program may put aside and say.
const (
	maxStates     = 64
	maxExpression = 64 // bytes
)

// A machine runs the program of an entry: its rules hold from loc on.
type machine struct {
	*common
	loc   uint64
	now   state
	first state // what the common part says, which rules are restored to
	aside []state
}

type state struct {
	frame rule
	regs  [columns]rule
}

// row runs the programs up to an address.
func (f *function) row(addr uint64) (*Row, error) {
	m := &machine{common: &f.common, loc: f.begin}
	if err := m.run(&cursor{b: f.initial, addr: f.initialAt}, addr); err != nil {
		return nil, err
	}
	m.first = m.now
	if err := m.run(&cursor{b: f.program, addr: f.at}, addr); err != nil {
		return nil, err
	}
	if m.now.frame.kind == same {
		return nil, fmt.Errorf("unwind: %w: no frame at %#x", ErrTable, addr)
	}
	r := &Row{frame: m.now.frame, signal: f.signal}
	for i, s := range m.now.regs {
		if s.kind != same {
			s.reg = uint8(i)
			r.saved = append(r.saved, s)
		}
	}
	return r, nil
}

// run runs a program until it is beyond addr, or ends.
func (m *machine) run(c *cursor, addr uint64) error {
	for c.more() && m.loc <= addr {
		m.step(c, addr)
	}
	return c.err
}

// step runs one instruction. An advance beyond addr ends the program, before what it says
// of there.
func (m *machine) step(c *cursor, addr uint64) {
	op := c.byte()
	switch low := uint64(op & 0x3f); op >> 6 {
	case 1:
		m.loc += low * m.codeAlign
		return
	case 2:
		m.set(low, rule{kind: offset, n: int64(c.uleb()) * m.dataAlign})
		return
	case 3:
		m.restore(low)
		return
	}
	switch op {
	case 0x00: // nop
	case 0x01: // set_loc
		m.loc = c.pointer(m.pointers)
	case 0x02: // advance_loc1, 2, 4
		m.loc += c.word(1) * m.codeAlign
	case 0x03:
		m.loc += c.word(2) * m.codeAlign
	case 0x04:
		m.loc += c.word(4) * m.codeAlign
	case 0x05: // offset_extended
		reg := c.uleb()
		m.set(reg, rule{kind: offset, n: int64(c.uleb()) * m.dataAlign})
	case 0x06: // restore_extended
		m.restore(c.uleb())
	case 0x07:
		m.set(c.uleb(), rule{kind: undefined})
	case 0x08: // same_value
		m.set(c.uleb(), rule{})
	case 0x09: // register
		reg := c.uleb()
		m.set(reg, rule{kind: register, from: c.column()})
	case 0x0a: // remember_state
		if len(m.aside) == maxStates {
			c.fail("more than %d states put aside", maxStates)
			return
		}
		m.aside = append(m.aside, m.now)
	case 0x0b: // restore_state
		if len(m.aside) == 0 {
			c.fail("no state to restore")
			return
		}
		m.now, m.aside = m.aside[len(m.aside)-1], m.aside[:len(m.aside)-1]
	case 0x0c: // def_cfa
		from := c.column()
		m.now.frame = rule{kind: register, from: from, n: int64(c.uleb())}
	case 0x0d: // def_cfa_register
		from := c.column()
		if m.simple(c) {
			m.now.frame.from = from
		}
	case 0x0e: // def_cfa_offset
		n := c.uleb()
		if m.simple(c) {
			m.now.frame.n = int64(n)
		}
	case 0x0f: // def_cfa_expression
		m.now.frame = rule{kind: value, expr: c.expression()}
	case 0x10: // expression
		reg := c.uleb()
		m.set(reg, rule{kind: at, expr: c.expression()})
	case 0x11: // offset_extended_sf
		reg := c.uleb()
		m.set(reg, rule{kind: offset, n: c.sleb() * m.dataAlign})
	case 0x12: // def_cfa_sf
		from := c.column()
		m.now.frame = rule{kind: register, from: from, n: c.sleb() * m.dataAlign}
	case 0x13: // def_cfa_offset_sf
		n := c.sleb() * m.dataAlign
		if m.simple(c) {
			m.now.frame.n = n
		}
	case 0x14: // val_offset
		reg := c.uleb()
		m.set(reg, rule{kind: valOffset, n: int64(c.uleb()) * m.dataAlign})
	case 0x15: // val_offset_sf
		reg := c.uleb()
		m.set(reg, rule{kind: valOffset, n: c.sleb() * m.dataAlign})
	case 0x16: // val_expression
		reg := c.uleb()
		m.set(reg, rule{kind: value, expr: c.expression()})
	case 0x2e: // GNU_args_size, which only a handler of exceptions needs
		c.uleb()
	default:
		c.fail("instruction %#x", op)
	}
}

// set sets the rule of a register, unless it is one that no frame is found by.
func (m *machine) set(reg uint64, r rule) {
	if reg < columns {
		m.now.regs[reg] = r
	}
}

func (m *machine) restore(reg uint64) {
	if reg < columns {
		m.now.regs[reg] = m.first.regs[reg]
	}
}

// simple reports whether the frame is at a register and an offset, one of which may be
// changed then.
func (m *machine) simple(c *cursor) bool {
	if m.now.frame.kind != register {
		c.fail("a part of a frame that has none")
	}
	return c.err == nil
}

// column reads the number of a register that a frame is found by.
func (c *cursor) column() uint8 {
	reg := c.uleb()
	if reg >= returnColumn {
		c.fail("a frame found by register %d", reg)
		return 0
	}
	return uint8(reg)
}

// expression reads an expression.
func (c *cursor) expression() string {
	n := c.uleb()
	if n > maxExpression {
		c.fail("an expression of %d bytes", n)
		return ""
	}
	return string(c.take(n))
}
