package heap

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The text form of events, for golden tests and for people. One event a line:
//
//	TIME OP PID/TID KEY=VALUE …
//
// TIME is in seconds with up to nine decimals. A value with a space or a quote is
// quoted as in Go. Keys whose value is zero are left out. A frame is
// "func file:line module pc", each part quoted by the rule above. Text after #
// at the start of a line is a comment.

// ErrSyntax is in the chain of every error about text that is no event.
var ErrSyntax = errors.New("not an event")

// String returns the event's text form.
func (e *Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d/%d", seconds(e.Time), e.Op, e.PID, e.TID)
	put := func(key, value string, zero bool) {
		if !zero {
			b.WriteString(" " + key + "=" + value)
		}
	}
	num := func(key string, v uint64) { put(key, strconv.FormatUint(v, 10), v == 0) }
	hex := func(key string, v uint64) { put(key, "0x"+strconv.FormatUint(v, 16), v == 0) }
	put("space", e.Space.String(), e.Space == 0)
	hex("addr", e.Addr)
	num("size", e.Size)
	put("class", e.Class.String(), e.Class == 0)
	put("owner", e.Owner.String(), e.Owner == 0)
	put("dev", strconv.Itoa(int(e.Device)), e.Device == 0)
	put("code", strconv.Itoa(int(e.Code)), e.Code == 0)
	put("begin", seconds(e.Begin), e.Begin == 0)
	hex("aux", e.Aux)
	hex("ctx", e.Ctx)
	hex("stream", e.Stream)
	hex("pool", e.Pool)
	hex("stack", e.Stack)
	num("g", e.Goroutine)
	put("text", quote(e.Text), e.Text == "")
	for _, f := range e.Frames {
		put("frame", strconv.Quote(fmt.Sprintf("%s %s:%d %s 0x%x", quote(f.Func), quote(f.File), f.Line, quote(f.Module), f.PC)), false)
	}
	return b.String()
}

// ParseLog reads events in their text form and hands each to do. An error names
// the line.
func ParseLog(r io.Reader, do func(*Event)) error {
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(all), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := ParseEvent(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		do(e)
	}
	return nil
}

// ParseEvent reads the text form of one event.
func ParseEvent(line string) (*Event, error) {
	words, err := split(line)
	if err != nil {
		return nil, err
	}
	if len(words) < 3 {
		return nil, fmt.Errorf("%w: %q: want TIME OP PID/TID", ErrSyntax, line)
	}
	e := new(Event)
	if e.Time, err = parseSeconds(words[0]); err != nil {
		return nil, err
	}
	op, err := index(opNames[:], words[1])
	if err != nil {
		return nil, err
	}
	e.Op = Op(op)
	pid, tid, _ := strings.Cut(words[2], "/")
	if err := errors.Join(number(pid, &e.PID), number(tid, &e.TID)); err != nil {
		return nil, err
	}
	for _, w := range words[3:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%w: %q is no KEY=VALUE", ErrSyntax, w)
		}
		if err := e.set(key, value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return e, nil
}

// set gives the field named key its value.
func (e *Event) set(key, value string) error {
	enum := func(names []string, to *uint8) error {
		i, err := index(names, value)
		*to = uint8(i)
		return err
	}
	switch key {
	case "space":
		return enum(spaceNames[:], (*uint8)(&e.Space))
	case "class":
		return enum(classNames[:], (*uint8)(&e.Class))
	case "owner":
		return enum(ownerNames[:], (*uint8)(&e.Owner))
	case "addr":
		return number(value, &e.Addr)
	case "size":
		return number(value, &e.Size)
	case "aux":
		return number(value, &e.Aux)
	case "ctx":
		return number(value, &e.Ctx)
	case "stream":
		return number(value, &e.Stream)
	case "pool":
		return number(value, &e.Pool)
	case "stack":
		return number(value, &e.Stack)
	case "g":
		return number(value, &e.Goroutine)
	case "dev":
		return signed(value, &e.Device)
	case "code":
		return signed(value, &e.Code)
	case "begin":
		var err error
		e.Begin, err = parseSeconds(value)
		return err
	case "text":
		e.Text = value
		return nil
	case "frame":
		words, err := split(value)
		if err != nil || len(words) != 4 {
			return fmt.Errorf("%w: frame %q", ErrSyntax, value)
		}
		at := strings.LastIndexByte(words[1], ':')
		if at < 0 {
			return fmt.Errorf("%w: frame %q has no line", ErrSyntax, value)
		}
		f := Frame{Func: words[0], File: words[1][:at], Module: words[2]}
		var line int32
		if err := errors.Join(signed(words[1][at+1:], &line), number(words[3], &f.PC)); err != nil {
			return err
		}
		f.Line = int(line)
		e.Frames = append(e.Frames, f)
		return nil
	}
	return fmt.Errorf("%w: unknown key", ErrSyntax)
}

// split cuts a line at spaces outside quotes and takes the quotes away.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var word strings.Builder
		for line != "" && line[0] != ' ' {
			if line[0] != '"' {
				word.WriteByte(line[0])
				line = line[1:]
				continue
			}
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("%w: open quote in %q", ErrSyntax, line)
			}
			s, err := strconv.Unquote(q)
			if err != nil {
				return nil, fmt.Errorf("%w: %q", ErrSyntax, q)
			}
			word.WriteString(s)
			line = line[len(q):]
		}
		words = append(words, word.String())
	}
	return words, nil
}

func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \"\\") && strconv.Quote(s) == `"`+s+`"` {
		return s
	}
	return strconv.Quote(s)
}

func seconds(ns int64) string {
	s := fmt.Sprintf("%d.%09d", ns/1e9, max(ns%1e9, 0))
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func parseSeconds(s string) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 9 {
		return 0, fmt.Errorf("%w: time %q", ErrSyntax, s)
	}
	ns, err := strconv.ParseInt(whole+(frac + "000000000")[:9], 10, 64)
	if err != nil || ns < 0 {
		return 0, fmt.Errorf("%w: time %q", ErrSyntax, s)
	}
	return ns, nil
}

func index(names []string, s string) (int, error) {
	for i, n := range names {
		if n == s && s != "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: %q is unknown here", ErrSyntax, s)
}

func number[T uint32 | uint64](s string, to *T) error {
	bits := 64
	if _, ok := any(to).(*uint32); ok {
		bits = 32
	}
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return fmt.Errorf("%w: number %q", ErrSyntax, s)
	}
	*to = T(n)
	return nil
}

func signed(s string, to *int32) error {
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return fmt.Errorf("%w: number %q", ErrSyntax, s)
	}
	*to = int32(n)
	return nil
}
