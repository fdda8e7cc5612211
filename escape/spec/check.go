package spec

import (
	"fmt"
	"go/types"
	"strings"
)

// PackagePath returns the import path of the package that a line names; "" for a
// glob that names more than the functions of one package and for a name without
// a package.
func (l *Line) PackagePath() string {
	name, glob := strings.CutSuffix(l.Name, "*")
	if inner, ok := strings.CutPrefix(name, "("); ok {
		inner = strings.TrimPrefix(inner, "*")
		typ, _, closed := strings.Cut(inner, ")")
		if glob && !closed {
			if i := strings.LastIndexByte(typ, '/'); !strings.Contains(typ[i+1:], ".") {
				return ""
			}
		}
		pkg, _ := splitLast(typ)
		return pkg
	}
	if glob && !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ".") {
		return ""
	}
	pkg, _ := splitLast(name)
	return pkg
}

// Check compares the lines of a file with the code that they name and returns
// what does not fit, in the order of the file: a package or function that is
// absent, an operand that the function does not have, a type that the effect
// makes no sense for. The function packages returns the type-checked package
// with an import path, or nil if there is none. The error joins [*Error]s.
//
// Programs run with specs that do not fit: see the package comment on versions.
func Check(f *File, packages func(path string) *types.Package) error {
	var errs []*Error
	for _, l := range f.Lines {
		fail := func(format string, args ...any) {
			errs = append(errs, &Error{Pos: l.Pos, Msg: fmt.Sprintf(format, args...)})
		}
		path := l.PackagePath()
		if path == "" {
			continue // a glob over packages, or (error).Error: nothing to compare with
		}
		pkg := packages(path)
		if pkg == nil {
			fail("%s: no package %s", l.Name, path)
			continue
		}
		found := false
		seen := map[string]bool{}
		prefix := strings.TrimSuffix(l.Name, "*")
		for fn := range Declared(pkg) {
			name := FullName(fn)
			if name != l.Name && !(l.IsGlob() && strings.HasPrefix(name, prefix)) {
				continue
			}
			found = true
			if l.IsGlob() {
				// Operands that one of the functions lacks are the point of a glob.
				continue
			}
			for _, c := range l.Clauses {
				for _, err := range checkClause(c, fn.Signature()) {
					if !seen[err.Error()] {
						seen[err.Error()] = true
						fail("%s: %v", l.Name, err)
					}
				}
			}
		}
		if sig := variable(pkg, l.Name); sig != nil {
			found = true
			for _, c := range l.Clauses {
				for _, err := range checkClause(c, sig) {
					fail("%s: %v", l.Name, err)
				}
			}
		}
		if !found {
			if l.IsGlob() {
				fail("%s: package %s has no function of that name", l.Name, path)
			} else {
				fail("%s: no such function%s", l.Name, hint(l.Name, pkg))
			}
		}
	}
	return joinErrors(errs)
}

// variable returns the signature of what a variable of a package holds; nil if it holds no function.
func variable(pkg *types.Package, name string) *types.Signature {
	of, name := splitLast(name)
	v, ok := pkg.Scope().Lookup(name).(*types.Var)
	if !ok || of != pkg.Path() {
		return nil
	}
	sig, _ := v.Type().Underlying().(*types.Signature)
	return sig
}

// hint names a function that the author may have meant: the same method with the
// other kind of receiver, or the same name in another case.
func hint(name string, pkg *types.Package) string {
	plain := func(s string) string { return strings.ToLower(strings.Replace(s, "(*", "(", 1)) }
	for fn := range Declared(pkg) {
		if full := FullName(fn); plain(full) == plain(name) {
			return "; did you mean " + full + "?"
		}
	}
	return ""
}
