//go:build amd64 && !race

package tracker

// store makes v visible to concurrent readers of *p, after all earlier stores.
//
// On amd64 an ordinary store of an aligned word is that already. atomic.StoreUint64
// would be an exchange with a full barrier there, which only matters to a writer that
// goes on to read what others wrote: a shard's writer never does. It costs 4 ns where this
// costs a fraction of one, and a Make with its Free does eight of them.
func store(p *uint64, v uint64) { *p = v }
