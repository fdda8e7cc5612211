package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape"
	"github.com/lastuse/lastuse/escape/spec"
)

// What go vet -vettool asks of a tool:
//
//	lastuse -V=full            a line that differs if the answers may
//	lastuse -flags             the flags, as JSON
//	lastuse FLAGS unit.cfg     the analysis of one package
//
// The go command keeps the answers for a package as long as -V=full, the flags
// and the package are the same. It knows nothing of the files that flags name,
// and runs the tool in the folder of each package. So -V=full has to cover the
// contents of all specs, and relative names have to be read as the user meant
// them. Both need the command line and the folder of the go command, which is
// our parent: /proc has them. On systems without it, -V=full covers
// lastuse.spec alone, and -spec wants an absolute name.

// vetMode reports whether the go command is calling.
func vetMode(args []string) bool {
	if len(args) == 1 && (args[0] == "-flags" || args[0] == "-V=full") {
		return true
	}
	return len(args) > 0 && strings.HasSuffix(args[len(args)-1], ".cfg")
}

// vetMain answers the go command and ends the process.
func vetMain() {
	caller := parent()
	if len(os.Args) == 2 && os.Args[1] == "-V=full" {
		line, err := version(caller)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitError)
		}
		fmt.Println(line)
		os.Exit(exitClean)
	}
	for i, arg := range os.Args[1:] {
		if name, value, ok := specFlag(arg); ok && value != "" {
			os.Args[i+1] = "-" + name + "=" + caller.resolve(value)
		} else if ok && i+2 < len(os.Args) {
			os.Args[i+2] = caller.resolve(os.Args[i+2])
		}
	}
	// -spec beside -lastuse.spec, which is how unitchecker spells it.
	flags := &escape.Analyzer.Flags
	if f := flags.Lookup("spec"); f != nil {
		flag.Var(f.Value, f.Name, f.Usage)
	}
	if root := spec.ModuleRoot(caller.dir); root != "" && flags.Lookup("root") != nil {
		if err := flags.Set("root", root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitError)
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(vetGCPercent)
	}
	unitchecker.Main(forVet(escape.Analyzer, factsAlone(os.Args[len(os.Args)-1])))
}

// vetGCPercent is what the heap may grow by between collections, where nobody says so: the process is over
// after one package, so collecting as often as a program that stays takes a third of its time.
const vetGCPercent = 300

// factsAlone reports whether the go command wants no more of a package than what others are told of it.
func factsAlone(config string) bool {
	var unit struct{ VetxOnly bool }
	text, err := os.ReadFile(config)
	return err == nil && json.Unmarshal(text, &unit) == nil && unit.VetxOnly
}

// forVet returns the analyzer with the category in front of each message, as the command prints it: go vet
// prints messages alone.
func forVet(analyzer *analysis.Analyzer, facts bool) *analysis.Analyzer {
	a := *analyzer
	a.Run = func(pass *analysis.Pass) (any, error) {
		told := *pass
		told.Report = func(d analysis.Diagnostic) {
			if d.Category != "" {
				d.Message = d.Category + ": " + d.Message
			}
			pass.Report(d)
		}
		if facts {
			told.Report = nil
		}
		return analyzer.Run(&told)
	}
	return &a
}

// specFlag takes an argument apart that is -spec, -lastuse.spec or one of them
// with a value.
func specFlag(arg string) (name, value string, ok bool) {
	name, value, _ = load.CutFlag(arg)
	return name, value, name == "spec" || name == "lastuse.spec"
}

// A process is what matters of the go command that called us.
type process struct {
	args []string
	dir  string // "" if not known
}

// parent looks at the process that started this one. Where that is impossible
// the result is empty, but for the folder of a call that asks for the version:
// that is ours.
func parent() process {
	var p process
	proc := fmt.Sprintf("/proc/%d", os.Getppid())
	if dir, err := os.Readlink(proc + "/cwd"); err == nil {
		p.dir = dir
	}
	if cmdline, err := os.ReadFile(proc + "/cmdline"); err == nil {
		p.args = strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	}
	if p.dir == "" && len(os.Args) == 2 {
		if dir, err := os.Getwd(); err == nil {
			p.dir = dir
		}
	}
	return p
}

// resolve makes a file name absolute in the folder of the process.
func (p process) resolve(name string) string {
	if filepath.IsAbs(name) || p.dir == "" {
		return name
	}
	return filepath.Join(p.dir, name)
}

// specFiles returns the names of all specs that may matter to a run: those that
// flags name and lastuse.spec of the modules that are worked on and of those that
// they import.
func (p process) specFiles() []string {
	var names []string
	for i, arg := range p.args {
		if _, value, ok := specFlag(arg); ok && value != "" {
			names = append(names, p.resolve(value))
		} else if ok && i+1 < len(p.args) {
			names = append(names, p.resolve(p.args[i+1]))
		}
	}
	if p.dir == "" {
		return names
	}
	work, roots, replacements := load.Workspace(p.dir)
	if root := spec.ModuleRoot(p.dir); root != "" {
		roots = append(roots, root)
	}
	for _, root := range append(replacements, roots...) {
		names = append(names, filepath.Join(root, spec.ModuleFile))
	}
	modFile, _ := load.ModFileFlag(append(load.GoFlags(), p.args...))
	if modFile != "" {
		modFile = p.resolve(modFile)
	}
	return append(names, load.DependencySpecs(roots, work, modFile)...)
}

// version returns the line that go vet compares: it ends in a hash of this
// program, which has the embedded specs in it, and of all spec files.
func version(caller process) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(exe)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	for _, name := range unique(caller.specFiles()) {
		src, err := os.ReadFile(name)
		if err != nil {
			continue // absent, which is an answer as well
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(name), len(src), src)
	}
	return fmt.Sprintf("%s version devel comments-go-here buildID=%02x", exe, h.Sum(nil)), nil
}

// unique sorts names and drops those that stand there twice.
func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
