package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// ErrFull is returned by Write when the file has reached its bound. The file is
// still good: Close ends it.
var ErrFull = errors.New("the record file is full")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Header says when a session was recorded, and with what.
type Header struct {
	Wall int64  // nanoseconds since 1970 at time 0 of the events
	Tool string // name and version of what wrote the file
}

// A Writer records events. It is not safe for use by several goroutines.
type Writer struct {
	w     io.Writer
	c     io.Closer // nil: nothing to close
	sync  func() error
	limit int64 // bytes of the file
	size  int64
	enc   *encoder
	chunk []byte
	count uint64
	err   error
}

// Create makes the file at path, which must not exist, and writes at most limit
// bytes to it; 0 stands for 1 GiB.
func Create(path string, limit int64, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: create: %w", err)
	}
	claim(f)
	w, err := NewWriter(f, limit, h)
	if err != nil {
		f.Close()
		return nil, err
	}
	w.c, w.sync = f, f.Sync
	return w, nil
}

// NewWriter writes a record file of at most limit bytes to w; 0 stands for 1 GiB.
func NewWriter(w io.Writer, limit int64, h Header) (*Writer, error) {
	if limit <= 0 {
		limit = 1 << 30
	}
	r := &Writer{w: w, limit: limit, enc: newEncoder()}
	r.write(append([]byte(magic), version))
	r.chunk = binary.AppendVarint(r.chunk, h.Wall)
	r.chunk = r.enc.text(r.chunk, h.Tool)
	r.flush()
	return r, r.err
}

// Write records an event. After an error nothing more is written.
func (w *Writer) Write(e *heap.Event) error {
	if w.err != nil {
		return w.err
	}
	// The end record and the chunk in hand must still fit.
	if w.size+int64(len(w.chunk))+softChunk > w.limit {
		w.flush()
		if w.err == nil && w.size+softChunk > w.limit {
			w.err = ErrFull
		}
		if w.err != nil {
			return w.err
		}
	}
	w.chunk = w.enc.event(w.chunk, e)
	w.count++
	if len(w.chunk) >= softChunk {
		w.flush()
	}
	return w.err
}

// Flush hands what was recorded so far to the file.
func (w *Writer) Flush() error {
	if len(w.chunk) > 0 && w.err == nil {
		w.flush()
	}
	return w.err
}

// Close ends the file. One that was not closed is read up to the latest Flush.
func (w *Writer) Close() error {
	if errors.Is(w.err, ErrFull) {
		w.err = nil
	}
	if err := w.Flush(); err == nil {
		w.chunk = binary.AppendUvarint(append(w.chunk, endOp), w.count)
		w.flush()
	}
	err := w.err
	if w.err == nil {
		w.err = os.ErrClosed
	}
	if w.sync != nil && err == nil {
		err = w.sync()
	}
	if w.c != nil {
		err = errors.Join(err, w.c.Close())
	}
	if err != nil {
		return fmt.Errorf("record: close: %w", err)
	}
	return nil
}

// Count returns how many events were recorded.
func (w *Writer) Count() uint64 { return w.count }

// flush writes the chunk in hand.
func (w *Writer) flush() {
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(w.chunk)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(w.chunk, castagnoli))
	w.write(head[:])
	w.write(w.chunk)
	w.chunk = w.chunk[:0]
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	w.size += int64(n)
	if err != nil {
		w.err = fmt.Errorf("record: write: %w", err)
	}
}
