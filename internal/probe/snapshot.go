package probe

import (
	"errors"
	"io"
	"strconv"
	"time"
	"unsafe"
)

// ErrNotTable is in the chain of every error about bytes that are no table of this
// version, or one whose sizes cannot be true.
var ErrNotTable = errors.New("not a table")

// A readError says what could not be read. Package fmt would be linked into every
// program that calls a marker, so it is not used here.
type readError struct {
	before string // what was being done
	err    error
	after  string // what was found, or empty
}

func (e *readError) Error() string {
	s := e.err.Error()
	if e.before != "" {
		s = e.before + ": " + s
	}
	if e.after != "" {
		s += ": " + e.after
	}
	return s
}

func (e *readError) Unwrap() error { return e.err }

// notTable returns an error for which errors.Is(err, ErrNotTable) is true.
func notTable(found string) error { return &readError{err: ErrNotTable, after: found} }

// in returns err, if it is one, as an error in what was being done.
func in(doing string, err error) error {
	if err == nil {
		return nil
	}
	return &readError{before: doing, err: err}
}

// dec returns n in decimal digits.
func dec(n uint64) string { return strconv.FormatUint(n, 10) }

// A Snapshot is what a table said at one time. Names and stacks in it are as the
// process wrote them: clean them before they reach a terminal.
type Snapshot struct {
	Start       time.Time
	Rate        int64 // mean bytes between samples; 1: sites are exact; negative: no sites
	AllocMarker uint64
	FreeMarker  uint64
	Accounts    []AccountTotals
	Sites       []SiteTotals
	Ends        []uint64 // by shard: operations done, for [Seq]

	// What the table had no room for. Numbers are lower bounds if these are not zero.
	LostAccounts, LostShards, LostSites, LostText uint64

	// Torn counts shards that never held still, as when their writer was stopped
	// in the middle of an operation. Their numbers may be off by that operation.
	Torn int
}

// AccountTotals are an account's own numbers and those of all its shards.
type AccountTotals struct {
	Name         string
	Foreign      bool
	Closed       bool
	Reserved     int64 // bytes
	ReservedPeak int64 // bytes
	Pending      int64 // bytes
	PeakBound    int64 // bytes; live never exceeded it. Exact with one shard
	Shards       int
	Totals
}

// Live returns the bytes that are in use. Live is part of Reserved: never add them.
func (a *AccountTotals) Live() int64 { return int64(a.MadeBytes - a.FreedBytes) }

// LiveObjects returns the number of buffers in use.
func (a *AccountTotals) LiveObjects() int64 { return int64(a.MadeObjects - a.FreedObjects) }

// Idle returns the bytes that are reserved but neither live nor pending. For
// foreign memory, for which nothing is reserved, it is 0.
func (a *AccountTotals) Idle() int64 {
	if a.Foreign {
		return 0
	}
	return max(a.Reserved-a.Live()-a.Pending, 0)
}

// SiteTotals are the counters of one call stack. Objects are in units of
// 1/[ObjectUnit].
type SiteTotals struct {
	Hash                     uint64
	AllocObjects, AllocBytes uint64
	FreeObjects, FreeBytes   uint64
	LateObjects, LateBytes   uint64
	Samples                  uint64
	Account                  string // "" if unknown or gone
	Exact                    bool   // every allocation was sampled
	Last                     time.Time
	Stack                    string // lines "function\tfile:line\n", innermost first; may be empty
	TextOffset, TextLength   uint64
}

// Live returns the bytes that the site has in use.
func (s *SiteTotals) Live() int64 { return int64(s.AllocBytes - s.FreeBytes) }

const (
	// maxRetries bounds how often a reader looks again at a record that moves.
	maxRetries = 64
	// maxLooks bounds how often it does so for all shards together: a table may
	// be made so that none of them ever holds still.
	maxLooks = 1 << 12
)

// Read takes a snapshot of the table in the first size bytes of r. It may be used
// on a table that is being written to. Every size that it finds is checked before
// memory is allocated for it.
func Read(r io.ReaderAt, size int64) (*Snapshot, error) {
	for try := 0; ; try++ {
		s, text, moved, err := read(r, size)
		if err != nil {
			return nil, in("probe: read", err)
		}
		if moved && try < maxRetries {
			time.Sleep(time.Duration(try) * 10 * time.Microsecond)
			continue
		}
		if moved {
			s.Torn++
		}
		if err := s.addText(r, text); err != nil {
			return nil, in("probe: read", err)
		}
		return s, nil
	}
}

