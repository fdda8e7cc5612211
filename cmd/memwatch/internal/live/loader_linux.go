//go:build linux && (amd64 || arm64)

package live

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A loader knows where the dynamic loader looks for the libraries of a program that has not run yet.
type loader struct {
	fromEnv []string            // folders of LD_LIBRARY_PATH
	cached  map[string][]string // paths in the loader's cache, by base name
	dirs    []string            // all folders that it would look into
}

// maxNeeded bounds the files whose needs are followed.
const maxNeeded = 512

// newLoader follows what the program of a process needs, and what that needs.
func newLoader(pid int) *loader {
	l := &loader{}
	if b, err := os.ReadFile("/etc/ld.so.cache"); err == nil { // without it the folders are what there is
		l.cached = parseCache(b)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
		for v := range strings.SplitSeq(string(b), "\x00") {
			if list, ok := strings.CutPrefix(v, "LD_LIBRARY_PATH="); ok && list != "" {
				here, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
				for _, d := range strings.FieldsFunc(strings.ReplaceAll(list, "::", ":.:"), func(r rune) bool { return r == ':' || r == ';' }) {
					if !filepath.IsAbs(d) {
						d = filepath.Join(here, d)
					}
					l.fromEnv = append(l.fromEnv, d)
				}
			}
		}
	}
	l.dirs = slices.Clone(l.fromEnv)
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return l
	}
	seen := map[string]bool{exe: true}
	for queue := []string{exe}; len(queue) > 0 && len(seen) < maxNeeded; queue = queue[1:] {
		for _, path := range l.needs(queue[0]) {
			if !seen[path] {
				seen[path] = true
				queue = append(queue, path)
			}
		}
	}
	return l
}

// needs returns the files that a file needs, and notes the folders that it names.
func (l *loader) needs(path string) (all []string) {
	defer func() {
		if recover() != nil { // the standard library trusts what it reads here and there
			all = nil
		}
	}()
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var own []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, _ := f.DynString(tag) // a static program has none
		for _, list := range lists {
			for d := range strings.SplitSeq(list, ":") {
				d = strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path)).Replace(d)
				if filepath.IsAbs(d) && !strings.Contains(d, "$") {
					own = append(own, filepath.Clean(d))
				}
			}
		}
	}
	for _, d := range own {
		if !slices.Contains(l.dirs, d) {
			l.dirs = append(l.dirs, d)
		}
	}
	names, _ := f.ImportedLibraries()
	for _, name := range names {
		var found []string
		if strings.Contains(name, "/") {
			found = []string{name}
		} else {
			for _, d := range slices.Concat(own, l.dirs) { // a RPATH is for what is needed further down too
				found = append(found, filepath.Join(d, name))
			}
			found = append(found, l.cached[name]...)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				all = append(all, path)
				break
			}
		}
	}
	return all
}

// parseCache reads the loader's cache, /etc/ld.so.cache in the form of glibc 2.2 and later: a header, then
// for each library where its name and its path are, and their text.
func parseCache(b []byte) map[string][]string {
	const header, entry = 48, 24
	at := bytes.Index(b, []byte("glibc-ld.so.cache1.1"))
	if at < 0 || len(b)-at < header {
		return nil
	}
	b = b[at:]
	text := func(i uint32) string {
		if int64(i) >= int64(len(b)) {
			return ""
		}
		s, _, _ := bytes.Cut(b[i:], []byte{0})
		return string(s)
	}
	all := make(map[string][]string)
	for n := range min(int64(binary.NativeEndian.Uint32(b[20:])), int64(len(b)-header)/entry) {
		e := b[header+n*entry:]
		name, path := text(binary.NativeEndian.Uint32(e[4:])), text(binary.NativeEndian.Uint32(e[8:]))
		if name != "" && filepath.IsAbs(path) {
			all[name] = append(all[name], path)
		}
	}
	return all
}
