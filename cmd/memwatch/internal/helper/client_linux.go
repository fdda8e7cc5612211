//go:build linux && (amd64 || arm64)

package helper

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
)

// patience is how long an answer may take.
const patience = 3 * time.Second

// A Client asks a helper.
type Client struct {
	fd      int
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan answer
	gone    bool
}

type answer struct {
	reply
	f *os.File
}

// NewClient returns a Client of the helper at the other end of a socket, which it closes
// when it is closed.
func NewClient(fd int) *Client {
	c := &Client{fd: fd, waiting: make(map[uint64]chan answer)}
	go c.receive()
	return c
}

// receive hands answers to those who wait for them.
func (c *Client) receive() {
	for {
		var r reply
		f, err := receive(c.fd, &r)
		c.mu.Lock()
		if err != nil {
			c.gone = true
			for id, ch := range c.waiting {
				ch <- answer{reply: reply{Text: errClosed.Error()}}
				delete(c.waiting, id)
			}
			c.mu.Unlock()
			return
		}
		if ch := c.waiting[r.ID]; ch != nil {
			ch <- answer{r, f}
			delete(c.waiting, r.ID)
		} else if f != nil { // nobody waits any more
			f.Close()
		}
		c.mu.Unlock()
	}
}

// ask sends a request and waits for its answer.
func (c *Client) ask(r request, f *os.File) (*os.File, error) {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, errClosed
	}
	c.next++
	r.ID = c.next
	c.waiting[r.ID] = ch
	err := send(c.fd, r, f)
	c.mu.Unlock()
	if err == nil {
		select {
		case a := <-ch:
			switch {
			case a.Errno != 0:
				return nil, a.Errno
			case a.Text != "":
				return nil, errors.New(a.Text)
			}
			return a.f, nil
		case <-time.After(patience):
			err = errors.New("helper: no answer")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, r.ID)
	select {
	case a := <-ch: // it came after all
		if a.f != nil {
			a.f.Close()
		}
	default:
	}
	return nil, err
}

// Open opens a file below /proc/PID.
func (c *Client) Open(pid int, name string) (*os.File, error) {
	f, err := c.ask(request{PID: uint32(pid), Name: name}, nil)
	if err == nil && f == nil {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: fmt.Sprintf("/proc/%d/%s", pid, name), Err: err}
	}
	return f, nil
}

// Attach attaches probes to a file, for one process or with 0 for all.
func (c *Client) Attach(f *os.File, places []bpf.Place, returns bool, pid uint32) error {
	got, err := c.ask(request{PID: pid, Places: places, Return: returns}, f)
	if got != nil {
		got.Close()
	}
	return err
}

// Close ends the helper.
func (c *Client) Close() error { return unix.Shutdown(c.fd, unix.SHUT_RDWR) }
