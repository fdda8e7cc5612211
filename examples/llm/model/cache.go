package model

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
)

// BlockLen is how many positions a block of the cache has.
const BlockLen = 16

// A Cache is the keys and values of the sequences that run, and where their rows stand. Close gives it back.
type Cache struct {
	Keys, Values alloc.Buffer[Half]  // layer, block, position in the block, head
	Table        alloc.Buffer[int32] // blocks of each sequence, in the order of its positions
	Tokens       alloc.Buffer[int32] // of each row: what it is given next,
	Positions    alloc.Buffer[int32] // where that stands in its sequence,
	Sequences    alloc.Buffer[int32] // and which sequence that is
	Out          alloc.Buffer[int32] // what was picked, for each sequence and position

	layer int // numbers of a layer's keys
}

// NewCache returns a cache of so many blocks for so many sequences.
//
//lastuse:effect result 0 owned on success
func NewCache(s *alloc.Stream, c Config, blocks, sequences int) (*Cache, error) {
	k := &Cache{layer: blocks * BlockLen * c.KVHeads * c.Head()}
	err := k.make(s, c, sequences)
	if err != nil {
		k.Close()
		return nil, fmt.Errorf("cache of %d blocks: %w", blocks, err)
	}
	return k, nil
}

func (k *Cache) make(s *alloc.Stream, c Config, sequences int) (err error) {
	if k.Keys, err = alloc.Make[Half](s, c.Layers*k.layer); err != nil {
		return err
	}
	if k.Values, err = alloc.Make[Half](s, c.Layers*k.layer); err != nil {
		return err
	}
	if k.Out, err = alloc.Make[int32](s, sequences*c.Context); err != nil {
		return err
	}
	if k.Table, err = alloc.Make[int32](s, sequences*c.Context/BlockLen); err != nil {
		return err
	}
	for _, b := range []*alloc.Buffer[int32]{&k.Tokens, &k.Positions, &k.Sequences} {
		if *b, err = alloc.Make[int32](s, sequences); err != nil {
			return err
		}
	}
	return nil
}

// Layer returns the keys and values of a layer.
func (k *Cache) Layer(i int) (keys, values alloc.View[Half]) {
	return k.Keys.View(i*k.layer, (i+1)*k.layer), k.Values.View(i*k.layer, (i+1)*k.layer)
}

// Close gives the cache back, in stream order.
//
//lastuse:effect recv freed repeatable
func (k *Cache) Close() {
	k.Keys.Free()
	k.Values.Free()
	k.Out.Free()
	k.Table.Free()
	k.Tokens.Free()
	k.Positions.Free()
	k.Sequences.Free()
}
