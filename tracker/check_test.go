package tracker

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeTB remembers what a test was failed with.
type fakeTB struct {
	helper bool
	errors []string
}

func (f *fakeTB) Helper() { f.helper = true }

func (f *fakeTB) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func TestCheckOfCleanBooks(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	id := makeSome(s, 100)
	s.Free(100)
	s.Repeat() // never a failure
	s.Unsite(id, 100, false)
	books.Alloc(1, 10)
	require.NoError(t, books.Free(1))
	var tb fakeTB
	Check(&tb, books)
	require.Empty(t, tb.errors)
	require.True(t, tb.helper)
	Check(t, books) // a real test is a TB
}

func TestCheckNamesLeaks(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	makeSome(s, 2048)
	makeSome(s, 2048)
	id := makeMore(s, 100)
	s.Late(100)
	s.Unsite(id, 100, true)
	var tb fakeTB
	Check(&tb, books)
	require.Len(t, tb.errors, 1)
	require.Regexp(t, `^tracker: 2 buffers live \(4\.0 KiB\), 1 freed late \(100 B\)`, tb.errors[0])
	require.Regexp(t, `\n\t\S+/profile_test\.go:\d+: 1 live \(2\.0 KiB\), made by tracker\.makeSome`, tb.errors[0])
	require.Regexp(t, `\n\t\S+/profile_test\.go:\d+: 1 freed late \(100 B\), made by tracker\.makeSome`, tb.errors[0])
	require.NotContains(t, tb.errors[0], "estimates")
}

// TestCheckNamesForeignLeaks needs no rate: what Alloc is told of always has its site.
func TestCheckNamesForeignLeaks(t *testing.T) {
	books := New(Options{})
	books.Alloc(0x1000, 100)
	var tb fakeTB
	Check(&tb, books)
	require.Regexp(t, `check_test\.go:\d+: 1 live \(100 B\), made by tracker\.TestCheckNamesForeignLeaks$`, tb.errors[0])
}

// TestCheckWithoutSites cannot name what was not sampled, and says so.
func TestCheckWithoutSites(t *testing.T) {
	books := New(Options{Rate: 1 << 40})
	newShard(t, books).Alloc(10)
	var tb fakeTB
	Check(&tb, books)
	require.Contains(t, tb.errors[0], "1 buffers live (10 B)")
	require.Contains(t, tb.errors[0], "with Options.Rate 1 each is named")
}

// run stands for a *testing.M.
type run func() int

func (r run) Run() int { return r() }

func TestMainHelper(t *testing.T) {
	for _, c := range []struct {
		name  string
		tests int // status of the tests
		leak  bool
		want  int
	}{
		{"all is well", 0, false, 0},
		{"a leak", 0, true, 1},
		{"a failed test", 2, false, 2},
		{"both", 2, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			books := New(Options{})
			var w bytes.Buffer
			code := checkAfter(run(func() int {
				if c.leak {
					books.Alloc(1, 10)
				}
				return c.tests
			}), books, &w)
			require.Equal(t, c.want, code)
			if c.leak {
				require.Regexp(t, `check_test\.go:\d+: 1 live`, w.String())
			} else {
				require.Empty(t, w.String())
			}
		})
	}
}

// TestMain is the helper at work: with the variable set the test binary leaks and has to
// fail, see TestMainFailsBinary.
func TestMain(m *testing.M) {
	if os.Getenv("TRACKER_TEST_LEAK") == "" {
		os.Exit(m.Run())
	}
	books := New(Options{})
	os.Exit(Main(run(func() int {
		books.Alloc(1, 10)
		return 0
	}), books))
}

func TestMainFailsBinary(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TRACKER_TEST_LEAK=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Regexp(t, `^tracker: 1 buffers live \(10 B\), 0 freed late \(0 B\)\n\t\S+check_test\.go:\d+: 1 live`, string(out))
}
