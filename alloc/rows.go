package alloc

import (
	"errors"
	"fmt"
	"unsafe"
)

// Copies of rectangles: rows of elements that lie a pitch apart, which may be another one on either side.

// Copy2D copies height rows of width elements from src to dst, in stream order on s. The first row begins
// with the first element of either; from one row to the next there are dstPitch and srcPitch elements. Both
// may be buffers or views: a view that begins elsewhere is a rectangle that begins there. Rows that do not
// fit, or that lie on one another, are an [ErrSize]; what arrives where dst and src overlap is unspecified.
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg dstPitch borrowed, arg srcPitch borrowed
//lastuse:effect arg width borrowed, arg height borrowed, arg s borrowed
func Copy2D[T any, D, S interface{ All() View[T] }](s *Stream, dst D, dstPitch int, src S, srcPitch,
	width, height int) error {
	to, from := rowSide{part: dst.All().part, pitch: dstPitch}, rowSide{part: src.All().part, pitch: srcPitch}
	return copyRows("copy of rows", s, &to, &from, width, height, unsafe.Sizeof(*(*T)(nil)))
}

// Upload2D is [Copy2D] from page-locked memory, without waiting: see [Upload].
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg dstPitch borrowed, arg srcPitch borrowed
//lastuse:effect arg width borrowed, arg height borrowed, arg s borrowed
func Upload2D[T any, D interface{ All() View[T] }](s *Stream, dst D, dstPitch int, src Pinned[T], srcPitch,
	width, height int) error {
	to, from := rowSide{part: dst.All().part, pitch: dstPitch}, src.rows(srcPitch)
	return copyRows("upload of rows", s, &to, &from, width, height, unsafe.Sizeof(*(*T)(nil)))
}

// Download2D is [Copy2D] to page-locked memory, without waiting: see [Download].
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg dstPitch borrowed, arg srcPitch borrowed
//lastuse:effect arg width borrowed, arg height borrowed, arg s borrowed
func Download2D[T any, S interface{ All() View[T] }](s *Stream, dst Pinned[T], dstPitch int, src S, srcPitch,
	width, height int) error {
	to, from := dst.rows(dstPitch), rowSide{part: src.All().part, pitch: srcPitch}
	return copyRows("download of rows", s, &to, &from, width, height, unsafe.Sizeof(*(*T)(nil)))
}

func (p Pinned[T]) rows(pitch int) rowSide {
	return rowSide{part: part{n: p.n}, pinned: p.header, gen: p.gen, host: true, pitch: pitch}
}

// A rowSide is where the rows of a copy lie on one side.
type rowSide struct {
	part   part // of device memory; of page-locked memory only how many elements there are
	pinned *pinnedHeader
	gen    uint64
	host   bool
	pitch  int // elements
	use    PinnedUse
	rows   Rows
}

// fits returns an error unless there is room for the rows. Of a single row the pitch does not matter.
func (r *rowSide) fits(width, height int) error {
	switch n := r.part.n; {
	case height == 1:
		r.pitch = width
	case r.pitch < width:
		return fmt.Errorf("rows of %d elements, %d apart: %w", width, r.pitch, ErrSize)
	case n >= width && (n-width)/r.pitch >= height-1:
	default:
		return fmt.Errorf("%d rows of %d elements, %d apart, in %d: %w", height, width, r.pitch, n, ErrSize)
	}
	if width > r.part.n {
		return fmt.Errorf("a row of %d elements in %d: %w", width, r.part.n, ErrSize)
	}
	return nil
}

// begin pins the side for work on s and finds its address. If the error is nil, end must follow.
func (r *rowSide) begin(s *Stream, op string, elem uintptr) (err error) {
	r.rows.Pitch = int64(r.pitch) * int64(elem)
	if !r.host {
		r.rows.Ptr, err = r.part.begin(s, op)
		return err
	}
	if r.use, err = s.beginPinned(r.pinned, r.gen, int64(r.part.n)*int64(elem)); err == nil {
		r.rows.Host = r.use.Ptr
	}
	return err
}

func (r *rowSide) end(s *Stream) {
	if r.host {
		r.use.End()
	} else {
		r.part.end(s)
	}
}

func copyRows(op string, s *Stream, dst, src *rowSide, width, height int, elem uintptr) error {
	if width < 0 || height < 0 {
		return fmt.Errorf("alloc: %s: %d rows of %d elements: %w", op, height, width, ErrSize)
	}
	if err := s.open(); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	none := width == 0 || height == 0 || elem == 0 // but what is named must be there
	for _, r := range [...]*rowSide{dst, src} {
		if none {
			break
		}
		if err := r.fits(width, height); err != nil {
			return fmt.Errorf("alloc: %s: %w", op, err)
		}
	}
	if err := dst.begin(s, op, elem); err != nil {
		return err
	}
	defer dst.end(s)
	if err := src.begin(s, op, elem); err != nil {
		return err
	}
	defer src.end(s)
	if none {
		return nil
	}
	err := s.core.copyRows(s.heap.line.handle, dst.rows, src.rows, int64(width)*int64(elem), int64(height))
	if err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	return nil
}

// copyRows enqueues a copy of rows of width bytes. A device that has no call for that copies row after row.
func (c *core) copyRows(stream uintptr, dst, src Rows, width, height int64) error {
	if d, ok := c.dev.(RowCopier); ok {
		if err := d.CopyRows(stream, dst, src, width, height); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for range height {
		var err error
		switch {
		case src.Host != nil:
			err = c.transfer(stream, dst.Ptr, src.Host, width, true)
		case dst.Host != nil:
			err = c.transfer(stream, src.Ptr, dst.Host, width, false)
		default:
			err = c.dev.Copy(stream, dst.Ptr, src.Ptr, width)
		}
		if err != nil {
			return err
		}
		dst, src = dst.next(), src.next()
	}
	return nil
}

// next returns r from its second row on.
func (r Rows) next() Rows {
	if r.Host != nil {
		r.Host = unsafe.Add(r.Host, r.Pitch)
	} else {
		r.Ptr += Ptr(r.Pitch)
	}
	return r
}
