// Frames of Python: CPython 3.11 and later. The reader says where its structures have what (struct python); here
// the thread's state is found, and from it the chain of frames followed while the thread stands in the call,
// so that none of them can go. What a code object says of itself is reported once, and is told from another at
// the same address by what it holds. All of it is the program's memory, which may say anything: each loop ends
// by its own count, each read has a bound, and what cannot be read ends the walk.

enum { PY_FRAMES = 128, PY_THREADS = 256, PY_RAW = 128, PY_FILE = 512, PY_NAME = 256, PY_HEAD = 64 };
enum { PY_SMALL = 1024, PY_MEDIUM = 8192, PY_LARGE = 65536 };
enum { PY_NONE = 0xffff };
enum { PY_OWNED_BY_C = 3 }; // and more: frames of the interpreter itself
enum { PY_LENGTH = 16, PY_HASH = 24, PY_SIZE = 16, PY_BYTES = 32 }; // of a str, of bytes: where they have had it since 3.3

// Where a process keeps its frames.
struct python {
	u64 runtime; // address of _PyRuntime
	u32 interpreters, interpreter_next, threads, thread_next; // lists: heads and links
	u16 thread_id, frame;  // of a thread's state
	u16 inner;             // where the frame is in what that points to, PY_NONE if it is the frame
	u16 frame_bytes;       // that are read of a frame
	u16 code, previous, instruction, owner; // of a frame
	u16 code_from, code_bytes;       // what is read of a code object
	u16 file, name, table, line;     // from code_from on
	u16 bytecode;                    // of a code object
	u16 ascii, compact;              // where the characters of a str are, if all are ASCII and else
	u16 tag;                         // bits of a frame's code that are no address
	u16 version;                     // of the code object, from code_from on: PY_NONE if it has none
};

// What is kept of a thread between its calls.
struct py_thread {
	u64 salt;   // of the program that it is of
	u64 state;  // 0: not known
	u64 first;  // of the list when it was searched
};

struct py_frame {
	u64 code; // what stands for the code object
	u64 at;   // bytes from the beginning of its bytecode
};

// A stack of Python's frames that was not seen lately, innermost first.
struct python_event {
	u8 type, cut; // cut: there are more
	u16 frames;
	u32 pid, tid, pad;
	u64 time, start, stack;
	struct py_frame frame[PY_FRAMES];
};

// What is told of a str: what it has besides characters, and the beginning of these.
struct py_text {
	u64 length; // characters
	u32 state;
	u32 bytes;  // that were read from behind the first part of the structure on
};

// A code object that was not seen lately; the characters of its file and its name, and its line table.
struct code_event {
	u8 type, pad[3];
	u32 pid, tid;
	u32 line;   // the first
	u64 time, start, code;
	struct py_text file, name;
	u32 bytes, wanted; // of the line table
	u8 file_text[PY_FILE], name_text[PY_NAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct python);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} pythons SEC(".maps");

// A walk in the making.
struct py_walk {
	struct py_thread thread;
	u64 raw[PY_RAW / 8];
	u64 head[PY_HEAD / 8];
	struct py_frame frame[PY_FRAMES];
	u64 object[PY_FRAMES]; // the code objects
	u32 frames, pid, tid;
	u8 lost; // something found no room
	u64 now, start, salt;
	u64 interpreter, state, next; // where the walk is: in the lists, and in the chain
	u64 hash, file, content;
};

// What the body of a loop is given. Loops are calls of the kernel: the verifier looks at their bodies once.
struct py_loop {
	struct py_walk *w;
	const struct python *p;
	u64 id; // of the thread
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct py_walk);
} walks SEC(".maps");

const struct python_event *python_event_type __attribute__((unused));
const struct code_event *code_event_type __attribute__((unused));

static __always_inline u64 py_word(const u64 *raw, u16 at) { return *(u64 *)((u8 *)raw + (at & (PY_RAW - 8))); }

