package heap

// A past is what a process told of a site at some times before, the oldest first: closer together the later,
// so that a few reach far back.
type past struct {
	at   []tellingOf
	step int64 // least nanoseconds between two of them
}

// A tellingOf is what was told at one time.
type tellingOf struct {
	at         int64
	made, live Freed
}

// maxPast is how many times are kept; pastStep is between two of them at first, nanoseconds.
const (
	maxPast  = 64
	pastStep = 1e9
)

// note keeps what a site was told to be, unless that is not long after the latest.
func (p *past) note(now int64, t *Tally) {
	if p.step == 0 {
		p.step = pastStep
	}
	if n := len(p.at); n > 0 && now-p.at[n-1].at < p.step {
		return
	}
	if len(p.at) == maxPast {
		for i := range maxPast / 2 {
			p.at[i] = p.at[2*i]
		}
		p.at = p.at[:maxPast/2]
		p.step *= 2
	}
	p.at = append(p.at, tellingOf{now, Freed{t.AllocBytes, t.AllocObjects}, Freed{uint64(max(t.Live, 0)), uint64(max(t.Objects, 0))}})
}

// before returns what was told last before t.
func (p *past) before(t int64) (was tellingOf, ok bool) {
	for _, c := range p.at {
		if c.at < t {
			was, ok = c, true
		}
	}
	return was, ok
}
