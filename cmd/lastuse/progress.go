package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A progress tells on a terminal what a long run does. On anything else, and in
// the first second, it is silent.
type progress struct {
	w    io.Writer
	quit chan struct{}

	mu    sync.Mutex
	since time.Time
	what  string
	done  int
	total int
	shown bool
}

func (c *command) startProgress() *progress {
	p := &progress{quit: make(chan struct{}), since: time.Now()}
	if !isTerminal(c.stderr) {
		return p
	}
	p.w = c.stderr
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.quit:
				return
			case now := <-tick.C:
				p.show(now)
			}
		}
	}()
	return p
}

// phase begins a new activity; total is 0 if the number of steps is not known.
func (p *progress) phase(what string, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.total, p.done = what, total, 0
}

// set says how many steps are done.
func (p *progress) set(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = max(p.done, done)
}

func (p *progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || p.what == "" || now.Sub(p.since) < time.Second {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Klastuse: %s", p.what)
	if p.total > 0 {
		fmt.Fprintf(p.w, " %d/%d", p.done, p.total)
	}
}

// clear takes the line away, before something else is printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
	p.what = ""
}

func (p *progress) stop() {
	close(p.quit)
	p.clear()
}
