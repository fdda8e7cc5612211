package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

// onHost returns what a session without a GPU says.
func onHost(t *testing.T, input string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, (&repl{out: &out}).run(strings.NewReader(input), true))
	return out.String()
}

// onGPU returns what a session says on the driver that the flag -driver selects.
func onGPU(t *testing.T, input string) string {
	t.Helper()
	d := drvtest.Choose(t, "libcuda.so.1", func() error {
		gpu, err := cuda.Open(0)
		if err == nil {
			err = gpu.Close()
		}
		return err
	})
	if d.Real() {
		if _, err := cuda.CompileCubin("sm_90", "", cuda.CompileOptions{}); err != nil {
			t.Skip("no NVRTC: ", err)
		}
		var out strings.Builder
		require.NoError(t, (&repl{out: &out}).run(strings.NewReader(input), false), "%s", out.String())
		return out.String()
	}
	said, err := drvtest.Program(t, input, "-nvrtc", drvtest.Build(t, drvtest.Options{Compiler: true}))
	require.NoError(t, err, "%s", said)
	return said
}

// stores is CUDA C whose kernel of a name stores value to every element; the stand-in runs the PTX beside it.
func stores(name string, value int) string {
	return fmt.Sprintf(`__global__ void %[1]s(unsigned *p, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x; // of "%[1]s" {
	if (i < n)
		p[i] = %[2]d;
} `, name, value) + ptxOf(name, value)
}

// statements are statements that do the same.
func statements(value int) string {
	return fmt.Sprintf("x = %d; ", value) + ptxOf("statement", value)
}

func ptxOf(name string, value int) string {
	text := strings.ReplaceAll(fmt.Sprintf(ptx, 0, value), "entry step", "entry "+name)
	return "/*ptx\n" + text + "\nptx*/\n"
}

func TestHost(t *testing.T) {
	out := onHost(t, "set 5\n\nmul 3\n add 1\nx = i;\npow 2\nset\nset x\nadd -1\nrun it\nmul 2\nmemory\n")
	for _, want := range []string{
		"no CUDA C here: -host\n", "device: host\n", "set 5: 5 5 5 5 5 5 5 5 …\n", "add 1: 16 16",
		"error: CUDA C needs a GPU and NVRTC, which comes with the CUDA toolkit; here set, add and mul do: -host\n",
		"error: \"set\": want set, add or mul and a number\n", "error: no kernel \"it\" has been entered\n", "mul 2: 32 32",
		"    4 kernels, ", "4.0 KiB live in the books",
	} {
		assert.Contains(t, out, want)
	}
	assert.Equal(t, 5, strings.Count(out, "error: ")-1, "each bad line is an error, and the session goes on")
}

func TestMadeUp(t *testing.T) {
	var out strings.Builder
	r := &repl{out: &out, every: 100}
	require.NoError(t, r.run(madeUp(300), true))
	assert.Contains(t, out.String(), "  300 kernels")
	assert.NotContains(t, out.String(), "set 1:")
}

// Kernels, declarations and statements in CUDA C; one that does not compile leaves all as it was.
func TestCUDAC(t *testing.T) {
	out := onGPU(t, "set 3\n"+stores("k", 5)+statements(7)+stores("other", 6)+
		stores("k", 9)+"run other\nrun k\n"+
		"#define FIVE 5 "+ptxOf("unused", 0)+
		"__device__ unsigned twice(unsigned v)\n{\n\treturn 2 * v;\n} "+ptxOf("unused", 0)+
		"#error no\nkernels\nadd 1\n"+statements(11)+"quit\nset 1\n")
	text := out
	for _, want := range []string{
		"set 3: 3 3 3 3 3 3 3", "k: 5 5 5 5 5 5 5", ": 7 7 7 7 7 7 7", "other: 6 6 6 6 6 6 6", "k: 9 9 9 9 9 9 9",
		"run other: 6 6 6 6 6 6 6", "run k: 9 9 9 9 9 9 9", "declared", "declared", "error: ", "kernels: k other",
		"add 1: 10 10 10 10 10 10 10", ": 11 11 11 11 11 11 11",
	} {
		_, rest, found := strings.Cut(text, want)
		require.True(t, found, "%q is missing, or not in its place, in\n%s", want, out)
		text = rest
	}
	assert.NotContains(t, text, "set 1")
}

// A thousand kernels of one name, each another: every one does its own work, and memory stays as it is.
func TestThousandLoads(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 50
	}
	var in strings.Builder
	for i := range n {
		if in.WriteString(stores("k", 1000+i)); i == 10 {
			in.WriteString("memory\n")
		}
	}
	in.WriteString("memory\n")
	out := onGPU(t, in.String())
	for i := range n {
		require.True(t, strings.Contains(out, fmt.Sprintf("k: %[1]d %[1]d %[1]d %[1]d", 1000+i)), "%d: %.2000s", i, out)
	}
	var used []int
	for _, m := range regexp.MustCompile(`\((\d+) bytes\)`).FindAllStringSubmatch(out, -1) {
		bytes, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		used = append(used, bytes)
	}
	require.Len(t, used, 2)
	assert.LessOrEqual(t, used[1]-used[0], 4<<20, "%s", out[len(out)-200:])
}

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
		fail string
	}{
		{in: "a\n\n  b c \n", want: []string{"a", "b c"}},
		{in: "if (x) {\n x = 1; // }\n}\nb", want: []string{"if (x) {\n x = 1; // }\n}", "b"}},
		{in: "x = '{'; /* {\n { */\ny", want: []string{"x = '{'; /* {\n { */", "y"}},
		{in: "__global__ void k()\n{\n}\nx", want: []string{"__global__ void k()\n{\n}", "x"}},
		{in: "#define A \\\n 4\nx", want: []string{"#define A \\\n 4", "x"}},
		{in: "struct s {\n}\n;\n", want: []string{"struct s {\n}"}, fail: "input ends within what began on line 3"},
		{in: "__device__ int v\n= 4; // of it\n", want: []string{"__device__ int v\n= 4; // of it"}},
		{in: "x = \"\\\"{\";\n}\n", want: []string{"x = \"\\\"{\";", "}"}},
		{in: "set 1\nf(\n", want: []string{"set 1"}, fail: "input ends within what began on line 2"},
	} {
		us := newUnits(strings.NewReader(tt.in), func(bool) {})
		var got []string
		for u, ok := us.next(); ok; u, ok = us.next() {
			got = append(got, u.text)
		}
		if strings.HasPrefix(tt.in, "struct") { // the semicolon alone is a unit
			assert.Equal(t, []string{"struct s {\n}", ";"}, got)
			continue
		}
		assert.Equal(t, tt.want, got, "%q", tt.in)
		if tt.fail == "" {
			assert.NoError(t, us.err())
		} else {
			assert.EqualError(t, us.err(), tt.fail)
		}
	}
}
