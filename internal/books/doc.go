// Package books keeps the books of the foreign heap for those who allocate in it: counters, call sites
// and events, where they cost next to nothing. Package tracker shows them to users.
//
// # Structures
//
//	Books      the records of one tracker: a table in a shared mapping, see package internal/probe
//	Account    one holder of memory: a pool, or memory made by somebody else
//	Shard      the counters of one writer at a time (a stream); part of an account
//	Sample     what one sampled allocation remembers: its site, and at which rate it was chosen
//	site       a user's call stack that allocated, with what it holds
//
// # An allocation comes in
//
//  1. The holder of the shard's lock calls Shard.Alloc: a few additions in one cache line that nobody
//     else writes. Most often that is all: Shard.Due compares what has been made with where the next
//     sample is due.
//
//  2. If it is due, Shard.Sample draws the distance to the next one and returns a Sample.
//
//  3. Without the lock, Shard.Site finds the site of the caller's stack, adds what this one allocation
//     stands for, and returns the Sample that the caller keeps. A walk along the frame pointers, hashed,
//     tells stacks apart; only one that is seen for the first time is named. Our own calls on top of it
//     are no part of a site.
//
// # It goes out
//
//  1. Shard.Free, or Shard.Late if the collector found the memory dead.
//  2. If the allocation was sampled, Shard.Unsite takes away exactly what Site added.
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
// At the default rate the mean distance is the rate times a power of two, so large that a shard which
// goes on allocating at its present speed takes one sample in an Interval: what a stack costs is then a fixed
// share of a busy stream's time, however large its buffers are, while one that allocates some thousand
// times a second, or has just begun, is sampled at the rate itself. The mean changes only when a sample
// is drawn, and the Sample remembers it, so nothing above changes.
//
// # Invariants
//
// At every stop live = made - freed, for each shard, account and site, and late
// frees are part of freed. Live bytes are part of reserved bytes, and the two are
// never added.
//
// # Memory
//
// The mapping of the table lives as long as the Books, an Account or a Shard of them can
// be reached, and is given back by the collector afterwards. A shard's slot is used
// again only after its handle has been collected, when nothing can write to it any
// more. Where no mapping can be made, or none is wanted, the same records live on
// the Go heap and everything but the view from outside works as before.
//
// # Lock order
//
//	locks of the owners
//	  the lock of a shard
//	    Books.mu: accounts and shards that come and go; sites.mu: new sites; history.mu
//
// None of the last three is taken under another. Methods of Shard take none but for Site (sites.mu) and
// Record (history.mu). Account.Stats and Books.Totals take the locks of shards one by one and hold no other
// meanwhile.
package books
