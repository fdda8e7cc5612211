package alloc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// FuzzPool runs a script of bytes on a small pool with several streams, beside a naive
// model that knows for each buffer which bytes it must hold. After every step the books
// must balance, and every invariant that Check knows must hold.
func FuzzPool(f *testing.F) {
	f.Add([]byte("\x00makefreemakefreemakefree"))
	f.Add([]byte{1, 0, 10, 0, 200, 4, 0, 0, 9, 1, 3, 0, 5, 0, 7, 2, 6, 1, 0, 255, 8, 0, 4, 1})
	f.Add([]byte{2, 0, 255, 1, 254, 2, 253, 0, 252, 4, 0, 4, 1, 0, 250, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 0, 3})
	f.Add([]byte{7, 0, 100, 16, 101, 32, 102, 8, 1, 8, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 || len(script) > 400 {
			t.Skip()
		}
		m := newModel(t, script[0])
		m.script = script[1:]
		for len(m.script) > 0 {
			m.step()
			m.check()
		}
		m.finish()
	})
}

const modelStreams = 3

// A model runs a script.
type model struct {
	t       *testing.T
	script  []byte
	dev     *host.Device
	pool    *alloc.Pool
	streams [modelStreams]*alloc.Stream
	buffers []*modelBuffer
	live    int64 // bytes asked for
	dropped int
	gates   [modelStreams]gate // a closed gate holds its stream back
}

type modelBuffer struct {
	alloc.Buffer[byte]
	fill byte // what the buffer holds, 0 for nobody knows
	all  bool // every stream has been ordered behind the others since it was made
}

func newModel(t *testing.T, options byte) *model {
	m := &model{t: t}
	var err error
	m.dev, err = host.Open(host.Options{Capacity: 4 << 20, Granularity: 64 << 10, NoMapping: options&1 != 0})
	require.NoError(t, err)
	o := alloc.Options{Segment: 128 << 10, Check: options&2 != 0, Quarantine: 256 << 10, CollectWait: time.Millisecond}
	if options&4 != 0 {
		o.Limit = 2 << 20
	}
	m.pool, err = alloc.NewPool(ordered(t, m.dev), o)
	require.NoError(t, err)
	for i := range m.streams {
		m.streams[i] = newStream(t, m.pool)
	}
	return m
}

// next takes a byte of the script, or 0 at its end.
func (m *model) next() byte {
	if len(m.script) == 0 {
		return 0
	}
	x := m.script[0]
	m.script = m.script[1:]
	return x
}

func (m *model) step() {
	op := m.next()
	si := int(op>>4) % modelStreams
	s := m.streams[si]
	switch op % 12 {
	case 0, 1, 2: // make and fill
		m.make(s)
	case 3, 4: // free
		if b, i := m.pick(); b != nil {
			b.Free()
			if m.next()%4 == 0 {
				b.Free()
			}
			m.forget(i)
		}
	case 5: // fill on some stream, after all others
		if b, _ := m.pick(); b != nil {
			m.order(si)
			b.fill = m.next() | 1
			require.NoError(m.t, b.Fill(s, b.fill))
			m.orderAll(si)
		}
	case 6: // copy
		a, _ := m.pick()
		b, _ := m.pick()
		if a != nil && a != b && a.Len() >= b.Len() {
			m.order(si)
			require.NoError(m.t, alloc.Copy(s, a.View(0, b.Len()), b.All()))
			if a.Len() > b.Len() {
				require.NoError(m.t, a.View(b.Len(), a.Len()).Fill(s, b.fill))
			}
			a.fill = b.fill
			m.orderAll(si)
		}
	case 7: // read back
		if b, _ := m.pick(); b != nil {
			m.openAll()
			m.order(si)
			m.read(s, b)
		}
	case 8: // hold a stream back
		if m.gates[si] == nil {
			m.gates[si] = block(m.t, s)
		}
	case 9: // let it go
		m.open(si)
		if m.next()%2 == 0 {
			m.openAll() // s may be ordered behind the others
			require.NoError(m.t, s.Sync())
		}
	case 10:
		m.pool.Trim(int64(m.next()) << 12)
	case 11: // a stream is replaced by a new one
		m.openAll()
		require.NoError(m.t, s.Close())
		m.streams[si] = newStream(m.t, m.pool)
	}
}

