//go:build ignore

// The probe programs: one for the entry of every function, one for the return, one
// for the markers of Go programs, and two that hear of processes. What a function's
// arguments mean is not known here; its descriptor says what to fetch.

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char __license[] SEC("license") = "Dual MIT/GPL";

enum { FETCHES = 6, WORDS = 8, FRAMES = 48 };
enum { ARG, IN, OUT };                              // fetch.kind
enum { ENTRY = 1, SUCCESS = 2, FAILURE = 4 };       // descriptor.emit
enum { COUNT_ALLOC = 1, COUNT_FREE = 2, STACK = 4, SIGNED = 8 }; // descriptor.flags
enum { STATUS, POINTER, VOID };                     // descriptor.result
enum { CALL, NEW_STACK, EXIT, EXEC, MARKER, NEW_CODE, NEW_PYTHON }; // event.type
enum { NO_WORD = 255 };
enum { PIECE = 1024 }; // of a stack is read at once

struct fetch {
	u8 kind, arg, offset, bytes;
};

struct descriptor {
	u8 emit, result, flags, unless, fetches, size[3];
	struct fetch fetch[FETCHES];
};

// An event of a call or marker, or of the end of a process.
struct event {
	u8 type, phase;
	u16 func;
	u32 pid, tid, pad;
	u64 time, start, begin, ret, stack, goroutine; // start: of the process, since boot
	u64 python;        // the stack of Python's frames, 0 if there are none
	u64 words[WORDS];
};

// A stack that was not seen lately, innermost first.
struct stack_event {
	u8 type, walk; // walk: 0 by the kernel, 1 from the goroutine
	u16 frames;
	u32 pid, tid, pad;
	u64 time, start, stack, trampoline; // trampoline: see below, 0 if there is none
	u64 pc[FRAMES];
};

// An event of a call with a part of the stack that it was made from, where a walk by frame pointers does not
// do.
struct copy {
	u64 salt;              // what the number of a stack begins with
	u64 trampoline;        // see above
	u64 pc, sp;            // in the caller, when the call has returned
	u64 bx, bp, r12, r13, r14, r15;
	u32 bytes, wanted;     // from sp on; wanted is more if there was no room
};

enum { SMALL = 2048, MEDIUM = 8192, LARGE = 32768, MOST = 65536, PAGE = 4096 };

// The books of one process. Lost is what this process did that found no room, and calls whose return was not
// seen.
struct ledger {
	u64 start; // of the process: its number may be used again
	u64 bytes, allocs, frees, failures;
	u64 hits, lost_ring, lost_calls, lost_stacks;
	u64 walks, unwalked; // stacks taken from the goroutine, and those that could not be
	u64 copies, uncopied; // parts of stacks, and those for which the ring had no room to spare
};

// A process that is watched, and where its goroutines are if that is known.
struct target {
	u64 text, etext; // Go's code; 0: not a Go program
	s32 tls;         // where g is, from the thread pointer
	u16 known;       // the offsets below are
	u16 g_m, g_goid, g_syscallpc, g_syscallbp, m_curg;
	u16 other;       // it is known to be no Go program
	u16 pad[2];
};

// A thread's call between entry and return. The words and the frames are here and
// not on a CPU's own page: programs of probes may be preempted.
struct call {
	u64 sp, start, begin, stack, goroutine, python;
	u64 pc, salt;
	u64 args[8];
	u64 words[2 * WORDS];   // the latter half only keeps the verifier's sums right
	u64 frames[2 * FRAMES]; // likewise
	u64 window[PIECE / 8 + 1]; // what was read last of the stack
	u64 window_at;             // where that is
	u32 depth;
	u16 func;
	u8 active;
	u8 copy; // the stack is copied when the call is reported
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, struct descriptor);
} descriptors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct ledger);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} books SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct target);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, u8);
} seen SEC(".maps");

// Places in functions that keep no frame pointer, by the upper bits of what stands for them.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, u64);
} frameless SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

// Hits of each function, for the self-test and the overhead shown.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, u64);
} hits SEC(".maps");

