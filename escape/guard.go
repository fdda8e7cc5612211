package escape

// A bug of ours must not take the build of others down: what panics while one
// function is decided declines that function, with the place of the panic.

import (
	"github.com/lastuse/lastuse/escape/internal/shadow"
)

// guarded runs do for f. If it panics, f is declined, and false is returned.
func (p *pkg) guarded(f *fn, do func()) (ok bool) {
	why := shadow.Contained(do)
	if why == "" {
		return true
	}
	f.declined = why
	f.flow = analyze(f)
	return false
}
