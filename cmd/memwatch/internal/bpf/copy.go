//go:build linux && (amd64 || arm64)

package bpf

import (
	"encoding/binary"
	"fmt"
)

// Copies say when the stack of a call is copied, so that it can be walked without frame
// pointers.
type Copies uint8

const (
	NoCopies     Copies = iota // frame pointers alone are followed
	NeededCopies               // where they do not find all of a stack: see Session.Judge
	AllCopies                  // always, but in Go's own code
)

// ringOfCalls is the size of the ring in bytes, ringOfCopies where copies are put into it too. Calls alone
// have as much as without. The rest holds the copies of 37 ms when 20,000 calls with stacks of 32 KiB are
// made in a second.
const (
	ringOfCalls  = 8 << 20
	ringOfCopies = 32 << 20
)

// A Copy is the inner part of a stack, as it was when a call was made.
type Copy struct {
	PC, SP                     uint64 // in the caller, when the call has returned
	BX, BP, R12, R13, R14, R15 uint64
	Bytes                      []byte // from SP on
	Wanted                     uint32 // bytes to the end of the stack, as far as that is known
	Salt                       uint64 // for StackID
	Trampoline                 uint64 // where probed calls return to, if it is known
}

const copyHead = 88

// decodeCopy takes the rest of a record of a call apart.
func (r *Report) decodeCopy(b []byte) error {
	le := binary.LittleEndian
	if len(b) < copyHead {
		return fmt.Errorf("bpf: read: %w: a copy of %d bytes", ErrReport, len(b))
	}
	n := min(int(le.Uint32(b[80:])), len(b)-copyHead)
	c := &r.copied
	*c = Copy{Bytes: b[copyHead:][:n], Wanted: le.Uint32(b[84:]), Salt: le.Uint64(b), Trampoline: le.Uint64(b[8:])}
	for i, to := range []*uint64{&c.PC, &c.SP, &c.BX, &c.BP, &c.R12, &c.R13, &c.R14, &c.R15} {
		*to = le.Uint64(b[16+8*i:])
	}
	r.Copy = c
	return nil
}

// StackID returns the number that the programs give a stack with these frames.
func StackID(salt uint64, frames []uint64) uint64 {
	id := salt
	for _, pc := range frames {
		id = mix(id, pc)
	}
	return max(id, 1)
}

// mix is that of the programs.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// What the programs are told of a stack.
const (
	stackGood uint8 = 2 + iota
	stackBad
)

// Judge says of a stack, by its number, whether its frames are all that there are. Until
// then, and where they are not, the stack is copied with each call. With other Copies than
// NeededCopies it changes nothing.
func (s *Session) Judge(id uint64, good bool) error {
	v := stackBad
	if good {
		v = stackGood
	}
	if err := s.objs.Seen.Put(id, v); err != nil {
		return fmt.Errorf("bpf: judge: %w", err)
	}
	return nil
}

// Frameless says that the function which a call at pc was made from keeps no frame pointer:
// from there on none are followed. Salt is that of the process's copies.
func (s *Session) Frameless(salt, pc uint64) error {
	h := mix(salt, pc)
	if err := s.objs.Frameless.Put(uint32(h>>48), h); err != nil {
		return fmt.Errorf("bpf: frameless: %w", err)
	}
	return nil
}