volatile const u8 only_targets; // processes without a target are passed over
volatile const u8 no_stacks;
volatile const u8 no_python; // frames of Python are not looked for
volatile const u8 copying; // whether stacks are copied: below
volatile const u32 copy_until = 4 << 20; // bytes waiting in the ring from which on it is for calls alone
volatile const u32 wake_at = 1 << 20; // bytes waiting in the ring that wake the reader

// When stacks are copied, and what is known of a stack that was seen: nothing yet, that a walk by frame
// pointers finds all of it, or that it does not. The reader judges.
enum { NEVER, NEEDED, ALWAYS };
enum { NEW = 1, GOOD, BAD };

// The reader's types are generated from these.
const struct event *event_type __attribute__((unused));
const struct stack_event *stack_event_type __attribute__((unused));
const struct copy *copy_type __attribute__((unused));

u64 nowhere; // events of processes whose books found no room
u32 pid_level, pid_ns; // the namespace whose numbers processes are called by: how deep it is, and which

// start_of returns when a task's process started. With its number it tells a process from all others.
static __always_inline u64 start_of(struct task_struct *task)
{
	return task->group_leader->start_boottime;
}

// at_level returns where the number of a process in a namespace so deep is.
static __always_inline void *at_level(struct pid *p, u32 level)
{
	return (void *)p + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
}

static __always_inline u32 namespace_at(void *number)
{
	struct pid_namespace *ns = 0;
	bpf_probe_read_kernel(&ns, sizeof ns, number + bpf_core_field_offset(struct upid, ns));
	return BPF_CORE_READ(ns, ns.inum);
}

// number_of returns the number of the current process in the reader's namespace, 0 if it has none there.
static __always_inline u32 number_of(struct task_struct *task)
{
	u32 level = pid_level, nr = 0;
	if (!level)
		return bpf_get_current_pid_tgid() >> 32;
	struct pid *p = BPF_CORE_READ(task, group_leader, thread_pid);
	if (!p || BPF_CORE_READ(p, level) < level || namespace_at(at_level(p, level)) != pid_ns)
		return 0;
	bpf_probe_read_kernel(&nr, sizeof nr, at_level(p, level) + bpf_core_field_offset(struct upid, nr));
	return nr;
}

// The reader runs this to say where it is.
SEC("syscall") int here(void *ctx)
{
	struct pid *p = BPF_CORE_READ((struct task_struct *)bpf_get_current_task_btf(), group_leader, thread_pid);
	u32 level = BPF_CORE_READ(p, level);
	pid_ns = namespace_at(at_level(p, level));
	pid_level = level;
	return 0;
}

static __always_inline struct ledger *books_of(u32 pid, u64 start)
{
	struct ledger *b = bpf_map_lookup_elem(&books, &pid);
	if (b && b->start == start)
		return b;
	struct ledger zero = { .start = start };
	if (b) {
		*b = zero; // they are of a process that has ended
		return b;
	}
	bpf_map_update_elem(&books, &pid, &zero, BPF_NOEXIST);
	b = bpf_map_lookup_elem(&books, &pid);
	if (!b)
		__sync_fetch_and_add(&nowhere, 1);
	return b;
}

// wake returns the flags of a submit: the reader is woken when the waiting bytes
// cross a line, once, and else looks by itself. A wake per event would double the
// cost for the program that is watched.
static __always_inline u64 wake(u64 size)
{
	u64 waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	return waiting >= wake_at && waiting - size - 8 < wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

#ifdef __TARGET_ARCH_x86
#define SP(ctx) ((ctx)->sp)
#define IP(ctx) ((ctx)->ip)
#define RESULT(ctx) ((ctx)->ax)
enum { POPPED = 8 }; // what a return takes from the stack

// The arguments are put into memory first: the verifier wants each register of ctx
// read at a fixed place.
static __always_inline void save_arguments(struct pt_regs *ctx, struct call *c)
{
	c->args[0] = ctx->di;
	c->args[1] = ctx->si;
	c->args[2] = ctx->dx;
	c->args[3] = ctx->cx;
	c->args[4] = ctx->r8;
	c->args[5] = ctx->r9;
}
enum { IN_REGISTERS = 6, FIRST_ON_STACK = 8 };

static __always_inline u64 return_address(struct pt_regs *ctx)
{
	u64 v = 0;
	bpf_probe_read_user(&v, sizeof v, (void *)ctx->sp);
	return v;
}

// To see a call return the kernel has it return to a trampoline.
static __always_inline u64 trampoline(struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct xol_area *)0)->vaddr))
		return 0;
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

