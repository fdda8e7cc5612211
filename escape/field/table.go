package main

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
)

// A row is a defect, or code that is right and looks like one.
type row struct {
	has     string // module@version that has it
	without string // module@version in which it is mended; empty: it is right
	pkg     string // the package's folder in the module
	file    string
	fn      string // F or T.M
	shape   string // 1 to 8, or 0
	line    string // a text in the line or the message of each finding that counts; empty: all count
	note    string // what leaks
}

func (r row) String() string {
	v := r.has
	if r.without != "" {
		v += " → " + version(r.without)
	}
	return fmt.Sprintf("%s %s %s/%s %s %s", r.shape, v, r.pkg, r.file, r.fn, r.line)
}

// packages returns what a row's package is called, as released with the defect and without.
func (r row) packages() (names []string) {
	for _, v := range []string{r.has, r.without} {
		if v != "" {
			names = append(names, strings.TrimSuffix(path(v)+"/"+r.pkg, "/."))
		}
	}
	return names
}

func version(module string) string { return module[strings.LastIndex(module, "@")+1:] }

func path(module string) string { return module[:strings.LastIndex(module, "@")] }

var major = regexp.MustCompile(`/v[0-9]+$`)

// name names a row; the version is no part of it.
func (r row) name() string {
	return strings.Join([]string{major.ReplaceAllString(path(r.has), ""), r.pkg, r.file, r.fn, r.line}, " ")
}

// aside reports whether a row of defects.txt is set aside: half of all names are.
func (r row) aside() bool { return crc32.ChecksumIEEE([]byte(r.name()))%2 == 1 }

// A source is a file of specs, in which one module's name is replaced by another's.
type source struct{ file, from, to string }

// A labelled is what a table has.
type labelled struct {
	rows    []row
	specs   map[string][]source // module → the specs that it is analyzed with
	include map[string]string   // module → a folder of it that has the headers which it looks for elsewhere
}

// parse reads a table, which the head of defects.txt describes.
func parse(file, text string) (labelled, error) {
	t := labelled{specs: map[string][]source{}, include: map[string]string{}}
	module, has, without := "", "", ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		switch {
		case f[0] == "module" && len(f) == 2:
			module = f[1]
		case f[0] == "include" && len(f) == 2:
			t.include[module] = f[1]
		case f[0] == "spec" && len(f) == 4:
			t.specs[module] = append(t.specs[module], source{f[1], f[2], f[3]})
		case f[0] == "defects" && len(f) == 3:
			has, without = full(module, f[1]), full(module, f[2])
		case f[0] == "right" && len(f) == 2:
			has, without = full(module, f[1]), ""
		case f[0] == "" && len(f) >= 6 && len(f) <= 7 && has != "":
			r := row{has: has, without: without, pkg: f[1], file: f[2], fn: f[3], shape: f[4], line: f[5]}
			if len(f) == 7 {
				r.note = f[6]
			}
			t.rows = append(t.rows, r)
		default:
			return t, fmt.Errorf("%s:%d: not understood: %q", file, n, line)
		}
	}
	return t, nil
}

// full returns a version with its module; one that names another module has it already.
func full(module, v string) string {
	if strings.Contains(v, "@") {
		return v
	}
	return module + "@" + v
}
