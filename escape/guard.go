package escape

// A bug of ours must not take the build of others down: what panics while one
// function is decided declines that function, with the place of the panic.

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// internalError begins the reason for which such a function is skipped.
const internalError = "internal error at "

// guarded runs do for f. If it panics, f is declined, and false is returned.
func (p *pkg) guarded(f *fn, do func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			f.declined = internalError + panicSite() + ": " + fmt.Sprint(r)
			f.flow = analyze(f)
			ok = false
		}
	}()
	do()
	return true
}

// panicSite returns file and line of the statement that panicked; it must be
// called while the panic is recovered.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for {
		fr, more := frames.Next()
		switch {
		case strings.HasPrefix(fr.Function, "runtime."):
			panicking = true
		case panicking:
			return fmt.Sprintf("%s:%d", filepath.Base(fr.File), fr.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
