//go:build linux && (amd64 || arm64)

package helper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// connect returns a client and what its helper attaches with.
func connect(t *testing.T, attach bpf.Attacher) (*Client, chan error, int) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	over := make(chan error, 1)
	go func() { over <- Serve(pair[1], attach) }()
	c := NewClient(pair[0])
	t.Cleanup(func() { c.Close() })
	return c, over, pair[0]
}

func TestOpen(t *testing.T) {
	c, over, _ := connect(t, nil)
	self := os.Getpid()
	f, err := c.Open(self, "maps")
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Contains(t, string(text), "helper.test")

	p, err := procfs.Open(self)
	require.NoError(t, err)
	defer p.Close()
	maps, err := p.Find(func(m *procfs.Mapped) bool { return filepath.Base(m.Name) == "helper.test" })
	require.NoError(t, err)
	for _, m := range maps {
		f, err := c.Open(self, fmt.Sprintf("map_files/%x-%x", m.Start, m.End))
		if !m.Executable {
			require.ErrorIs(t, err, unix.EPERM, "data is nobody's business")
			continue
		}
		if os.Geteuid() != 0 {
			continue // the helper has no rights either
		}
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for _, name := range []string{"mem", "environ", "root/etc/shadow", "fd/0", "../1/maps", "map_files/1-2/../../mem", "map_files/1-2", "map_files/zz-1", "map_files/", "maps/", "/etc/shadow", ""} {
		_, err := c.Open(self, name)
		require.Error(t, err, name)
	}
	for _, pid := range []int{0, 1 << 30} {
		_, err := c.Open(pid, "maps")
		require.Error(t, err)
	}
	require.NoError(t, c.Close())
	require.NoError(t, <-over, "it ends with its client")
	require.Eventually(t, func() bool { _, err := c.Open(self, "maps"); return err != nil }, time.Minute, time.Millisecond)
}

func TestAttach(t *testing.T) {
	var got []bpf.Place
	c, _, fd := connect(t, func(f *os.File, at []bpf.Place, returns bool, pid uint32) error {
		got = at
		if pid == 7 {
			return errors.New("no such process, says the kernel")
		}
		return nil
	})
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	lib, other := create("libcuda.so.1"), create("sshd")
	at := []bpf.Place{{Offset: 4096, Cookie: 3}}
	require.NoError(t, c.Attach(lib, at, true, 0))
	require.Equal(t, at, got)
	require.ErrorContains(t, c.Attach(lib, at, true, 7), "says the kernel")
	require.ErrorContains(t, c.Attach(other, at, false, 0), "no library of a driver")
	require.ErrorContains(t, c.Attach(lib, make([]bpf.Place, maxPlaces+1), false, 0), "not a request")
	require.Error(t, c.Attach(lib, make([]bpf.Place, maxMessage), false, 0), "too long")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "libcuda.so.2"), 0o700))
	folder, err := os.Open(filepath.Join(dir, "libcuda.so.2"))
	require.NoError(t, err)
	defer folder.Close()
	require.ErrorContains(t, c.Attach(folder, at, false, 0), "no library of a driver")
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "libcuda.so.3"), 0o600))
	pipe, err := os.OpenFile(filepath.Join(dir, "libcuda.so.3"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer pipe.Close()
	require.ErrorContains(t, c.Attach(pipe, at, false, 0), "no library of a driver")
	require.NoError(t, send(fd, "not a request", nil))
	require.Error(t, c.Attach(lib, at, true, 0), "what is not a message ends the helper")
}

// TestStuck asks for something that never comes: others get theirs.
func TestStuck(t *testing.T) {
	release := make(chan struct{})
	c, _, _ := connect(t, func(*os.File, []bpf.Place, bool, uint32) error { <-release; return nil })
	lib, err := os.Create(filepath.Join(t.TempDir(), "libcuda.so.1"))
	require.NoError(t, err)
	defer lib.Close()
	stuck := make(chan error, 1)
	go func() { stuck <- c.Attach(lib, []bpf.Place{{}}, false, 0) }()
	require.Eventually(t, func() bool { // nothing is released until then
		f, err := c.Open(os.Getpid(), "maps")
		return err == nil && f.Close() == nil
	}, time.Minute, 10*time.Millisecond)
	require.EqualError(t, <-stuck, "helper: no answer")
	close(release)
	require.Eventually(t, func() bool { return c.Attach(lib, []bpf.Place{{}}, false, 0) == nil }, time.Minute, 10*time.Millisecond, "a late answer is passed over")
}