// inside reports whether a call at sp is made by the one that is under way, and not after it. It is under
// way while its return address is that of the trampoline: one that was left by a jump or an exception is
// overwritten sooner or later, and one whose return is not probed never has it. At the same sp it is a jump
// at its end.
static __always_inline u8 inside(struct call *c, u64 sp, struct task_struct *task)
{
	u64 to = 0, back = 0;
	if (!c->active || sp > c->sp)
		return 0;
	to = trampoline(task);
	if (!to)
		return sp < c->sp;
	bpf_probe_read_user(&back, sizeof back, (void *)c->sp);
	return back == to;
}
#else
#define SP(ctx) ((ctx)->user_regs.sp)
#define IP(ctx) ((ctx)->user_regs.pc)
#define RESULT(ctx) ((ctx)->user_regs.regs[0])
enum { POPPED = 0 };

static __always_inline void save_arguments(struct pt_regs *ctx, struct call *c)
{
	for (u32 i = 0; i < 8; i++)
		c->args[i] = ctx->user_regs.regs[i];
}
enum { IN_REGISTERS = 8, FIRST_ON_STACK = 0 };

static __always_inline u64 return_address(struct pt_regs *ctx)
{
	return ctx->user_regs.regs[30];
}

static __always_inline u64 trampoline(struct task_struct *task) { return 0; }

// inside is told by the stack alone: the return address is in a register that the function saves where it
// likes.
static __always_inline u8 inside(struct call *c, u64 sp, struct task_struct *task) { return c->active && sp < c->sp; }
#endif

static __always_inline u64 argument(struct call *c, u64 sp, u8 i)
{
	u64 v = 0;
	if (i < IN_REGISTERS)
		return c->args[i & 7];
	bpf_probe_read_user(&v, sizeof v, (void *)(sp + FIRST_ON_STACK + 8 * (u64)(i - IN_REGISTERS)));
	return v;
}

static __always_inline u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

#include "python.h"

// goroutine_of returns the goroutine that this thread runs, also while it is in C.
static __always_inline u64 goroutine_of(struct task_struct *task, const struct target *t)
{
	u64 curg = 0;
#ifdef __TARGET_ARCH_x86
	u64 g = 0, m = 0;
	u64 tp = BPF_CORE_READ(task, thread.fsbase);
	if (!t->known || bpf_probe_read_user(&g, sizeof g, (void *)(tp + (s64)t->tls)) || !g ||
	    bpf_probe_read_user(&m, sizeof m, (void *)(g + t->g_m)) || !m)
		return 0;
	bpf_probe_read_user(&curg, sizeof curg, (void *)(m + t->m_curg));
#endif
	return curg;
}

// walk takes the stack of a goroutine that is in C: C code may use the frame pointer
// for data, but what Go saved before the call is good.
static __always_inline u32 walk(struct call *c, u64 curg, const struct target *t)
{
	u64 bp = 0, frame[2];
	u32 n = 0;
	if (bpf_probe_read_user(&c->frames[1], 8, (void *)(curg + t->g_syscallpc)) || !c->frames[1] ||
	    bpf_probe_read_user(&bp, sizeof bp, (void *)(curg + t->g_syscallbp)))
		return 0;
	n = 1;
	for (u32 i = 2; i <= FRAMES; i++) {
		if (!bp || bpf_probe_read_user(frame, sizeof frame, (void *)bp) || !frame[1])
			break;
		c->frames[i] = frame[1];
		n++;
		if (frame[0] <= bp)
			break;
		bp = frame[0];
	}
	return n;
}

