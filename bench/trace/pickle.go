package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Python's pickles are programs for a small machine with a stack. This one runs those that make plain data: numbers,
// strings, lists, tuples and dicts with strings for keys. All that would look up or call something of Python's is
// refused, so a pickle from anywhere may be read.

// maxPickled bounds one string or integer of a pickle, in bytes.
const maxPickled = 1 << 28

// A list is one of Python's. It may be reached in several ways, so it is one object.
type list struct{ items []any }

// A mark is what MARK leaves on the stack.
type mark struct{}

// An unpickler is the machine.
type unpickler struct {
	in    *bufio.Reader
	stack []any
	memo  map[uint64]any
}

var errPickle = errors.New("the pickle is damaged")

// unpickle returns what a pickle makes: nil, bool, int64, float64, string, []byte, []any (a tuple), *list or
// map[string]any.
func unpickle(r io.Reader) (any, error) {
	u := &unpickler{in: bufio.NewReaderSize(r, 1<<16), memo: map[uint64]any{}}
	for {
		op, err := u.in.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errPickle, noEOF(err))
		}
		if op == '.' {
			return u.pop()
		}
		if err := u.step(op); err != nil {
			return nil, err
		}
	}
}

// noEOF returns err, which is no regular end.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// step runs one instruction.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := u.number(1)
		return err
	case 0x95: // FRAME
		_, err := u.number(8)
		return err
	case '(':
		u.push(mark{})
	case 'N':
		u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		u.push(op == 0x88)
	case 'K', 'M', 'J', 0x8a, 0x8b, 'G':
		return u.pushNumber(op)
	case 'X', 0x8c, 0x8d, 'C', 'B', 0x8e:
		return u.pushText(op)
	case ']':
		u.push(&list{})
	case '}':
		u.push(map[string]any{})
	case ')':
		u.push([]any(nil))
	case 't', 0x85, 0x86, 0x87:
		return u.tuple(op)
	case 'a', 'e':
		return u.extend(op)
	case 's', 'u':
		return u.set(op)
	case 'q', 'r', 0x94, 'h', 'j':
		return u.remember(op)
	case '0':
		_, err := u.pop()
		return err
	default:
		return fmt.Errorf("the pickle holds more than plain data: instruction %#x", op)
	}
	return nil
}

func (u *unpickler) push(x any) { u.stack = append(u.stack, x) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errPickle
	}
	x := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return x, nil
}

// top returns the uppermost value and leaves it.
func (u *unpickler) top() (any, error) {
	if len(u.stack) == 0 {
		return nil, errPickle
	}
	return u.stack[len(u.stack)-1], nil
}

// above takes what lies above the uppermost mark, and the mark.
func (u *unpickler) above() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(mark); ok {
			items := append([]any(nil), u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, errPickle
}

// number reads n bytes of a number without a sign, the least significant first.
func (u *unpickler) number(n int) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(u.in, b[:n]); err != nil {
		return 0, fmt.Errorf("%w: %w", errPickle, noEOF(err))
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// bytes reads n bytes, of which there may be fewer than a damaged pickle says.
func (u *unpickler) bytes(n uint64) ([]byte, error) {
	if n > maxPickled {
		return nil, errPickle
	}
	b, err := io.ReadAll(io.LimitReader(u.in, int64(n)))
	if err == nil && uint64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPickle, err)
	}
	return b, nil
}

// pushNumber reads an integer or a float.
func (u *unpickler) pushNumber(op byte) error {
	if op == 0x8a || op == 0x8b { // LONG1, LONG4: as many bytes as it needs, in two's complement
		n, err := u.number(map[byte]int{0x8a: 1, 0x8b: 4}[op])
		if err != nil {
			return err
		}
		b, err := u.bytes(n)
		if err != nil {
			return err
		}
		x, err := integer(b)
		u.push(x)
		return err
	}
	x, err := u.number(map[byte]int{'K': 1, 'M': 2, 'J': 4, 'G': 8}[op])
	switch op {
	case 'J':
		u.push(int64(int32(x)))
	case 'G': // the most significant byte first
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b[:])))
	default:
		u.push(int64(x))
	}
	return err
}

// integer returns a number in two's complement. One of 64 bits without a sign, as an address or a stream may be,
// keeps its bits.
func integer(b []byte) (int64, error) {
	if len(b) == 9 && b[8] == 0 {
		b = b[:8]
	}
	if len(b) > 8 {
		return 0, fmt.Errorf("the pickle has an integer of %d bytes", len(b))
	}
	var x int64
	for i, c := range b {
		x |= int64(c) << (8 * i)
	}
	if n := len(b); n > 0 && n < 8 && b[n-1] >= 0x80 {
		x -= 1 << (8 * n)
	}
	return x, nil
}

// pushText reads a string or bytes.
func (u *unpickler) pushText(op byte) error {
	n, err := u.number(map[byte]int{0x8c: 1, 'X': 4, 0x8d: 8, 'C': 1, 'B': 4, 0x8e: 8}[op])
	if err != nil {
		return err
	}
	b, err := u.bytes(n)
	if op == 'C' || op == 'B' || op == 0x8e {
		u.push(b)
	} else {
		u.push(string(b))
	}
	return err
}

// tuple makes one of what lies above the mark, or of the uppermost one, two or three.
func (u *unpickler) tuple(op byte) error {
	if op == 't' {
		items, err := u.above()
		u.push(items)
		return err
	}
	n := int(op) - 0x84
	if len(u.stack) < n {
		return errPickle
	}
	items := append([]any(nil), u.stack[len(u.stack)-n:]...)
	u.stack = append(u.stack[:len(u.stack)-n], items)
	return nil
}

// extend appends one value, or those above the mark, to the list below them.
func (u *unpickler) extend(op byte) error {
	var items []any
	var err error
	if op == 'a' {
		var x any
		x, err = u.pop()
		items = []any{x}
	} else {
		items, err = u.above()
	}
	if err != nil {
		return err
	}
	to, err := u.top()
	if err != nil {
		return err
	}
	l, ok := to.(*list)
	if !ok {
		return errPickle
	}
	l.items = append(l.items, items...)
	return nil
}

// set puts one key with its value, or those above the mark, into the dict below them. Keys that are no strings are
// left out: nothing that is read here has any.
func (u *unpickler) set(op byte) error {
	var items []any
	var err error
	if op == 's' {
		if len(u.stack) < 2 {
			return errPickle
		}
		items = append(items, u.stack[len(u.stack)-2:]...)
		u.stack = u.stack[:len(u.stack)-2]
	} else if items, err = u.above(); err != nil {
		return err
	}
	to, err := u.top()
	if err != nil {
		return err
	}
	d, ok := to.(map[string]any)
	if !ok || len(items)%2 != 0 {
		return errPickle
	}
	for i := 0; i < len(items); i += 2 {
		if key, ok := items[i].(string); ok {
			d[key] = items[i+1]
		}
	}
	return nil
}

// remember stores the uppermost value in the memo, or pushes one from there.
func (u *unpickler) remember(op byte) error {
	at := uint64(len(u.memo)) // MEMOIZE
	if op != 0x94 {
		var err error
		if at, err = u.number(map[byte]int{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' {
		x, ok := u.memo[at]
		if !ok {
			return errPickle
		}
		u.push(x)
		return nil
	}
	x, err := u.top()
	u.memo[at] = x
	return err
}
