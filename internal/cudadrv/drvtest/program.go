package drvtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram is in the environment of a child that is to be the program.
const asProgram = "DRVTEST_PROGRAM"

// Main is a TestMain for a program: it runs the tests, or in a child that [Program] has started, the program.
func Main(m *testing.M, program func()) {
	if os.Getenv(asProgram) != "" {
		program()
		return
	}
	os.Exit(m.Run())
}

// Program runs the program whose tests these are, on a fresh stand-in driver that lies where the loader
// looks, and returns what it says. The package's TestMain calls [Main].
func Program(tb testing.TB, input string, flags ...string) (said string, err error) {
	tb.Helper()
	d := OpenStandIn(tb, Options{})
	cmd := exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "LD_LIBRARY_PATH="+filepath.Dir(d.Path))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
