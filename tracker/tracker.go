package tracker

import (
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/books"
)

// Options are the choices of a Tracker. The zero Options is good.
type Options struct {
	// Rate is the mean number of bytes between two allocations whose call stacks are
	// taken. 0 means DefaultRate, and longer distances where a stream would take more
	// than one stack in ten microseconds for long. At 1 every allocation is taken and the figures of sites
	// are exact; a negative rate takes none.
	Rate int64

	// MaxSites bounds the number of different call stacks that are kept. What
	// comes after is counted under one site called "other sites", and
	// Stats.SitesLost says for how many samples that was so. 0 means DefaultMaxSites.
	MaxSites int

	// NoTable keeps the books on the Go heap, where no other program sees them.
	NoTable bool

	// History is how many of the last events are kept with their stacks. 0 keeps
	// none. With a history every allocation and every free takes its stack, which costs
	// more than Rate 1.
	History int

	// HistoryFile is where the report and the history are saved when memory runs
	// out. It may be empty, and means nothing without History.
	HistoryFile string
}

const (
	// DefaultRate is one sampled allocation for 512 KiB, as in Go's heap profile.
	DefaultRate = books.DefaultRate
	// DefaultMaxSites is how many call stacks a tracker keeps.
	DefaultMaxSites = books.DefaultMaxSites
)

// A Tracker keeps the books of the foreign heap. All its methods may be called at any time
// from any goroutine.
type Tracker struct {
	books *books.Books

	historyFile string       // where RanOut saves; "" for nowhere
	saved       atomic.Int64 // when it did, in nanoseconds since 1970

	foreignOnce sync.Once
	foreign     atomic.Pointer[foreign] // nil until memory made by somebody else is told of
}

// New returns empty books.
func New(o Options) *Tracker {
	b := books.New(books.Options{Rate: o.Rate, MaxSites: o.MaxSites, NoTable: o.NoTable, History: o.History})
	return &Tracker{books: b, historyFile: o.HistoryFile}
}

// Books is for the packages of this module: no other can do anything with what it returns.
func (t *Tracker) Books() books.Handle { return t.books.Handle() }

// Rate returns the mean number of bytes between samples: 1 if every allocation
// is one, negative if none is.
func (t *Tracker) Rate() int64 { return t.books.Rate() }

// Bytes returns how many bytes of foreign memory are live now.
func (t *Tracker) Bytes() int64 { return t.books.Totals().Live }
