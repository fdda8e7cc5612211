package heap

import (
	"slices"
	"strings"
)

// Segments. An allocator on top of a driver asks that for segments and hands out blocks of them. Who asks
// for a block when it has to grow need not be who keeps the others, so that a segment is nobody's. Where an
// allocator tells of its blocks, these stand in the place of its segments when bytes are added up by who
// wanted them, and segments are neither suspected nor said to grow. PyTorch's allocators tell of blocks, the
// lastuse runtime of its buffers.

// blockFiles are the libraries of allocators whose blocks are seen, and bufferFuncs how the functions begin
// by which the runtime asks for segments.
var blockFiles = []string{"libc10_cuda.so", "libc10_hip.so", "libc10_xpu.so"}

const bufferFuncs = "github.com/lastuse/lastuse/alloc/cuda."

// segment reports whether a site is of such an allocator.
func (p *process) segment(s *site) bool {
	if !s.key.class.Own() {
		return false
	}
	blocks := p.classes[Block].AllocObjects > 0
	return (blocks || p.tabled) && slices.ContainsFunc(p.stacks[s.key.stack], func(f Frame) bool {
		return p.tabled && strings.HasPrefix(f.Func, bufferFuncs) ||
			blocks && slices.ContainsFunc(blockFiles, func(file string) bool { return strings.HasPrefix(f.Module, file) })
	})
}

// own reports whether a site's bytes are part of what the process has live.
func (p *process) own(s *site) bool {
	return s.key.class.Own() || s.key.class == Buffer && p.byTable()
}

// counts reports whether a site counts where bytes are added up by who wanted them.
func (p *process) counts(s *site) bool {
	return s.key.class == Block || s.key.class == Buffer && p.tabled || p.own(s) && !p.segment(s)
}

// suspect returns the reasons to take a site for a leak, none if there are none.
func (p *process) suspect(s *site) []string {
	if p.segment(s) {
		return nil
	}
	return s.suspect(p.h.now)
}
