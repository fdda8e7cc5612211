package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDevices tells of two devices and who uses them.
func TestDevices(t *testing.T) {
	h := New(Options{})
	at := int64(0)
	apply := func(e Event) {
		e.Time = at
		h.Apply(&e)
	}
	gpu := func(device int32, used uint64) {
		apply(Event{Op: GPU, Device: device, Text: "GPU", Addr: 100 << 30, Size: used, Aux: 50})
	}
	apply(Event{Op: Start, PID: 1, Size: 1, Text: "ours"})
	apply(Event{Op: Alloc, PID: 1, TID: 1, Addr: 1, Size: 10 << 30, Device: 0})
	apply(Event{Op: Used, PID: 1, Device: 1, Size: 11 << 30}) // its only device, which it calls 0
	for at = range int64(21) {
		at *= int64(time.Second)
		gpu(0, 20<<30)
		gpu(1, uint64(12<<30)+uint64(at/int64(time.Second))<<30)
	}
	all := h.Snapshot(Query{}).Devices
	require.Len(t, all, 2)
	for i, want := range []DeviceState{
		{Device: 0, Name: "GPU", Total: 100 << 30, Used: 20 << 30, Busy: 50},
		{Device: 1, Name: "GPU", Total: 100 << 30, Used: 32 << 30, Live: 10 << 30, Counted: 11 << 30, Busy: 50, Full: int64(68 * time.Second)},
	} {
		require.Len(t, all[i].History, 20)
		all[i].History = nil
		require.Equal(t, want, all[i])
	}
	require.Equal(t, int64(11<<30), h.Snapshot(Query{}).Processes[0].Used)
	apply(Event{Op: Used, PID: 1, Device: 1})
	require.Zero(t, h.Snapshot(Query{}).Processes[0].Used, "it has left the device")

	gpu(1, 40<<30) // it jumps, and stays
	for range 30 {
		at += int64(time.Second)
		gpu(1, 40<<30)
	}
	require.Zero(t, h.Snapshot(Query{}).Devices[1].Full)
	bad := h.Snapshot(Query{}).Bad
	apply(Event{Op: GPU, Device: 0, Addr: 5, Size: 6})
	for i := range int32(maxGPUs) {
		apply(Event{Op: GPU, Device: i, Addr: 5, Size: 1, Aux: 1 << 60})
	}
	apply(Event{Op: GPU, Device: -1, Addr: 5, Size: 1})
	require.Equal(t, bad+2, h.Snapshot(Query{}).Bad)
	require.Len(t, h.Snapshot(Query{}).Devices, maxGPUs)
	require.Equal(t, -1, h.Snapshot(Query{}).Devices[5].Busy)
}
