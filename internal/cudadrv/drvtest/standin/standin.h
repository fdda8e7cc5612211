// The stand-in driver: what the tests open in place of libcuda.so.1 on a machine without a GPU.
//
// It exports the driver's symbols with the driver's calling conventions. Device memory is host memory; every stream has
// a thread that runs its work later; kernels are PTX, run by a small interpreter. It is stricter than a GPU: work is
// checked against the books when it runs, so that memory given back too early is found every time and not once a week.
//
// The functions below are the tests' side door. They may be called by any thread, also before cuInit.

#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#ifndef STANDIN_HEAD
#define STANDIN_HEAD 0 // the first instructions of every exported function: 580, 550 (which 535 shares), or 0, the compiler's
#endif

enum { STANDIN_DEVICES = 8 };

// standin_books is what the driver holds right now, and what went wrong so far.
typedef struct {
	long long device_bytes[STANDIN_DEVICES]; // plain allocations
	long long async_bytes[STANDIN_DEVICES];  // allocations of the driver's own pool
	long long handle_bytes[STANDIN_DEVICES]; // physical memory that is created or still mapped
	long long module_bytes[STANDIN_DEVICES];
	long long pinned_bytes, reserved_bytes, mapped_bytes;
	long long allocations, handles, streams, events, modules, retains, graphs, execs;
	long long calls;          // of all functions
	long long pageable;       // copies that were given host memory that is not page-locked
	long long bad_access;     // accesses by running work to memory that was not there
	long long broken_capture; // captures that a forbidden call invalidated
	long long stream_reuses;  // streams whose handle an older stream had
} standin_books;

// standin_set changes a setting: "devices", "memory" (bytes a device), "granularity" (bytes), "version", "taken" (bytes
// of device 0 that another process holds), "peers" (0: no device reaches another's memory),
// "managed" (0: there is no managed memory), "exporting" (0: memory cannot be exported), "delay" (microseconds before each
// piece of work), "hold" (handle of a stream that runs nothing, or 0). 0, or -1 for no such setting.
int standin_set(const char *setting, long long value);
// standin_fail makes a function, by its exported name, succeed skip times and then fail times times with code.
int standin_fail(const char *function, long long skip, long long times, int code);
// standin_hold keeps streams from running their work until it is called with 0.
void standin_hold(int on);
// standin_deinit makes every function answer CUDA_ERROR_DEINITIALIZED, as when the process exits.
void standin_deinit(int on);
void standin_read(standin_books *out);
// standin_calls counts the calls of one function, -1 if there is none of that name.
long long standin_calls(const char *function);
// standin_heal ends a sticky error, which only a new process does for a GPU.
void standin_heal(void);

// Between the driver and the interpreter.

enum { PTX_PARAMS = 64, PTX_LOG = 1024 };

typedef struct ptx_insn ptx_insn;

// native_launch runs all threads of a launch, and returns a driver code.
typedef int native_launch(void (*run)(const unsigned char *), const unsigned grid[3], const unsigned block[3],
	const unsigned char *params);

typedef struct ptx_kernel {
	char name[256];
	int params, param_size[PTX_PARAMS], param_offset[PTX_PARAMS], param_total;
	char param_name[PTX_PARAMS][64];
	ptx_insn *code;
	int length, registers, shared; // shared: bytes that a launch may ask for, where that was set
	void *module;
	struct ptx_kernel *next;
	// Of a kernel that was CUDA C (cudac.h), in place of code.
	void (*native)(const unsigned char *params);
	native_launch *launch;
	void *library; // the first kernel of a library has it
} ptx_kernel;

// native_kernel is what a library says of a kernel.
typedef struct {
	const char *name;
	void (*run)(const unsigned char *);
	int params, size[PTX_PARAMS], offset[PTX_PARAMS];
} native_kernel;

// ptx_variable is memory of a module.
typedef struct ptx_variable {
	char name[64];
	unsigned char *p;
	size_t n;
	struct ptx_variable *next;
} ptx_variable;

// ptx_reach returns whether a device may touch n bytes at address; it is the driver's.
typedef int ptx_reach(void *launch, uint64_t address, size_t n);

// ptx_parse returns the kernels of a PTX text and its variables, or null with a log.
ptx_kernel *ptx_parse(const char *text, char *log, ptx_variable **variables);
void ptx_free(ptx_kernel *k, ptx_variable *variables);
// ptx_run runs all threads of a launch one after the other and returns a driver code.
int ptx_run(const ptx_kernel *k, const unsigned grid[3], const unsigned block[3], const unsigned char *params, ptx_reach *reach, void *launch);

#endif
