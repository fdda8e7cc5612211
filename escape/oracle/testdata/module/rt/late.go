package rt

import (
	"fmt"
	"runtime"
	"unsafe"
)

// What outlives the function that it was made in, and is read when the program ends.

// Enter announces a goroutine that the run waits for at its end.
func (c *C) Enter() *C { c.wg.Add(1); return c }

// Leave ends such a goroutine; a panic in it is what uses of dead handles do.
func (c *C) Leave() {
	if r := recover(); r != nil {
		c.note(fmt.Sprint("goroutine: ", r))
	}
	c.wg.Done()
}

// Late lets all others run first.
func (c *C) Late() {
	for range 8 {
		runtime.Gosched()
	}
}

// Tick panics the third time.
func (c *C) Tick() {
	if c.ticks++; c.ticks > 2 {
		panic(Panic(1))
	}
}

// Ticks is a closed channel that n values can be received from.
func Ticks(n int) <-chan int {
	ch := make(chan int, n)
	for i := range n {
		ch <- i
	}
	close(ch)
	return ch
}

// Lock locks the mutex of the run; where that would wait for ever, it says so.
func (c *C) Lock() {
	if !c.user.TryLock() {
		c.note("deadlock")
	}
}

// Unlock unlocks it.
func (c *C) Unlock() {
	c.user.TryLock()
	c.user.Unlock()
}

// Blocked says that somebody would wait for ever.
func (c *C) Blocked() { c.note("deadlock") }

func (c *C) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.UAF = append(c.UAF, what)
}

// Caught keeps what was recovered.
func (c *C) Caught(r any) { c.caught = append(c.caught, r) }

// read reads a buffer that somebody kept.
func (c *C) read(x any) {
	defer func() {
		if r := recover(); r != nil {
			c.note(fmt.Sprint("kept: ", r))
		}
	}()
	if b, ok := x.(interface{ Len() int }); ok {
		b.Len()
	}
}

// Watch keeps a string, to be read at the end.
func (c *C) Watch(s *string) { c.texts = append(c.texts, s) }

// reads notes whether s lies in memory that is gone.
func (c *C) reads(s string) {
	p := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.mats {
		if from := uintptr(m.Pointer()); !m.live && p >= from && p < from+uintptr(8*m.n) {
			c.UAF = append(c.UAF, "string")
		}
	}
}

// drained takes what was sent on the run's channel.
func (c *C) drained() []any {
	var res []any
	for len(c.ch) > 0 {
		res = append(res, <-c.ch)
	}
	return res
}

// Pointer returns the address of the memory.
//
//lastuse:effect result 0 views recv
func (m *Mat) Pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.data)) }

// Pointer returns the address of the memory.
//
//lastuse:effect result 0 views recv
func (t *Tex) Pointer() unsafe.Pointer { return t.m.Pointer() }

// TextMat is the memory of m as a string.
func TextMat(m *Mat) string { return unsafe.String((*byte)(m.Pointer()), 8*m.Len()) }

// TextTex is the memory of t as a string.
func TextTex(t *Tex) string { return unsafe.String((*byte)(t.Pointer()), 8*t.Len()) }

// TextSum adds up the bytes of s.
func TextSum(s string) int64 {
	var n int64
	for i := range len(s) {
		n += int64(s[i])
	}
	return n
}
