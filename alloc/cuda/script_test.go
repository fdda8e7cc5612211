//go:build cgo && linux

package cuda

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// stampPTX: stamp(p, v, n) writes v to n bytes at p.
const stampPTX = drvtest.Head + `
.visible .entry stamp(.param .u64 p, .param .u32 v, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<7>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [v];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.u32 %r6, %r3, %r4, %r5;
	setp.ge.u32 %p1, %r6, %r2;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd2, %rd1;
	cvt.u64.u32 %rd3, %r6;
	add.u64 %rd4, %rd2, %rd3;
	st.global.u8 [%rd4], %r1;
DONE:
	ret;
}
`

// A script is a run of random steps on a pool with three streams beside a model that knows what each buffer
// must hold. Some work is slow, so that what is freed is often still in use. It is the pool's own fuzz script
// with kernels in it.
type script struct {
	t       testing.TB
	bytes   []byte
	pool    *alloc.Pool
	streams [3]*alloc.Stream
	buffers []*scripted
	stamp   *Kernel
	spin    *Kernel
}

type scripted struct {
	alloc.Buffer[byte]
	holds byte
}

func (c *script) next() byte {
	if len(c.bytes) == 0 {
		return 0
	}
	x := c.bytes[0]
	c.bytes = c.bytes[1:]
	return x
}

func (c *script) pick() (*scripted, int) {
	x := c.next()
	if len(c.buffers) == 0 {
		return nil, 0
	}
	i := int(x) % len(c.buffers)
	return c.buffers[i], i
}

// order makes stream i wait for all others, and all others for it.
func (c *script) order(i int) {
	for _, s := range c.streams {
		c.streams[i].Wait(s)
	}
	for _, s := range c.streams {
		s.Wait(c.streams[i])
	}
}

func (c *script) step() {
	op := c.next()
	i := int(op>>4) % len(c.streams)
	s := c.streams[i]
	b, at := c.pick()
	switch op % 10 {
	case 0, 1, 2: // make and fill
		x := int(c.next())
		size := 1 + x*x*x/64
		nb, err := alloc.Make[byte](s, size)
		if err != nil {
			require.ErrorIs(c.t, err, alloc.ErrOutOfMemory)
			return
		}
		require.NoError(c.t, nb.Fill(s, byte(x)))
		c.buffers = append(c.buffers, &scripted{nb, byte(x)})
		c.order(i)
	case 3, 4: // free
		if b != nil {
			b.Free()
			c.buffers[at] = c.buffers[len(c.buffers)-1]
			c.buffers = c.buffers[:len(c.buffers)-1]
		}
	case 5: // a kernel writes, perhaps late
		if b != nil {
			c.order(i)
			if op&8 != 0 {
				require.NoError(c.t,
					c.spin.Launch(s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(100*time.Microsecond))))
			}
			b.holds = c.next()
			n := b.Len()
			require.NoError(c.t, c.stamp.Launch(s, Dim{X: (n + 255) / 256}, Dim{X: 256}, 0, b.Arg(),
				alloc.Scalar(uint32(b.holds)), alloc.Scalar(uint32(n))))
			c.order(i)
		}
	case 6: // copy
		if a, _ := c.pick(); b != nil && a != b && a.Len() >= b.Len() {
			c.order(i)
			require.NoError(c.t, alloc.Copy[byte](s, a.View(0, b.Len()), b.All()))
			if a.Len() > b.Len() {
				require.NoError(c.t, a.View(b.Len(), a.Len()).Fill(s, b.holds))
			}
			a.holds = b.holds
			c.order(i)
		}
	case 7: // read back
		if b != nil {
			c.order(i)
			c.read(s, b)
		}
	case 8:
		c.pool.Trim(int64(c.next()) << 16)
	case 9: // a stream ends, another begins
		require.NoError(c.t, s.Close())
		fresh, err := c.pool.NewStream()
		require.NoError(c.t, err)
		c.streams[i] = fresh
		c.order(i)
	}
}

func (c *script) read(s *alloc.Stream, b *scripted) {
	got := make([]byte, b.Len())
	require.NoError(c.t, b.CopyTo(s, got))
	for i, x := range got {
		if x != b.holds {
			require.Failf(c.t, "wrong contents", "byte %d of %d is %#x, want %#x", i, len(got), x, b.holds)
		}
	}
}

// runScript runs a script on a fresh pool. The first byte chooses the pool.
func runScript(t testing.TB, e *env, bytes []byte) {
	c := &script{t: t, bytes: bytes}
	kind := c.next()
	var dev alloc.Device = e.dev
	if kind&1 != 0 {
		dev = e.dev.Plain()
	}
	o := alloc.Options{Limit: 24 << 20, Check: kind&2 != 0, Quarantine: 4 << 20,
		CollectWait: time.Millisecond}
	if kind&4 != 0 {
		o.Segment = 256 << 10
	}
	var err error
	c.pool, err = alloc.NewPool(dev, o)
	require.NoError(t, err)
	m, err := LoadModule(c.pool, []byte(stampPTX))
	require.NoError(t, err)
	c.stamp, err = m.Kernel("stamp")
	require.NoError(t, err)
	m2, err := LoadModule(c.pool, []byte(testPTX))
	require.NoError(t, err)
	c.spin, err = m2.Kernel("spin")
	require.NoError(t, err)
	for i := range c.streams {
		c.streams[i], err = c.pool.NewStream()
		require.NoError(t, err)
	}
	for n := 0; len(c.bytes) > 0; n++ {
		c.step()
		if n%8 == 0 {
			require.NoError(t, c.pool.Check())
		}
	}
	for i, b := range c.buffers {
		c.order(i % 3)
		c.read(c.streams[i%3], b)
		b.Free()
	}
	for _, s := range c.streams {
		require.NoError(t, s.Sync())
	}
	require.NoError(t, c.pool.Check())
	st := c.pool.Stats()
	require.Zero(t, st.Live)
	require.Equal(t, st.Reserved, st.Pending+st.Idle)
	require.NoError(t, m.Unload())
	require.NoError(t, m2.Unload())
	require.NoError(t, c.pool.Close())
	require.Zero(t, c.pool.Tracker().Bytes())
}

var scripts = flag.Int("scripts", 8, "how many scripts TestScripts runs")

func TestScripts(t *testing.T) {
	e := start(t, alloc.Options{})
	if e.StandIn != nil {
		e.StandIn.Set(t, "delay", 5)
	}
	const steps = 300 // bytes of script
	for seed := range uint64(*scripts) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 77))
			bytes := make([]byte, steps)
			for i := range bytes {
				bytes[i] = byte(rng.Uint32())
			}
			bytes[0] = byte(seed)
			runScript(t, e, bytes)
		})
	}
	if e.StandIn != nil {
		b := e.StandIn.Books()
		require.Zero(t, b.BadAccess)
		require.Zero(t, b.Pageable)
	}
}

func FuzzScript(f *testing.F) {
	e := start(f, alloc.Options{})
	f.Add([]byte("\x00makefreemakefreemakefree"))
	f.Add([]byte{1, 0, 10, 0, 200, 4, 0, 0, 9, 1, 3, 0, 5, 0, 7, 2, 6, 1, 0, 255, 8, 0, 4, 1})
	f.Add([]byte{7, 0, 100, 16, 101, 32, 102, 8, 1, 8, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 400 {
			t.Skip("a script has 400 bytes at most")
		}
		runScript(t, e, bytes)
		if e.StandIn != nil {
			require.Zero(t, e.StandIn.Books().BadAccess)
		}
	})
}
