// Package probe is the contract between programs that use lastuse and the
// monitor that watches them from outside: a table that can be read at any time,
// and two functions that can be probed.
//
// # The table
//
// A program that tracks foreign memory keeps its counters in a shared mapping
// made by memfd_create with the name [Name]. The name is visible in
// /proc/PID/maps, so the table is found in stripped, position independent and
// race enabled programs alike. Being read costs the program nothing: the counters
// it would keep anyway are the table.
//
// The mapping has this layout, all of it fixed for a version:
//
//	Header                 one page
//	Account records        one per pool, and one for foreign memory
//	Shard records          counters of one writer each; every shard belongs to an account
//	Site records           one per call stack that allocated
//	text                   the stacks as text, referred to by the sites
//
// Everything in it is a word of eight bytes or less, in the byte order of the
// machine, aligned to its size. Records are only ever appended, or reused under
// the header's change counters.
//
// # Consistent reads
//
// A shard has one writer at a time, under a lock that readers in the same process take too: to them its
// words are ordinary ones. For a reader outside, of whom no memory model speaks, the writer stores for each
// operation, in this order, an object counter (MadeObjects or FreedObjects), the byte counters, and last End,
// the number of operations done. He takes the words in the opposite order, which is
// the order in which they lie in memory, so one copy of the record does it: End first,
// the bytes next and the object counters last. If End equals MadeObjects + FreedObjects then
// no operation was under way and the values are those of one instant. If not, he
// copies again; an operation takes a nanosecond or two, so he seldom has to. The writer never waits for him.
// A processor that does not keep stores in order (amd64 does) may show an operation under way half
// done; what has been still for a moment is exact everywhere. LateObjects and LateBytes lie outside of
// this and may be ahead by the operation under way.
//
// Changes of structure (a shard's slot given back) are bracketed by ChangeBegin
// and ChangeEnd in the same way.
//
// What a reader finds in a table was written by another process, perhaps a
// hostile one: [Read] checks every size against fixed bounds before it allocates
// anything, and text is bytes to be cleaned before a terminal sees them.
//
// # Markers
//
// [Alloc] and [Free] do nothing. The runtime calls them for every buffer, and a
// monitor that wants single events attaches a uprobe to their entry. On amd64
// their first instruction is a push, which the kernel emulates without a single
// step. Only entry probes may be used: a return probe on a Go function breaks
// stack growth.
//
// # Compatibility
//
// A change of layout or of a marker's arguments gets a new [Version] and a new
// [Name]. A monitor refuses versions that it does not know.
package probe
