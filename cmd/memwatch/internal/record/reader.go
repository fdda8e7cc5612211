package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// A FormatError says where a file stops making sense.
type FormatError struct {
	Offset int64  // bytes from the start of the file: of the chunk, or of the end
	Reason string // "": it does not begin like one
	short  bool   // it makes sense as far as it goes
}

func (e *FormatError) Error() string {
	if e.Reason == "" {
		return ErrFormat.Error()
	}
	return fmt.Sprintf("%v: at byte %d: %s", ErrFormat, e.Offset, e.Reason)
}

// Is reports whether target is ErrFormat.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

// A Reader reads the events of a record file. It is not safe for use by several
// goroutines.
type Reader struct {
	Header  Header
	Damage  *FormatError // why a file that was opened by Open ends before its end; nil if it is whole
	Writing bool         // it was still being written when it was opened

	r     *bufio.Reader
	f     *os.File // nil: somebody else's
	at    int64    // where the next chunk begins
	start int64    // where the chunk in hand began
	dec   *decoder
	buf   []byte
	count uint64
	part  bool // what is there after good events is not read
	good  uint64
	done  bool
}

// Open opens the file at path, checks all of it, and returns a Reader at its first event. A file that is cut
// off or damaged ends there for the Reader, which says so in Damage; one without any event before that is
// refused. One that is still being written ends where it does now. Only regular files are opened; a FIFO does
// not block.
func Open(path string) (*Reader, error) { return openFile(path, open) }

// Follow is Open, but for a file that is still being written the Reader waits for what comes, until that has
// ended or stop is closed. What of it is damaged is an error of Read.
func Follow(path string, stop <-chan struct{}) (*Reader, error) {
	return openFile(path, func(f *os.File) (*Reader, error) {
		if !beingWritten(f) {
			return open(f)
		}
		r, err := NewReader(&tail{f, stop})
		if err == nil {
			r.f, r.Writing = f, true
		}
		return r, err
	})
}

func openFile(path string, open func(*os.File) (*Reader, error)) (*Reader, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // which names the path
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", ErrFormat)
	}
	var r *Reader
	if err == nil {
		r, err = open(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func open(f *os.File) (*Reader, error) {
	writing := beingWritten(f)
	good, err := Check(f)
	var damage *FormatError
	if errors.As(err, &damage) && damage.short && writing {
		damage = nil
	} else if writing = false; err != nil && (good == 0 || damage == nil) {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, err
	}
	r.f, r.Damage, r.Writing, r.part, r.good = f, damage, writing, writing || damage != nil, good
	return r, nil
}

// Check reads a file to its end and returns the number of its events.
func Check(r io.Reader) (uint64, error) {
	d, err := NewReader(r)
	if err != nil {
		return 0, err
	}
	var e heap.Event
	for {
		if err := d.Read(&e); err == io.EOF {
			return d.count, nil
		} else if err != nil {
			return d.count, err
		}
	}
}

// NewReader reads the header of a record file.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{r: bufio.NewReaderSize(r, 64<<10), dec: newDecoder()}
	var head [headerSize]byte
	n, err := io.ReadFull(d.r, head[:])
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, &FormatError{Offset: int64(n), Reason: "the file ends in its first bytes"}
	case err != nil:
		return nil, err
	case string(head[:7]) != magic:
		return nil, &FormatError{}
	case head[7] != version:
		return nil, &FormatError{Offset: 7, Reason: fmt.Sprintf("version %d, and only %d is known", head[7], version)}
	}
	d.at = headerSize
	if err := d.next(); err != nil {
		return nil, err
	}
	d.Header.Wall = unzigzag(d.dec.uint())
	d.Header.Tool = d.dec.text()
	if len(d.dec.b) > 0 {
		d.dec.fail("the header is longer than it should be")
	}
	if d.dec.err != nil {
		return nil, d.wrong(d.dec.err)
	}
	return d, nil
}

// Read reads the next event into e. After the last it returns io.EOF.
func (d *Reader) Read(e *heap.Event) error {
	if d.done || d.part && d.count == d.good {
		return io.EOF
	}
	for len(d.dec.b) == 0 {
		if err := d.next(); err != nil {
			return err
		}
	}
	err := d.dec.event(e, d.count)
	switch {
	case errors.Is(err, errEnd):
		d.done = true
		if _, err := d.r.ReadByte(); len(d.dec.b) > 0 || err != io.EOF {
			return &FormatError{Offset: d.at, Reason: "it goes on after its end"}
		}
		return io.EOF
	case err != nil:
		return d.wrong(err)
	}
	d.count++
	return nil
}

// Close closes the file if Open opened it.
func (d *Reader) Close() error {
	if d.f == nil {
		return nil
	}
	return d.f.Close()
}

// next reads a chunk.
func (d *Reader) next() error {
	d.start = d.at
	var head [8]byte
	if n, err := io.ReadFull(d.r, head[:]); err != nil {
		return d.short(err, n)
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 0 || size > maxChunk {
		return &FormatError{Offset: d.at, Reason: fmt.Sprintf("a chunk of %d bytes, and at most %d are possible", size, maxChunk)}
	}
	if cap(d.buf) < int(size) {
		d.buf = make([]byte, size)
	}
	d.buf = d.buf[:size]
	if n, err := io.ReadFull(d.r, d.buf); err != nil {
		return d.short(err, 8+n)
	}
	if sum := crc32.Checksum(d.buf, castagnoli); sum != binary.LittleEndian.Uint32(head[4:]) {
		return &FormatError{Offset: d.at, Reason: fmt.Sprintf("a chunk of %d bytes is damaged", size)}
	}
	d.at += 8 + int64(size)
	d.dec.b = d.buf
	return nil
}

// short explains an error of reading after n bytes of a chunk.
func (d *Reader) short(err error, n int) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &FormatError{d.at + int64(n), "the file ends before its end record", true}
	}
	return err
}

func (d *Reader) wrong(err error) error {
	return &FormatError{Offset: d.start, Reason: err.Error()}
}