// make makes a buffer of a size that the script chooses, over the whole range, and fills it.
func (m *model) make(s *alloc.Stream) {
	x := int(m.next())
	size := 1 + x*x*x/64
	if x%8 == 0 {
		size = 1 + x*16
	}
	m.releaseIfFull(int64(size))
	b, err := alloc.Make[byte](s, size)
	if err != nil {
		require.ErrorIs(m.t, err, alloc.ErrOutOfMemory)
		return
	}
	nb := &modelBuffer{Buffer: b, fill: byte(x) | 1}
	require.NoError(m.t, b.Fill(s, nb.fill))
	for i, u := range m.streams {
		if u == s {
			m.orderAll(i)
		}
	}
	m.buffers = append(m.buffers, nb)
	m.live += int64(size)
}

// releaseIfFull opens all gates if a Make might have to wait for a stream.
func (m *model) releaseIfFull(size int64) {
	st := m.pool.Stats()
	if st.Reserved+2*size+1<<20 > 2<<20 {
		m.openAll()
	}
}

func (m *model) open(i int) {
	if m.gates[i] != nil {
		m.gates[i].open()
		m.gates[i] = nil
	}
}

func (m *model) openAll() {
	for i := range m.gates {
		m.open(i)
	}
}

// order makes stream i wait for all others, orderAll all others for i.
func (m *model) order(i int) {
	for j := range m.streams {
		m.streams[i].Wait(m.streams[j])
	}
}

func (m *model) orderAll(i int) {
	for j := range m.streams {
		m.streams[j].Wait(m.streams[i])
	}
}

func (m *model) pick() (*modelBuffer, int) {
	x := m.next()
	if len(m.buffers) == 0 {
		return nil, 0
	}
	i := int(x) % len(m.buffers)
	return m.buffers[i], i
}

func (m *model) forget(i int) {
	m.live -= int64(m.buffers[i].Len())
	last := len(m.buffers) - 1
	m.buffers[i] = m.buffers[last]
	m.buffers = m.buffers[:last]
}

func (m *model) read(s *alloc.Stream, b *modelBuffer) {
	got := make([]byte, b.Len())
	require.NoError(m.t, b.CopyTo(s, got))
	for i, x := range got {
		if x != b.fill {
			require.Failf(m.t, "wrong contents", "byte %d of %d is %#x, want %#x", i, len(got), x, b.fill)
		}
	}
}

func (m *model) check() {
	require.NoError(m.t, m.pool.Check())
	st := m.pool.Stats()
	require.Equal(m.t, st.Reserved, st.Live+st.Pending+st.Idle)
	require.GreaterOrEqual(m.t, st.Idle, int64(0))
	require.GreaterOrEqual(m.t, st.Live, m.live)
	require.EqualValues(m.t, len(m.buffers), st.Buffers)
	require.Equal(m.t, st.Reserved, m.dev.Used())
}

// finish reads everything back, frees it, and closes the pool: the device must have everything
// again.
func (m *model) finish() {
	m.openAll()
	for i, b := range m.buffers {
		m.order(i % modelStreams)
		m.read(m.streams[i%modelStreams], b)
	}
	for len(m.buffers) > 0 {
		m.buffers[0].Free()
		m.forget(0)
		m.check()
	}
	for _, s := range m.streams {
		require.NoError(m.t, s.Sync())
	}
	require.NoError(m.t, m.pool.Close())
	require.Zero(m.t, m.dev.Used())
}
