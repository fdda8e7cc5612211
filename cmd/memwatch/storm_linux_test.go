package main

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

// An event is a marker's call as the test's probe program writes it.
type event struct {
	free           bool
	ptr, size, seq uint64
	how            uint64
}

// newEvent returns the event in a record of markerProgram.
func newEvent(record []byte) event {
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(record[8*i:]) }
	return event{free: word(0) == 1, ptr: word(1), size: word(2), seq: word(4), how: word(5)}
}

// markerProgram writes a marker's registers to a ring: those of the first five
// arguments in Go's calling convention, as they lie in struct pt_regs.
func markerProgram(ring *ebpf.Map, free int32) *ebpf.ProgramSpec {
	const ax, bx, cx, di, si = 80, 40, 88, 112, 104
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Imm(asm.R2, 48),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, free),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
	}
	for i, register := range []int16{ax, bx, cx, di, si} {
		code = append(code,
			asm.LoadMem(asm.R1, asm.R6, register, asm.DWord),
			asm.StoreMem(asm.R0, int16(8+8*i), asm.R1, asm.DWord))
	}
	code = append(code,
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
	return &ebpf.ProgramSpec{Name: "lastuse_marker", Type: ebpf.Kprobe, License: "MIT", Instructions: code}
}

// testAttachInAStorm attaches to the markers of a program that allocates without a
// pause. From a snapshot and the events after it, everything must come out to the byte.
func testAttachInAStorm(t *testing.T, path string) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the test's probe program knows the registers of amd64 alone")
	}
	k := startKeeper(t, path, nil)
	p, err := openProcess(k.cmd.Process.Pid)
	require.NoError(t, err)
	defer p.Close()
	tables := snapshots(t, p)

	_ = rlimit.RemoveMemlock()
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Name: "lastuse_ring", Type: ebpf.RingBuf, MaxEntries: 64 << 20})
	if errors.Is(err, os.ErrPermission) {
		t.Skip("not permitted to load BPF: ", err)
	}
	require.NoError(t, err)
	defer ring.Close()
	rd, err := ringbuf.NewReader(ring) // before the first event: it hears of new ones only
	require.NoError(t, err)
	defer rd.Close()

	var events []event
	var seen atomic.Int64 // of them
	drained := make(chan error)
	go func() {
		for {
			r, err := rd.Read()
			if err != nil {
				drained <- err
				return
			}
			events = append(events, newEvent(r.RawSample))
			seen.Add(1)
		}
	}()

	made := func() uint64 { return snapshots(t, p)[0].Accounts[0].MadeObjects }
	await := func(what string, cond func() bool) {
		require.Eventually(t, cond, time.Minute, time.Millisecond, what)
	}
	k.do("storm")
	await("the storm begins", func() bool { return made() > 0 })
	var links []link.Link
	for free, address := range []uint64{tables[0].AllocMarker, tables[0].FreeMarker} {
		path, offset, err := p.code(address)
		require.NoError(t, err)
		prog, err := ebpf.NewProgram(markerProgram(ring, int32(free)))
		require.NoError(t, err)
		defer prog.Close()
		exe, err := link.OpenExecutable(path)
		require.NoError(t, err)
		l, err := exe.Uprobe("", prog, &link.UprobeOptions{Address: offset, PID: p.PID})
		require.NoError(t, err)
		links = append(links, l)
	}
	await("events that the snapshot will have counted too", func() bool { return seen.Load() > 0 })
	var snapshot *probe.Snapshot
	for {
		if snapshot = snapshots(t, p)[0]; snapshot.Torn == 0 {
			break
		}
	}
	a := snapshot.Accounts[0]
	live, objects, late := a.Live(), a.LiveObjects(), int64(0)

	before := seen.Load()
	await("events that it has not counted", func() bool { return seen.Load() > before+1000 && made() > a.MadeObjects })
	final := k.do("calm")
	for _, l := range links {
		require.NoError(t, l.Close())
	}
	require.NoError(t, rd.Flush()) // all is in the ring; Read ends when it has read that
	require.ErrorIs(t, <-drained, ringbuf.ErrFlushed)

	skipped := 0
	for _, e := range events {
		shard, n := probe.SplitSeq(e.seq)
		if n <= snapshot.Ends[shard] {
			skipped++
			continue
		}
		if !e.free {
			live, objects = live+int64(e.size), objects+1
			continue
		}
		live, objects = live-int64(e.size), objects-1
		if e.how == uint64(probe.Late) {
			late++
		}
	}
	t.Logf("%d events, %d of them before the snapshot", len(events), skipped)
	require.NotEmpty(t, events, "the probes have fired")
	require.NotZero(t, skipped, "some of them were counted in the snapshot already")
	require.NotZero(t, a.MadeObjects, "the storm had begun")
	require.Less(t, a.MadeObjects, uint64(final.Made), "and was not over")
	require.Equal(t, final.Live, live)
	require.Equal(t, final.LiveObjects, objects)
	require.Equal(t, final.Late, int64(a.LateObjects)+late)
}
