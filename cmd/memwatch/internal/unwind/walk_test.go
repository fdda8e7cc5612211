package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// stackOf returns a copy of words at an address.
func stackOf(base uint64, words ...uint64) *Copy {
	s := &Copy{Base: base}
	for _, w := range words {
		s.Bytes = binary.LittleEndian.AppendUint64(s.Bytes, w)
	}
	return s
}

var (
	returns = rule{kind: offset, reg: returnColumn, n: -8}
	plain   = &Row{frame: rule{kind: register, from: RSP, n: 16}, saved: []rule{returns}}
	pointer = &Row{frame: rule{kind: register, from: RBP, n: 16}, saved: []rule{{kind: offset, reg: RBP, n: -16}, returns}}
	start   = &Row{frame: rule{kind: register, from: RSP, n: 8}, saved: []rule{{kind: undefined, reg: returnColumn}}}
	stays   = &Row{frame: rule{kind: register, from: RSP}, saved: []rule{{kind: valOffset, reg: returnColumn, n: 0}}}
	back    = &Row{frame: rule{kind: register, from: RSP, n: -64}, saved: []rule{{kind: register, reg: returnColumn, from: RSP}}}
	noWay   = &Row{frame: rule{kind: register, from: RSP, n: 8}}
	lost    = &Row{frame: rule{kind: register, from: 11, n: 8}, saved: []rule{returns}}
	inward  = &Row{frame: rule{kind: register, from: RSP, n: 8}, saved: []rule{{kind: offset, reg: returnColumn, n: -80}}}
	signal  = &Row{frame: rule{kind: value, expr: "\x77\x10\x06"}, saved: []rule{{kind: at, reg: returnColumn, expr: "\x77\x08"}}, signal: true}
)

// TestWalk walks stacks by rows that are given: how a walk ends, and that it does.
func TestWalk(t *testing.T) {
	const pc = 0x100
	for _, c := range []struct {
		name     string
		rows     map[uint64]*Row
		stack    *Copy
		frames   []uint64
		end      End
		pointers int
	}{
		{"the outermost says so", map[uint64]*Row{pc - 1: plain, 0x1ff: start}, stackOf(0x7000, 1, 0x200), []uint64{pc, 0x200}, Whole, 0},
		{"no code at nothing", map[uint64]*Row{pc - 1: plain}, stackOf(0x7000, 1, 0), []uint64{pc}, Whole, 0},
		{"by frame pointers", map[uint64]*Row{pc - 1: pointer, 0x1ff: plain, 0x2ff: pointer}, stackOf(0x7000, 1, 2, 0x7030, 0x200, 5, 0x300, 7, 8),
			[]uint64{pc, 0x200, 0x300, 8}, Unknown, 1},
		{"no table", map[uint64]*Row{pc - 1: plain}, stackOf(0x7000, 1, 0x200), []uint64{pc, 0x200}, Unknown, 0},
		{"the copy ends", map[uint64]*Row{pc - 1: plain, 0x1ff: plain}, stackOf(0x7000, 1, 0x200, 3), []uint64{pc, 0x200}, Cut, 0},
		{"no copy", map[uint64]*Row{pc - 1: plain}, stackOf(0x7000), []uint64{pc}, Cut, 0},
		{"it does not get on", map[uint64]*Row{pc - 1: stays}, stackOf(0x7000, 1), []uint64{pc}, Broken, 0},
		{"it goes back", map[uint64]*Row{pc - 1: back}, stackOf(0x7000, 1), []uint64{pc}, Broken, 0},
		{"no return address", map[uint64]*Row{pc - 1: noWay}, stackOf(0x7000, 1, 2), []uint64{pc}, Broken, 0},
		{"a register that nobody kept", map[uint64]*Row{pc - 1: lost}, stackOf(0x7000, 1, 2), []uint64{pc}, Broken, 0},
		{"before the copy", map[uint64]*Row{pc - 1: inward}, stackOf(0x7000, 1, 2), []uint64{pc}, Broken, 0},
		{"interrupted", map[uint64]*Row{pc - 1: signal, 0x200: start}, stackOf(0x7000, 1, 0x200, 0x7018, 4), []uint64{pc, 0x200}, Whole, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Registers{PC: pc}
			g.Set(RSP, 0x7000)
			g.Set(RBP, 0x7010)
			w := Walk(make([]uint64, 0, 8), g, c.stack, func(addr uint64) *Row { return c.rows[addr] })
			require.Equal(t, c.frames, w.Frames)
			require.Equal(t, c.end, w.End)
			require.Equal(t, c.pointers, w.Pointers)
		})
	}
	w := Walk(make([]uint64, 0, 3), Registers{PC: pc}, stackOf(0x7000), func(uint64) *Row { return start })
	require.Equal(t, Broken, w.End, "its stack pointer is not known")
	g := Registers{PC: pc}
	g.Set(RSP, 0x7000)
	w = Walk(make([]uint64, 0, 3), g, stackOf(0x7000, 1, pc, 1, pc, 1, pc, 1, pc), func(uint64) *Row { return plain })
	require.Equal(t, Cut, w.End)
	require.Len(t, w.Frames, 3)
}

