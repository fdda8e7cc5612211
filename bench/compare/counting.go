package main

import (
	"maps"
	"slices"
	"sync"

	"github.com/lastuse/lastuse/alloc"
)

// A counting is a device that counts the calls of a pool by what they do.
type counting struct {
	alloc.Mapper
	mu    sync.Mutex
	calls map[string]int
}

func counted(d alloc.Device) *counting {
	return &counting{Mapper: d.(alloc.Mapper), calls: map[string]int{}} // both devices map
}

func (c *counting) count(kind string) {
	c.mu.Lock()
	c.calls[kind]++
	c.mu.Unlock()
}

// take returns what was counted since it was last called, by kind in their order.
func (c *counting) take() (kinds []string, calls map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, c.calls = c.calls, map[string]int{}
	return slices.Sorted(maps.Keys(calls)), calls
}

func (c *counting) Alloc(n int64) (alloc.Ptr, error) { c.count("alloc"); return c.Mapper.Alloc(n) }

func (c *counting) Free(p alloc.Ptr, n int64) error { c.count("free"); return c.Mapper.Free(p, n) }

func (c *counting) Sync(s uintptr) error { c.count("sync"); return c.Mapper.Sync(s) }

func (c *counting) NewEvent() (uintptr, error) { c.count("new-event"); return c.Mapper.NewEvent() }

func (c *counting) Record(e, s uintptr) error { c.count("record"); return c.Mapper.Record(e, s) }

func (c *counting) Query(e uintptr) (bool, error) { c.count("query"); return c.Mapper.Query(e) }

func (c *counting) SyncEvent(e uintptr) error { c.count("sync-event"); return c.Mapper.SyncEvent(e) }

func (c *counting) Wait(s, e uintptr) error { c.count("wait"); return c.Mapper.Wait(s, e) }

func (c *counting) MemInfo() (int64, int64, error) { c.count("mem-info"); return c.Mapper.MemInfo() }

func (c *counting) Map(p alloc.Ptr, n int64) error { c.count("map"); return c.Mapper.Map(p, n) }

func (c *counting) Unmap(p alloc.Ptr, n int64) error { c.count("unmap"); return c.Mapper.Unmap(p, n) }

func (c *counting) Move(dst, src alloc.Ptr, n int64) error {
	c.count("move")
	return c.Mapper.Move(dst, src, n)
}

func (c *counting) Reserve(n int64) (alloc.Ptr, error) {
	c.count("reserve")
	return c.Mapper.Reserve(n)
}

func (c *counting) Unreserve(p alloc.Ptr, n int64) error {
	c.count("unreserve")
	return c.Mapper.Unreserve(p, n)
}
