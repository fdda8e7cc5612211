package record

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Who writes a file holds it locked until it is closed, in whatever way: so a reader knows whether more will
// come. The lock keeps nobody from anything.

// claim locks the file of a Writer. Where that is not to be had the file looks cut off to readers until its
// end.
func claim(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// beingWritten reports whether somebody holds the lock.
func beingWritten(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}

// polling is between two looks at a file that grows.
const polling = 100 * time.Millisecond

// A tail reads a file that is being written, and at its end waits for more until that has ended, or until
// stop is closed.
type tail struct {
	f    *os.File
	stop <-chan struct{}
}

func (t *tail) Read(b []byte) (int, error) {
	for ended := false; ; {
		n, err := t.f.Read(b)
		if n > 0 || err != nil && err != io.EOF || ended {
			return n, err
		}
		if ended = !beingWritten(t.f); ended { // what came before that is still to be read
			continue
		}
		select {
		case <-time.After(polling):
		case <-t.stop:
			return 0, io.EOF
		}
	}
}
