package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A bar shows how far the parts are: on a terminal one line that is drawn again and again, elsewhere a
// line for each part.
type bar struct {
	w        io.Writer
	terminal bool
	all      int
	begin    time.Time

	mu    sync.Mutex
	ended int    // parts; protected by mu
	now   string // protected by mu
	stop  chan struct{}
}

func newBar(f *os.File, all int) *bar {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	b := &bar{w: f, terminal: err == nil, all: all, begin: time.Now(), stop: make(chan struct{})}
	if b.terminal {
		go func() {
			t := time.NewTicker(500 * time.Millisecond)
			defer t.Stop()
			for {
				select {
				case <-t.C:
					b.draw()
				case <-b.stop:
					return
				}
			}
		}()
	}
	return b
}

// part says what runs now.
func (b *bar) part(name string) {
	b.mu.Lock()
	b.now = name
	b.mu.Unlock()
	if b.terminal {
		b.draw()
	} else {
		fmt.Fprintf(b.w, "%s %s\n", b.text(), name)
	}
}

// end says that the part is over.
func (b *bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
}

// text returns the bar itself.
func (b *bar) text() string {
	const width = 24
	full := width * b.ended / max(b.all, 1)
	return fmt.Sprintf("[%s%s] %d/%d %v", strings.Repeat("#", full), strings.Repeat(".", width-full), b.ended, b.all,
		time.Since(b.begin).Round(time.Second))
}

func (b *bar) draw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.w, "\r\x1b[K%s %s", b.text(), b.now)
}

func (b *bar) done() {
	close(b.stop)
	if b.terminal {
		b.part("")
		fmt.Fprintln(b.w)
	}
}
