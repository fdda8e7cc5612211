package proof_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMachines is numbers that are others where a word has four bytes, or under another system.
func TestMachines(t *testing.T) {
	const text = `
import (
	"math"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

var (
	_ = math.Pi
	_ = bits.Len
	_ = os.Exit
	_ = runtime.GC
	_ = strconv.Itoa
	_ syscall.Errno
	_ unsafe.Pointer
)

type ticks [unsafe.Sizeof(syscall.Timeval{}) / 16]int

const word = 32 << (^uint(0) >> 63)

type words [unsafe.Sizeof(0) / 8]int

type filled struct {
	n int
	_ [64 - unsafe.Sizeof(0)]byte
}

var full filled

func look(n int) {}

func f(n int) {
	a := [2]*lib.B{lib.Make(), lib.Make()}
	STATEMENT
	a[0].Free() //F
	a[INDEX].Use()
	a[1].Free()
}
`
	l := newLab()
	withheld := func(statement, index string) bool {
		held := l.across(t, strings.NewReplacer("STATEMENT", statement, "INDEX", index).Replace(text)).Withheld()
		if len(held) > 0 {
			require.Contains(t, held[0].Why.Words, elsewhereWords)
		}
		return len(held) > 0
	}
	for _, right := range []string{"", "best := math.MaxInt; look(best)", "best := -math.MaxInt; look(best)",
		"look(n * int(unsafe.Sizeof(n)))", "look(strconv.IntSize)", "look(int(unsafe.Sizeof(int32(1))))",
		"look(full.n)",
		`if runtime.GOOS == "windows" { look(n) }`, `switch runtime.GOOS { case "windows": look(n) }`,
		"switch { case word == 64 && n > 3: look(n) }",
		"m := int64(math.MaxInt32); look(int(m))", "m := ^uint8(0); look(int(m))", "m := ^uint(n); look(int(m))",
		"m := -uint(n); look(int(m))", "look(n * 2)"} {
		t.Run(right, func(t *testing.T) { assert.False(t, withheld(right, "1")) })
	}
	t.Run("a size that is kept", func(t *testing.T) { assert.True(t, withheld("m := strconv.IntSize; look(m)", "1")) })
	t.Run("a limit by a name of its own", func(t *testing.T) {
		assert.True(t, withheld("const most uint = math.MaxUint", "most>>63"))
	})
	t.Run("a factor that is no size", func(t *testing.T) { assert.True(t, withheld("look(n * strconv.IntSize)", "1")) })
	for _, wrong := range []string{"len(syscall.FdSet{}.Bits)/64", "unsafe.Sizeof(syscall.Timeval{})/16", "len(ticks{})",
		"strconv.IntSize/64", "bits.UintSize/64", "word/64", "unsafe.Sizeof(a)/16",
		"math.MaxInt>>62", "len(runtime.GOARCH)/4", "os.PathSeparator/47", "^uint(0)>>63", "^uintptr(0)>>63",
		"uint(math.MaxUint)>>63", "1-int(math.MaxInt)%7", "len(words{})", "unsafe.Alignof(n)/8", "unsafe.Offsetof(struct{p *int; n int}{}.n)/8"} {
		t.Run(wrong, func(t *testing.T) { assert.True(t, withheld("", wrong)) })
	}
}
