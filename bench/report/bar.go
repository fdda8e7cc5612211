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

// A bar shows how far the parts, or the steps of a build, are: on a terminal one line that is drawn again and again, elsewhere a
// line for each.
type bar struct {
	w        io.Writer
	terminal bool
	all      int
	begin    time.Time

	mu    sync.Mutex
	ended int       // parts; protected by mu
	now   string    // protected by mu
	more  string    // what a part does at present; protected by mu
	said  time.Time // when a line was last written of more, where there is no terminal; protected by mu
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
	b.now, b.more, b.said = name, "", time.Now()
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

// compiling says which package is being compiled, and the how manyeth it is.
func (b *bar) compiling(name string, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more = fmt.Sprintf(": %s, package %d that is compiled", name, number)
	if !b.terminal && time.Since(b.said) >= sayEvery {
		b.said = time.Now()
		fmt.Fprintf(b.w, "%s %s%s\n", b.text(), b.now, b.more)
	}
}

// sayEvery is how often a line says what is compiled, where there is no terminal.
const sayEvery = 5 * time.Second

// say writes a line of its own.
func (b *bar) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.terminal {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	fmt.Fprintln(b.w, text)
}

// built says how many packages the part has compiled, if it has any.
func (b *bar) built(compiled int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.terminal && compiled > 1 {
		fmt.Fprintf(b.w, "%s %s: %d packages were compiled\n", b.text(), b.now, compiled)
	}
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
	fmt.Fprintf(b.w, "\r\x1b[K%s %s%s", b.text(), b.now, b.more)
}

// done ends the bar, and leaves its last state on a terminal.
func (b *bar) done() {
	close(b.stop)
	if b.terminal {
		b.part("")
		fmt.Fprintln(b.w)
	}
}
