package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A part is one set of benchmarks that belong together. Its raw file has its name.
type part struct {
	name, title string
	about       string // what is compared, and what a reader must know
	run         func(*raw) error
}

var parts = []part{
	{"pair", "a Make with its Free, warm",
		"Time of one allocation with its free on a warm pool, by size, with the pool's counters and its safety net. `lastuse` and `lastuse-cuda` sample call " +
			"stacks as well, which none of the peers does: `-nosites` is without. `lastuse-cuda` runs on the GPU, beside the CUDA driver from C, " +
			"PyTorch's allocator from C++ and CuPy's from Python. `lastuse` runs on a device without memory, beside glibc, mimalloc and jemalloc: the " +
			"floor of what a C program pays on the host; they know no streams and their sizes above some MiB go to the kernel. arrow-go makes Go " +
			"slices, which are cleared.",
		runPair},
	{"holes", "a pair among separated holes",
		"A pair while many separated holes lie free, against the same among 4,096 holes, in turns: 1.0 means that holes cost nothing.",
		func(r *raw) error { return r.test("bench.test", "", "^BenchmarkHoles$", r.time("50ms"), r.count()) }},
	{"streams", "pairs by several goroutines",
		"How many times the pairs of one goroutine several do together, each on its own stream or all on one. " +
			"The machine's own measure is goroutines that share nothing.",
		func(r *raw) error {
			return r.test("bench.test", "", "^BenchmarkStreams$", r.time("100ms"), min(r.count(), 5))
		}},
	{"handoff", "made by one goroutine, freed by another",
		"Pairs of goroutines, one of which makes buffers of 4 KiB on its stream and hands them through a channel to the other, which frees them: the shape " +
			"of xmalloc's test. Wall time by the buffers of one pair. `ordered` is a stand-in of the shape of PyTorch's allocator (see RMM's workload " +
			"below), and the channel alone carries numbers.",
		func(r *raw) error { return r.test("bench.test", "", "^BenchmarkHandOff$", r.time("100ms"), r.count()) }},
	{"multistream", "RMM's multi_stream_allocations",
		"Four kernels of half a millisecond on one, two or four streams, with 8 bytes made before each and freed right behind its launch, then one wait for all: " +
			"RMM's parameters. Cold pools are new, warm ones have run it once. `none` launches without making anything, the least there can be. " +
			"On the host device a kernel sleeps, as a GPU's takes no processor.",
		runMultiStreams},
	{"random", "reserved memory of recorded and random workloads",
		"The most that was reserved as a multiple of the most that was asked for. RMM's random_allocations with RMM's parameters, and the eleven " +
			"problems of MiniMalloc. `mapping` says whether the device can map memory anywhere.",
		func(r *raw) error {
			pattern := "^BenchmarkRandomAllocations$/streams=(1|8)/n=(1000|10000)$"
			if r.quick {
				pattern = "^BenchmarkRandomAllocations$/streams=(1|8)/n=1000$"
			}
			if err := r.test("bench.test", "", pattern, "1x", 1); err != nil {
				return err
			}
			if err := r.test("bench.test", "", "^BenchmarkMiniMalloc$", "1x", 1); err != nil {
				return err
			}
			r.cuda("^BenchmarkRandom$/N=/max=/pool=(mapped|plain|cuMemAllocAsync)$", "3x", 1)
			return nil
		}},
	{"replay", "RMM's workload against the usual shapes of allocators",
		"Processor time for each Make or Free of RMM's random_allocations, warm. `ordered` is best fit over an ordered set with a map from pointers, the shape " +
			"of PyTorch's and CuPy's pools, and `linked` best fit along a list, the shape of RMM's. Both are stand-ins written here: one " +
			"mutex, no streams, no books. They do less than lastuse does.",
		func(r *raw) error {
			pattern := "^BenchmarkBookkeeping$/n=(1000|10000)$/max=(1|64)MiB$"
			if r.quick {
				pattern = "^BenchmarkBookkeeping$/n=1000$/max=(1|64)MiB$"
			}
			return r.test("bench.test", "", pattern, r.time("200ms"), min(r.count(), 5))
		}},
	{"traces", "recorded programs, replayed", tracesAbout, runTraces},
	{"tracker", "what the books cost",
		"The warm pair of a program that keeps its books and of one that is built without them, in turns. With `rate=default` stacks are sampled " +
			"for each 512 KiB, so above that size nearly every pair has its stack taken. The second table has every stack taken, against runtime.Callers alone.",
		runTracker},
	{"neverfree", "a program that never frees",
		"Buffers of 1 MiB, each filled, under a limit of 1 GiB, by a program that frees and by one that leaves all to the collector. " +
			"With explicit frees the same few buffers stay in the processor's caches; without, the whole GiB is gone through.",
		func(r *raw) error {
			if r.quick {
				return r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=1$/shape=(plain|cycles)", "1x", 1, "-neverfree.total=4294967296")
			}
			if err := r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=1$/shape=plain", "1x", 1, "-neverfree.total=107374182400"); err != nil {
				return err
			}
			return r.test("bench.test", "", "^BenchmarkNeverFree$/.*/goroutines=(1|4)$", "1x", 2, "-neverfree.total=17179869184")
		}},
	{"early", "what early release is worth",
		"Four programs in four forms: no frees, a deferred Free behind each Make, rewritten by lastuse, freed by hand. The last two hold the same " +
			"bytes at all times, which a test checks. All figures of a line are of the same runs, which took turns; the time by hand is that of the same turn. `batch` is the largest one that fits in 64 MiB.",
		runEarly},
	{"memwatch", "what being watched costs",
		"What memwatch, a bpftrace script and bcc's memleak slow a program down that allocates and frees, by the calls a second that it makes when " +
			"nobody watches: in turns with a second process that nobody watches. Its driver costs next to nothing (10 ns a pair), so all that is " +
			"seen is the probes. bpftrace has three probes for a pair, as memleak has, and memwatch four, since it reads whether a call failed; " +
			"memwatch and bpftrace must have seen every call, or their line is missing.",
		runMemwatch},
	{"analyzer", "what the analysis costs",
		"Wall time, processor time and memory of `go vet -vettool` with lastuse and with nilness, go vet's analyzer over the same SSA form, on the same packages of " +
			"this module and all that they import: from nothing (the compiler's results are there), again, and after an edit of one line. " +
			"Memory is that of the largest process. Then modules that grow: copies of seven of this module's packages, and one package with more and more functions.",
		runAnalyzer},
}

