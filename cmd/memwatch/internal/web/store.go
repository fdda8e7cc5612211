package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHistory says that a file is no history, or is another server's.
var ErrHistory = errors.New("no history to write to")

// A Store is a file in which the history outlives the server that wrote it. Its first line says what it is
// and of which boot of the machine, since the clock of events, and the numbers of processes, begin anew with
// each. Each other line is a step. A step that is cut off, and what is behind it, is dropped when the file is
// opened.
//
// The file holds two times as many steps as a history at most. Then the older half goes, in place: rights to
// make another file may be gone by then.
type Store struct {
	f     *os.File
	head  int64 // where steps begin
	half  int64 // where the newer steps begin, of those that there are
	size  int64
	steps int
	past  []step
	most  int // steps of a history
}

// A storeHead is the first line of a file.
type storeHead struct {
	History int    `json:"memwatch_history"` // version
	Boot    string `json:"boot"`
}

// A step is what processes had live at one time.
type step struct {
	Time      int64      `json:"time"` // nanoseconds, of the events' clock
	Processes []stepLive `json:"processes"`
}

type stepLive struct {
	PID   uint32 `json:"pid"`
	Start uint64 `json:"start"`
	Live  int64  `json:"live"`
}

// Bounds of a file that is read.
const (
	maxStep  = keepProcs * 128
	maxStore = 3 * keepMost * maxStep
)

// OpenStore opens a file, or makes one that its owner alone may read. boot tells one boot of the machine from
// another: what is of another is dropped. A file that is not empty and no history is left as it is.
func OpenStore(path, boot string) (*Store, error) { return openStore(path, boot, keepMost) }

func openStore(path, boot string, most int) (*Store, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	s := &Store{f: f, most: most}
	if err := s.read(boot); err != nil {
		f.Close()
		return nil, fmt.Errorf("history: %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) read(boot string) error {
	var info unix.Stat_t
	if err := unix.Fstat(int(s.f.Fd()), &info); err != nil {
		return err
	}
	switch {
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("no regular file: %w", ErrHistory)
	case int(info.Uid) != os.Geteuid() || info.Mode&0o022 != 0:
		return fmt.Errorf("others may write to it (owner %d, mode %04o): %w", info.Uid, info.Mode&0o777, ErrHistory)
	}
	if unix.Flock(int(s.f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return fmt.Errorf("another memwatch writes to it: %w", ErrHistory)
	}
	r := bufio.NewReaderSize(io.LimitReader(s.f, maxStore), maxStep)
	first, err := r.ReadSlice('\n')
	var head storeHead
	if info.Size > 0 && (err != nil || json.Unmarshal(first, &head) != nil || head.History != 1) {
		return fmt.Errorf("the file is of something else: %w", ErrHistory)
	}
	if head.Boot == boot {
		s.head = int64(len(first))
		s.readSteps(r)
	}
	if s.head == 0 {
		line, err := json.Marshal(storeHead{1, boot})
		if err != nil {
			return err
		}
		if _, err := s.f.WriteAt(append(line, '\n'), 0); err != nil {
			return err
		}
		s.head = int64(len(line)) + 1
		s.size, s.half = s.head, s.head
	}
	return s.f.Truncate(s.size)
}

// readSteps reads steps up to one that is none.
func (s *Store) readSteps(r *bufio.Reader) {
	s.size, s.half = s.head, s.head
	for {
		line, err := r.ReadSlice('\n')
		var at step
		if err != nil || json.Unmarshal(line, &at) != nil || len(at.Processes) > keepProcs {
			return
		}
		s.past = append(s.past[max(0, len(s.past)+1-s.most):], at)
		s.grow(len(line))
	}
}

// grow counts a step that the file has more.
func (s *Store) grow(n int) {
	s.size += int64(n)
	if s.steps++; s.steps == s.most {
		s.half = s.size
	}
}

// write adds a step to the file.
func (s *Store) write(at step) error {
	if s.steps >= 2*s.most {
		if err := s.forget(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(at)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := s.f.WriteAt(line, s.size); err != nil {
		return err
	}
	s.grow(len(line))
	return nil
}

// forget moves the newer half of the steps to the front. What is behind them says nothing until it is cut
// off: should that fail, the next one who reads finds the same steps once more, which are no newer.
func (s *Store) forget() error {
	newer := make([]byte, s.size-s.half)
	if _, err := s.f.ReadAt(newer, s.half); err != nil {
		return err
	}
	if _, err := s.f.WriteAt(newer, s.head); err != nil {
		return err
	}
	s.size = s.head + int64(len(newer))
	s.steps, s.half = bytes.Count(newer, []byte("\n")), s.size
	return s.f.Truncate(s.size)
}

// Close closes the file.
func (s *Store) Close() error { return s.f.Close() }
