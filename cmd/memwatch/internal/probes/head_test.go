package probes

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func code(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

// TestPlace decodes heads of real libraries and heads made to mislead.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name, code string
		offset     int
		cost       Cost
	}{
		// cmp dword [rip+…], imm32; je; jmp [rip+…]
		{"libcuda 535 and 550", "81 3d 12 34 56 00 15 75 ee 0d 74 08 ff 25 00 10 20 00 90 90 e9 00 00 00 00", 10, Fast},
		{"libcuda 580", "55 48 89 e5 41 54 53 48 83 ec 08 83 3d 11 22 33 00 00 74 10", 0, Fast},
		{"libcudart 12.4", "55 48 89 e5 41 57 41 56", 0, Fast},
		{"push r12", "41 54 55 53", 0, Fast},
		{"endbr64, push", "f3 0f 1e fa 55 48 89 e5", 4, Fast},
		{"nop5", "0f 1f 44 00 00 48 89 f8 c3", 0, Fast},
		// ocl-icd: mov rax,[rip+…]; test rax,rax; jne
		{"ocl-icd", "48 8b 05 11 22 33 00 48 85 c0 75 0e 53", 10, Fast},
		// hipMalloc: endbr64; sub rsp
		{"hipMalloc", "f3 0f 1e fa 48 81 ec 88 00 00 00 e8 00 00 00 00", 0, Slow},
		{"an argument changes first", "48 89 f7 55 c3", 0, Slow},
		{"the stack moves first", "48 83 ec 08 e8 00 00 00 00", 0, Slow},
		{"memory is written first", "48 89 04 24 55 c3", 0, Slow},
		{"it returns first", "c3 55", 0, Slow},
		{"indirect jump", "ff 25 00 00 00 00", 0, Slow},
		{"no fast place in reach", strings.Repeat("48 8d 00 ", 30) + "55", 0, Slow},
		// xor eax,eax; then push, which a loop jumps back to
		{"a loop jumps to it", "31 c0 55 90 eb fc", 0, Slow},
		{"a loop jumps before it", "31 c0 85 c0 55 90 eb fa", 0, Slow},
		{"a loop to the head is harmless", "31 c0 55 90 eb fa", 2, Fast},
		{"code that ends inside an instruction", "31 c0 48 8b", 0, Slow},
		{"a jump with a bad prefix behind the head", "31 c0 2e 74 05 c3", 0, Slow},
		{"notrack indirect jump behind the head", "31 c0 3e ff e0", 0, Slow},
	} {
		t.Run(c.name, func(t *testing.T) {
			offset, cost, err := Place("amd64", code(t, c.code))
			require.NoError(t, err)
			require.Equal(t, c.offset, offset)
			require.Equal(t, c.cost.String(), cost.String())
		})
	}
	for name, c := range map[string]string{
		"nothing":          "",
		"no instruction":   "06",
		"cut off":          "48 8b",
		"trap":             "cc",
		"ud2":              "0f 0b",
		"cs nop":           "66 2e 0f 1f 84 00 00 00 00 00",
		"lock":             "f0 48 0f b1 0f",
		"notrack jump":     "3e ff e0",
		"prefixes forever": strings.Repeat("66 ", 20),
	} {
		_, _, err := Place("amd64", code(t, c))
		require.ErrorIs(t, err, ErrShape, name)
	}
	offset, cost, err := Place("arm64", code(t, "1f 20 03 d5"))
	require.NoError(t, err)
	require.Equal(t, 0, offset)
	require.Equal(t, Slow, cost)
	_, _, err = Place("riscv", []byte{1, 2, 3, 4})
	require.ErrorIs(t, err, ErrShape)
}

// FuzzPlace holds every place to what makes it safe: it begins an instruction of
// the straight way from the head.
func FuzzPlace(f *testing.F) {
	f.Add([]byte{0x81, 0x3d, 1, 2, 3, 0, 4, 5, 6, 7, 0x74, 8})
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55})
	f.Fuzz(func(t *testing.T, b []byte) {
		place, _, err := Place("amd64", b)
		if err != nil {
			require.ErrorIs(t, err, ErrShape)
			return
		}
		at := 0
		for at < place {
			inst, err := decode(b[at:])
			require.NoError(t, err)
			require.True(t, harmless(b[at:], inst))
			at += inst.Len
		}
		require.Equal(t, place, at)
	})
}
