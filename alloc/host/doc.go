// Package host is the device that is always there: the memory of this process, outside
// the Go heap, and streams that really run behind the caller. It serves programs and
// tests without a GPU, and it is the reference for what a Device has to do.
//
// # Streams
//
// A stream is a queue of operations. Each stream that has something to do runs
// them, one after the other, on a goroutine of its own: copies, fills, waits for events, and
// functions given to [Launch], which are this device's kernels. So an operation
// enqueued is an operation that has not happened yet, as on a GPU, and a program that
// forgets to wait is found out.
//
// A copy from the host returns at once if the stream is behind and the data is small enough
// to be put aside (4 MiB a copy, 64 MiB in all), else when the stream has got to it. A copy to the host
// always waits.
//
// # Memory
//
// Memory comes from the operating system and is zero at first. Options.Capacity bounds
// it, so that running out of memory is real. On Linux the device maps (alloc.Mapper);
// Options.NoMapping hides that, for programs that want to see the other kind of
// device.
package host
