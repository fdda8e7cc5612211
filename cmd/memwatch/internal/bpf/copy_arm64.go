package bpf

// hasCopies reports whether the programs of this machine copy stacks.
const hasCopies = false
