package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/tui"
)

// A session is a heap that somebody feeds and others look at: live or replayed. Its
// methods may be called by several goroutines.
type session struct {
	source    string
	clock     func() int64 // now, in the clock of the events; nil: the events are the clock
	wall      int64        // nanoseconds since 1970 at time 0 of the events
	hits      func() map[string]uint64
	noDevices func() string   // why it is not known what devices hold; nil: it is, or nobody asked
	missed    func() []string // what is missing, in words; nil: nothing
	limits    string          // what cannot be seen for want of probes, in words; "": nothing

	// Events wait here while somebody looks at the heap, so that who brings them never waits for that. The
	// lock is held for moments only.
	waiting struct {
		sync.Mutex
		events, spare []heap.Event
	}

	mu     sync.Mutex // of all below; taken before that of waiting
	heap   *heap.Heap
	writer *record.Writer // nil: nothing is recorded
	err    error          // of the writer
	done   bool
	note   string

	flushed time.Time // when what is recorded was handed to the file

	looked time.Time // of the latest frame
	events uint64
	probed uint64
	rate   float64
	cost   float64
}

func newSession(source string, o heap.Options) *session {
	return &session{source: source, heap: heap.New(o)}
}

// Events are applied by the many, by whoever has them or looks. Beyond mostWaiting who brings more must wait.
const (
	many        = 256
	mostWaiting = 1 << 20
)

// apply takes an event. It does not wait for who looks at the heap.
func (s *session) apply(e *heap.Event) {
	s.waiting.Lock()
	s.waiting.events = append(s.waiting.events, *e)
	n := len(s.waiting.events)
	s.waiting.Unlock()
	if n >= mostWaiting {
		s.mu.Lock()
	} else if n < many || !s.mu.TryLock() {
		return
	}
	s.settle()
	s.mu.Unlock()
}

// settle applies the events that wait. The caller holds mu.
func (s *session) settle() {
	s.waiting.Lock()
	events := s.waiting.events
	s.waiting.events, s.waiting.spare = s.waiting.spare[:0], nil
	s.waiting.Unlock()
	for i := range events {
		e := &events[i]
		s.heap.Apply(e)
		if s.writer != nil && s.err == nil {
			if s.err = s.writer.Write(e); s.err != nil {
				s.note = s.err.Error()
			}
		}
	}
	clear(events) // what they point to is the heap's now
	if cap(events) <= 1<<14 {
		s.waiting.Lock()
		s.waiting.spare = events[:0]
		s.waiting.Unlock()
	}
}

// flushing is how much of a recording is lost at most when memwatch is killed.
const flushing = time.Second

// flush hands what is recorded to the file, now and then: it is called often.
func (s *session) flush() {
	if !s.mu.TryLock() { // the next time
		return
	}
	defer s.mu.Unlock()
	s.settle()
	if now := time.Now(); s.writer != nil && s.err == nil && now.Sub(s.flushed) >= flushing {
		s.flushed = now
		if s.err = s.writer.Flush(); s.err != nil {
			s.note = s.err.Error()
		}
	}
}

// snapshot returns what q asks for.
func (s *session) snapshot(q heap.Query) *heap.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if s.clock != nil && !s.done {
		s.heap.Advance(s.clock())
	}
	snap := s.heap.Snapshot(q)
	snap.Limits = s.limits
	return snap
}

// timeline returns the allocations of a process that lived since so long ago.
func (s *session) timeline(pid uint32, start uint64, since time.Duration, most int) *heap.Timeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if s.clock != nil && !s.done {
		s.heap.Advance(s.clock())
	}
	return s.heap.Timeline(pid, start, s.heap.Now()-int64(since), most)
}

// finish notes that nothing more will come, and why.
func (s *session) finish(note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	s.done, s.note = true, note
}

// perHit is about what a probe takes from the program that hits it, in seconds.
const perHit = 1e-6

// frame returns what the terminal interface shows.
func (s *session) frame(q heap.Query) tui.Frame {
	snap := s.snapshot(q)
	var probed uint64
	if s.hits != nil {
		for _, n := range s.hits() {
			probed += n
		}
	}
	why := ""
	if s.noDevices != nil && len(snap.Devices) == 0 && len(snap.Processes) > 0 {
		why = s.noDevices()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if d := now.Sub(s.looked).Seconds(); !s.looked.IsZero() && d > 0 {
		s.rate = float64(snap.Events-s.events) / d
		s.cost = float64(probed-s.probed) * perHit / d
	}
	s.looked, s.events, s.probed = now, snap.Events, probed
	return tui.Frame{Snapshot: snap, Status: tui.Status{Source: s.source, Rate: s.rate, Lost: snap.Lost,
		NoDevices: why, Overhead: s.cost, Done: s.done, Note: s.note}}
}

// replaying returns a session that shows a recording.
func replaying(source string, r *record.Reader) *session {
	s := newSession(source, heap.Options{})
	s.wall = r.Header.Wall
	if r.Writing {
		s.missed = func() []string { return []string{"the recording is still being written"} }
	}
	if r.Damage != nil {
		s.missed = func() []string { return []string{"the recording breaks off: " + r.Damage.Error()} }
	}
	return s
}

// play applies the events of a record file, at its own pace times speed; with speed 0
// all at once. stop ends it early.
func (s *session) play(r *record.Reader, speed float64, stop <-chan struct{}) error {
	var first int64
	start := time.Now()
	for n := 0; ; n++ {
		var e heap.Event
		err := r.Read(&e)
		if err == io.EOF {
			note := fmt.Sprintf("end of the recording: %d events", n)
			if r.Damage != nil {
				note = fmt.Sprintf("the recording breaks off after %d events: %v", n, r.Damage)
			}
			s.finish(note)
			return nil
		}
		if err != nil {
			s.finish(err.Error())
			return err
		}
		if n == 0 {
			first = e.Time
		}
		if speed > 0 {
			if wait := time.Duration(float64(e.Time-first)/speed) - time.Since(start); wait > 0 {
				select {
				case <-time.After(wait):
				case <-stop:
					return nil
				}
			}
		}
		s.apply(&e)
	}
}