// read takes one snapshot but for the text, which stays where it is once it is there. It reports whether the
// structure moved meanwhile.
func read(r io.ReaderAt, size int64) (s *Snapshot, text Region, moved bool, err error) {
	h, err := readHeader(r, size)
	if err != nil {
		return nil, text, false, err
	}
	accounts, err := records[Account](r, h.Accounts)
	if err != nil {
		return nil, text, false, err
	}
	shards, torn, err := readShards(r, h.Shards)
	if err != nil {
		return nil, text, false, err
	}
	sites, err := records[Site](r, h.Sites)
	if err != nil {
		return nil, text, false, err
	}
	again, err := readHeader(r, size)
	if err != nil {
		return nil, text, false, err
	}
	s = &Snapshot{
		Start: time.Unix(0, h.Start), Rate: h.Rate,
		AllocMarker: h.AllocMarker, FreeMarker: h.FreeMarker,
		LostAccounts: h.Accounts.Lost, LostShards: h.Shards.Lost,
		LostSites: h.Sites.Lost, LostText: h.Text.Lost,
		Torn: torn,
	}
	s.addAccounts(accounts, shards)
	s.addSites(sites, accounts)
	return s, again.Text, h.ChangeEnd != again.ChangeBegin, nil
}

// readHeader reads the header and checks that all it says is possible.
func readHeader(r io.ReaderAt, size int64) (*Header, error) {
	h := new(Header)
	if size < HeaderSize {
		return nil, notTable(strconv.FormatInt(size, 10) + " bytes are too few")
	}
	if _, err := r.ReadAt(bytesOf(h), 0); err != nil {
		return nil, in("header", err)
	}
	switch {
	case h.Magic != Magic:
		return nil, notTable("first word is 0x" + strconv.FormatUint(h.Magic, 16))
	case h.Version != Version:
		return nil, notTable("version " + dec(uint64(h.Version)) + ", and only " + dec(uint64(Version)) + " is known")
	case h.ObjectUnit != ObjectUnit:
		return nil, notTable("object unit " + dec(uint64(h.ObjectUnit)) + ", want " + dec(ObjectUnit))
	case h.Size > uint64(size):
		return nil, notTable("it claims " + dec(h.Size) + " bytes and has " + dec(uint64(size)))
	}
	for _, c := range []struct {
		name   string
		region Region
		bound  uint64
		record uint64
	}{
		{"accounts", h.Accounts, MaxAccounts, AccountSize},
		{"shards", h.Shards, MaxShards, ShardSize},
		{"sites", h.Sites, MaxSites, SiteSize},
		{"text", h.Text, MaxText, 1},
	} {
		// The first test keeps the multiplication below from overflowing.
		if g := c.region; g.Cap > c.bound || g.Used > g.Cap || g.Offset < HeaderSize || g.Offset%8 != 0 ||
			g.Offset > h.Size || g.Cap*c.record > h.Size-g.Offset {
			return nil, notTable(c.name + ": " + dec(g.Used) + " of " + dec(g.Cap) + " records at byte " + dec(g.Offset) + " of " + dec(h.Size))
		}
	}
	return h, nil
}

