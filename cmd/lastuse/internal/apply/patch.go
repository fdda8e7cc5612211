package apply

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Patch returns the difference that an [Output] makes, in the format that git
// apply reads. The name of the file is relative to base.
func Patch(out *Output, base string) []byte {
	name := out.File
	if rel, err := filepath.Rel(base, name); err == nil {
		name = rel
	}
	name = filepath.ToSlash(name)
	var b bytes.Buffer
	old, new := quote("a/"+name), quote("b/"+name)
	fmt.Fprintf(&b, "diff --git %s %s\n--- %s\n+++ %s\n", old, new, endName(old), endName(new))
	b.Write(hunks(out.Old, out.New))
	return b.Bytes()
}

// quote writes a name as git does: as it is, or as a C string if it has bytes
// that a line of a patch cannot hold.
func quote(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%s`, leftPad(strconv.FormatUint(uint64(c), 8)))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func leftPad(s string) string { return strings.Repeat("0", 3-len(s)) + s }

// endName marks the end of a name with spaces, which a date could follow.
func endName(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// PatchBase returns the folder to which names in patches are relative: the top
// of the git work tree, because that is how git apply reads them, at the top and
// in the folder of a module below it; else the root of the module.
func PatchBase(dir, moduleRoot string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	if moduleRoot != "" {
		return moduleRoot
	}
	return dir
}
