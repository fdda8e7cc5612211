package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/txtar"
)

// This file turns the texts of testdata/programs into packages. Each .txtar is an area. In it
//
//	-- name.go --      is a program: declarations and func run(), without package clause and imports
//	-- name/lib.go --  is a package that the program before it imports as lib
//
// A first line `//kinds AP` names the kinds of handle that the text is set in: A, alloc's buffer; P, a
// pointer; M, a value that holds one; H, a number; S, a text; D, an array; T, a struct of a number; C, a
// channel; F, a function; R, counted references; G, a pointer to a generic type; I, an interface; and,
// without a spec, V, a struct of two, E, a struct that embeds one, W, a pointer to a struct, L, a slice. In
// the text stand
//
//	BUF VIEW ERR          the types of a handle and of a part of it; whether Try can fail
//	MK(n, x) TRY(n)       a new handle of n elements that are x; the same with an error for negative n
//	SUM(b) VSUM(v)        what b or v holds, added up
//	SET(b, x)             sets all elements of b
//
// and everything else is Go. All kinds have Free, Len and View(i, j).

//go:embed testdata/programs
var embedded embed.FS

// A Program is one package of hostile text.
type Program struct {
	Area, Name string
	Files      map[string]string // by path under the package's folder
}

// A kind is how the words of a text are set.
type kind struct {
	words map[string]string
	sum   string // SUM(b) is sum with b for the %s
	view  string
	set   string // SET(b, x), both for %s
}

