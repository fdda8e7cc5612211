package probe

import (
	"reflect"
	"runtime"
)

// How a buffer was freed: the last argument of [Free].
const (
	Explicit uintptr = 0 // by a call of Free
	Late     uintptr = 1 // by the collector, since nobody called Free
)

// Alloc marks that size bytes at ptr came to life. site is the number of the call
// site's record plus one, or 0 if this allocation was not sampled. seq is
// [Seq] of the operation.
//
// Alloc does nothing but set up a frame: what a monitor reads are the five
// registers at its entry.
//
//go:norace
//go:noinline
//go:nosplit
func Alloc(ptr, size, site, seq uintptr) {
	// Without an addressed local the function would have no frame, and its first
	// instruction would be one that the kernel has to single-step.
	var frame [1]uintptr
	p := &frame
	p[0] = ptr
	runtime.KeepAlive(p)
}

// Free marks that size bytes at ptr were freed. The arguments are those of
// [Alloc], and how is [Explicit] or [Late].
//
//go:norace
//go:noinline
//go:nosplit
func Free(ptr, size, site, seq, how uintptr) {
	var frame [1]uintptr
	p := &frame
	p[0] = ptr
	runtime.KeepAlive(p)
}

// opBits is how many bits of a sequence number count operations; the bits above
// hold the shard.
const opBits = 44

// Seq returns the sequence number of a shard's n-th operation. A monitor that
// attaches late takes a snapshot of the table and skips every event of a shard
// whose number is not above the shard's End in the snapshot.
func Seq(shard uint32, n uint64) uintptr {
	return uintptr(uint64(shard)<<opBits | n&(1<<opBits-1))
}

// SplitSeq returns the shard and the operation that a sequence number was made from.
func SplitSeq(seq uint64) (shard uint32, n uint64) {
	return uint32(seq >> opBits), seq & (1<<opBits - 1)
}

// Markers returns the addresses of [Alloc] and [Free] in this process, which the
// table carries so that a monitor needs no symbol table.
func Markers() (alloc, free uintptr) {
	return reflect.ValueOf(Alloc).Pointer(), reflect.ValueOf(Free).Pointer()
}