#ifdef __TARGET_ARCH_x86
// stack_end returns where the stack that sp is in ends, 0 if that cannot be told: a thread's at what it has for
// itself, the first thread's where the program began.
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	enum { FAR = 64 << 20 };
	u64 own = task->thread.fsbase;
	if (own > sp && own - sp < FAR)
		return own;
	u64 first = task->mm->start_stack;
	return first > sp && first - sp < FAR ? first : 0;
}

// callers follows the frame pointers behind the first frame, as the kernel does for itself, and returns how
// many frames there are. It reads a piece of the stack at a time, and looks nowhere but between from and end: a
// function may use the register for something else, and a look where nothing is is an exception in the kernel,
// which takes longer than all the rest. The verifier looks at it once.
__attribute__((noinline)) u32 follow(struct call *c, u64 bp, u64 from, u64 end)
{
	u32 n = 1;
	if (!c)
		return n;
	c->window_at = 0;
	for (u32 i = 1; i < FRAMES; i++) {
		if (bp < from || bp >= end || bp & 7)
			break;
		u64 piece = bp & -(u64)PIECE, word = bp / 8 & (PIECE / 8 - 1); // no piece crosses pages
		if (piece != c->window_at && bpf_probe_read_user(c->window, PIECE, (void *)piece))
			break;
		c->window_at = piece;
		u64 next = c->window[word], ra = c->window[word + 1];
		if (word == PIECE / 8 - 1 && bpf_probe_read_user(&ra, sizeof ra, (void *)(bp + 8)))
			break;
		c->frames[i] = ra;
		n = i + 1;
		if (next == bp)
			break;
		bp = next;
	}
	return n;
}

// callers follows the frame pointers in the stack of this thread if it is known where that ends. In Go stacks
// go on elsewhere, and a program may be Go's as long as it is not known to be another: there to any place.
static __always_inline u32 callers(struct pt_regs *ctx, struct call *c, struct task_struct *task, u8 anywhere, u32 *at)
{
	enum { LOWEST = 1 << 16 }; // the kernel lets nobody have memory below
	u64 end = anywhere ? 0 : stack_end(task, ctx->sp);
	*at = 0;
	return follow(c, ctx->bp, end ? ctx->sp : LOWEST, end ? end : -1);
}
#else
// callers has the kernel follow the frame pointers, and returns how many frames there are and where the first
// is: the kernel begins with the probe itself, and misses the one behind unless the function begins with a
// push of the frame pointer.
static __always_inline u32 callers(struct pt_regs *ctx, struct call *c, struct task_struct *task, u8 anywhere, u32 *at)
{
	u64 ra = c->frames[0];
	long got = bpf_get_stack(ctx, c->frames, FRAMES * 8, BPF_F_USER_STACK);
	u32 n = got > 0 ? got / 8 : 0;
	if (n >= 2 && c->frames[1] == ra) {
		*at = 1;
		return n - 1;
	}
	c->frames[0] = ra;
	*at = 0;
	return n ? n : 1;
}
#endif

// ends returns whether a walk by frame pointers is known to go wrong behind a frame, whose function keeps none:
// what is in their register then is different each time.
static __always_inline u8 ends(u64 salt, u64 pc)
{
	u64 h = mix(salt, pc);
	u32 at = h >> 48;
	u64 *known = bpf_map_lookup_elem(&frameless, &at);
	return known && *known == h;
}

// number returns what stands for the n frames at a place, or for so many of them as a walk by frame pointers is
// good for: their number is in depth then. The verifier looks at it once.
__attribute__((noinline)) u64 number(struct call *c, u64 salt, u32 at, u32 n, u8 copy)
{
	u64 id = salt;
	if (!c)
		return 1;
	c->depth = n;
	for (u32 i = 0; i < FRAMES && i < n; i++) {
		u64 pc = c->frames[(at & 1) + i];
		id = mix(id, pc);
		if (copy == NEEDED && ends(salt, pc)) {
			c->depth = i + 1;
			break;
		}
	}
	return id ? id : 1;
}

// salt_of returns what the numbers of a process's stacks begin with.
static __always_inline u64 salt_of(struct task_struct *task, u64 start, u32 pid)
{
	return mix(start, (u64)task->self_exec_id << 32 | pid);
}

