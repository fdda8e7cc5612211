package alloc

// LateLen returns how many buffers of p the collector has found dead that nobody has freed yet.
func LateLen(p *Pool) int { return p.core.estate.late.Len() }

// DrainLate frees the buffers of p that the collector has found dead, and calls stop before the first
// of them.
func DrainLate(p *Pool, stop func()) {
	p.core.estate.late.Drain(func(net uint32) {
		if stop != nil {
			stop()
			stop = nil
		}
		p.core.releaseLate(net)
	})
}
