package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A painter runs the program of an entry as simply as can be: what an instruction says
// is painted over all addresses from there on.
type painter struct {
	program  []byte
	at       int // the address it is at, from the function's beginning
	frame    rule
	regs     map[uint8]rule
	aside    []painter
	painted  [256]*Row
	original map[uint8]rule
}

func (p *painter) paint() {
	r := &Row{frame: p.frame}
	for reg := range uint8(columns) {
		if s, ok := p.regs[reg]; ok {
			s.reg = reg
			r.saved = append(r.saved, s)
		}
	}
	for i := p.at; i < len(p.painted); i++ {
		p.painted[i] = r
	}
}

func (p *painter) set(reg uint8, r rule) {
	if reg < columns {
		p.regs[reg] = r
	}
}

func clone(m map[uint8]rule) map[uint8]rule {
	n := make(map[uint8]rule, len(m))
	for k, v := range m {
		n[k] = v
	}
	return n
}

func (p *painter) add(op byte, args ...[]byte) {
	p.program = append(p.program, op)
	for _, a := range args {
		p.program = append(p.program, a...)
	}
}

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

// sleb writes numbers that seven, or fourteen, bits hold.
func sleb(v int64) []byte {
	if v >= -64 && v < 64 {
		return []byte{byte(v) & 0x7f}
	}
	return []byte{byte(v) | 0x80, byte(v>>7) & 0x7f}
}

// step appends one instruction, which four bytes choose. Addresses are in units of 2,
// offsets in units of -8.
func (p *painter) step(op, a, b, c byte) {
	reg, n := a%20, uint64(b)
	extra := []byte{0x77, b & 0x3f} // an expression
	advance := func(by int) { p.at = min(p.at+2*by, len(p.painted)) }
	switch op % 22 {
	case 0:
		p.add(0x40 | a&0x3f)
		advance(int(a & 0x3f))
	case 1:
		p.add(0x02, []byte{a})
		advance(int(a))
	case 2:
		p.add(0x03, []byte{a, 0})
		advance(int(a))
	case 3:
		p.add(0x04, []byte{a, 0, 0, 0})
		advance(int(a))
	case 4:
		p.add(0x80|reg, uleb(n))
		p.set(reg, rule{kind: offset, n: -8 * int64(n)})
	case 5:
		p.add(0x05, uleb(uint64(reg)), uleb(n))
		p.set(reg, rule{kind: offset, n: -8 * int64(n)})
	case 6, 7:
		if op%22 == 6 {
			p.add(0xc0 | reg)
		} else {
			p.add(0x06, uleb(uint64(reg)))
		}
		delete(p.regs, reg)
		if r, ok := p.original[reg]; ok {
			p.regs[reg] = r
		}
	case 8:
		p.add(0x07, uleb(uint64(reg)))
		p.set(reg, rule{kind: undefined})
	case 9:
		p.add(0x08, uleb(uint64(reg)))
		delete(p.regs, reg)
	case 10:
		p.add(0x09, uleb(uint64(reg)), uleb(uint64(b%16)))
		p.set(reg, rule{kind: register, from: b % 16})
	case 11:
		if len(p.aside) < maxStates {
			p.add(0x0a)
			p.aside = append(p.aside, painter{frame: p.frame, regs: clone(p.regs)})
		}
	case 12:
		if k := len(p.aside) - 1; k >= 0 {
			p.add(0x0b)
			p.frame, p.regs, p.aside = p.aside[k].frame, p.aside[k].regs, p.aside[:k]
		}
	case 13:
		p.add(0x0c, uleb(uint64(a%16)), uleb(n))
		p.frame = rule{kind: register, from: a % 16, n: int64(n)}
	case 14:
		if p.frame.kind == register {
			p.add(0x0d, uleb(uint64(a%16)))
			p.frame.from = a % 16
		}
	case 15:
		if p.frame.kind == register {
			p.add(0x0e, uleb(n))
			p.frame.n = int64(n)
		}
	case 16:
		p.add(0x0f, uleb(2), extra)
		p.frame = rule{kind: value, expr: string(extra)}
	case 17:
		p.add(0x10+6*(c&1), uleb(uint64(reg)), uleb(2), extra)
		p.set(reg, rule{kind: at + c&1, expr: string(extra)})
	case 18:
		p.add(0x11, uleb(uint64(reg)), sleb(int64(int8(b))))
		p.set(reg, rule{kind: offset, n: -8 * int64(int8(b))})
	case 19:
		p.add(0x12, uleb(uint64(a%16)), sleb(int64(int8(b))))
		p.frame = rule{kind: register, from: a % 16, n: -8 * int64(int8(b))}
	case 20:
		p.add(0x14, uleb(uint64(reg)), uleb(n))
		p.set(reg, rule{kind: valOffset, n: -8 * int64(n)})
	case 21:
		p.add(0x15, uleb(uint64(reg)), sleb(int64(int8(b))))
		p.set(reg, rule{kind: valOffset, n: -8 * int64(int8(b))})
	}
	p.paint()
}

