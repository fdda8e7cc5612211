package probe

import "unsafe"

const (
	// Name is the name of the mapping. It contains the version of the layout.
	Name = "lastuse.table.v1"
	// Magic is the first word of a table: "lastuse1".
	Magic uint64 = 0x6c61737475736531
	// Version is the version of the layout and of the markers' arguments.
	Version uint32 = 1

	// HeaderSize is where the first region begins, in bytes.
	HeaderSize = 4096

	// ObjectUnit is what one object counts in a site's object counters: sampled
	// objects stand for a fraction more than whole numbers of objects.
	ObjectUnit = 1024
)

// Bounds that no table exceeds. A reader refuses larger numbers.
const (
	MaxAccounts = 1 << 12
	MaxShards   = 1 << 16
	MaxSites    = 1 << 16
	MaxText     = 1 << 25 // bytes
	MaxStack    = 1 << 14 // bytes of text of one site
)

// A Region says where records of one kind are. Used is written atomically and
// only grows; Lost counts what found no room and is therefore not in the table.
type Region struct {
	Offset uint64 // bytes from the start of the mapping
	Cap    uint64 // records, or bytes of text
	Used   uint64
	Lost   uint64
}

// A Header is the first record of a table.
type Header struct {
	Magic       uint64
	Version     uint32
	ObjectUnit  uint32
	Size        uint64 // bytes of the whole mapping
	Start       int64  // nanoseconds since 1970: when the table was made
	Rate        int64  // mean bytes between sampled allocations; 1 is every one, negative is none
	ChangeBegin uint64
	ChangeEnd   uint64
	AllocMarker uint64 // address of Alloc in the process
	FreeMarker  uint64
	Accounts    Region
	Shards      Region
	Sites       Region
	Text        Region
}

// The states of an account and of a shard.
const (
	StateFree   uint32 = 0 // the record's slot is not in use
	StateOpen   uint32 = 1
	StateClosed uint32 = 2 // closed, but something in it may still be live
)

// Account flags.
const (
	// FlagForeign marks memory made by somebody else and only told to the
	// tracker: nothing is reserved for it.
	FlagForeign uint32 = 1
)

// NameSize is how many bytes of an account's name a table keeps.
const NameSize = 64

// Totals are counters that only grow. Freed includes Late.
type Totals struct {
	MadeObjects  uint64
	MadeBytes    uint64
	FreedObjects uint64
	FreedBytes   uint64
	LateObjects  uint64
	LateBytes    uint64
	Repeated     uint64 // calls of Free on what was free already
}

// An Account is a pool's part of the table: what its shards do not hold.
type Account struct {
	State        uint32
	Flags        uint32
	NameLength   uint32
	_            uint32
	Reserved     uint64 // bytes got from the device now
	ReservedPeak uint64 // bytes; the most there ever were
	PeakPast     uint64 // bytes; bound of live bytes up to the last change of structure
	ExactPeak    uint64 // bytes; exact peak where the account keeps one, else 0
	Past         Totals // of shards that are gone
	_            [88]byte
	Name         [NameSize]byte
}

// A Shard holds the counters of one writer. The first 64 bytes are all that an
// allocation or a free touches. The order of the words is part of how they are read, see
// the package comment: End comes first, the object counters last.
type Shard struct {
	End          uint64 // operations done
	MadeBytes    uint64
	FreedBytes   uint64
	Peak         uint64 // bytes; the most that was live in this shard
	Pending      uint64 // bytes freed but not yet idle
	Next         int64  // the sampler's: MadeBytes of the next sample; no use to a reader
	MadeObjects  uint64
	FreedObjects uint64

	LateObjects uint64
	LateBytes   uint64
	Repeated    uint64
	Account     uint32 // index of its account's record
	State       uint32
	_           [4]uint64
}

// A Site holds what the sampled allocations of one call stack stand for. Free
// includes Late. Objects are in units of 1/[ObjectUnit].
type Site struct {
	Hash         uint64
	AllocObjects uint64
	AllocBytes   uint64
	FreeObjects  uint64
	FreeBytes    uint64
	LateObjects  uint64
	LateBytes    uint64
	Samples      uint64 // allocations that were sampled
	Last         int64  // nanoseconds since 1970: the latest sampled allocation
	TextOffset   uint64 // of its stack in the text region
	TextLength   uint64
	Account      uint64 // index of its account's record plus one; 0 if that is gone or unknown
	_            [4]uint64
}

// Sizes of the records in bytes, part of the layout.
const (
	AccountSize = 256
	ShardSize   = 128
	SiteSize    = 128
)

// The layout is what it says: these do not compile otherwise.
var (
	_ [AccountSize]byte = [unsafe.Sizeof(Account{})]byte{}
	_ [ShardSize]byte   = [unsafe.Sizeof(Shard{})]byte{}
	_ [SiteSize]byte    = [unsafe.Sizeof(Site{})]byte{}
	_                   = [1]byte{}[unsafe.Sizeof(Header{})/(HeaderSize+1)]
)

// A Plan says how large the regions of a new table are.
type Plan struct {
	Accounts, Shards, Sites int // records
	Text                    int // bytes
}

// Place returns the header of a new table with the regions of p placed one after
// the other, and the size of the table in bytes, a whole number of pages.
func (p Plan) Place() Header {
	h := Header{Magic: Magic, Version: Version, ObjectUnit: ObjectUnit}
	at := uint64(HeaderSize)
	place := func(r *Region, n, size int) {
		r.Offset, r.Cap = at, uint64(n)
		at += uint64(n) * uint64(size)
		at = (at + HeaderSize - 1) &^ (HeaderSize - 1)
	}
	place(&h.Accounts, p.Accounts, AccountSize)
	place(&h.Shards, p.Shards, ShardSize)
	place(&h.Sites, p.Sites, SiteSize)
	place(&h.Text, p.Text, 1)
	h.Size = at
	return h
}