// TestExpression evaluates expressions: those of compilers and C libraries, and those of
// nobody.
func TestExpression(t *testing.T) {
	g := &Registers{PC: 0x1234567b}
	g.Set(RSP, 0x7000)
	g.Set(RBP, 0x7020)
	s := stackOf(0x7000, 11, 12, 13, 14, 15)
	frame := uint64(0x100)
	for _, c := range []struct {
		name, expr string
		want       uint64
		err        string
	}{
		{"of a PLT, before its second push", "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0x7010, ""},
		{"of an aligned frame", "\x76\x78\x06", 14, ""},
		{"of a signal", "\x77\x10\x06", 13, ""},
		{"on the frame", "\x23\x08", 0x108, ""},
		{"constants", "\x08\xff\x0a\x01\x02\x22\x0c\x01\x00\x00\x00\x1c\x09\xff\x22", 0x2fe, ""},
		{"more constants", "\x0b\xfe\xff\x0d\xfc\xff\xff\xff\x1e\x10\x82\x01\x22\x11\x7f\x22", 8 + 130 - 1, ""},
		{"eight bytes", "\x0e\x01\x00\x00\x00\x00\x00\x00\x80\x0f\xff\xff\xff\xff\xff\xff\xff\xff\x27", 0x7ffffffffffffffe, ""},
		{"order", "\x31\x32\x16\x1c\x12\x22\x13\x3f\x12\x13\x96", 15, ""},
		{"comparisons", "\x31\x32\x2d\x32\x31\x2b\x22\x32\x32\x2c\x22\x32\x32\x29\x22\x31\x32\x2e\x22\x31\x32\x2a\x22", 5, ""},
		{"shifts", "\x09\x80\x31\x26\x34\x25\x31\x21", 0x0ffffffffffffffd, ""},
		{"by number", "\x92\x07\x10", 0x7010, ""},
		{"of nothing", "\x13", 0, "no operand"},
		{"of too much", "\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31", 0, "operands"},
		{"a jump", "\x2f\xfd\xff", 0, "operation 0x2f"},
		{"a jump on a condition", "\x31\x31\x28\xfd\xff", 0, "operation 0x28"},
		{"of memory elsewhere", "\x38\x06", 0, "contradict"},
		{"of memory behind", "\x77\x28\x06", 0, "ends before"},
		{"of an unknown register", "\x73\x00", 0, "register 3"},
		{"of no register", "\x92\xff\x7f\x00", 0, "register 16383"},
		{"cut off", "\x0e\x01", 0, "cut off"},
	} {
		v, err := evaluate(c.expr, g, s, &frame)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, v, c.name)
	}
}