var kinds = map[byte]kind{
	'A': {map[string]string{"BUF": "alloc.Buffer[float32]", "VIEW": "alloc.View[float32]",
		"MK": "kit.Make", "TRY": "kit.Try"},
		"kit.Sum(%s)", "kit.SumView(%s)", "kit.Set(%s, float32(%s))"},
	'P': {map[string]string{"BUF": "*ext.Buf", "VIEW": "ext.View", "MK": "ext.New", "TRY": "ext.Try"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'M': {map[string]string{"BUF": "ext.Mat", "VIEW": "ext.View", "MK": "ext.NewMat"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'H': {map[string]string{"BUF": "ext.H", "VIEW": "ext.View", "MK": "ext.NewH"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'G': {map[string]string{"BUF": "*ext.Box[float64]", "VIEW": "ext.View", "MK": "ext.NewBox[float64]"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'I': {map[string]string{"BUF": "ext.Any", "VIEW": "ext.View", "MK": "ext.NewAny", "TRY": "ext.TryAny"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'V': {map[string]string{"BUF": "own.Pair", "VIEW": "ext.View", "MK": "own.NewPair"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'W': {map[string]string{"BUF": "*own.Wrap", "VIEW": "ext.View", "MK": "own.NewWrap", "TRY": "own.TryWrap"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'L': {map[string]string{"BUF": "own.List", "VIEW": "ext.View", "MK": "own.NewList"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'S': {map[string]string{"BUF": "ext.Key", "VIEW": "ext.View", "MK": "ext.NewKey"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'D': {map[string]string{"BUF": "ext.ID", "VIEW": "ext.View", "MK": "ext.NewID"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'T': {map[string]string{"BUF": "ext.Tex", "VIEW": "ext.View", "MK": "ext.NewTex"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'C': {map[string]string{"BUF": "ext.Chan", "VIEW": "ext.View", "MK": "ext.NewChan"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'F': {map[string]string{"BUF": "ext.Func", "VIEW": "ext.View", "MK": "ext.NewFunc"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'E': {map[string]string{"BUF": "own.Emb", "VIEW": "ext.View", "MK": "own.NewEmb"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
	'R': {map[string]string{"BUF": "*ext.Ref", "VIEW": "ext.View", "MK": "ext.NewRef"},
		"%s.Sum()", "%s.Sum()", "%s.Fill(float64(%s))"},
}

// packages are what a program may import, by the name that it uses; those of same besides.
var packages = map[string]string{
	"kit": "attacks.test/kit", "own": "attacks.test/own", "ext": "ext.test", "alloc": "github.com/lastuse/lastuse/alloc",
	"host": "github.com/lastuse/lastuse/alloc/host", "errgroup": "golang.org/x/sync/errgroup",
	"singleflight": "golang.org/x/sync/singleflight", "semaphore": "golang.org/x/sync/semaphore",
	"atomic": "sync/atomic", "list": "container/list", "heap": "container/heap", "ring": "container/ring",
	"bits": "math/bits", "debug": "runtime/debug", "template": "text/template", "json": "encoding/json",
	"rand": "math/rand", "binary": "encoding/binary", "fs": "io/fs", "filepath": "path/filepath",
	"assert": "github.com/stretchr/testify/assert", "hex": "encoding/hex", "base64": "encoding/base64",
	"grocksdb": "github.com/linxGnu/grocksdb", "ts": "github.com/sugarme/gotch/ts",
	"arrow": "github.com/apache/arrow-go/v18/arrow", "array": "github.com/apache/arrow-go/v18/arrow/array",
	"pjrt": "github.com/gomlx/gopjrt/pjrt",
	"url":  "net/url", "crc32": "hash/crc32", "utf8": "unicode/utf8",
}

// same are packages whose path is their name.
var same = strings.Fields(`bufio bytes cmp context errors fmt hash html io iter log maps math os path
	reflect regexp runtime slices sort strconv strings sync testing time unique unsafe weak`)

// Read reads the programs of files, or of all areas; texts that name no kinds are set in these.
func Read(set string, files ...string) ([]*Program, error) {
	open := os.ReadFile
	if len(files) == 0 {
		open = embedded.ReadFile
		entries, err := embedded.ReadDir("testdata/programs")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			files = append(files, "testdata/programs/"+e.Name())
		}
	}
	var progs []*Program
	for _, name := range files {
		text, err := open(name)
		if err != nil {
			return nil, err
		}
		area, err := split(cmp.Or(set, "AP"), strings.TrimSuffix(path.Base(name), ".txtar"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		progs = append(progs, area...)
	}
	return progs, nil
}

// split makes the programs of one area, in the usual kinds where a text names none.
func split(usual, area string, text []byte) ([]*Program, error) {
	var progs []*Program
	files := txtar.Parse(text).Files
	for i := 0; i < len(files); {
		main := files[i]
		name := strings.TrimSuffix(main.Name, ".go")
		next := i + 1
		for next < len(files) && strings.HasPrefix(files[next].Name, name+"/") {
			next++
		}
		set := usual
		if line, rest, ok := bytes.Cut(main.Data, []byte("\n")); ok && bytes.HasPrefix(line, []byte("//kinds ")) {
			set, main.Data = strings.TrimSpace(string(line[len("//kinds "):])), rest
		}
		for _, k := range []byte(set) {
			p := &Program{Area: area, Name: fmt.Sprintf("%s_%c", name, k), Files: map[string]string{}}
			if err := p.add("main.go", k, main.Data, files[i+1:next]); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			progs = append(progs, p)
		}
		i = next
	}
	return progs, nil
}

// add sets the program's texts in one kind.
func (p *Program) add(file string, k byte, main []byte, libs []txtar.File) error {
	folder := "attacks.test/progs/" + p.Area + "/" + p.Name
	own := map[string]string{}
	for _, l := range libs {
		lib := strings.TrimSuffix(path.Base(l.Name), ".go")
		own[lib] = folder + "/" + lib
	}
	for _, l := range libs {
		lib := strings.TrimSuffix(path.Base(l.Name), ".go")
		text, err := dress(lib, kinds[k].apply(string(l.Data)), own)
		if err != nil {
			return err
		}
		p.Files[lib+"/"+lib+".go"] = text
	}
	text := kinds[k].apply(string(main)) + "\n// Main is what the command runs.\nfunc Main() { kit.Main(run) }\n"
	text, err := dress(p.Name, text, own)
	p.Files[file] = text
	return err
}

// dress gives a text its package clause and imports.
func dress(name, text string, own map[string]string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, "package "+name+"\n"+text, 0)
	if err != nil {
		return "", err
	}
	need := map[string]bool{}
	for _, id := range f.Unresolved {
		if at := own[id.Name]; at != "" && id.Name != name {
			need[at] = true
		} else if at := packages[id.Name]; at != "" {
			need[at] = true
		} else if slices.Contains(same, id.Name) {
			need[id.Name] = true
		}
	}
	var imports []string
	for at := range need {
		imports = append(imports, at)
	}
	sort.Strings(imports)
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", name)
	for _, at := range imports {
		fmt.Fprintf(&b, "\t%q\n", at)
	}
	b.WriteString(")\n\n" + text)
	out, err := format.Source([]byte(b.String()))
	return string(out), err
}

// apply sets the words of a text.
func (k kind) apply(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		word := upper(text[i:])
		if word == "" || i > 0 && letter(text[i-1]) {
			b.WriteByte(text[i])
			i++
			continue
		}
		i += len(word)
		pattern := map[string]string{"SUM": k.sum, "VSUM": k.view, "SET": k.set}[word]
		if pattern == "" {
			if w := k.words[word]; w != "" {
				word = w
			}
			b.WriteString(word)
			continue
		}
		args, n := arguments(text[i:])
		i += n
		for j := range args {
			args[j] = k.apply(args[j])
		}
		fmt.Fprintf(&b, pattern, anys(args)...)
	}
	return b.String()
}

func anys(xs []string) []any {
	var out []any
	for _, x := range xs {
		out = append(out, x)
	}
	return out
}

func letter(c byte) bool {
	return c == '_' || c == '"' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// upper returns the word of capitals that text begins with.
func upper(text string) string {
	n := 0
	for n < len(text) && letter(text[n]) {
		n++
	}
	if n == 0 || strings.ToUpper(text[:n]) != text[:n] {
		return ""
	}
	return text[:n]
}

// arguments splits what stands in the parentheses that text begins with, and says how long it is.
func arguments(text string) ([]string, int) {
	var args []string
	depth, from := 0, 1
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 1 {
				args = append(args, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
		if depth == 0 {
			return append(args, strings.TrimSpace(text[from:i])), i + 1
		}
	}
	return args, len(text)
}