// stack takes the call stack and returns its number, 0 if there is none. Its frames
// are reported if it was not seen lately. Copy says whether the stack may be copied, and is where it may not
// be NEVER; brief says that the caller's frame will do.
static __always_inline u64 stack(struct pt_regs *ctx, struct call *c, struct ledger *b, struct task_struct *task,
				 const struct target *t, u32 pid, u32 tid, u64 now, u8 copy, u8 brief)
{
	u64 ra = return_address(ctx);
	u64 salt = c->salt;
	u8 go = t && t->text, how = 0, known = 0;
	u32 n = 1, at = 0;
	c->pc = ra;
	c->copy = 0;

	c->frames[0] = ra;
	if (brief)
		copy = NEVER;
	else if (go || copy == NEVER || (copy == NEEDED && !ends(salt, ra)))
		n = callers(ctx, c, task, !t || !t->other, &at);
	if (n > FRAMES)
		n = FRAMES;
	if (go) {
		u8 found = 0;
		for (u32 i = 0; i < FRAMES; i++) {
			if (i >= n)
				break;
			u64 pc = c->frames[at + i];
			if (pc >= t->text && pc < t->etext) {
				found = 1;
				break;
			}
		}
		u64 curg = goroutine_of(task, t);
		if (curg)
			bpf_probe_read_user(&c->goroutine, 8, (void *)(curg + t->g_goid));
		if (!found) {
			u32 m = curg ? walk(c, curg, t) : 0;
			if (m) {
				c->frames[0] = ra;
				at = 0;
				n = m < FRAMES ? m + 1 : FRAMES;
				how = 1;
				__sync_fetch_and_add(&b->walks, 1);
			} else {
				__sync_fetch_and_add(&b->unwalked, 1);
			}
		}
		if (found || how)
			copy = NEVER; // Go keeps frame pointers, and has no other tables
	}

	u64 id = number(c, salt, at, n, copy);
	n = c->depth;
	if (n > FRAMES)
		n = FRAMES;
	u8 *v = bpf_map_lookup_elem(&seen, &id);
	if (v)
		known = *v;
	c->copy = copy == ALWAYS || (copy == NEEDED && known != GOOD);
	if (known)
		return id;
	struct stack_event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e) {
		__sync_fetch_and_add(&b->lost_stacks, 1);
		return id; // not noted as seen: it is reported the next time
	}
	known = NEW;
	bpf_map_update_elem(&seen, &id, &known, BPF_ANY);
	*e = (struct stack_event){ .type = NEW_STACK, .walk = how, .frames = n, .pid = pid, .tid = tid, .time = now,
				   .start = c->start, .stack = id, .trampoline = trampoline(task) };
	for (u32 i = 0; i < FRAMES; i++)
		e->pc[i] = c->frames[(at & 1) + i]; // those behind the frames mean nothing
	bpf_ringbuf_submit(e, wake(sizeof *e));
	return id;
}

static __always_inline void fill(struct event *e, struct call *c, u32 pid, u32 tid, u8 phase, u64 ret, u64 now)
{
	*e = (struct event){ .type = CALL, .phase = phase, .func = c->func, .pid = pid, .tid = tid, .time = now,
			     .start = c->start, .begin = c->begin, .ret = ret, .stack = c->stack, .goroutine = c->goroutine,
			     .python = c->python };
	for (u32 i = 0; i < WORDS; i++)
		e->words[i] = c->words[i];
}

#ifdef __TARGET_ARCH_x86
// extent returns how many bytes of the stack there are from sp on, or as many as are ever copied if that
// cannot be told.
static __always_inline u64 extent(struct task_struct *task, u64 sp)
{
	u64 end = stack_end(task, sp);
	return end ? end - sp : MOST;
}

// take copies from user memory, and where not all of it is there, whole pages of it.
static __always_inline u32 take(u8 *to, u64 from, u64 wanted, const u32 size)
{
	u32 bytes = wanted < size ? wanted : size;
	if (!bpf_probe_read_user(to, bytes, (void *)from))
		return bytes;
	u32 page = -from & (PAGE - 1);
	if (size < PAGE || bpf_probe_read_user(to, page, (void *)from))
		return 0;
#pragma unroll
	for (u32 i = 0; i + 2 <= size / PAGE; i++) {
		u32 got = page + i * PAGE;
		if (bpf_probe_read_user(to + got, PAGE, (void *)(from + got)))
			return got;
	}
	return page + (size / PAGE - 1) * PAGE;
}

