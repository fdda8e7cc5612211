//go:build linux && (amd64 || arm64)

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// A Ledger is what the programs counted of one process.
type Ledger struct {
	Start      uint64 // of the process, nanoseconds since boot
	Bytes      uint64 // asked for in successful calls that name a size
	Allocs     uint64 // successful calls that allocate
	Frees      uint64 // calls that free, less those that failed
	Failures   uint64 // calls that failed
	Hits       uint64 // of all probes
	LostRing   uint64 // reports for which the ring had no room
	LostCalls  uint64 // calls of threads for which there was no room, or whose return was not seen
	LostStacks uint64 // stacks reported later, for the ring had no room
	Walks      uint64 // stacks taken from the goroutine
	Unwalked   uint64 // Go stacks that neither way could take
	Copies     uint64 // stacks that were copied
	Uncopied   uint64 // and those for which the ring had no room to spare
}

// Ledgers returns the books of all processes, by process.
func (s *Session) Ledgers() (map[uint32]Ledger, error) {
	all := make(map[uint32]Ledger)
	var pid uint32
	var l watchLedger
	it := s.objs.Books.Iterate()
	for it.Next(&pid, &l) {
		all[pid] = ledger(&l)
	}
	if err := it.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return all, fmt.Errorf("bpf: ledgers: %w", err)
	}
	return all, nil
}

// LedgerOf returns the books of one process, all zero if it has none.
func (s *Session) LedgerOf(pid uint32) Ledger {
	var l watchLedger
	if err := s.objs.Books.Lookup(pid, &l); err != nil {
		return Ledger{}
	}
	return ledger(&l)
}

func ledger(l *watchLedger) Ledger {
	return Ledger{
		Start: l.Start,
		Bytes: l.Bytes, Allocs: l.Allocs, Frees: l.Frees, Failures: l.Failures, Hits: l.Hits,
		LostRing: l.LostRing, LostCalls: l.LostCalls, LostStacks: l.LostStacks, Walks: l.Walks, Unwalked: l.Unwalked,
		Copies: l.Copies, Uncopied: l.Uncopied,
	}
}

// Hits returns how often each probe was hit, by its ID.
func (s *Session) Hits() ([]uint64, error) {
	hits := make([]uint64, len(probes.All()))
	for i := range hits {
		if err := s.objs.Hits.Lookup(uint32(i), &hits[i]); err != nil {
			return nil, fmt.Errorf("bpf: hits: %w", err)
		}
	}
	return hits, nil
}
