package main

import "time"

// quickRule says what a quick report leaves out: every part that the machine can run is in it.
const quickRule = "A quick report has every part that the machine can run, made shorter: 3 runs of each benchmark instead of 10, each a fifth as long; " +
	"of workloads the smallest, of goroutines at most four; batches of the programs of early an eighth, and 7 blocks of byhand instead of 400; a program that never frees twice its limit; " +
	"the analyzers on ./alloc and ./tracker alone, once, and growth only within one package, in two sizes; of PyTorch's three backends its native one; a peer gets a minute."

// What is less in a quick report. quickRule says it.
const (
	quickCount    = 3
	quickTime     = 5 // runs of a benchmark are so many times shorter
	quickSmaller  = 8 // so many times smaller are the batches of the programs of early
	quickPatience = time.Minute
)

// count returns how often something is repeated.
func (b *bench) count() int {
	if b.quick {
		return quickCount
	}
	return 10
}

// time returns how long a benchmark runs.
func (b *bench) time(full time.Duration) string {
	if b.quick {
		full /= quickTime
	}
	return full.String()
}

// peerPatience returns how long a peer may take.
func (b *bench) peerPatience() time.Duration {
	if b.quick {
		return min(b.patience, quickPatience)
	}
	return b.patience
}

// backends returns the backends of PyTorch's allocator that are compared.
func (r *raw) backends() []string {
	all := []string{"native", "expandable", "async"}
	if !r.quick {
		return all
	}
	for _, left := range all[1:] {
		r.missing("torch-"+left, "left out of a quick report")
	}
	return all[:1]
}