// What a function keeps for its caller is the same when it returns as when it was entered.
#define REPORT_COPY(size)                                                                                              \
	static __always_inline u8 report_##size(struct pt_regs *ctx, struct call *c, u32 pid, u32 tid, u8 phase,       \
						u64 ret, u64 now, u64 wanted, u64 to)                                  \
	{                                                                                                              \
		struct {                                                                                               \
			struct event e;                                                                                \
			struct copy c;                                                                                 \
			u8 stack[size];                                                                                \
		} *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);                                                     \
		if (!r)                                                                                                \
			return 0;                                                                                      \
		fill(&r->e, c, pid, tid, phase, ret, now);                                                             \
		r->c = (struct copy){ .salt = c->salt, .trampoline = to, .pc = c->pc, .sp = c->sp + POPPED, .bx = ctx->bx, .bp = ctx->bp, \
				      .r12 = ctx->r12, .r13 = ctx->r13, .r14 = ctx->r14, .r15 = ctx->r15 };            \
		r->c.wanted = wanted;                                                                                  \
		r->c.bytes = take(r->stack, c->sp + POPPED, wanted, size);                                             \
		bpf_ringbuf_submit(r, wake(sizeof *r));                                                                \
		return 1;                                                                                              \
	}
REPORT_COPY(SMALL)
REPORT_COPY(MEDIUM)
REPORT_COPY(LARGE)
REPORT_COPY(MOST)

// report_copy puts the call on the ring with the stack that it was made from, if there is room to spare.
static __always_inline u8 report_copy(struct pt_regs *ctx, struct call *c, struct ledger *b, struct task_struct *task,
				      u32 pid, u32 tid, u8 phase, u64 ret, u64 now)
{
	u64 wanted = extent(task, c->sp + POPPED), to = trampoline(task);
	u8 done = 0;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < copy_until) {
		if (wanted <= SMALL)
			done = report_SMALL(ctx, c, pid, tid, phase, ret, now, wanted, to);
		else if (wanted <= MEDIUM)
			done = report_MEDIUM(ctx, c, pid, tid, phase, ret, now, wanted, to);
		else if (wanted <= LARGE)
			done = report_LARGE(ctx, c, pid, tid, phase, ret, now, wanted, to);
		else
			done = report_MOST(ctx, c, pid, tid, phase, ret, now, wanted, to);
	}
	__sync_fetch_and_add(done ? &b->copies : &b->uncopied, 1);
	return done;
}
#else
static __always_inline u8 report_copy(struct pt_regs *ctx, struct call *c, struct ledger *b, struct task_struct *task,
				      u32 pid, u32 tid, u8 phase, u64 ret, u64 now) { return 0; }
#endif

// report puts the call on the ring.
static __always_inline void report(struct pt_regs *ctx, struct call *c, struct ledger *b, struct task_struct *task,
				   u32 pid, u32 tid, u8 phase, u64 ret, u64 now)
{
	if (copying != NEVER && c->copy && report_copy(ctx, c, b, task, pid, tid, phase, ret, now))
		return;
	struct event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e) {
		__sync_fetch_and_add(&b->lost_ring, 1);
		return;
	}
	fill(e, c, pid, tid, phase, ret, now);
	bpf_ringbuf_submit(e, wake(sizeof *e));
}

