package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// ErrSnapshot is in the chain of errors about text that is no snapshot of this version.
var ErrSnapshot = errors.New("not a snapshot of memwatch")

const (
	maxDocument = 256 << 20 // bytes
	maxBytes    = 1 << 56   // that a snapshot may tell of
)

// ReadJSON reads the last of the snapshots that JSON or JSONLine wrote one after another. The text may come
// from anywhere: what cannot be is refused.
func ReadJSON(r io.Reader) (*heap.Snapshot, error) {
	limited := &io.LimitedReader{R: r, N: maxDocument + 1}
	d := json.NewDecoder(limited)
	var last *heap.Snapshot
	for {
		var doc document
		err := d.Decode(&doc)
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("%w: it is larger than %d MiB", ErrSnapshot, maxDocument>>20)
		case err == io.EOF && last != nil:
			return last, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
		case doc.Schema != Schema || doc.Snapshot == nil:
			return nil, fmt.Errorf("%w: its schema is %q, and only %q is known", ErrSnapshot, doc.Schema, Schema)
		}
		if err := plausible(doc.Snapshot); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		for i := range doc.Processes {
			heap.Name(doc.Processes[i].Sites)
		}
		last = doc.Snapshot
	}
}

// plausible refuses sizes that nothing has, so that sums of them are right.
func plausible(s *heap.Snapshot) error {
	bad := func(all ...int64) bool {
		for _, n := range all {
			if n < 0 || n > maxBytes {
				return true
			}
		}
		return false
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		if bad(p.Live, p.AtExit, p.Objects, p.AtExitObjects, int64(p.Hidden)) {
			return fmt.Errorf("process %d: a size that cannot be", p.PID)
		}
		for j := range p.Sites {
			if t := &p.Sites[j]; bad(t.Live, t.AtExitBytes, t.Objects, t.AtExitObjects) || t.Class == "" {
				return fmt.Errorf("process %d: site %d: a size that cannot be, or no class", p.PID, j)
			}
		}
	}
	return nil
}