// records reads the used records of a region that readHeader has checked.
func records[T Account | Shard | Site](r io.ReaderAt, g Region) ([]T, error) {
	s := make([]T, g.Used)
	if len(s) == 0 {
		return s, nil
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
	if _, err := r.ReadAt(b, int64(g.Offset)); err != nil {
		return nil, in("records", err)
	}
	return s, nil
}

// readShards copies all shards, and those again that were in the middle of an operation. It
// returns how many of them never held still.
func readShards(r io.ReaderAt, g Region) (shards []Shard, torn int, err error) {
	if shards, err = records[Shard](r, g); err != nil {
		return nil, 0, err
	}
	looks := maxLooks
	for i := range shards {
		s := &shards[i]
		for try := 0; s.End != s.MadeObjects+s.FreedObjects; try++ {
			if try == maxRetries || looks == 0 {
				torn++
				break
			}
			looks--
			if _, err := r.ReadAt(bytesOf(s), int64(g.Offset)+int64(i)*ShardSize); err != nil {
				return nil, 0, in("shard", err)
			}
		}
	}
	return shards, torn, nil
}

// addAccounts sums the shards into their accounts.
func (s *Snapshot) addAccounts(accounts []Account, shards []Shard) {
	sums := make([]AccountTotals, len(accounts))
	for i := range accounts {
		a := &accounts[i]
		sums[i] = AccountTotals{
			Name:         a.name(),
			Foreign:      a.Flags&FlagForeign != 0,
			Closed:       a.State == StateClosed,
			Reserved:     int64(a.Reserved),
			ReservedPeak: int64(a.ReservedPeak),
			Totals:       a.Past,
			PeakBound:    int64(a.Past.MadeBytes - a.Past.FreedBytes),
		}
	}
	s.Ends = make([]uint64, len(shards))
	for i := range shards {
		h := &shards[i]
		s.Ends[i] = h.End
		if h.State == StateFree || uint64(h.Account) >= uint64(len(sums)) {
			continue
		}
		sum := &sums[h.Account]
		sum.MadeObjects += h.MadeObjects
		sum.MadeBytes += h.MadeBytes
		sum.FreedObjects += h.FreedObjects
		sum.FreedBytes += h.FreedBytes
		sum.LateObjects += h.LateObjects
		sum.LateBytes += h.LateBytes
		sum.Repeated += h.Repeated
		sum.Pending += int64(h.Pending)
		sum.PeakBound += int64(h.Peak)
		sum.Shards++
	}
	for i := range accounts {
		sums[i].PeakBound = max(sums[i].PeakBound, int64(accounts[i].PeakPast))
		if exact := accounts[i].ExactPeak; exact != 0 {
			sums[i].PeakBound = int64(exact)
		}
		if accounts[i].State != StateFree {
			s.Accounts = append(s.Accounts, sums[i])
		}
	}
}

// name returns the account's name as the process wrote it.
func (a *Account) name() string { return string(a.Name[:min(a.NameLength, NameSize)]) }

// addSites adds the sites, without their stacks.
func (s *Snapshot) addSites(sites []Site, accounts []Account) {
	for i := range sites {
		t := &sites[i]
		if t.AllocObjects == 0 {
			continue
		}
		row := SiteTotals{
			Hash: t.Hash, AllocObjects: t.AllocObjects, AllocBytes: t.AllocBytes,
			FreeObjects: t.FreeObjects, FreeBytes: t.FreeBytes,
			LateObjects: t.LateObjects, LateBytes: t.LateBytes,
			Samples: t.Samples, Last: time.Unix(0, t.Last), Exact: s.Rate == 1,
			TextOffset: t.TextOffset, TextLength: t.TextLength,
		}
		if n := t.Account - 1; n < uint64(len(accounts)) { // 0 wraps to the largest number
			row.Account = accounts[n].name()
			row.Exact = row.Exact || accounts[n].Flags&FlagForeign != 0
		}
		s.Sites = append(s.Sites, row)
	}
}

// addText reads the text from the first stack to the last, and gives each site its own. Stacks are parts of
// it, never copies: many sites that all name the same long stretch cost nothing.
func (s *Snapshot) addText(r io.ReaderAt, g Region) error {
	from, to := g.Used, uint64(0)
	for i := range s.Sites {
		if t := &s.Sites[i]; t.named(g) {
			from, to = min(from, t.TextOffset), max(to, t.TextOffset+t.TextLength)
		}
	}
	if from >= to {
		return nil
	}
	b := make([]byte, to-from)
	if _, err := r.ReadAt(b, int64(g.Offset+from)); err != nil {
		return in("text", err)
	}
	text := unsafe.String(&b[0], len(b))
	for i := range s.Sites {
		if t := &s.Sites[i]; t.named(g) {
			t.Stack = text[t.TextOffset-from : t.TextOffset-from+t.TextLength]
		}
	}
	return nil
}

// named reports whether s names text that is in g. It may name what came after Used was read, or lie.
func (s *SiteTotals) named(g Region) bool {
	return s.TextLength > 0 && s.TextLength <= MaxStack && s.TextOffset <= g.Used && s.TextLength <= g.Used-s.TextOffset
}

// bytesOf returns the memory of *p.
func bytesOf[T any](p *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}
