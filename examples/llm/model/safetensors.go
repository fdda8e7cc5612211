package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/half"
)

// ErrSafetensors says that a file is no safetensors file, or one that contradicts itself.
var ErrSafetensors = errors.New("bad safetensors file: get it anew, or name another")

// Safetensors is a file of tensors with names: eight bytes that say how long its header is, the header in
// JSON, and the numbers. It is a Source.
type Safetensors struct {
	file   File
	name   string
	data   int64 // where the numbers begin
	header map[string]entry
}

// A File is where a file is read from, such as an *os.File.
type File interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// An entry says where a tensor is.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // two, behind the header: first byte, and the one behind the last
}

// maxHeader is the largest header that the format allows, in bytes.
const maxHeader = 100_000_000

// widths are the bytes of one number, of the types that there may be.
var widths = map[string]int64{"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "F16": 2,
	"BF16": 2, "I32": 4, "U32": 4, "F32": 4, "F64": 8, "I64": 8, "U64": 8}

// OpenSafetensors reads a file's header and checks all that it says against the file. Close closes the file.
func OpenSafetensors(f File) (*Safetensors, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t := &Safetensors{file: f, name: info.Name()}
	var length [8]byte
	if n, err := f.ReadAt(length[:], 0); n < len(length) {
		return nil, t.bad("no header: %v", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > info.Size()-8 {
		return nil, t.bad("a header of %d bytes: the file has %d, and no header more than %d", n, info.Size(), maxHeader)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, 8); err != nil {
		return nil, t.bad("header: %v", err)
	}
	t.data, t.header = 8+int64(n), map[string]entry{}
	if err := t.parse(text); err != nil {
		return nil, err
	}
	return t, t.check(info.Size() - t.data)
}

// parse reads the header, an object in which each name stands once.
func (t *Safetensors) parse(text []byte) error {
	var object map[string]json.RawMessage // which would take the last of two
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return t.bad("header: %v", cmp.Or(err, errors.New("null")))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return t.bad("header: %v", err)
		}
		name := key.(string)
		if name == "__metadata__" {
			err = d.Decode(new(json.RawMessage))
		} else {
			var e entry
			if _, twice := t.header[name]; twice {
				return t.bad("tensor %q stands there twice", name)
			}
			if err = d.Decode(&e); err == nil && len(e.Offsets) != 2 {
				return t.bad("tensor %q has %d offsets: want 2", name, len(e.Offsets))
			}
			t.header[name] = e
		}
		if err != nil {
			return t.bad("tensor %q: %v", name, err)
		}
	}
	return nil
}

func (t *Safetensors) bad(format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", t.name, fmt.Sprintf(format, args...), ErrSafetensors)
}

// check compares what the header says with how many bytes there are: every tensor as large as its shape, one
// behind the other, up to the end.
func (t *Safetensors) check(size int64) error {
	names := make([]string, 0, len(t.header))
	for name, e := range t.header {
		names = append(names, name)
		width, ok := widths[e.Type]
		if !ok {
			return t.bad("tensor %q: numbers of type %q", name, e.Type)
		}
		n := width
		for _, d := range e.Shape {
			if d < 0 || d > 0 && n > math.MaxInt64/d {
				return t.bad("tensor %q: shape %v", name, e.Shape)
			}
			n *= d
		}
		switch from, to := e.Offsets[0], e.Offsets[1]; {
		case from < 0 || to < from || to > size:
			return t.bad("tensor %q: bytes %d to %d, of %d", name, from, to, size)
		case to-from != n:
			return t.bad("tensor %q: %d bytes, shape %v of %s wants %d", name, to-from, e.Shape, e.Type, n)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := t.header[a].Offsets, t.header[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	end := int64(0)
	for _, name := range names {
		if from := t.header[name].Offsets[0]; from != end {
			return t.bad("tensor %q begins at byte %d, the one before ends at %d", name, from, end)
		}
		end = t.header[name].Offsets[1]
	}
	if end != size {
		return t.bad("the last tensor ends at byte %d of %d", end, size)
	}
	return nil
}

// Close closes the file.
func (t *Safetensors) Close() error { return t.file.Close() }

// Config returns the sizes of the model in the file. What no shape says is taken from the family: a head has
// 64 numbers, or 16 in a model less than 512 wide.
func (t *Safetensors) Config(context int) (Config, error) {
	c := Config{Context: context}
	for _, name := range []string{"model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.weight",
		"model.layers.0.mlp.gate_proj.weight"} {
		if e, ok := t.header[name]; !ok || len(e.Shape) != 2 {
			return c, t.bad("no matrix %q, which models of the Llama family have", name)
		}
	}
	shape := func(name string) (rows, cols int) {
		e := t.header[name]
		return int(e.Shape[0]), int(e.Shape[1])
	}
	c.Vocab, c.Width = shape("model.embed_tokens.weight")
	head := 64
	if c.Width < 512 {
		head = 16
	}
	c.Heads = c.Width / head
	keys, _ := shape("model.layers.0.self_attn.k_proj.weight")
	c.KVHeads = keys / head
	c.Hidden, _ = shape("model.layers.0.mlp.gate_proj.weight")
	for ok := true; ok; c.Layers++ {
		_, ok = t.header[fmt.Sprintf("model.layers.%d.self_attn.k_proj.weight", c.Layers+1)]
	}
	if err := c.check(); err != nil {
		return c, t.bad("%v", err)
	}
	for _, want := range c.tensors() {
		if _, err := t.find(want); err != nil {
			return c, err
		}
	}
	return c, nil
}

// find returns where a tensor is.
func (t *Safetensors) find(want tensor) (entry, error) {
	e, ok := t.header[want.name]
	shape := []int64{int64(want.rows), int64(want.cols)}
	if want.gain() {
		shape = shape[1:]
	}
	switch {
	case !ok:
		return e, t.bad("no tensor %q", want.name)
	case !slices.Equal(e.Shape, shape):
		return e, t.bad("tensor %q has shape %v, the model wants %v", want.name, e.Shape, shape)
	case e.Type != "BF16" && e.Type != "F16" && e.Type != "F32":
		return e, t.bad("tensor %q: numbers of type %s: want BF16, F16 or F32", want.name, e.Type)
	}
	return e, nil
}

// piece is how many numbers are read at once.
const piece = 1 << 20

func (t *Safetensors) load(s *alloc.Stream, _ *Kernels, c Config, weights alloc.Buffer[Half]) error {
	at := 0
	raw, numbers := make([]byte, 4*piece), make([]Half, piece)
	for _, want := range c.tensors() {
		e, err := t.find(want)
		if err != nil {
			return err
		}
		width := int(widths[e.Type])
		for done := 0; done < want.len(); {
			n := min(piece, want.len()-done)
			if _, err := t.file.ReadAt(raw[:n*width], t.data+e.Offsets[0]+int64(done*width)); err != nil {
				return t.bad("tensor %q: %v", want.name, err)
			}
			decode(numbers[:n], raw, e.Type)
			if err := weights.View(at, at+n).CopyFrom(s, numbers[:n]); err != nil {
				return err
			}
			at += n
			done += n
		}
	}
	return nil
}

// decode makes numbers of raw bytes.
func decode(numbers []Half, raw []byte, of string) {
	for i := range numbers {
		switch of {
		case "BF16":
			numbers[i] = Half(binary.LittleEndian.Uint16(raw[2*i:]))
		case "F16":
			numbers[i] = half.ToBFloat16(half.Float16(binary.LittleEndian.Uint16(raw[2*i:])).Float32())
		default:
			numbers[i] = half.ToBFloat16(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		}
	}
}
