package probes

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// ErrShape is in the chain of errors about a function that cannot be probed.
var ErrShape = errors.New("function head of unknown shape")

// A Cost says what a hit of a probe costs.
type Cost uint8

const (
	Fast Cost = iota // the kernel emulates the instruction
	Slow             // the kernel single-steps it
)

func (c Cost) String() string { return [...]string{"fast", "slow"}[c] }

// maxHead is how many bytes of a function are looked at for a place.
const maxHead = 64

// Place returns at which byte of a function's code its probe goes, and what a hit
// costs there. machine is "amd64" or "arm64"; code is the function or its
// beginning, which should be as long as possible: a jump backwards to the place is
// looked for in all of it.
func Place(machine string, code []byte) (offset int, cost Cost, err error) {
	if machine == "arm64" {
		// The kernel's simulated instructions of arm64 hardly ever begin a function;
		// the head is always right.
		if len(code) < 4 {
			return 0, Slow, fmt.Errorf("%w: %d bytes", ErrShape, len(code))
		}
		return 0, Slow, nil
	}
	if machine != "amd64" {
		return 0, Slow, fmt.Errorf("%w: machine %q", ErrShape, machine)
	}
	if err := probeable(code); err != nil {
		return 0, Slow, err
	}
	for at := 0; at < min(len(code), maxHead); {
		inst, err := decode(code[at:])
		if err != nil || badPrefix(code[at:]) {
			break
		}
		if emulated(code[at:], inst) {
			if at > 0 && jumpsInto(code, at) {
				break
			}
			return at, Fast, nil
		}
		if !harmless(code[at:], inst) {
			break
		}
		at += inst.Len
	}
	return 0, Slow, nil
}

// probeable returns an error if the kernel would accept a probe at the first byte
// and never run it, or if the bytes are no code at all.
func probeable(code []byte) error {
	inst, err := decode(code)
	if err != nil {
		return fmt.Errorf("%w: % x: %w", ErrShape, code[:min(len(code), 8)], err)
	}
	switch {
	case badPrefix(code):
		return fmt.Errorf("%w: %v has a prefix that the kernel does not probe", ErrShape, inst)
	case inst.Op == x86asm.INT || inst.Op == x86asm.UD2 || inst.Op == x86asm.HLT || inst.Op == x86asm.UD1:
		return fmt.Errorf("%w: %v", ErrShape, inst)
	}
	return nil
}

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

func decode(code []byte) (x86asm.Inst, error) {
	if bytes.HasPrefix(code, endbr64) { // not known to x86asm
		return x86asm.Inst{Op: x86asm.NOP, Len: 4}, nil
	}
	inst, err := x86asm.Decode(code, 64)
	if err == nil && (inst.Op == 0 || inst.Len == 0 || inst.Len > len(code)) {
		err = x86asm.ErrTruncated
	}
	return inst, err
}

// badPrefix reports whether an instruction has a segment or lock prefix.
func badPrefix(code []byte) bool {
	for _, c := range code {
		switch c {
		case 0x26, 0x2e, 0x36, 0x3e, 0xf0:
			return true
		case 0x66, 0x67, 0xf2, 0xf3, 0x64, 0x65:
		default:
			return false
		}
	}
	return false
}

// emulated reports whether the kernel emulates the instruction.
func emulated(code []byte, inst x86asm.Inst) bool {
	switch c := code[0]; {
	case c >= 0x50 && c <= 0x57: // push
		return true
	case c == 0x41 && inst.Len == 2 && code[1] >= 0x50 && code[1] <= 0x57: // push of r8 to r15
		return true
	case c == 0x90, c == 0xe8, c == 0xe9, c == 0xeb: // nop, call, jmp
		return true
	case c >= 0x70 && c <= 0x7f: // short conditional jumps
		return true
	case c == 0x0f && len(code) > 1 && code[1] >= 0x80 && code[1] <= 0x8f: // long ones
		return true
	case c == 0x0f && len(code) > 1 && code[1] == 0x1f: // nop of 3 to 5 bytes
		return inst.Len <= 5
	}
	return false
}

// harmless reports whether the instruction leaves the stack pointer, the frame
// pointer, the arguments and all memory as they were, and goes on to the next.
func harmless(code []byte, inst x86asm.Inst) bool {
	switch inst.Op {
	case x86asm.NOP, x86asm.CMP, x86asm.TEST:
		return true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.AND, x86asm.SUB, x86asm.ADD:
		switch inst.Args[0] {
		case x86asm.RAX, x86asm.EAX, x86asm.AX, x86asm.AL, x86asm.R10, x86asm.R10L, x86asm.R11, x86asm.R11L:
			return true
		}
	}
	return false
}

// jumpsInto reports whether a jump in code leads to a byte after its first and up
// to place. Code that cannot be decoded is passed over: padding and tables follow
// functions.
func jumpsInto(code []byte, place int) bool {
	for at := 0; at < len(code); {
		inst, err := decode(code[at:])
		if err != nil {
			at++
			continue
		}
		for _, a := range inst.Args {
			if rel, ok := a.(x86asm.Rel); ok {
				if to := at + inst.Len + int(rel); to > 0 && to <= place {
					return true
				}
			}
		}
		at += inst.Len
	}
	return false
}
