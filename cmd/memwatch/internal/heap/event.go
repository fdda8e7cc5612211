package heap

import "fmt"

// An Op says what happened.
type Op uint8

const (
	_ Op = iota

	// Start introduces a process: Text is its name, Size its start time (an
	// opaque number that differs when a PID is used again). Aux is 1 if it ran
	// before it was watched, so that not all of its memory is known.
	Start
	Exec // the process has become another program; its memory is gone
	Exit // the process is gone; Size is its start time, or 0 for whatever has the number

	Alloc // Size bytes at Addr in Space, of Class
	Free  // what is at Addr in Space, on entry
	Undo  // the free, release, unmap or drop that this thread began failed
	Fail  // an allocation of Size bytes failed with Code; Text names the function
	Ref   // one more reference to what is at Addr in Space
	Drop  // one reference less, on entry; the last one frees

	Create  // physical memory: handle Addr, Size bytes; Class is Physical or Imported
	Retain  // one more reference to the memory mapped at Addr; Aux is its handle
	Release // one reference to the handle Addr less, on entry
	Map     // Size bytes at Addr are handle Aux
	Unmap   // Size bytes at Addr, on entry; may span several mappings

	CtxCreate  // context Addr for Device, and this thread's current one
	CtxSet     // this thread's current context is Addr
	CtxPush    // the same, above the one before
	CtxPop     // back to the one before
	CtxDestroy // context Addr is gone, called at Begin
	Primary    // the primary context of Device is Addr; one more reference
	Unprimary  // one reference to it less; the last one ends it
	Reset      // everything of Device's primary context is gone, called at Begin

	PoolCreate   // pool Addr hands out Class
	PoolDestroy  // pool Addr hands out nothing more; what it gave stays
	CaptureBegin // work on stream Addr goes to a graph
	CaptureEnd

	Lost  // Size events of this process were lost, in Text (ring, calls, …)
	Stack // defines stack Stack: Frames, innermost first
	Told  // what a process says of itself, by site or, with Stack 0, in all: see told.go
	// the kernel's books: Size bytes in Addr calls, Aux frees; Pool and Stream stacks, see KernelTotals
	Totals
	Placed // where the process runs, in Text: see placed.go
	Used   // Size bytes are what the driver itself counts for the process on Device
	GPU    // what Device holds: Size bytes used of Addr, Aux percent busy or more than 100; Text is its name
	Noted  // what of the process is not shown as it might be, and why, in Text
	Named  // the process is called Text

	opEnd
)

var opNames = [...]string{
	Start: "start", Exec: "exec", Exit: "exit",
	Alloc: "alloc", Free: "free", Undo: "undo", Fail: "fail", Ref: "ref", Drop: "drop",
	Create: "create", Retain: "retain", Release: "release", Map: "map", Unmap: "unmap",
	CtxCreate: "ctxcreate", CtxSet: "ctxset", CtxPush: "ctxpush", CtxPop: "ctxpop",
	CtxDestroy: "ctxdestroy", Primary: "primary", Unprimary: "unprimary", Reset: "reset",
	PoolCreate: "poolcreate", PoolDestroy: "pooldestroy", CaptureBegin: "capture", CaptureEnd: "endcapture",
	Lost: "lost", Stack: "stack", Told: "told", Totals: "totals", Placed: "placed", Used: "used", GPU: "gpu",
	Noted: "noted", Named: "named",
}

func (o Op) String() string { return name(opNames[:], int(o)) }

// Valid reports whether o is an Op of this version.
func (o Op) Valid() bool { return o > 0 && o < opEnd }

// A Class is a kind of memory.
type Class uint8

const (
	Device   Class = iota // linear device memory
	Managed               // memory that moves between host and device
	Pinned                // page-locked host memory made by the driver
	Pool                  // stream-ordered memory
	Array                 // arrays and images; sizes are computed from their shape
	Physical              // memory without an address of its own

	Registered // the program's own memory, page-locked
	Imported   // memory of another process or library
	Range      // addresses without memory
	Graph      // nodes of a graph, which get their memory later
	Code       // modules and libraries; objects only, their sizes are not known
	Buffer     // buffers of the lastuse runtime, parts of memory counted before
	Block      // what an allocator on top of the driver hands out, parts of it too

	NumClasses
)

var classNames = [...]string{
	"device", "managed", "pinned", "pool", "array", "physical",
	"registered", "imported", "range", "graph", "code", "buffer", "block",
}

func (c Class) String() string { return name(classNames[:], int(c)) }

// Own reports whether memory of the class is added up in a process's live bytes.
func (c Class) Own() bool { return c <= Physical }

// A Space is a set of numbers that name allocations. The same number in two spaces
// names two things.
type Space uint8

const (
	Linear     Space = iota // device pointers
	Host                    // pointers of pinned memory
	Locked                  // pointers of registered memory
	Arrays                  // array handles
	Mipmaps                 // mipmapped array handles
	Handles                 // handles of physical memory
	Ranges                  // reserved addresses
	External                // handles of external memory
	Objects                 // reference-counted memory objects
	Modules                 // module handles
	Libraries               // library handles
	Buffers                 // buffers of the lastuse runtime
	Multicasts              // multicast objects
	Blocks                  // blocks of an allocator on top of the driver
	numSpaces
)

var spaceNames = [...]string{
	"linear", "host", "locked", "arrays", "mipmaps", "handles", "ranges", "external",
	"objects", "modules", "libraries", "buffers", "multicasts", "blocks",
}

func (s Space) String() string { return name(spaceNames[:], int(s)) }

// An Owner says whose end also ends an allocation. The end of a process ends all.
type Owner uint8

const (
	ByContext Owner = iota // the context that was current, or Event.Ctx
	ByDevice               // the device; its reset ends it
	ByProcess
	numOwners
)

var ownerNames = [...]string{"context", "device", "process"}

func (o Owner) String() string { return name(ownerNames[:], int(o)) }

// NoDevice stands for a device that is not known.
const NoDevice int32 = -1

// An Event is one step of a process's foreign memory. Which fields mean something
// depends on Op; the others are zero.
type Event struct {
	Op    Op
	Class Class
	Space Space
	Owner Owner

	PID, TID uint32
	Device   int32 // NoDevice: the one of the context
	Code     int32 // the driver's error code
	Time     int64 // nanoseconds; any clock that only grows
	Begin    int64 // nanoseconds: when the call began, where that matters

	Addr, Size, Aux uint64 // see Op
	Ctx             uint64 // the context if the call names it; 0: the thread's current one
	Stream          uint64 // the stream of stream-ordered calls, 0 if none is meant
	Pool            uint64 // the pool that an allocation came from, 0 if none is named
	Stack           uint64 // the call stack; 0: not known
	Goroutine       uint64 // 0: not known

	Text   string
	Frames []Frame
}

// A Frame is one function of a call stack. What is not known is empty.
type Frame struct {
	PC     uint64 `json:"pc,omitempty"`
	Func   string `json:"func,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Module string `json:"module,omitempty"` // base name of the mapped file
}

// name returns names[i], or the number in words that cannot be mistaken for a name.
func name(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("#%d", i)
}