static __always_inline int on_entry(struct pt_regs *ctx)
{
	u64 sp = SP(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = number_of(task), tid = bpf_get_current_pid_tgid(), id = (u16)bpf_get_attach_cookie(ctx);
	if (!pid || (only_targets && !bpf_map_lookup_elem(&targets, &pid)))
		return 0;
	u64 start = start_of(task);
	struct descriptor *d = bpf_map_lookup_elem(&descriptors, &id);
	struct ledger *b = books_of(pid, start);
	if (!d || !b)
		return 0;
	__sync_fetch_and_add(&b->hits, 1);
	u64 *h = bpf_map_lookup_elem(&hits, &id);
	if (h)
		__sync_fetch_and_add(h, 1);
	struct call *c = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c) {
		__sync_fetch_and_add(&b->lost_calls, 1);
		return 0;
	}
	if (inside(c, sp, task))
		return 0; // it is part of the call that is under way
	if (c->active) // what that one did is not known
		__sync_fetch_and_add(&b->lost_calls, 1);
	c->start = start;
	c->active = 1;
	c->sp = sp;
	c->func = id;
	c->stack = c->goroutine = c->python = 0;
	c->copy = 0;
	for (u32 i = 0; i < WORDS; i++)
		c->words[i] = 0;
	save_arguments(ctx, c);
	u32 w = 0;
	for (u32 i = 0; i < FETCHES; i++) {
		if (i >= d->fetches)
			break;
		struct fetch f = d->fetch[i];
		u32 bytes = f.bytes;
		u32 words = (bytes + 7) / 8;
		if (w + words > WORDS || bytes > 48)
			break;
		u64 v = argument(c, sp, f.arg);
		if (f.kind == IN)
			bpf_probe_read_user(&c->words[w & 7], bytes, (void *)(v + f.offset));
		else if (f.kind == OUT)
			c->words[w & 7] = v ? v + f.offset : 0;
		else
			c->words[w & 7] = v;
		w += words;
	}
	if (d->unless != NO_WORD && !(u8)c->words[d->unless & 7]) {
		c->active = 0;
		return 0;
	}
	u64 now = bpf_ktime_get_ns();
	c->begin = now;
	u8 frees = d->flags & SIGNED && (s64)c->words[d->size[0] & 7] < 0;
	if (d->flags & STACK && !no_stacks && !frees) {
		c->salt = salt_of(task, start, pid);
		if (!no_python)
			c->python = python_stack(task, c->salt, pid, start, now);
		c->stack = stack(ctx, c, b, task, bpf_map_lookup_elem(&targets, &pid), pid, tid, now, copying,
				 d->flags & SIGNED && c->python);
	}
	if (d->emit & ENTRY) {
		if (d->flags & COUNT_FREE)
			__sync_fetch_and_add(&b->frees, 1);
		report(ctx, c, b, task, pid, tid, 0, 0, now);
	}
	if (d->emit == ENTRY)
		c->active = 0;
	return 0;
}

static __always_inline int on_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *c = bpf_task_storage_get(&calls, task, 0, 0);
	if (!c || !c->active || SP(ctx) != c->sp + POPPED)
		return 0;
	c->active = 0;
	u32 pid = number_of(task), tid = bpf_get_current_pid_tgid(), id = c->func;
	struct descriptor *d = bpf_map_lookup_elem(&descriptors, &id);
	if (!d)
		return 0;
	u64 ret = RESULT(ctx);
	u8 ok = d->result == STATUS ? (s32)ret == 0 : d->result == POINTER ? ret != 0 : 1;
	if (ok && !(d->emit & SUCCESS) && !(d->flags & COUNT_ALLOC))
		return 0; // the entry has said it all
	struct ledger *b = bpf_map_lookup_elem(&books, &pid);
	if (!b)
		return 0;
	u32 w = 0;
	for (u32 i = 0; i < FETCHES; i++) {
		if (i >= d->fetches)
			break;
		struct fetch f = d->fetch[i];
		u32 bytes = f.bytes;
		u32 words = (bytes + 7) / 8;
		if (w + words > WORDS || bytes > 48)
			break;
		if (f.kind == OUT) {
			u64 p = c->words[w & 7];
			c->words[w & 7] = 0;
			if (p)
				bpf_probe_read_user(&c->words[w & 7], bytes, (void *)p);
		}
		w += words;
	}
	if (d->flags & COUNT_ALLOC && ok) {
		u64 size = 1;
		u8 known = 0;
		for (u32 i = 0; i < 3; i++) {
			u8 at = d->size[i];
			if (at != NO_WORD) {
				size *= c->words[at & 7];
				known = 1;
			}
		}
		__sync_fetch_and_add(&b->allocs, 1);
		if (known)
			__sync_fetch_and_add(&b->bytes, size);
	}
	if (!ok) {
		if (d->flags & COUNT_FREE)
			__sync_fetch_and_add(&b->frees, -1);
		__sync_fetch_and_add(&b->failures, 1);
	}
	if (d->emit & (ok ? SUCCESS : FAILURE))
		report(ctx, c, b, task, pid, tid, ok ? 1 : 2, ret, bpf_ktime_get_ns());
	return 0;
}

