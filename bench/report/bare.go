package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"

	"golang.org/x/tools/imports"
)

// bareBodies are the functions that are emptied to see what the books cost: those that each
// Make and Free calls. In a program built so nothing is counted.
var bareBodies = map[string]map[string]string{
	"internal/books/shard.go": {
		"Alloc": "{}", "Free": "{}", "Late": "{}", "Repeat": "{}", "Pend": "{}", "Unpend": "{}",
		"Seq": "{ return 0 }",
	},
	"internal/books/sample.go":  {"Due": "{ return false }", "Sample": "{ return 0 }"},
	"internal/probe/markers.go": {"Alloc": "{}", "Free": "{}"},
}

// writeOverlay writes, for go build -overlay, the module at root without its books to dir, and
// returns the name of the overlay's file.
func writeOverlay(root, dir string) (string, error) {
	replace := map[string]string{}
	for name, bodies := range bareBodies {
		path, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, "bare_"+filepath.Base(name))
		src, err := os.ReadFile(path)
		if err == nil {
			src, err = emptied(name, src, bodies)
		}
		if err := errors.Join(err, os.WriteFile(to, src, 0o644)); err != nil {
			return "", fmt.Errorf("overlay: %w", err)
		}
		replace[path] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	file := filepath.Join(dir, "bare.json")
	return file, errors.Join(err, os.WriteFile(file, list, 0o644))
}

// emptied returns src with the bodies of the named functions replaced. Each must be there. Their directives
// are dropped, so that what is empty is inlined away, and imports that nothing uses any more too.
func emptied(name string, src []byte, bodies map[string]string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	at, done := 0, 0
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || bodies[fn.Name.Name] == "" {
			continue
		}
		if fn.Doc != nil {
			out.Write(src[at:fset.Position(fn.Doc.Pos()).Offset])
			at = fset.Position(fn.Pos()).Offset
		}
		out.Write(src[at:fset.Position(fn.Body.Pos()).Offset])
		out.WriteString(bodies[fn.Name.Name])
		at = fset.Position(fn.Body.End()).Offset
		done++
	}
	if done != len(bodies) {
		return nil, fmt.Errorf("%s: found %d of the %d functions to empty", name, done, len(bodies))
	}
	out.Write(src[at:])
	return imports.Process(name, out.Bytes(), &imports.Options{Comments: true, TabIndent: true, TabWidth: 8})
}