static __always_inline u64 py_read(u64 at)
{
	u64 v = 0;
	bpf_probe_read_user(&v, sizeof v, (void *)at);
	return v;
}

#ifdef __TARGET_ARCH_x86
// py_next looks at a thread's state, and goes on in the list, and in that of the next interpreter.
static long py_next(u32 i, struct py_loop *l)
{
	struct py_walk *w = l->w;
	const struct python *p = l->p;
	if (!w->state) {
		w->interpreter = py_read(w->interpreter + p->interpreter_next);
		if (!w->interpreter)
			return 1;
		w->state = py_read(w->interpreter + p->threads);
		return 0;
	}
	if (py_read(w->state + p->thread_id) == l->id) {
		w->thread.state = w->state;
		return 1;
	}
	w->state = py_read(w->state + p->thread_next);
	return 0;
}

// py_state finds the state of this thread, which it knows by its thread pointer: that is its number in Python.
static __always_inline u64 py_state(struct py_walk *w, const struct python *p, u64 id, u8 again)
{
	struct py_thread *t = &w->thread;
	if (t->salt != w->salt)
		*t = (struct py_thread){ .salt = w->salt };
	if (!again && t->state && py_read(t->state + p->thread_id) == id)
		return t->state;
	w->interpreter = py_read(p->runtime + p->interpreters);
	if (!w->interpreter)
		return 0;
	w->state = py_read(w->interpreter + p->threads);
	// A thread that is new is the first of the list: else the search would end as the latest did.
	if (w->state && t->first == w->state && py_read(w->state + p->thread_id) != id)
		return 0;
	t->first = w->state;
	t->state = 0;
	struct py_loop l = { w, p, id };
	bpf_loop(PY_THREADS, py_next, &l, 0);
	return t->state;
}

static __always_inline u64 py_top(const struct python *p, u64 state)
{
	u64 frame = state ? py_read(state + p->frame) : 0;
	return frame && p->inner != PY_NONE ? py_read(frame + p->inner) : frame;
}

// py_content tells what is in an object from what was there before: how long it is, its hash if it was ever
// asked for, and its beginning.
static __always_inline u64 py_content(struct py_walk *w, u64 h, u64 object, u32 from)
{
	for (u32 i = 0; i < PY_HEAD / 8; i++)
		w->head[i] = 0;
	if (bpf_probe_read_user(w->head, PY_HEAD, (void *)(object + PY_LENGTH)))
		bpf_probe_read_user(w->head, 24, (void *)(object + PY_LENGTH));
	u64 length = w->head[0];
	h = mix(h, length);
	h = mix(h, w->head[1]);
	// The last word may be one that is not of the object in part.
	u64 ends = from - PY_LENGTH + length;
	for (u32 i = 2; i < PY_HEAD / 8; i++)
		if (i * 8 + 8 <= ends)
			h = mix(h, w->head[i]);
	return h;
}

// py_frame takes the next frame of the chain.
static long py_frame(u32 i, struct py_loop *l)
{
	struct py_walk *w = l->w;
	const struct python *p = l->p;
	u64 frame = w->next;
	u32 bytes = p->frame_bytes, n = w->frames;
	if (n >= PY_FRAMES)
		return 1;
	w->next = 0;
	if (!frame || bytes > PY_RAW || bpf_probe_read_user(w->raw, bytes, (void *)frame))
		return 1;
	u64 previous = py_word(w->raw, p->previous), at = py_word(w->raw, p->instruction);
	u64 code = py_word(w->raw, p->code) & ~(u64)p->tag;
	u8 owner = ((u8 *)w->raw)[p->owner & (PY_RAW - 1)];
	if (previous != frame)
		w->next = previous;
	if (owner >= PY_OWNED_BY_C)
		return 0;
	bytes = p->code_bytes;
	if (!code || bytes > PY_RAW || bpf_probe_read_user(w->raw, bytes, (void *)(code + p->code_from))) {
		w->next = 0;
		return 1;
	}
	at -= code + p->bytecode;
	u64 file = py_word(w->raw, p->file), name = py_word(w->raw, p->name), table = py_word(w->raw, p->table);
	u32 line = *(u32 *)((u8 *)w->raw + (p->line & (PY_RAW - 4)));
	u64 id = mix(mix(mix(mix(w->salt, code), name), file), table ^ line);
	u32 version = p->version == PY_NONE ? 0 : *(u32 *)((u8 *)w->raw + (p->version & (PY_RAW - 4)));
	if (version) { // no two have the same
		id = mix(id, version);
	} else {
		if (file != w->file) {
			w->file = file;
			w->content = py_content(w, 0, file, p->ascii);
		}
		id = py_content(w, mix(id, w->content ^ py_read(name + PY_HASH)), table, PY_BYTES);
	}
	w->frame[n & (PY_FRAMES - 1)].code = id;
	w->frame[n & (PY_FRAMES - 1)].at = at;
	w->object[n & (PY_FRAMES - 1)] = code;
	w->frames = n + 1;
	w->hash = mix(mix(w->hash, id), at);
	return 0;
}

