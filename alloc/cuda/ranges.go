package cuda

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/lastuse/lastuse/internal/cudadrv"
)

// A Range is a stretch of the program's time that profilers such as Nsight Systems show, with its name and
// the line of Go where it began, beside what the device does meanwhile. The zero Range is none.
type Range struct {
	id uint64
	on *ranger
}

// StartRange begins a range. It may end on another goroutine, and ranges may overlap. The library that tells
// the profiler, NVTX, is opened at run time by the first call; where it is missing ranges do nothing.
// Starting a range with a name that the line has used before takes no Go memory.
//
//	defer cuda.StartRange("attention").End()
//
//go:noinline
func StartRange(name string) Range {
	r := rangers()
	if r == nil {
		return Range{}
	}
	var pc [1]uintptr
	runtime.Callers(2, pc[:])
	return r.start(name, pc[0])
}

// End ends the range, once.
func (r Range) End() {
	if r.on != nil {
		r.on.lib.End(r.id)
	}
}

// A ranger is an opened library, with the texts of ranges that have begun before.
type ranger struct {
	lib *cudadrv.Ranges

	mu    sync.RWMutex
	texts map[rangeSite]string
}

type rangeSite struct {
	pc   uintptr
	name string
}

// maxRanges bounds the texts that are remembered, as names may be made up at run time.
const maxRanges = 4096

// rangers returns the process's library, or nil.
var rangers = sync.OnceValue(func() *ranger {
	return newRanger("libnvtx3interop.so.1", "/usr/local/cuda/lib64/libnvtx3interop.so.1", "libnvToolsExt.so.1")
})

func newRanger(paths ...string) *ranger {
	lib := cudadrv.OpenRanges(paths...)
	if lib == nil {
		return nil
	}
	return &ranger{lib: lib, texts: map[rangeSite]string{}}
}

func (r *ranger) start(name string, pc uintptr) Range {
	at := rangeSite{pc, name}
	r.mu.RLock()
	text, ok := r.texts[at]
	r.mu.RUnlock()
	if !ok {
		text = r.text(at)
	}
	return Range{r.lib.Start(text), r}
}

// text makes the text of a range and remembers it.
func (r *ranger) text(at rangeSite) string {
	f, _ := runtime.CallersFrames([]uintptr{at.pc}).Next()
	text := fmt.Sprintf("%s (%s:%d)", at.name, filepath.Base(f.File), f.Line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.texts) >= maxRanges {
		clear(r.texts)
	}
	r.texts[at] = text
	return text
}
