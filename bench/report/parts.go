package main

import (
	"time"

	"gonum.org/v1/plot"
)

// A part is one set of benchmarks that belong together. Its raw file has its name.
type part struct {
	name, title string
	about       string // what is compared, and what a reader must know
	run         func(*raw) error
	tables      func(*rawFile, addTable)
	picture     string // the name of its plots, if it has any
	plots       func(*rawFile) ([][]*plot.Plot, error)
}

// An addTable takes a table of a part, unless it is empty.
type addTable func(title string, t *table)

var parts = []part{
	{"pair", "a Make with its Free, warm",
		"Time of one allocation with its free on a warm pool, by size, with the pool's counters and its safety net. `lastuse` and `lastuse-cuda` sample call " +
			"stacks as well, which none of the peers does: `-nosites` is without. `lastuse-cuda` runs on the GPU, beside the CUDA driver from C, " +
			"PyTorch's allocator from C++ and CuPy's from Python. `lastuse` runs on a device without memory, beside glibc, mimalloc and jemalloc: the " +
			"floor of what a C program pays on the host; they know no streams and their sizes above some MiB go to the kernel. arrow-go makes Go " +
			"slices, which are cleared.",
		runPair, pairTables, "pair", pairPlots},
	{"holes", "a pair among separated holes",
		"A pair while many separated holes lie free, against the same among 4,096 holes, in turns: 1.0 means that holes cost nothing.",
		func(r *raw) error {
			return r.test("bench.test", "", "^BenchmarkHoles$", r.time(50*time.Millisecond), r.count())
		}, holesTables, "holes", holesPlots},
	{"streams", "pairs by several goroutines",
		"How many times the pairs of one goroutine several do together, each on its own stream or all on one. " +
			"The machine's own measure is goroutines that share nothing.",
		func(r *raw) error {
			return r.test("bench.test", "", "^BenchmarkStreams$", r.time(100*time.Millisecond), r.count())
		}, streamsTables, "scaling", streamsPlots},
	{"handoff", "made by one goroutine, freed by another",
		"Pairs of goroutines, one of which makes buffers of 4 KiB on its stream and hands them through a channel to the other, which frees them: the shape " +
			"of xmalloc's test. Wall time by the buffers of one pair. `ordered` is a stand-in of the shape of PyTorch's allocator, " +
			"written here, and the channel alone carries numbers.",
		func(r *raw) error {
			return r.test("bench.test", "", "^BenchmarkHandOff$", r.time(100*time.Millisecond), r.count())
		}, handOffTables, "handoff", handOffPlots},
	{"multistream", "RMM's multi_stream_allocations",
		"Four kernels of half a millisecond on one, two or four streams, with 8 bytes made before each and freed right behind its launch, then one wait for all: " +
			"RMM's parameters. Cold pools are new, warm ones have run it once. `none` launches without making anything, the least there can be. " +
			"On the host device a kernel sleeps, as a GPU's takes no processor.",
		runMultiStreams, multiStreamsTables, "multistream", multiStreamsPlots},
	{"random", "reserved memory of recorded and random workloads",
		"The most that was reserved as a multiple of the most that was asked for. RMM's random_allocations with RMM's parameters, and the eleven " +
			"problems of MiniMalloc. What a device without memory is asked for is the same in every run, so there is one of each; on the GPU there are more. `mapping` says whether the device can map memory anywhere.",
		runRandom, randomTables, "fragmentation", randomPlots},
	{"traces", "recorded programs, replayed", tracesAbout, runTraces, traceTables, "traces", tracePlots},
	{"tracker", "what the books cost",
		"The warm pair of a program that keeps its books and of one that is built without them, in turns. With `rate=default` stacks are sampled " +
			"for each 512 KiB, or for as much as the stream makes in ten microseconds. The second table has every stack taken, against runtime.Callers alone.",
		runTracker, trackerTables, "", nil},
	{"neverfree", "a program that never frees",
		"Buffers of 1 MiB, each filled, under a limit of 1 GiB, by a program that frees and by one that leaves all to the collector. " +
			"With explicit frees the same few buffers stay in the processor's caches; without, the whole GiB is gone through.",
		runNeverFree, neverFreeTables, "", nil},
	{"early", "what early release is worth",
		"Four programs in four forms: no frees, a deferred Free behind each Make, rewritten by lastuse, freed by hand. The last two hold the same " +
			"bytes at all times, which a test checks. All figures of a line are of the same runs, which took turns; the time by hand is that of the same turn. `batch` is the largest one that fits in 64 MiB.",
		runEarly, earlyTables, "early", earlyPlots},
	{"byhand", "the time of frees by lastuse and by hand",
		"The same programs, rewritten by lastuse against freed by hand and by hand against themselves, which shows what the measurement does: with an eighth of the batches, in " +
			"blocks of four short runs, of each form two, first and last in turn. Each block has the ratio of its times; the median of the ratios has an interval that holds " +
			"it with 95 %, whatever their distribution. Where the interval holds 1 there is no difference; where all of it lies within 2 % of 1, that is shown. " +
			"Processor time is that of the whole process, with the streams that compute and the kernel: other programs on the machine disturb it least.",
		runByHand, byHandTables, "", nil},
	{"memwatch", "what being watched costs",
		"What memwatch, a bpftrace script and bcc's memleak slow a program down that allocates and frees, by the calls a second that it makes when " +
			"nobody watches: in turns with a second process that nobody watches. Its driver costs next to nothing (10 ns a pair), so all that is " +
			"seen is the probes. bpftrace has three probes for a pair, as memleak has, and memwatch four, since it reads whether a call failed; " +
			"memwatch and bpftrace must have seen every call, or their line is missing.",
		runMemwatch, watchedTables, "memwatch", watchedPlots},
	{"analyzer", "what the analysis costs",
		"Wall time, processor time and memory of `go vet -vettool` with lastuse and with nilness, an analyzer of the Go team's that finds nil pointers in an SSA form, on the " +
			"same packages of this module: from nothing (the compiler's results are there), again, and after an edit of one line. What they import is read by both. lastuse " +
			"builds an SSA form of its own, and only of packages that can reach a resource type, as few of the standard library can: from nothing it does less than nilness, " +
			"which builds that of every package. What 100,000 lines take is by the lines of the packages themselves. Memory is that of the largest process. Then modules that " +
			"grow, where what they import is not in the time: copies of seven of this module's packages, and one package with more and more functions.",
		runAnalyzer, analyzerTables, "growth", growthPlots},
}
