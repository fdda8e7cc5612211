//go:build cgo && linux

package cuda

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

func TestZZ(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 141<<30)
	k := e.kernel(t, testPTX, "spin")
	pool, err := alloc.NewPool(e.dev, alloc.Options{})
	require.NoError(t, err)
	var ss []*alloc.Stream
	for range 4 {
		s, err := pool.NewStream()
		require.NoError(t, err)
		ss = append(ss, s)
	}
	for _, s := range ss {
		c0 := e.StandIn.Books()
		t0 := time.Now()
		x, err := alloc.Make[byte](s, 8)
		d := time.Since(t0)
		require.NoError(t, err)
		require.NoError(t, k.Launch(s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(500000))))
		x.Free()
		c1 := e.StandIn.Books()
		st := pool.Stats()
		t.Logf("%v calls %d handles %d reserved %d | own %d other %d fresh %d trimmed %d waited %d ordered %d", d, c1.Calls-c0.Calls, c1.Handles, st.Reserved, st.Own, st.Other, st.Fresh, st.Trimmed, st.Waited, st.Ordered)
	}
	for _, f := range []string{"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuEventRecord", "cuEventQuery", "cuMemGetInfo_v2"} {
		t.Log(f, e.StandIn.Calls(t, f))
	}
}
