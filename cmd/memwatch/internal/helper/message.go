//go:build linux && (amd64 || arm64)

package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
)

// A request asks for one thing. Exactly one of Name and Places is there.
type request struct {
	ID     uint64
	PID    uint32 // the process, or the only one that is to be probed, 0 for all
	Name   string // of the file below /proc/PID that is wanted
	Places []bpf.Place
	Return bool // the probes are of returns
}

// A reply answers it.
type reply struct {
	ID    uint64
	Errno unix.Errno // of what the kernel refused
	Text  string     // of any other error
}

const (
	maxMessage = 64 << 10
	maxPlaces  = 1024
)

// send sends a message, with a file if there is one.
func send(fd int, message any, f *os.File) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(b) > maxMessage {
		return fmt.Errorf("helper: a message of %d bytes is too long", len(b))
	}
	var rights []byte
	if f != nil {
		rights = unix.UnixRights(int(f.Fd()))
	}
	for {
		if err := unix.Sendmsg(fd, b, rights, nil, unix.MSG_NOSIGNAL); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// errClosed says that the other end is gone.
var errClosed = errors.New("helper: it is gone")

// receive waits for a message and the file that came with it, if one did.
func receive(fd int, message any) (*os.File, error) {
	b, control := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*4))
	var n, m int
	var err error
	for {
		n, m, _, _, err = unix.Recvmsg(fd, b, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errClosed
	}
	var f *os.File
	if all, err := unix.ParseSocketControlMessage(control[:m]); err == nil {
		for i := range all {
			fds, err := unix.ParseUnixRights(&all[i])
			if err != nil {
				continue
			}
			for _, fd := range fds {
				if f != nil {
					unix.Close(fd) // one is what was agreed on
					continue
				}
				f = os.NewFile(uintptr(fd), "helper")
			}
		}
	}
	if err := json.Unmarshal(b[:n], message); err != nil {
		if f != nil {
			f.Close()
		}
		return nil, fmt.Errorf("helper: %w", err)
	}
	return f, nil
}
