package unwind

import (
	"encoding/binary"
	"errors"
)

// Registers are the values of registers in one frame, as far as they are known.
type Registers struct {
	PC    uint64
	value [returnColumn]uint64
	known uint32
}

// Set sets a register.
func (g *Registers) Set(reg int, v uint64) {
	g.value[reg] = v
	g.known |= 1 << reg
}

// get returns a register, or the address of the frame's code.
func (g *Registers) get(reg uint64) (uint64, bool) {
	if reg == returnColumn {
		return g.PC, true
	}
	if reg > returnColumn || g.known&(1<<reg) == 0 {
		return 0, false
	}
	return g.value[reg], true
}

// A Copy is a part of a stack: its bytes from address Base on.
type Copy struct {
	Base  uint64
	Bytes []byte
}

// errCut says that a word is behind the end of the copy.
var errCut = errors.New("the copy of the stack ends before")

func (s *Copy) word(addr uint64) (uint64, error) {
	if addr < s.Base {
		return 0, ErrStack
	}
	if n := uint64(len(s.Bytes)); n < 8 || addr-s.Base > n-8 {
		return 0, errCut
	}
	return binary.LittleEndian.Uint64(s.Bytes[addr-s.Base:]), nil
}

// An End is how a walk ended.
type End uint8

const (
	Whole   End = iota // the outermost frame says that there is none beyond it
	Cut                // the copy or the room for frames ended before
	Unknown            // nothing is known of the last frame's code
	Broken             // tables and stack contradict one another, or say what is not understood
)

// A Walked is the way that a walk took.
type Walked struct {
	Frames   []uint64 // addresses of code, innermost first: return addresses, or where a signal came
	End      End
	Pointers int // for so many frames, from the innermost on, a walk by frame pointers goes the same way
}

// Walk appends the frames of a stack to frames, as many as it has room for. g are the
// registers of the innermost, whose PC is a return address. row returns what holds at an
// address, nil if nothing is known of it; it is asked for the byte before each return
// address, which is in the call. Other than through row it allocates nothing.
func Walk(frames []uint64, g Registers, s *Copy, row func(addr uint64) *Row) Walked {
	w := Walked{Frames: frames}
	returned, pointers := uint64(1), true
	for {
		if len(w.Frames) == cap(w.Frames) {
			w.End = Cut
			return w
		}
		w.Frames = append(w.Frames, g.PC)
		r := row(g.PC - returned)
		if r == nil {
			w.End = Unknown
			return w
		}
		if pointers = pointers && r.keepsPointer(); pointers {
			w.Pointers++
		}
		outermost, err := r.apply(&g, s)
		switch {
		case errors.Is(err, errCut):
			w.End = Cut
			return w
		case err != nil:
			w.End = Broken
			return w
		case outermost || g.PC == 0:
			w.End = Whole
			return w
		}
		if returned = 1; r.signal {
			returned = 0
		}
	}
}

// apply makes the registers of a frame those of its caller, unless it has none.
func (r *Row) apply(g *Registers, s *Copy) (outermost bool, err error) {
	frame, err := r.frame.find(0, g, s, nil)
	if err != nil {
		return false, err
	}
	was, _ := g.get(RSP)
	next := *g
	next.Set(RSP, frame)
	called := false // the return address is known
	for i := range r.saved {
		f := &r.saved[i]
		if f.kind == undefined {
			if f.reg == returnColumn {
				return true, nil
			}
			next.known &^= 1 << f.reg
			continue
		}
		v, err := f.find(frame, g, s, &frame)
		if err != nil {
			return false, err
		}
		if f.reg == returnColumn {
			next.PC, called = v, true
		} else {
			next.Set(int(f.reg), v)
		}
	}
	// Each frame is further out than the one before, so that the walk comes to an end.
	if now, _ := next.get(RSP); !called || now <= was {
		return false, ErrStack
	}
	*g = next
	return false, nil
}

// find returns what a rule says, for a frame at an address.
func (f *rule) find(frame uint64, g *Registers, s *Copy, start *uint64) (uint64, error) {
	switch f.kind {
	case offset:
		return s.word(frame + uint64(f.n))
	case valOffset:
		return frame + uint64(f.n), nil
	case register:
		if v, ok := g.get(uint64(f.from)); ok {
			return v + uint64(f.n), nil
		}
		return 0, ErrStack
	case at, value:
		v, err := evaluate(f.expr, g, s, start)
		if err == nil && f.kind == at {
			v, err = s.word(v)
		}
		return v, err
	}
	return 0, ErrStack
}
