// Package model is a transformer of the Llama family with what it needs to run: weights, a cache of keys and
// values in blocks, and kernels for a GPU and for this machine's memory. How its parts are put together, and
// when each buffer ends, is the affair of the packages that run it (see package main).
//
// # The way of a token
//
// A token is a number below [Config].Vocab. Each step of the model takes one row for each token it is given,
// and every row knows its position and its sequence.
//
//	x = gather(embedding, tokens)           Width numbers a row, of 16 bits like all that follows
//	for each layer:
//	    q k v = project(norm(x))            Heads queries, KVHeads keys and values, of Head numbers each
//	    store:  q and k turned by their position; k and v put into the cache, in a block of the row's sequence
//	    a = attend(q)                       for each head: all that its sequence has in the cache, up to the row
//	    x = x + project(a)
//	    h = gate(project(norm(x)))          2*Hidden numbers, of which Hidden come out
//	    x = x + project(h)
//	logits = project(norm(x))               one float32 for each number that could come next
//	pick:   the largest one is the next token of the row's sequence, whose position moves on
//
// Tokens, positions and the table of blocks lie on the device, and pick writes the first two: so the next
// step is the same work on the same memory, and is captured once into a graph.
//
// A prompt goes the same way, with a row for each of its tokens at once; only the last row's logits are
// wanted.
//
// # Structures
//
//	Config   the sizes; all weights in one list, with the names that safetensors files have for them
//	Model    the weights: one buffer, and views of each matrix in it
//	Cache    keys and values of all layers in blocks of BlockLen positions, the table that says which blocks a
//	         sequence has, and the rows' tokens, positions and sequences
//	Batch    the books of the cache: who runs in which row, which blocks are free; numbers of Go's only
//	Kernels  what is computed: one name for each kind of work, and behind it CUDA C (kernels.cu), cuBLAS
//	         (library.go) or Go functions (kernels_host.go)
//
// # Narrow and wide
//
// A step of few rows reads all weights to multiply each by a handful of numbers: it is bound by memory, and
// one kernel that normalizes, multiplies and adds reads them once. A step of many rows is bound by
// arithmetic, and cuBLAS multiplies. [Kernels.Narrow] says which it is.
package model
