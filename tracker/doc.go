// Package tracker shows the books of the foreign heap: memory that the collector does not see, such as a
// GPU's. It says how much is live, who allocated it and what was never freed, in the process and to
// other programs, at no cost to the allocations.
//
// # Structures
//
//	Tracker    the books; usually one for a program, given to its pools in alloc.Options
//	account    one holder of memory: a pool, or memory made by somebody else
//	Site       a call stack that allocated, with what it holds
//	Event      an allocation or a free, where a history is kept
//
// # The way in
//
// Pools count and take call sites by themselves; how, package internal/books says. Tracker.Alloc and
// Tracker.Free do it for memory that somebody else made.
//
// # The way out
//
// Tracker.Bytes, Stats and Sites for the program, Check and Main for its tests, WriteProfile for go tool
// pprof, WriteJSON and WriteText for reports, Handler, Page and Serve for browsers, the packages prom and
// otel for metrics, and for memwatch a table in shared memory.
//
// # Sampling
//
// Call stacks are sampled by bytes, as Go's heap profile does it: an allocation of s bytes is taken with
// probability p = 1 - exp(-s/Options.Rate) and counted as 1/p objects and s/p bytes, so every sum is an
// unbiased estimate. At rate 1 each is taken, and the figures are exact; so they are for memory made by
// somebody else, at any rate. At the default rate a stream that allocates without a pause is sampled more
// thinly, at most once in ten microseconds for long, so that stacks cost a thirtieth of its time at most
// whatever the size of its buffers. Totals do not come from samples: they are exact at every rate.
//
// # Size
//
// [Tracker.Handler], [Tracker.Page] and [Tracker.Serve] make a program link net/http, about
// 2.6 MB if nothing else in it does. Built with -tags lastuse_nohttp the package leaves the three
// out, and WriteProfile, WriteJSON and WriteText remain.
//
// # Lock order
//
// The lock of a stripe of the foreign memory, then those of package internal/books, which see. Maps of
// segments are asked for without any lock.
package tracker