// py_frames follows the chain of frames and returns what stands for it, 0 if there are none.
static __always_inline u64 py_frames(struct py_walk *w, const struct python *p, u64 frame)
{
	w->next = frame;
	w->frames = 0;
	w->file = w->content = 0;
	w->hash = w->salt ^ 0x707974686f6e;
	struct py_loop l = { w, p };
	bpf_loop(2 * PY_FRAMES, py_frame, &l, 0); // there are those of the interpreter besides
	if (!w->frames)
		return 0;
	u64 h = mix(w->hash, w->next != 0); // whether there are more
	return h ? h : 1;
}

// py_text reads the beginning of a str.
static __always_inline void py_text(struct py_text *t, u8 *to, const u32 size, const struct python *p, u64 object)
{
	struct {
		u64 length, hash;
		u32 state;
	} s = {};
	*t = (struct py_text){};
	if (bpf_probe_read_user(&s, 20, (void *)(object + PY_LENGTH)))
		return;
	t->length = s.length;
	t->state = s.state;
	// Kind, compact, ascii, behind whether it is interned, which is 3 at most: 2 bits, and from 3.14 on 16.
	u32 bits = (s.state & 0xffff) > 3 ? s.state >> 2 : s.state >> 16;
	u64 bytes = s.length > size ? size : s.length * (bits & 7);
	if (!(bits >> 4 & 1) && p->compact > p->ascii)
		bytes += p->compact - p->ascii;
	u32 take = bytes > size ? size : bytes;
	if (take && take <= size && !bpf_probe_read_user(to, take, (void *)(object + p->ascii)))
		t->bytes = take;
}

#define PY_REPORT_CODE(limit)                                                                                          \
	static __always_inline u8 py_report_##limit(struct code_event *head, const struct python *p, u64 file, u64 name, \
						    u64 table)                                                          \
	{                                                                                                              \
		struct {                                                                                               \
			struct code_event e;                                                                           \
			u8 table[limit];                                                                               \
		} *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);                                                     \
		if (!r)                                                                                                \
			return 0;                                                                                      \
		r->e.type = head->type;                                                                                \
		r->e.pid = head->pid;                                                                                  \
		r->e.tid = head->tid;                                                                                  \
		r->e.line = head->line;                                                                                \
		r->e.time = head->time;                                                                                \
		r->e.start = head->start;                                                                              \
		r->e.code = head->code;                                                                                \
		py_text(&r->e.file, r->e.file_text, PY_FILE, p, file);                                                 \
		py_text(&r->e.name, r->e.name_text, PY_NAME, p, name);                                                 \
		u32 bytes = head->wanted > limit ? limit : head->wanted;                                               \
		r->e.wanted = head->wanted;                                                                            \
		if (bpf_probe_read_user(r->table, bytes, (void *)(table + PY_BYTES)))                                  \
			bytes = 0;                                                                                     \
		r->e.bytes = bytes;                                                                                    \
		bpf_ringbuf_submit(r, wake(sizeof *r));                                                                \
		return 1;                                                                                              \
	}
