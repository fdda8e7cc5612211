package tracker

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lastuse/lastuse/internal/books"
)

// A Kind says what an event was.
type Kind uint8

const (
	Made  = Kind(books.Made)  // allocated
	Freed = Kind(books.Freed) // by a call of Free
	Late  = Kind(books.Late)  // freed by the collector
)

// String returns the kind in one word.
func (k Kind) String() string {
	if words := [...]string{Made: "made", Freed: "freed", Late: "late"}; k >= Made && int(k) < len(words) {
		return words[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Event is one entry of the history.
type Event struct {
	Time    time.Time
	Kind    Kind
	Account string
	Ptr     uintptr
	Size    int64   // bytes
	Stack   []Frame // innermost first; for a late free where the collector's find was taken up
}

// Recording reports whether t keeps a history.
func (t *Tracker) Recording() bool { return t.books.Recording() }

// History returns the last events, the oldest first. It is empty unless Options.History asked
// for one.
func (t *Tracker) History() (all []Event) {
	for _, e := range t.books.History() {
		all = append(all, Event{
			Time: e.Time, Kind: Kind(e.Kind), Account: e.Account, Ptr: e.Ptr, Size: e.Size, Stack: frames(e.PCs),
		})
	}
	return all
}

// saveInterval is the least time between two saves: a program that runs out of
// memory often asks again at once.
const saveInterval = time.Second

// RanOut is called by an allocator that has found no memory. It saves the report with
// the history in Options.HistoryFile, if there is one, at most once a second. The file is
// replaced as a whole and only its owner can read it.
func (t *Tracker) RanOut() error {
	if !t.Recording() || t.historyFile == "" {
		return nil
	}
	now, last := time.Now().UnixNano(), t.saved.Load()
	if now-last < int64(saveInterval) || !t.saved.CompareAndSwap(last, now) {
		return nil
	}
	var b bytes.Buffer
	if err := t.WriteText(&b); err != nil {
		return err
	}
	if err := replaceFile(t.historyFile, b.Bytes()); err != nil {
		return fmt.Errorf("tracker: save history: %w", err)
	}
	return nil
}

// replaceFile gives the file at path the contents b. A file that is there is never left half
// written, and a link is replaced, not followed.
func replaceFile(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // for its owner only
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeHistory writes the history for people to read.
func (t *Tracker) writeHistory(w io.Writer) {
	if !t.Recording() {
		return
	}
	events := t.History()
	fmt.Fprintf(w, "\nlast %d events\n", len(events))
	for _, e := range events {
		at := e.Time.UTC().Format("15:04:05.000000")
		fmt.Fprintf(w, "%s %-5s %#x %d bytes, %s\n", at, e.Kind, e.Ptr, e.Size, e.Account)
		for _, f := range e.Stack {
			fmt.Fprintf(w, "\t%s\n\t\t%v\n", f.Function, f)
		}
	}
}
