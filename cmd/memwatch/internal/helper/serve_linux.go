//go:build linux && (amd64 || arm64)

package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// maxBusy bounds the requests that are being answered: some may never be.
const maxBusy = 64

// Serve answers until the other end is closed. attach attaches probes to a file.
func Serve(fd int, attach bpf.Attacher) error {
	busy := make(chan struct{}, maxBusy)
	for {
		var r request
		f, err := receive(fd, &r)
		if errors.Is(err, errClosed) || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case busy <- struct{}{}:
		default: // all are stuck: what is not answered is given up by the client
			if f != nil {
				f.Close()
			}
			continue
		}
		go func() {
			defer func() { <-busy }()
			got, err := do(&r, f, attach)
			if f != nil {
				f.Close()
			}
			a := reply{ID: r.ID}
			if err != nil && !errors.As(err, &a.Errno) {
				a.Text = err.Error()
			}
			_ = send(fd, a, got) // nobody waits if it fails
			if got != nil {
				got.Close()
			}
		}()
	}
}

func do(r *request, f *os.File, attach bpf.Attacher) (*os.File, error) {
	switch {
	case r.Name != "" && f == nil:
		return open(int(r.PID), r.Name)
	case len(r.Places) > 0 && len(r.Places) <= maxPlaces && f != nil:
		if err := driver(f); err != nil {
			return nil, err
		}
		return nil, attach(f, r.Places, r.Return, r.PID)
	}
	return nil, errors.New("helper: not a request")
}

// driver returns an error unless f is a regular file that is called like a driver's
// library. Its name is what the kernel says, not the client.
func driver(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || probes.LibraryOf(filepath.Base(name)) == nil {
		return fmt.Errorf("helper: %s is no library of a driver", name)
	}
	return nil
}

var mapping = regexp.MustCompile(`^map_files/([0-9a-f]{1,16})-([0-9a-f]{1,16})$`)

// open opens what a client may see of a process.
func open(pid int, name string) (*os.File, error) {
	if pid <= 0 {
		return nil, unix.EINVAL
	}
	if name == "maps" {
		return procfs.OpenAt(pid, name)
	}
	at := mapping.FindStringSubmatch(name)
	if at == nil {
		return nil, unix.EPERM
	}
	start, err1 := strconv.ParseUint(at[1], 16, 64)
	end, err2 := strconv.ParseUint(at[2], 16, 64)
	if err := errors.Join(err1, err2); err != nil {
		return nil, unix.EINVAL
	}
	p, err := procfs.Open(pid)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	defer p.Close()
	maps, err := p.Find(func(m *procfs.Mapped) bool { return m.Start == start && m.End == end })
	if err != nil || len(maps) != 1 {
		return nil, unix.ENOENT
	}
	m := &maps[0]
	if m.IsTable() {
		return p.OpenTable(m)
	}
	if !m.Executable || m.Inode == 0 {
		return nil, unix.EPERM
	}
	if err := procfs.Served(pid, unix.Major(m.Dev), unix.Minor(m.Dev)); err != nil {
		return nil, err
	}
	f, err := p.OpenFile(name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Ino != m.Inode {
		f.Close()
		return nil, unix.EPERM
	}
	return f, nil
}