// on_marker reports a marker of a Go program: its arguments are in Go's registers.
static __always_inline int on_marker(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = number_of(task), tid = bpf_get_current_pid_tgid();
	u16 kind = bpf_get_attach_cookie(ctx);
	struct target *t = bpf_map_lookup_elem(&targets, &pid);
	if (!pid || (only_targets && !t))
		return 0;
	u64 start = start_of(task);
	struct ledger *b = books_of(pid, start);
	if (!b)
		return 0;
	__sync_fetch_and_add(&b->hits, 1);
	u64 now = bpf_ktime_get_ns(), id = 0, goroutine = 0;
	if (!no_stacks && kind == 0) {
		struct call *c = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (c && !c->active) {
			c->start = start;
			c->salt = salt_of(task, start, pid);
			id = stack(ctx, c, b, task, 0, pid, tid, now, NEVER, 0);
		}
	}
	struct event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e) {
		__sync_fetch_and_add(&b->lost_ring, 1);
		return 0;
	}
	*e = (struct event){ .type = MARKER, .func = kind, .pid = pid, .tid = tid, .time = now, .start = start,
			     .stack = id };
#ifdef __TARGET_ARCH_x86
	if (t && t->known)
		bpf_probe_read_user(&goroutine, 8, (void *)(ctx->r14 + t->g_goid));
	e->words[0] = ctx->ax;
	e->words[1] = ctx->bx;
	e->words[2] = ctx->cx;
	e->words[3] = ctx->di;
	e->words[4] = ctx->si;
#else
	if (t && t->known)
		bpf_probe_read_user(&goroutine, 8, (void *)(ctx->user_regs.regs[28] + t->g_goid));
	for (u32 i = 0; i < 5; i++)
		e->words[i] = ctx->user_regs.regs[i];
#endif
	e->goroutine = goroutine;
	bpf_ringbuf_submit(e, wake(sizeof *e));
	return 0;
}

// The two forms of each program: for links of many probes, and for single ones.

SEC("uprobe.multi") int entry_multi(struct pt_regs *ctx) { return on_entry(ctx); }
SEC("uprobe.multi") int return_multi(struct pt_regs *ctx) { return on_return(ctx); }
SEC("uprobe.multi") int marker_multi(struct pt_regs *ctx) { return on_marker(ctx); }
SEC("uprobe") int entry_single(struct pt_regs *ctx) { return on_entry(ctx); }
SEC("uprobe") int return_single(struct pt_regs *ctx) { return on_return(ctx); }
SEC("uprobe") int marker_single(struct pt_regs *ctx) { return on_marker(ctx); }

// ended reports the end of a process, or of its program. The end is never lost for
// want of room alone: the books stay until the reader has seen that the process is
// gone.
static __always_inline int ended(struct task_struct *task, u8 type)
{
	u32 pid = number_of(task);
	u64 start = start_of(task);
	struct ledger *b = bpf_map_lookup_elem(&books, &pid);
	if (!b || b->start != start)
		return 0;
	struct event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e) {
		__sync_fetch_and_add(&b->lost_ring, 1);
		return 0;
	}
	*e = (struct event){ .type = type, .pid = pid, .tid = BPF_CORE_READ(task, pid), .time = bpf_ktime_get_ns(),
			     .start = start };
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}

// The tracepoint is hit by each thread; only the last one ends the process.
SEC("tp_btf/sched_process_exit") int on_exit(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	return ended(task, EXIT);
}

SEC("tp_btf/sched_process_exec") int on_exec(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	return ended(task, EXEC);
}
