package finalize

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const mib = 1 << 20

func TestDecide(t *testing.T) {
	hour := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name  string
		o     Options
		setup func(p *Pacer)
		in    Pressure
		want  Decision
	}{
		{"little is live", Options{}, nil, Pressure{Live: 50, Grow: 20, Budget: 100, Made: 70}, Calm},
		{"much is live", Options{}, nil, Pressure{Live: 70, Grow: 20, Budget: 100, Made: 90}, Pressing},
		{"no budget is known", Options{}, nil, Pressure{Live: 70, Grow: 20, Made: 90}, Calm},
		{"off", Options{Off: true}, nil, Pressure{Live: 99, Grow: 20, Budget: 100, Made: 90}, Calm},
		{"another share", Options{Share: 0.5}, nil, Pressure{Live: 50, Grow: 10, Budget: 100, Made: 60}, Pressing},
		{"frees keep up", Options{}, func(p *Pacer) {
			p.made, p.freed = 80, 0
		}, Pressure{Live: 80, Grow: 10, Budget: 100, Made: 10_000, Freed: 9_920}, KeepingUp},
		{"they do not of a little", Options{}, func(p *Pacer) {
			p.made, p.freed = 80, 0
		}, Pressure{Live: 82, Grow: 10, Budget: 100, Made: 84, Freed: 2}, Pressing},
		{"they do not of much", Options{}, nil, Pressure{Live: 80, Grow: 10, Budget: 100, Made: 10_000, Freed: 5_000}, Pressing},
		{"another idea of keeping up", Options{KeepUp: 0.15}, nil, Pressure{Live: 80, Grow: 10, Budget: 100, Made: 10_000, Freed: 9_920}, KeepingUp},
		{"never keeping up", Options{KeepUp: 2}, nil, Pressure{Live: 80, Grow: 10, Budget: 100, Made: 10_000, Freed: 10_000}, Pressing},
		{"the last one took long", Options{}, func(p *Pacer) {
			p.last, p.took, p.checked = time.Now().Add(-time.Second), 100*time.Millisecond, true
		}, Pressure{Live: 70, Grow: 10, Budget: 100, Made: 90}, Costly},
		{"it took long, but memory is dire", Options{}, func(p *Pacer) {
			p.last, p.took, p.checked = time.Now().Add(-time.Second), 100*time.Millisecond, true
		}, Pressure{Live: 90, Grow: 10, Budget: 100, Made: 90}, Pressing},
		{"it was long ago", Options{}, func(p *Pacer) {
			p.last, p.took, p.checked = hour, 100*time.Millisecond, true
		}, Pressure{Live: 70, Grow: 10, Budget: 100, Made: 90}, Pressing},
		{"the last one found nothing", Options{}, func(p *Pacer) {
			p.last, p.live, p.made = hour, 80, 90
		}, Pressure{Live: 85, Grow: 5, Budget: 100, Made: 95}, Fruitless},
		{"it found nothing, but much was made since", Options{}, func(p *Pacer) {
			p.last, p.live, p.made = hour, 80, 90
		}, Pressure{Live: 85, Grow: 5, Budget: 100, Made: 99}, Pressing},
		{"it found much", Options{}, func(p *Pacer) {
			p.last, p.live, p.made = hour, 80, 90
		}, Pressure{Live: 85, Grow: 5, Budget: 100, Made: 95, Late: 40}, Pressing},
		{"the runtime collected", Options{}, func(p *Pacer) {
			p.last, p.checked, p.cycles = hour, true, ^uint64(0)
		}, Pressure{Live: 85, Grow: 5, Budget: 100, Made: 95}, Collected},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPacer(c.o)
			p.cycles = cyclesNow()
			if c.setup != nil {
				c.setup(p)
			}
			assert.Equal(t, c.want, p.Decide(c.in))
			assert.EqualValues(t, 1, p.Stats().Asked)
		})
	}
}

// A program that frees all but what it forgot, before or in between, is collected, however much it frees. One
// that has forgotten nothing is asked to look once, and not again while it frees what it makes.
func TestForgetful(t *testing.T) {
	const budget = 1000
	for _, c := range []struct {
		name string
		// bytes made and freed, made and dropped, in each of 100 steps before memory is short
		churn, leak int64
		found       bool // what was dropped is garbage
		most        int
	}{
		{"it forgot much at first", 0, 8, true, 1},
		{"it forgets one in a hundred", 800, 8, true, 1},
		{"it needs what it holds", 800, 8, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPacer(Options{GCShare: 1000})
			var in Pressure
			in.Budget = budget
			for range 100 {
				in.Made += c.churn + c.leak
				in.Freed += c.churn
				in.Live += c.leak
			}
			collections := 0
			for range 1000 { // all that is made now is freed
				in.Grow = 10
				p.cycles = cyclesNow()
				if p.Decide(in).Collect() {
					collections++
					p.last, p.checked = time.Now().Add(-time.Hour), false
					if c.found {
						in.Late, in.Live = in.Late+in.Live, 0
					}
				}
				in.Made, in.Freed = in.Made+100, in.Freed+100
			}
			assert.Equal(t, c.most, collections)
			st := p.Stats()
			assert.EqualValues(t, 1000-c.most, st.KeepingUp+st.Calm)
		})
	}
}

// After fruitless collections the pacer waits for more and more bytes.
func TestBackoff(t *testing.T) {
	p := NewPacer(Options{GCShare: 1000})
	in := Pressure{Live: 900 * mib, Grow: mib, Budget: 1000 * mib, Made: 900 * mib}
	collections := 0
	for range 1000 {
		p.cycles = cyclesNow()
		if p.Decide(in).Collect() {
			collections++
			p.last, p.checked = time.Now().Add(-time.Hour), false
		}
		in.Made += mib
	}
	assert.Greater(t, collections, 2)
	assert.Less(t, collections, 10)
}

func TestCollectOnceForMany(t *testing.T) {
	p := NewPacer(Options{})
	end := make(chan struct{})
	p.running = end // somebody is at it
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.False(t, p.Collect(Exhausted, time.Second), "that one did for all") })
	}
	for p.Stats().Exhausted < 8 {
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	p.running = nil
	p.mu.Unlock()
	close(end)
	wg.Wait()
	assert.Zero(t, p.Stats().Runs)
	assert.True(t, p.Collect(Pressing, time.Minute))
	assert.EqualValues(t, 1, p.Stats().Runs)
	st := p.Stats()
	assert.Positive(t, st.Time)
	assert.Positive(t, st.Share)
	assert.Contains(t, st.String(), "as a last resort 8")
	for d := Calm; d < numDecisions; d++ {
		assert.NotEmpty(t, strings.TrimSpace(d.String()))
	}
}
