package books

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

// shardOf returns a new shard of a, for a test that is its only writer and reads it when it does not write.
func shardOf(a *Account) *Shard { return a.NewShard(new(sync.Mutex)) }

// newShard returns a shard of a new account that lasts until the test ends. Without that
// the collector could take both after their last use, and what is live in them would be freed late.
func newShard(t testing.TB, b *Books) *Shard {
	s := shardOf(b.NewAccount("host"))
	t.Cleanup(func() { runtime.KeepAlive(s) })
	return s
}

// sampled counts an allocation and takes its site if it is a sample.
func sampled(s *Shard, size int64) Sample {
	s.Alloc(size)
	if m := s.Sample(); m != 0 {
		return s.Site(m, size)
	}
	return 0
}

//go:noinline
func makeSome(s *Shard, size int64) Sample { return sampled(s, size) }

//go:noinline
func makeMore(s *Shard, size int64) Sample { return makeSome(s, size) }

// deep calls f with n more frames on the stack.
//
//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}

// ours returns how many tables this process has mapped.
func ours(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no list of mappings here: ", err)
	}
	return strings.Count(string(maps), "/memfd:"+probe.Name)
}

// eventually collects until ok returns true, and gives up after so many collections: a busy machine may
// need any time for one.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for i := 0; !ok(); i++ {
		require.Less(t, i, 2000, "it has not come true")
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after the collection
	}
}