// entryOf returns an entry with its length and what it points back to.
func entryOf(back uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+4))
	return append(binary.LittleEndian.AppendUint32(b, back), body...)
}

// FuzzProgram compares the machine with the painter on programs that are well formed.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{15, 0, 16, 0, 4, 6, 2, 0, 0, 3, 0, 0, 14, 6, 0, 0, 11, 0, 0, 0, 0, 9, 0, 0, 12, 0, 0, 0, 16, 0, 8, 0, 17, 3, 9, 1}, uint8(2))
	f.Add([]byte{4, 3, 5, 0, 0, 1, 0, 0, 6, 3, 0, 0, 1, 200, 0, 0, 8, 16, 0, 0, 19, 7, 240, 0, 20, 5, 4, 0, 21, 5, 128, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, script []byte, initial uint8) {
		script = script[:min(len(script), 400)]
		p := &painter{frame: rule{kind: register, from: RSP, n: 8}, regs: map[uint8]rule{returnColumn: {kind: offset, n: -8}}}
		p.program = []byte{0x0c, 7, 8, 0x90, 1}
		p.paint()
		steps := slices.Collect(slices.Chunk(script[:len(script)/4*4], 4))
		for i, s := range steps {
			if i == int(initial%8) {
				break
			}
			if s[0]%22 < 4 || s[0]%22 == 6 || s[0]%22 == 7 || s[0]%22 == 11 || s[0]%22 == 12 {
				continue // what is common to functions neither advances nor goes back
			}
			p.step(s[0], s[1], s[2], s[3])
		}
		frames := entryOf(0, slices.Concat([]byte{1, 'z', 'R', 0, 2, 0x78, 16, 1, 0x03}, p.program))
		p.original, p.program = clone(p.regs), nil
		for _, s := range steps[min(int(initial%8), len(steps)):] {
			p.step(s[0], s[1], s[2], s[3])
		}
		fde := uint32(len(frames))
		frames = append(frames, entryOf(fde+4, slices.Concat([]byte{0, 0x40, 0, 0, 0, 1, 0, 0, 0}, p.program))...)
		index := []byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x30, 0, 0}
		index = binary.LittleEndian.AppendUint32(index, framesAt+fde-indexAt)
		table, err := Open(bytes.NewReader(image(index, frames)))
		require.NoError(t, err)
		for i, want := range p.painted {
			r, err := table.Row(0x4000 + uint64(i))
			require.NoError(t, err)
			require.Equal(t, describe(want), describe(r), "%#x of % x", i, p.program)
		}
	})
}

// FuzzTable reads tables of any bytes, and walks stacks of any bytes by them.
func FuzzTable(f *testing.F) {
	index := []byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x30, 0, 0, 0x18, 0x10, 0, 0}
	frames := append(entryOf(0, []byte{1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0}),
		entryOf(0x1c, []byte{0xe0, 0x1f, 0, 0, 0, 1, 0, 0, 0, 0x44, 0x0e, 16, 0x86, 2, 0x0f, 3, 0x77, 8, 0x06})...)
	f.Add(index, frames, []byte{0, 0x40, 0, 0, 0, 0, 0, 0, 4, 0x40, 0, 0, 0, 0, 0, 0, 5, 0x40})
	f.Fuzz(func(t *testing.T, index, frames, stack []byte) {
		table, err := Open(bytes.NewReader(image(index, frames)))
		if err != nil {
			return
		}
		asked := 0
		g := Registers{PC: 0x4005}
		for _, reg := range []int{RSP, RBX, RBP, R12, R13, R14, R15} {
			g.Set(reg, 0x7000+uint64(reg))
		}
		g.Set(RSP, 0x7000)
		w := Walk(make([]uint64, 0, 32), g, &Copy{0x7000, stack}, func(addr uint64) *Row {
			asked++
			r, err := table.Row(addr)
			if err != nil {
				require.Nil(t, r)
				return nil
			}
			require.LessOrEqual(t, len(r.saved), columns)
			return r
		})
		require.Len(t, w.Frames, asked, "each frame is looked up once")
		require.LessOrEqual(t, w.Pointers, len(w.Frames))
		require.LessOrEqual(t, w.End, Broken, fmt.Sprint(w))
	})
}
