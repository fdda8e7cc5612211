package unwind

import (
	"errors"
)

// maxOperands bounds the stack of an expression.
const maxOperands = 16

// evaluate returns what an expression says of a frame. Of the language of expressions
// this is what compilers and C libraries use in unwind tables: there are no jumps, so
// that it ends with its bytes.
func evaluate(expr string, g *Registers, s *Copy, frame *uint64) (uint64, error) {
	e := &operands{cursor: cursor{b: []byte(expr)}}
	if frame != nil {
		e.push(*frame)
	}
	for e.more() {
		e.step(g, s)
	}
	v := e.pop()
	return v, e.err
}

// operands is an expression while it runs.
type operands struct {
	cursor
	v []uint64
}

func (e *operands) push(v uint64) {
	if len(e.v) == maxOperands {
		e.fail("more than %d operands", maxOperands)
		return
	}
	e.v = append(e.v, v)
}

func (e *operands) pop() uint64 {
	if len(e.v) == 0 {
		e.fail("no operand")
		return 0
	}
	v := e.v[len(e.v)-1]
	e.v = e.v[:len(e.v)-1]
	return v
}

// register pushes the value of a register and an offset.
func (e *operands) register(g *Registers, reg uint64) {
	n := e.sleb()
	v, ok := g.get(reg)
	if !ok {
		e.fail("register %d is not known", reg)
	}
	e.push(v + uint64(n))
}

func (e *operands) step(g *Registers, s *Copy) {
	switch op := e.byte(); {
	case op == 0x06: // deref
		v, err := s.word(e.pop())
		if err != nil && e.err == nil {
			e.err = err
		}
		e.push(v)
	case op == 0x08 || op == 0x0a || op == 0x0c || op == 0x0e: // const1u, 2u, 4u, 8u
		e.push(e.word(1 << ((op - 0x08) / 2)))
	case op == 0x09:
		e.push(uint64(int64(int8(e.word(1)))))
	case op == 0x0b:
		e.push(uint64(int64(int16(e.word(2)))))
	case op == 0x0d:
		e.push(uint64(int64(int32(e.word(4)))))
	case op == 0x0f:
		e.push(e.word(8))
	case op == 0x10:
		e.push(e.uleb())
	case op == 0x11:
		e.push(uint64(e.sleb()))
	case op == 0x12: // dup
		v := e.pop()
		e.push(v)
		e.push(v)
	case op == 0x13: // drop
		e.pop()
	case op == 0x16: // swap
		b, a := e.pop(), e.pop()
		e.push(b)
		e.push(a)
	case op == 0x23: // plus_uconst
		e.push(e.pop() + e.uleb())
	case op == 0x1a || op == 0x1c || op == 0x1e || op >= 0x21 && op <= 0x2e:
		b, a := e.pop(), e.pop()
		e.push(e.binary(op, a, b))
	case op >= 0x30 && op <= 0x4f: // lit0 and so on
		e.push(uint64(op - 0x30))
	case op >= 0x70 && op <= 0x8f: // breg0 and so on
		e.register(g, uint64(op-0x70))
	case op == 0x92: // bregx
		e.register(g, e.uleb())
	case op == 0x96: // nop
	default:
		e.fail("operation %#x", op)
	}
}

func (e *operands) binary(op byte, a, b uint64) uint64 {
	truth := func(yes bool) uint64 {
		if yes {
			return 1
		}
		return 0
	}
	switch op {
	case 0x1a:
		return a & b
	case 0x1c:
		return a - b
	case 0x1e:
		return a * b
	case 0x21:
		return a | b
	case 0x22:
		return a + b
	case 0x24:
		return a << b
	case 0x25:
		return a >> b
	case 0x26:
		return uint64(int64(a) >> b)
	case 0x27:
		return a ^ b
	case 0x29:
		return truth(a == b)
	case 0x2a:
		return truth(int64(a) >= int64(b))
	case 0x2b:
		return truth(int64(a) > int64(b))
	case 0x2c:
		return truth(int64(a) <= int64(b))
	case 0x2d:
		return truth(int64(a) < int64(b))
	case 0x2e:
		return truth(a != b)
	}
	e.fail("operation %#x", op) // 0x23 was handled, 0x28 is a jump
	return 0
}

// ErrStack is in the chain of errors about a stack that is not as the tables say.
var ErrStack = errors.New("stack and unwind table contradict one another")
