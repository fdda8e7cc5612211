package tracker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/tier"
)

// account opens an account as an allocator does.
func account(t *Tracker, name string) *books.Account { return books.Of(t).NewAccount(name) }

// shardOf returns a new shard of a, for a test that is its only writer and reads it when it does not write.
func shardOf(a *books.Account) *books.Shard { return a.NewShard(new(sync.Mutex)) }

// newShard returns a shard of a new account that lasts until the test ends. Without that
// the collector could take both after their last use, and what is live in them would be freed late.
func newShard(t testing.TB, of *Tracker) *books.Shard {
	s := shardOf(account(of, "host"))
	t.Cleanup(func() { runtime.KeepAlive(s) })
	return s
}

//go:noinline
func makeSome(s *books.Shard, size int64) books.Sample {
	s.Alloc(size)
	return s.Site(s.Sample(), size)
}

//go:noinline
func makeMore(s *books.Shard, size int64) books.Sample { return makeSome(s, size) }

// pprof runs go tool pprof on a profile.
func pprof(t *testing.T, args ...string) string {
	t.Helper()
	tier.Skip(t, "builds pprof")
	out, err := exec.Command("go", append([]string{"tool", "pprof"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// writeProfile writes t's profile to a file and returns its path.
func writeProfile(t *testing.T, books *Tracker) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, books.WriteProfile(&b))
	path := filepath.Join(t.TempDir(), "profile.pb.gz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// raw returns what is in a profile, as pprof -raw does.
func raw(t *testing.T, books *Tracker) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, books.WriteProfile(&b))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	return p.String()
}

func TestProfile(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	makeSome(s, 1<<20)
	makeMore(s, 3<<20)
	raw := raw(t, books)
	require.Contains(t, raw, "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]")
	require.Contains(t, raw, "PeriodType: space bytes\nPeriod: 1\n")
	require.Regexp(t, `\n +1 +1048576 +1 +1048576: `, raw)
	require.Regexp(t, `\n +1 +3145728 +1 +3145728: `, raw)
	require.Regexp(t, `tracker\.makeMore \S*/tracker/profile_test\.go:\d+`, raw)
	require.NotContains(t, raw, "runtime.goexit")
}

// TestProfileInPprof shows what was live before a free, what is after it, and what it changed.
func TestProfileInPprof(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	makeSome(s, 1<<20)
	id := makeMore(s, 3<<20)
	before := writeProfile(t, books)
	s.Free(3 << 20)
	s.Unsite(id, 3<<20, false)
	after := writeProfile(t, books)
	require.Regexp(t, `3MB 75\.00% .*tracker\.makeMore`, pprof(t, "-top", before))
	now := pprof(t, "-top", after)
	require.Contains(t, now, "Type: inuse_space", "the default")
	require.NotContains(t, now, "makeMore", "what it made is freed")
	require.Regexp(t, `-3MB .*tracker\.makeSome`, pprof(t, "-top", "-diff_base", before, after))
	require.Regexp(t, `4MB .*tracker\.makeSome`, pprof(t, "-top", "-sample_index=alloc_space", after))
}

// TestProfileWithoutStacks shows sites that cannot be named.
func TestProfileWithoutStacks(t *testing.T) {
	books := New(Options{Rate: 1, MaxSites: 2}) // one place besides "other sites"
	s := newShard(t, books)
	makeSome(s, 1<<20)
	makeMore(s, 1<<20)
	makeMore(s, 1<<20)
	require.Equal(t, int64(2), books.Stats().SitesLost)
	require.Contains(t, raw(t, books), "(other sites)")
}

func TestProfileOfNothing(t *testing.T) {
	require.Contains(t, raw(t, New(Options{})), "inuse_space/bytes[dflt]")
}