// time returns how long a benchmark runs: less in a quick report.
func (r *raw) time(full string) string {
	if !r.quick {
		return full
	}
	d, err := time.ParseDuration(full)
	if err != nil {
		panic(err)
	}
	return (d / 5).String()
}

func runPair(r *raw) error {
	n := fmt.Sprint(r.count())
	if err := r.test("bench.test", "", "^BenchmarkMakeFree$", r.time("100ms"), r.count()); err != nil {
		return err
	}
	host := filepath.Join(r.bin, "host_pair")
	r.peer("glibc", nil, host, "glibc", n)
	for _, p := range []struct{ name, file string }{{"mimalloc", "libmimalloc.so.2"}, {"jemalloc", "libjemalloc.so.2"}} {
		lib := ""
		for _, dir := range []string{r.bin, "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"} {
			if _, err := os.Stat(filepath.Join(dir, p.file)); err == nil {
				lib = filepath.Join(dir, p.file)
				break
			}
		}
		if lib == "" {
			r.missing(p.name, p.file+" is not installed")
			continue
		}
		r.peer(p.name, []string{"LD_PRELOAD=" + lib}, host, p.name, n)
	}
	r.peer("arrow-go", nil, filepath.Join(r.bin, "arrow"), n)
	peers := filepath.Join(r.root, "bench", "peers")
	r.cudaPair()
	r.peer("driver", nil, filepath.Join(r.bin, "driver_pair"), n)
	for _, backend := range []string{"native", "expandable", "async"} {
		r.peer("torch-"+backend, nil, "python3", filepath.Join(peers, "torch_pair.py"), "--backend", backend, "--count", n)
	}
	for _, pool := range []string{"memory", "async"} {
		r.peer("cupy-"+pool, nil, "python3", filepath.Join(peers, "cupy_pair.py"), "--pool", pool, "--count", n)
	}
	return nil
}