PY_REPORT_CODE(PY_SMALL)
PY_REPORT_CODE(PY_MEDIUM)
PY_REPORT_CODE(PY_LARGE)

// py_report_code reports what the code object of a frame says of itself, unless it was seen lately.
static long py_report_code(u32 i, struct py_loop *l)
{
	struct py_walk *w = l->w;
	const struct python *p = l->p;
	if (i >= w->frames)
		return 1;
	u64 id = w->frame[i & (PY_FRAMES - 1)].code, object = w->object[i & (PY_FRAMES - 1)];
	if (bpf_map_lookup_elem(&seen, &id))
		return 0;
	u32 bytes = p->code_bytes;
	if (bytes > PY_RAW || bpf_probe_read_user(w->raw, bytes, (void *)(object + p->code_from)))
		return 0; // it stays without a name
	u64 file = py_word(w->raw, p->file), name = py_word(w->raw, p->name), table = py_word(w->raw, p->table);
	struct code_event head;
	head.type = NEW_CODE;
	head.pid = w->pid;
	head.tid = w->tid;
	head.line = *(u32 *)((u8 *)w->raw + (p->line & (PY_RAW - 4)));
	head.time = w->now;
	head.start = w->start;
	head.code = id;
	u64 wanted = py_read(table + PY_SIZE);
	head.wanted = wanted > (u32)-1 ? (u32)-1 : wanted;
	u8 done;
	if (wanted <= PY_SMALL)
		done = py_report_PY_SMALL(&head, p, file, name, table);
	else if (wanted <= PY_MEDIUM)
		done = py_report_PY_MEDIUM(&head, p, file, name, table);
	else
		done = py_report_PY_LARGE(&head, p, file, name, table);
	if (!done) {
		w->lost = 1;
		return 1;
	}
	u8 known = NEW;
	bpf_map_update_elem(&seen, &id, &known, BPF_ANY);
	return 0;
}

// python_stack takes the frames of Python that this thread is in and returns the number of that stack, 0 if
// there are none.
static __always_inline u64 python_stack(struct task_struct *task, u64 salt, u32 pid, u64 start, u64 now)
{
	struct python *p = bpf_map_lookup_elem(&pythons, &pid);
	if (!p)
		return 0;
	struct py_walk *w = bpf_task_storage_get(&walks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return 0;
	u64 own = BPF_CORE_READ(task, thread.fsbase);
	w->salt = salt;
	u64 frame = py_top(p, py_state(w, p, own, 0));
	if (!frame && w->thread.state) // that state may be one that the thread has given up
		frame = py_top(p, py_state(w, p, own, 1));
	u64 id = frame ? py_frames(w, p, frame) : 0;
	if (!id || bpf_map_lookup_elem(&seen, &id))
		return id;
	u32 n = w->frames, tid = bpf_get_current_pid_tgid();
	w->pid = pid;
	w->tid = tid;
	w->now = now;
	w->start = start;
	w->lost = 0;
	struct py_loop l = { w, p };
	bpf_loop(PY_FRAMES, py_report_code, &l, 0);
	if (w->lost)
		return id; // all is reported the next time
	struct python_event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e)
		return id;
	e->type = NEW_PYTHON;
	e->cut = w->next != 0;
	e->frames = n;
	e->pid = pid;
	e->tid = tid;
	e->pad = 0;
	e->time = now;
	e->start = start;
	e->stack = id;
	for (u32 i = 0; i < PY_FRAMES; i++)
		e->frame[i] = w->frame[i];
	bpf_ringbuf_submit(e, wake(sizeof *e));
	u8 known = NEW;
	bpf_map_update_elem(&seen, &id, &known, BPF_ANY);
	return id;
}
#else
// A thread's number in Python is not its thread pointer elsewhere.
static __always_inline u64 python_stack(struct task_struct *task, u64 salt, u32 pid, u64 start, u64 now)
{
	return 0;
}
#endif
