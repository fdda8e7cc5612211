//go:build cgo && linux

package drvtest

// #cgo LDFLAGS: -ldl
// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stdlib.h>
// #include "standin/standin.h"
//
// typedef struct {
//	int (*set)(const char *, long long);
//	int (*fail)(const char *, long long, long long, int);
//	void (*hold)(int);
//	void (*deinit)(int);
//	void (*heal)(void);
//	void (*read)(standin_books *);
//	long long (*calls)(const char *);
//	void *lib;
// } door;
//
// static int open_door(door *d, const char *path) {
//	d->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
//	if (!d->lib)
//		return 0;
//	*(void **)&d->set = dlsym(d->lib, "standin_set");
//	*(void **)&d->fail = dlsym(d->lib, "standin_fail");
//	*(void **)&d->hold = dlsym(d->lib, "standin_hold");
//	*(void **)&d->deinit = dlsym(d->lib, "standin_deinit");
//	*(void **)&d->heal = dlsym(d->lib, "standin_heal");
//	*(void **)&d->read = dlsym(d->lib, "standin_read");
//	*(void **)&d->calls = dlsym(d->lib, "standin_calls");
//	return d->set && d->fail && d->hold && d->deinit && d->heal && d->read && d->calls;
// }
// static int door_set(door *d, const char *s, long long v) { return d->set(s, v); }
// static int door_fail(door *d, const char *s, long long skip, long long times, int code) { return d->fail(s, skip, times, code); }
// static void door_hold(door *d, int on) { d->hold(on); }
// static void door_deinit(door *d, int on) { d->deinit(on); }
// static void door_heal(door *d) { d->heal(); }
// static standin_books door_read(door *d) { standin_books b; d->read(&b); return b; }
// static long long door_calls(door *d, const char *s) { return d->calls(s); }
// static const unsigned char *door_symbol(door *d, const char *s) { return dlsym(d->lib, s); }
import "C"

import (
	"testing"
	"unsafe"
)

// A StandIn is the side door of one stand-in driver.
type StandIn struct {
	Path string
	door C.door
}

// Books are what the driver holds now and what went wrong so far; standin.h says what each means.
type Books struct {
	Device, Async, Handle, Module [C.STANDIN_DEVICES]int64 // bytes a device
	Pinned, Reserved, Mapped      int64                    // bytes
	Allocations, Handles          int64
	Streams, Events, Modules      int64
	Retains, Calls                int64
	Graphs, Execs                 int64
	Pageable, BadAccess           int64
	BrokenCapture, StreamReuses   int64
}

// Load opens the side door of a library from [Build], before or after it is opened as a driver.
func Load(tb testing.TB, path string) *StandIn {
	tb.Helper()
	s := &StandIn{Path: path}
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	if C.open_door(&s.door, c) == 0 {
		tb.Fatalf("%s is no stand-in driver", path)
	}
	return s
}

// Set changes a setting.
func (s *StandIn) Set(tb testing.TB, setting string, value int64) {
	tb.Helper()
	c := C.CString(setting)
	defer C.free(unsafe.Pointer(c))
	if C.door_set(&s.door, c, C.longlong(value)) != 0 {
		tb.Fatalf("stand-in: no setting %q", setting)
	}
}

// Fail makes a function, by its exported name, succeed skip times and then fail times times with code.
func (s *StandIn) Fail(tb testing.TB, function string, skip, times, code int) {
	tb.Helper()
	c := C.CString(function)
	defer C.free(unsafe.Pointer(c))
	if C.door_fail(&s.door, c, C.longlong(skip), C.longlong(times), C.int(code)) != 0 {
		tb.Fatalf("stand-in: no function %q", function)
	}
}

// Hold keeps all streams from running their work while on.
func (s *StandIn) Hold(on bool) { C.door_hold(&s.door, truth(on)) }

// Deinit makes every call answer as the driver does when the process exits.
func (s *StandIn) Deinit(on bool) { C.door_deinit(&s.door, truth(on)) }

// Heal ends a sticky error.
func (s *StandIn) Heal() { C.door_heal(&s.door) }

// Calls counts the calls of a function by its exported name.
func (s *StandIn) Calls(tb testing.TB, function string) int64 {
	tb.Helper()
	c := C.CString(function)
	defer C.free(unsafe.Pointer(c))
	n := int64(C.door_calls(&s.door, c))
	if n < 0 {
		tb.Fatalf("stand-in: no function %q", function)
	}
	return n
}

// Head returns the first n bytes of an exported function.
func (s *StandIn) Head(tb testing.TB, function string, n int) []byte {
	tb.Helper()
	c := C.CString(function)
	defer C.free(unsafe.Pointer(c))
	p := C.door_symbol(&s.door, c)
	if p == nil {
		tb.Fatalf("stand-in: no symbol %q", function)
	}
	return C.GoBytes(unsafe.Pointer(p), C.int(n))
}

// Books reads the books.
func (s *StandIn) Books() Books {
	b := C.door_read(&s.door)
	o := Books{
		Pinned: int64(b.pinned_bytes), Reserved: int64(b.reserved_bytes), Mapped: int64(b.mapped_bytes),
		Allocations: int64(b.allocations), Handles: int64(b.handles),
		Streams: int64(b.streams), Events: int64(b.events), Modules: int64(b.modules),
		Retains: int64(b.retains), Calls: int64(b.calls),
		Graphs: int64(b.graphs), Execs: int64(b.execs),
		Pageable: int64(b.pageable), BadAccess: int64(b.bad_access),
		BrokenCapture: int64(b.broken_capture), StreamReuses: int64(b.stream_reuses),
	}
	for i := range o.Device {
		o.Device[i] = int64(b.device_bytes[i])
		o.Async[i] = int64(b.async_bytes[i])
		o.Handle[i] = int64(b.handle_bytes[i])
		o.Module[i] = int64(b.module_bytes[i])
	}
	return o
}

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
