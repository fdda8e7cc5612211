//go:build linux && cgo

package device

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// What is used of NVML. Its functions return 0 on success; these types are fixed by it.
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } busy_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gpuInstance, computeInstance; } process_t;

typedef struct {
	void *lib;
	int (*init)(void), (*shutdown)(void);
	const char *(*error)(int);
	int (*count)(unsigned *), (*byIndex)(unsigned, void **), (*name)(void *, char *, unsigned);
	int (*memory)(void *, memory_t *), (*busy)(void *, busy_t *), (*processes)(void *, unsigned *, process_t *);
} nvml;

// nvml_open returns NULL, or what is wrong. Only the process list and the load may be missing.
static const char *nvml_open(const char *path, nvml *n)
{
	n->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!n->lib)
		return dlerror();
	*(void **)&n->init = dlsym(n->lib, "nvmlInit_v2");
	*(void **)&n->shutdown = dlsym(n->lib, "nvmlShutdown");
	*(void **)&n->error = dlsym(n->lib, "nvmlErrorString");
	*(void **)&n->count = dlsym(n->lib, "nvmlDeviceGetCount_v2");
	*(void **)&n->byIndex = dlsym(n->lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&n->name = dlsym(n->lib, "nvmlDeviceGetName");
	*(void **)&n->memory = dlsym(n->lib, "nvmlDeviceGetMemoryInfo");
	*(void **)&n->busy = dlsym(n->lib, "nvmlDeviceGetUtilizationRates");
	*(void **)&n->processes = dlsym(n->lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!n->init || !n->shutdown || !n->error || !n->count || !n->byIndex || !n->name || !n->memory)
		return "it lacks functions of NVML";
	int r = n->init();
	return r ? n->error(r) : NULL;
}

static void nvml_close(nvml *n, int ready)
{
	if (ready)
		n->shutdown();
	if (n->lib)
		dlclose(n->lib);
}

static const char *nvml_why(nvml *n, int r) { return n->error(r); }
static int nvml_count(nvml *n, unsigned *count) { return n->count(count); }

// nvml_read asks for one device. What may be missing is: *has_busy and *processes tell, -1 for none.
static int nvml_read(nvml *n, unsigned i, char *name, unsigned size, memory_t *m, int *percent, process_t *all, int *processes)
{
	void *d = NULL;
	busy_t b;
	unsigned room = *processes;
	int r = n->byIndex(i, &d);
	if (!r)
		r = n->memory(d, m);
	if (r)
		return r;
	if (n->name(d, name, size))
		name[0] = 0;
	name[size - 1] = 0;
	*percent = n->busy && !n->busy(d, &b) ? (int)b.gpu : -1;
	*processes = n->processes && !n->processes(d, &room, all) ? (int)room : -1;
	return 0;
}
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

type nvml struct {
	n   *C.nvml
	all []C.process_t
}

// openNVML opens the library, which the loader finds by its name.
func openNVML(path string) (Source, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	n := (*C.nvml)(C.calloc(1, C.sizeof_nvml))
	if why := C.nvml_open(p, n); why != nil {
		err := fmt.Errorf("NVML: %s", C.GoString(why))
		C.nvml_close(n, 0)
		C.free(unsafe.Pointer(n))
		return nil, err
	}
	return &nvml{n: n, all: make([]C.process_t, maxProcesses)}, nil
}

func (s *nvml) Name() string { return "NVML" }

func (s *nvml) why(what string, r C.int) error {
	return fmt.Errorf("device: NVML: %s: %s", what, C.GoString(C.nvml_why(s.n, r)))
}

func (s *nvml) Read(context.Context) ([]Device, error) {
	var count C.uint
	if r := C.nvml_count(s.n, &count); r != 0 {
		return nil, s.why("count", r)
	}
	var all []Device
	for i := range min(count, maxDevices) {
		var m C.memory_t
		var busy C.int
		var name [maxName]C.char
		processes := C.int(len(s.all))
		if r := C.nvml_read(s.n, i, &name[0], maxName, &m, &busy, &s.all[0], &processes); r != 0 {
			return nil, s.why(fmt.Sprintf("device %d", i), r)
		}
		d := Device{Index: int(i), Name: C.GoString(&name[0]), Total: uint64(m.total), Used: uint64(m.used), Busy: int(busy)}
		if processes >= 0 {
			d.Processes = make(map[uint32]uint64)
		}
		for _, p := range s.all[:min(max(int(processes), 0), len(s.all))] {
			if p.used != ^C.ulonglong(0) { // which stands for a figure that is not known
				d.Processes[uint32(p.pid)] += uint64(p.used)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// Child is nobody: the library is asked in this process.
func (s *nvml) Child() int { return 0 }

func (s *nvml) Close() {
	if s.n != nil {
		C.nvml_close(s.n, 1)
		C.free(unsafe.Pointer(s.n))
		s.n = nil
	}
}
