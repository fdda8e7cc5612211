package alloc

import (
	"time"

	"github.com/lastuse/lastuse/finalize"
)

// What the pool knows of how short foreign memory is, and what it asks of the collector.

// press asks the pacer whether foreign memory is short enough for a collection before the
// pool grows by need bytes, and runs it.
func (c *core) press(need int64) bool {
	budget := c.budgetNow()
	if c.pacer.Calm(c.claimed.Load()+need, budget) {
		return false // what is live cannot be more than what is claimed
	}
	st := c.account.Stats()
	d := c.pacer.Decide(finalize.Pressure{
		Live: st.Live + st.Pending, Grow: need, Budget: budget,
		Made: st.Total, Freed: st.Total - st.Live - st.LateBytes, Late: st.LateBytes,
	})
	if !d.Collect() {
		return false
	}
	c.pacer.Collect(d, c.options.CollectWait)
	return c.estate.late.Len() > 0
}

// budgetPeriod is how long the device's word on how much memory there is is good
// for. Other pools and other programs take some and give some back.
const budgetPeriod = 10 * time.Second

// budgetNow returns what pacing takes for the whole: the limit, or else what the pool has
// and could still get.
func (c *core) budgetNow() int64 {
	if limit := c.options.Limit; limit > 0 {
		return limit
	}
	age, now := c.budgetAge.Load(), time.Now().UnixNano()
	if now-age > int64(budgetPeriod) && c.budgetAge.CompareAndSwap(age, now) {
		c.calls.Add(1)
		if free, _, err := c.dev.MemInfo(); err == nil {
			c.budget.Store(free + c.claimed.Load())
		}
	}
	return c.budget.Load()
}

// collect is the ladder's own collection: there is nothing else left.
// It reports whether it ran one, and not another goroutine.
func (c *core) collect() bool {
	return c.pacer.Collect(finalize.Exhausted, c.options.CollectWait)
}