func runMultiStreams(r *raw) error {
	n := min(r.count(), 5)
	if err := r.test("bench.test", "", "^BenchmarkMultiStreams$", r.time("100ms"), n); err != nil {
		return err
	}
	r.cuda("^BenchmarkMultiStreams$", r.time("100ms"), min(n, 3))
	return nil
}

// cuda runs benchmarks of the CUDA device, if there is one.
func (r *raw) cuda(pattern, time string, count int) {
	const device = "CUDA device"
	if output("nvidia-smi", "-L") == "" {
		r.missing(device, "there is no GPU")
		return
	}
	if err := r.test("cuda.test", "", pattern, time, count, "-driver=real"); err != nil {
		r.missing(device, err.Error())
	}
}

func runTracker(r *raw) error {
	goroutines := "(1|4|16)"
	if r.quick {
		goroutines = "(1|4)"
	}
	for range r.count() {
		if err := r.test("bench.test", "books=kept", "^BenchmarkTracker$/.*/rate=(default|none)$/goroutines="+goroutines+"$", r.time("100ms"), 1); err != nil {
			return err
		}
		if err := r.test("bare.test", "books=none", "^BenchmarkTracker$/.*/rate=default$/goroutines="+goroutines+"$", r.time("100ms"), 1); err != nil {
			return err
		}
	}
	return r.test("tracker.test", "", "^Benchmark(RateOne|Callers)$", r.time("100ms"), r.count())
}

// runNumber tells the runs of one form of a program apart; here they are runs of one benchmark.
var runNumber = regexp.MustCompile(`(?m)^(BenchmarkEarly/\S+)/run=[0-9]+`)

func runEarly(r *raw) error {
	series := filepath.Join(r.dir(), "early-series.txt")
	if err := os.RemoveAll(series); err != nil {
		return err
	}
	rounds := 21
	if r.quick {
		rounds = 3
	}
	out, _, err := r.command(20*time.Minute, nil, filepath.Join(r.bin, "early.test"), "-test.run=^$", "-test.bench=.", "-test.benchtime=1x",
		"-early.series="+series, fmt.Sprint("-early.rounds=", rounds))
	r.lines(runNumber.ReplaceAll(out, []byte("$1")), "")
	return err
}

// cudaNames are the names that the CUDA device's own benchmark gives its pairs.
var cudaNames = regexp.MustCompile(`(?m)^BenchmarkMakeFree/pool=ours(-nosites)?/size=([0-9]+)\S*`)

// cudaPair runs the pair on the CUDA device, if there is one.
func (r *raw) cudaPair() {
	const peer = "lastuse-cuda"
	if output("nvidia-smi", "-L") == "" {
		r.missing(peer, "there is no GPU")
		return
	}
	out, _, err := r.command(5*time.Minute, nil, filepath.Join(r.bin, "cuda.test"), "-test.run=^$", "-test.bench=^BenchmarkMakeFree$/pool=ours",
		"-test.benchtime="+r.time("100ms"), fmt.Sprint("-test.count=", r.count()))
	r.lines(cudaNames.ReplaceAllFunc(out, func(name []byte) []byte {
		m := cudaNames.FindSubmatch(name)
		n, _ := strconv.ParseFloat(string(m[2]), 64) // digits
		s, unit, _ := strings.Cut(size(n), " ")
		return []byte("BenchmarkMakeFree/size=" + strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + unit + "/pool=" + peer + string(m[1]))
	}), "")
	if err != nil {
		r.missing(peer, err.Error())
	}
}
