//go:build linux && amd64

package live

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/internal/tier"
)

var (
	rateSeconds = flag.Float64("rate.seconds", 1, "how long each measurement of unwinding takes")
	rateCalls   = flag.Int("rate.calls", 20_000, "allocations a second whose stacks are unwound")
	rateStrict  = flag.Bool("rate.strict", false, "fail if a stack is not unwound, or it takes half a core: for an idle machine")
)

// TestFramelessRate measures what unwinding takes from a program and from the machine. Figures depend on the
// machine; the test fails only on what may never be: a call that is neither seen nor counted as lost, or a
// stack that is neither copied nor counted. With nothing else running, the promise is
//
//	go test ./cmd/memwatch/internal/live -run TestFramelessRate -v -rate.strict -rate.seconds 10
func TestFramelessRate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	tier.Skip(t, "a second for each of eight builds")
	for _, c := range []struct {
		name    string
		flag    string
		padding int
		copies  bpf.Copies
	}{
		{"bare", "-fomit-frame-pointer", 0, bpf.NoCopies},
		{"fp with pointers", "-fno-omit-frame-pointer", 0, bpf.NoCopies},
		{"auto with pointers", "-fno-omit-frame-pointer", 0, bpf.NeededCopies},
		{"fp without", "-fomit-frame-pointer", 0, bpf.NoCopies},
		{"auto without small", "-fomit-frame-pointer", 0, bpf.NeededCopies},
		{"auto without 6 KiB", "-fomit-frame-pointer", 6 << 10, bpf.NeededCopies},
		{"auto without 30 KiB", "-fomit-frame-pointer", 30 << 10, bpf.NeededCopies},
		{"auto without 60 KiB", "-fomit-frame-pointer", 60 << 10, bpf.NeededCopies},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib, exe := buildFrameless(t, c.flag)
			if c.name == "bare" {
				r := startWith(t, exe, fmt.Sprint(c.padding))
				fmt.Fprintln(r.in, 20_000)
				r.out.Scan()
				t.Logf("a pair of calls takes %s ns", r.out.Text())
				return
			}
			w := watch(t, Options{Libraries: []string{lib}, Copies: c.copies})
			f := follow(t, w)
			r := startWith(t, exe, fmt.Sprint(c.padding))
			pid := uint32(r.Process.Pid)
			allocs := uint64(0)
			ask := func(n, rate int) string {
				fmt.Fprintln(r.in, n, rate)
				r.out.Scan()
				allocs += 128 * uint64(n)
				require.Eventually(t, func() bool {
					p := f.process(pid)
					var seen, lost uint64
					for _, s := range p.Sites {
						seen += s.AllocObjects
					}
					books := w.session.LedgerOf(pid)
					lost = books.LostRing + books.LostCalls
					return books.Allocs == allocs && seen <= allocs && seen+lost >= allocs
				}, time.Minute, 20*time.Millisecond)
				return r.out.Text()
			}
			ask(1, 0)
			var before, after unix.Rusage
			books := w.session.LedgerOf(pid)
			require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &before))
			rounds, begin := *rateCalls/64, time.Now()
			n := int(float64(rounds) * *rateSeconds / 2) // each thread makes half of them
			pair := ask(n, rounds)
			took := time.Since(begin).Seconds()
			require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &after))
			cpu := float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
			now := w.session.LedgerOf(pid)
			copied, not, lost := now.Copies-books.Copies, now.Uncopied-books.Uncopied, now.LostRing+now.LostCalls
			p := f.process(pid)
			right, rooted := ways(p)
			t.Logf("a pair of calls takes %s ns; of %d sites %d are right, %d reach main", pair, len(p.Sites), right, rooted)
			t.Logf("%.0f allocations and frees a second: all that reads them takes %.2f cores; %d stacks copied, %d not, %d events lost",
				float64(2*128*n)/took, cpu/took, copied, not, lost)
			if c.copies == bpf.NoCopies {
				require.Zero(t, copied+not)
			} else if c.flag == "-fomit-frame-pointer" {
				require.Equal(t, 128*uint64(n), copied+not)
			}
			if *rateStrict {
				assert.Zero(t, not+lost)
				assert.LessOrEqual(t, cpu/took, 0.5, "cores")
				if c.copies != bpf.NoCopies {
					assert.Equal(t, 128, right)
				}
			}
		})
	}
}
