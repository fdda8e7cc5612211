// Package lockrank checks in tests that mutexes are taken in one order.
//
// A [Mutex] has a rank, which is part of its type. Built with the tag lockrank, taking one panics if the
// goroutine holds one of the same rank or of a higher one: an order that every run keeps cannot deadlock,
// whatever the timing. Without the tag a Mutex is a sync.Mutex and costs no more.
//
//	go test -tags lockrank ./alloc/
//
// Who holds a mutex of rank [Several] may take several of one rank: he is alone in doing so.
package lockrank

// A Rank is a type whose zero value says which rank it stands for.
type Rank interface{ Rank() int }

const (
	// Several is the rank under which several mutexes of one rank may be held.
	Several = 0
	// Shard is the least rank of a lock under which counters are written, but in package alloc, whose heaps
	// have one of their own. Books is that of all mutexes of package books: they are taken last.
	Shard, Books = 90, 100
)
