// Package tracker keeps the books of the foreign heap: memory that the collector
// does not see, such as a GPU's. It knows how much is live, who allocated it, what
// was never freed, and it can be read from outside the process at no cost to it.
//
// # Structures
//
//	Tracker    the books; usually one for a program
//	Account    one holder of memory: a pool, or memory made by somebody else
//	Shard      the counters of one writer at a time (a stream); part of an account
//	site       a call stack that allocated, with what it holds
//	table      where accounts, shards and sites are kept: see package internal/probe
//
// # An allocation comes in
//
//  1. The holder of a shard's lock calls Shard.Alloc: a few additions and plain
//     stores into one cache line that nobody else writes.
//
//  2. Shard.Sample compares what has been made with where the next sample is due. Most often that is all.
//
//  3. If it reports true, Tracker.Site finds the site of the stack and adds what
//     this one sampled allocation stands for. The caller keeps the SiteID. A walk along the
//     frame pointers tells stacks apart; only one that is seen for the first time is named.
//
//     A shard that samples one stack many times in a row keeps figures of its own for it, a part of
//     the site, so that goroutines which allocate from one line do not meet there.
//
// # It goes out
//
//  1. Shard.Free, or Shard.Late if the collector found the memory dead.
//  2. If the allocation was sampled, Tracker.Unsite takes away exactly what Site added.
//
// Tracker.Alloc and Tracker.Free do all of this for memory that somebody else made.
//
// # Sampling
//
// The distances between samples are drawn from an exponential distribution with
// mean Options.Rate bytes, as Go's heap profile does. An allocation of s bytes is
// therefore sampled with probability p = 1 - exp(-s/Rate), and it is counted as 1/p
// objects and s/p bytes, which makes every sum an unbiased estimate. At rate 1
// every allocation is sampled, p is 1 and the figures are exact. An allocation
// is weighed once, when it is made, so each site's live figures return to zero when
// everything it made is freed, at any rate.
//
// # Invariants
//
// At every stop live = made - freed, for each shard, account and site, and late
// frees are part of freed. Live bytes are part of reserved bytes, and the two are
// never added.
//
// # Memory
//
// The mapping of the table lives as long as a Tracker, an Account or a Shard of it can
// be reached, and is given back by the collector afterwards. A shard's slot is used
// again only after its handle has been collected, when nothing can write to it any
// more. Where no mapping can be made, or none is wanted, the same records live on
// the Go heap and everything but the view from outside works as before.
//
// # Size
//
// [Tracker.Handler], [Tracker.Page] and [Tracker.Serve] make a program link net/http, about
// 2.6 MB if nothing else in it does. Built with -tags lastuse_nohttp the package leaves the three
// out, and WriteProfile, WriteJSON and WriteText remain. Metrics are in packages of their own,
// prom and otel, which nothing here imports.
//
// # Lock order
//
// A shard's lock (its owner's), a foreign stripe's lock, table.mu, sites.mu. Methods of Shard
// take no lock.
package tracker
