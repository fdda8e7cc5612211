package model_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/half"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/model"
)

// written writes a safetensors file.
func written(t *testing.T, header string, data []byte) *os.File {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	text := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	require.NoError(t, os.WriteFile(path, append(append(text, header...), data...), 0o666))
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Headers that lie are found out before any memory is made for them.
func TestBadSafetensors(t *testing.T) {
	for _, tt := range []struct{ header, want string }{
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, ""},
		{`{"__metadata__":{"by":"nobody"},"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}`, ""},
		{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, ""},
		{`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, `tensor "a": 8 bytes, shape [3] of F32 wants 12`},
		{`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`, `tensor "a": bytes 0 to 12, of 8`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, `tensor "a": bytes 8 to 0, of 8`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, `tensor "a": bytes -8 to 0, of 8`},
		{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "the last tensor ends at byte 4 of 8"},
		{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, `tensor "a" begins at byte 4, the one before ends at 0`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, `tensor "b" begins at byte 4, the one before ends at 8`},
		{`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}`, `tensor "a": shape [4294967296 4294967296]`},
		{`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, `tensor "a": shape [-2]`},
		{`{"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}}`, `tensor "a": numbers of type "F99"`},
		{`{"a":{"dtype":"F32","shape":[1e99],"data_offsets":[0,8]}}`, `tensor "a": json: `},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,99]}}`, `tensor "a" has 3 offsets: want 2`},
		{`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}}`, `tensor "a" has 1 offsets: want 2`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`,
			`tensor "a" stands there twice`},
		{`null`, "header: null"},
		{`{"a":`, "header: unexpected end of JSON input"},
		{`[]`, "header: json: "},
	} {
		st, err := model.OpenSafetensors(written(t, tt.header, make([]byte, 8)))
		if tt.want == "" {
			require.NoError(t, err, tt.header)
			_, err = st.Config(64)
			require.ErrorIs(t, err, model.ErrSafetensors, "it is no model")
			require.ErrorContains(t, err, `no matrix "model.embed_tokens.weight", which models of the Llama family have`)
			continue
		}
		require.ErrorIs(t, err, model.ErrSafetensors, tt.header)
		assert.ErrorContains(t, err, "model.safetensors: "+tt.want)
	}
	for _, text := range []string{"", "1234567", "\xff\xff\xff\xff\xff\xff\xff\xff{}", "\x03\x00\x00\x00\x00\x00\x00\x00{}"} {
		path := filepath.Join(t.TempDir(), "short")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		f, err := os.Open(path)
		require.NoError(t, err)
		_, err = model.OpenSafetensors(f)
		require.ErrorIs(t, err, model.ErrSafetensors, "%q", text)
		require.NoError(t, f.Close())
	}
}

// A model's file, in the names of the family, made of the same random numbers.
func modelFile(t *testing.T, c model.Config, of string, numbers []float64) (header string, data []byte) {
	var entries []string
	add := func(name string, shape ...int) {
		n, begin := 1, len(data)
		for _, d := range shape {
			n *= d
		}
		for _, x := range numbers[:n] {
			switch of {
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(half.ToBFloat16(float32(x))))
			case "F32":
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
			}
		}
		numbers = numbers[n:]
		entries = append(entries, fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, of,
			strings.ReplaceAll(fmt.Sprint(shape), " ", ","), begin, len(data)))
	}
	head := c.Width / c.Heads
	add("model.embed_tokens.weight", c.Vocab, c.Width)
	for i := range c.Layers {
		layer := fmt.Sprintf("model.layers.%d.", i)
		add(layer+"input_layernorm.weight", c.Width)
		add(layer+"self_attn.q_proj.weight", c.Width, c.Width)
		add(layer+"self_attn.k_proj.weight", c.KVHeads*head, c.Width)
		add(layer+"self_attn.v_proj.weight", c.KVHeads*head, c.Width)
		add(layer+"self_attn.o_proj.weight", c.Width, c.Width)
		add(layer+"post_attention_layernorm.weight", c.Width)
		add(layer+"mlp.gate_proj.weight", c.Hidden, c.Width)
		add(layer+"mlp.up_proj.weight", c.Hidden, c.Width)
		add(layer+"mlp.down_proj.weight", c.Width, c.Hidden)
	}
	add("model.norm.weight", c.Width)
	add("lm_head.weight", c.Vocab, c.Width)
	require.Empty(t, numbers)
	return "{" + strings.Join(entries, ",") + "}", data
}

// cut is a file that has become shorter since it was looked at.
type cut struct {
	*os.File
	at int64
}

func (c cut) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > c.at {
		return 0, fs.ErrInvalid
	}
	return c.File.ReadAt(p, at)
}

// What a file holds is what the model has, in either type. A file that cannot be read to its end leaves
// nothing.
func TestSafetensors(t *testing.T) {
	c, err := model.Sized("3x64", 64)
	require.NoError(t, err)
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	k, err := model.Open(pool, c, model.Options{})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	want := weights(t, s, k, model.Random(9))
	for _, of := range []string{"BF16", "F32"} {
		header, data := modelFile(t, c, of, want)
		f := written(t, header, data)
		st, err := model.OpenSafetensors(f)
		require.NoError(t, err)
		got, err := st.Config(64)
		require.NoError(t, err)
		require.Equal(t, c, got)
		require.Equal(t, want, weights(t, s, k, st))

		st, err = model.OpenSafetensors(cut{f, int64(8+len(header)+len(data)) - 100})
		require.NoError(t, err)
		_, err = model.Load(s, k, c, st)
		require.ErrorIs(t, err, model.ErrSafetensors)
		require.ErrorContains(t, err, `tensor "lm_head.weight": `)
		require.Zero(t, pool.Stats().Live)

		_, err = st.Config(17)
		require.ErrorContains(t, err, "the context must be a multiple of 16")
		other := c
		other.Hidden *= 2
		_, err = model.Load(s, k, other, st)
		require.ErrorContains(t, err, "the model wants [384 64]")
		require.Zero(t, pool.Stats().Live)
	}
	k.Close()
	require.NoError(t, pool.Close())
}
