package alloctest

// Vector clocks. The threads are the streams of a device; each piece of work that a stream has been given has
// a number, from 1 on. A clock says of each stream up to which number the work is over before something else
// begins.
//
// The host is one thread, however many goroutines there are: an event that has been seen done by one of them
// has come to pass for all, and what any of them enqueues from then on runs after it. It has no number of its
// own, since what is enqueued comes after what the host has done before in any case. A function that a stream
// calls back runs on the host, and knows what a Sync of that stream would have told.

// A clock holds numbers by the index of the stream; what is missing is 0.
type clock []uint64

// at returns the number for stream i.
func (c clock) at(i int) uint64 {
	if i < len(c) {
		return c[i]
	}
	return 0
}

// set raises the number for stream i to n.
func (c *clock) set(i int, n uint64) {
	for len(*c) <= i {
		*c = append(*c, 0)
	}
	(*c)[i] = max((*c)[i], n)
}

// join makes c know what o knows too.
func (c *clock) join(o clock) {
	for i, n := range o {
		if n > c.at(i) {
			c.set(i, n)
		}
	}
}

// meet makes c know only what o knows as well.
func (c clock) meet(o clock) {
	for i := range c {
		c[i] = min(c[i], o.at(i))
	}
}

// copy returns a clock that c does not share.
func (c clock) copy() clock { return append(clock(nil), c...) }

// A thread is a stream.
type thread struct {
	index  int
	handle uintptr
	count  uint64  // work that it has been given
	clock  clock   // what its next work runs after, its own work so far included
	gone   bool    // destroyed
	failed int     // times in a row that Sync has failed
	taking *taking // the capture that it belongs to, or nil
}

// lostAfter is how often a Sync must fail in a row for a stream to be taken for broken for good.
const lostAfter = 2

// next numbers a piece of work that has been enqueued.
func (t *thread) next() uint64 {
	t.count++
	t.clock.set(t.index, t.count)
	return t.count
}

// threads are the streams of a device by handle. A handle that the device gives out again is another stream.
// What a destroyed stream leaves is its index, with the count going on, as soon as the host knows all its
// work to be over.
type threads struct {
	host     clock
	all      int // indexes ever used
	byHandle map[uintptr]*thread
	spare    []*thread
}

// get returns the stream with handle h.
func (ts *threads) get(h uintptr) *thread {
	t := ts.byHandle[h]
	if t == nil {
		t = ts.add(h)
	}
	t.clock.join(ts.host)
	return t
}

// add begins a stream.
func (ts *threads) add(h uintptr) *thread {
	t := &thread{index: ts.all, handle: h}
	for i, old := range ts.spare {
		if ts.host.at(old.index) >= old.count {
			t.index, t.count = old.index, old.count
			ts.spare[i] = ts.spare[len(ts.spare)-1]
			ts.spare = ts.spare[:len(ts.spare)-1]
			break
		}
	}
	if t.index == ts.all {
		ts.all++
	}
	t.clock = ts.host.copy()
	ts.byHandle[h] = t
	return t
}

// remove ends a stream.
func (ts *threads) remove(h uintptr) *thread {
	t := ts.byHandle[h]
	if t != nil {
		t.gone = true
		delete(ts.byHandle, h)
		ts.spare = append(ts.spare, t)
	}
	return t
}

// restore takes back a remove.
func (ts *threads) restore(t *thread) {
	if t == nil {
		return
	}
	for i, old := range ts.spare {
		if old == t {
			ts.spare = append(ts.spare[:i:i], ts.spare[i+1:]...)
			t.gone = false
			ts.byHandle[t.handle] = t
			return
		}
	}
}
