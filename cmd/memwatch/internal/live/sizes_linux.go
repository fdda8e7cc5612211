//go:build linux && (amd64 || arm64)

package live

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"
)

// To search the mappings of a process takes a hundred times as long as to ask how many pages it has mapped.
// Whose number of pages is what it was has mapped nothing new since, or has unmapped as much in the same
// time: for the sake of that everybody's mappings are searched now and then all the same.

const (
	// rotation is how many turns it takes until everybody was searched.
	rotation = 300

	// maxSized bounds the processes whose sizes are kept open; others are searched each time.
	maxSized = 16 << 10
)

// A size is a file that tells of the size of one process, and what it told last. The file is of that process
// and of no other that gets its number.
type size struct {
	fd   int
	told []byte
	turn int // in which it was asked last
}

// sizes are those of all processes. They belong to the scanner.
type sizes struct {
	of   map[int]*size
	turn int
	most int // files that may be open
	buf  [64]byte
}

func newSizes() *sizes {
	s := &sizes{of: make(map[int]*size), most: maxSized}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		s.most = min(s.most, int(min(limit.Cur, 1<<30)/2))
	}
	return s
}

// next begins a turn, and closes what was not asked in the latest.
func (s *sizes) next() {
	for pid, z := range s.of {
		if z.turn != s.turn {
			s.drop(pid)
		}
	}
	s.turn++
}

// changed reports whether a process may have mapped something since the turn before.
func (s *sizes) changed(pid int) bool {
	z := s.of[pid]
	if z != nil {
		z.turn = s.turn
		told := s.read(z.fd)
		if told != nil && bytes.Equal(told, z.told) {
			return (pid+s.turn)%rotation == 0
		}
		if told != nil {
			z.told = append(z.told[:0], told...)
			return true
		}
		s.drop(pid) // it has ended, and the number may be another's
	}
	if len(s.of) >= s.most {
		return true
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/statm", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	z = &size{fd: fd, turn: s.turn}
	s.of[pid] = z
	z.told = append(z.told, s.read(fd)...)
	return true
}

// read returns the number of pages in text, nil if there is none.
func (s *sizes) read(fd int) []byte {
	n, err := unix.Pread(fd, s.buf[:], 0)
	if err != nil {
		return nil
	}
	pages, _, ok := bytes.Cut(s.buf[:n], []byte(" "))
	if !ok {
		return nil
	}
	return pages
}

func (s *sizes) drop(pid int) {
	if z := s.of[pid]; z != nil {
		unix.Close(z.fd)
		delete(s.of, pid)
	}
}

// close closes all files.
func (s *sizes) close() {
	for pid := range s.of {
		s.drop(pid)
	}
}
