package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// rmmHead are the columns of RMM's logs.
var rmmHead = []string{"Thread", "Time", "Action", "Pointer", "Size", "Stream"}

// day is when the clock of a log, which has no date, begins again.
const day = 24 * time.Hour

// ReadRMM reads a log of RMM's logging resource, or of cuDF's for Spark, which has the same columns and no head.
// Streams are numbered in the order in which they first come. Allocations that failed are skipped, as RMM's own
// replay does.
func ReadRMM(r io.Reader) (*Trace, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(rmmHead)
	in.TrimLeadingSpace = true
	in.ReuseRecord = true
	var b builder
	b.Device = "rmm"
	streams := map[string]int{}
	var first, last, days time.Duration
	for n := 1; ; n++ {
		row, err := in.Read()
		if err == io.EOF {
			return &b.Trace, nil
		}
		if err != nil {
			return nil, fmt.Errorf("trace: rmm: %w", err)
		}
		if n == 1 && row[0] == rmmHead[0] {
			continue
		}
		e, at, err := rmmEvent(row)
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("trace: rmm: line %d: %w", line, err)
		}
		if len(b.Events) == 0 && b.Skipped == 0 {
			first, last = at, at
		}
		if at < last-day/2 {
			days += day // past midnight
		}
		last = at
		e.At = max(0, at+days-first)
		if row[2] == "allocate failure" {
			b.Skipped++
			continue
		}
		number, ok := streams[row[5]]
		if !ok {
			if number = len(streams); number >= maxStream {
				return nil, fmt.Errorf("trace: rmm: more than %d streams", maxStream)
			}
			streams[strings.Clone(row[5])] = number
		}
		e.Stream = number
		b.add(e)
	}
}

// rmmEvent reads a row, but for its stream.
func rmmEvent(row []string) (e Event, at time.Duration, err error) {
	switch row[2] {
	case "allocate", "allocate failure":
	case "free":
		e.Free = true
	default:
		return e, 0, fmt.Errorf("action %q is none of allocate, free, allocate failure", row[2])
	}
	if at, err = clock(row[1]); err != nil {
		return e, 0, err
	}
	if e.Ptr, err = strconv.ParseUint(strings.TrimPrefix(row[3], "0x"), 16, 64); err != nil {
		return e, 0, err
	}
	if e.Size, err = strconv.ParseInt(row[4], 10, 64); err == nil && e.Size < 0 {
		err = fmt.Errorf("size %d", e.Size)
	}
	return e, at, err
}

// clock reads hours, minutes and seconds, with a fraction behind a point or a colon.
func clock(s string) (time.Duration, error) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 3 && len(parts) != 4 {
		return 0, fmt.Errorf("time %q is not HH:MM:SS.ffffff", s)
	}
	var total time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		x, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return 0, fmt.Errorf("time %q: %w", s, errors.Unwrap(err))
		}
		total += time.Duration(x) * unit
	}
	if len(parts) == 4 {
		fraction, err := strconv.ParseFloat("0."+parts[3], 64)
		if err != nil {
			return 0, fmt.Errorf("time %q: %w", s, errors.Unwrap(err))
		}
		total += time.Duration(fraction * float64(time.Second)).Round(time.Microsecond)
	}
	return total, nil
}

// WriteRMM writes t as a log of RMM's, for its own replay. All is of one thread, and the clock begins at
// midnight.
func (t *Trace) WriteRMM(w io.Writer) error {
	out := csv.NewWriter(w)
	err := out.Write(rmmHead)
	for _, e := range t.Events {
		action := "allocate"
		if e.Free {
			action = "free"
		}
		at := e.At % day
		clock := fmt.Sprintf("%02d:%02d:%02d.%06d", at/time.Hour, at/time.Minute%60, at/time.Second%60, at%time.Second/time.Microsecond)
		row := []string{"0", clock, action, fmt.Sprintf("%#x", e.Ptr), strconv.FormatInt(e.Size, 10), fmt.Sprintf("%#x", e.Stream)}
		if err == nil {
			err = out.Write(row)
		}
	}
	out.Flush()
	if err = errors.Join(err, out.Error()); err != nil {
		return fmt.Errorf("trace: rmm: %w", err)
	}
	return nil
}
