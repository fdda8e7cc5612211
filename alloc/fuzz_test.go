package alloc_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/tier"
)

var orderOnly = flag.Bool("orderonly", false, "TestOrderSoak: only what the order checker finds counts")

// alone runs a script, whose panics in Check mode count for nothing with -orderonly.
func alone(run func() error) (err error) {
	if *orderOnly {
		defer func() {
			var c *alloc.CorruptionError
			if r := recover(); r != nil {
				if e, is := r.(error); !is || !errors.As(e, &c) {
					panic(r)
				}
			}
		}()
	}
	return run()
}

// maxScript bounds scripts, in bytes.
const maxScript = 600

// FuzzPool runs scripts.
func FuzzPool(f *testing.F) {
	f.Add([]byte("\x00\x00makefreemakefreemakefree"))
	f.Add([]byte{9, 64, 0, 1, 200, 3, 0, 2, 200, 5, 8, 0, 1, 25, 2, 1, 0, 3, 4, 7, 0, 2, 8, 9, 14, 0, 1, 3})
	for seed := range uint64(20) {
		f.Add(randomScript(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < 6 || len(text) > maxScript {
			t.Skip("a script has 6 bytes at least and maxScript at most")
		}
		if err := newScript(t, text).run(); err != nil {
			t.Fatal(err)
		}
	})
}

func randomScript(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	// What goes wrong does so soon, or when a pool is full of odds and ends.
	text := make([]byte, 20+r.IntN(100))
	if seed%8 == 0 {
		text = make([]byte, maxScript)
	}
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	return text
}

// TestOrderSoak runs random scripts, some hundreds or for as long as -soak says:
//
//	go test ./alloc -run TestOrderSoak -soak=10m -timeout 0 -v
//
// With -orderonly it looks away from what the books, the contents and Check mode say: what the order checker
// finds alone.
func TestOrderSoak(t *testing.T) {
	if !checking {
		t.Skip("scripts bring their own checker: once is enough")
	}
	scripts := tier.Of(100, 300)
	if testing.Short() {
		scripts = 50
	}
	begin := time.Now()
	seed, steps := uint64(0), 0
	for ; seed < uint64(scripts) || time.Since(begin) < *soak; seed++ {
		m := newScript(t, randomScript(seed))
		run := m.run
		if seed%16 == 15 {
			run = func() error { return m.storm(4, seed) }
		}
		if err := alone(run); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if steps += m.taken; m.twin != nil {
			steps += m.twin.taken
		}
	}
	t.Logf("%d scripts of %d steps in %v, no finding", seed, steps, time.Since(begin).Round(time.Millisecond))
}
