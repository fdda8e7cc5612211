package cudadrv

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEscapeReport reads the compiler's own report: nothing in a file of wrappers may be on the heap, and
// neither may anything in the code that cgo makes of them. Errors, and opening the library, are elsewhere.
func TestEscapeReport(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the package")
	}
	gobin, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	cmd := exec.Command(gobin, "list", "-f", "{{.CgoFiles}}", ".")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("not run from the source tree: %v: %s", err, text)
	}
	if !bytes.Contains(text, []byte("memory.go")) {
		t.Skip("cgo is off: there are no wrappers")
	}
	// The report is part of the build's cached output, so a second run is fast and complete.
	text, err = exec.Command(gobin, "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", text)
	wrapper := map[string]int{"device.go": 0, "stream.go": 0, "graph.go": 0, "memory.go": 0, "mapping.go": 0, "module.go": 0, "_cgo_gotypes.go": 0}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		file, _, _ := strings.Cut(sc.Text(), ":")
		file = filepath.Base(file)
		if _, ok := wrapper[file]; !ok {
			continue
		}
		wrapper[file]++
		if strings.Contains(sc.Text(), `"string too large" escapes`) { // the panic in cgo's CString
			continue
		}
		assert.NotContains(t, sc.Text(), "escapes to heap")
		assert.NotContains(t, sc.Text(), "moved to heap")
		if !strings.Contains(sc.Text(), "leaking param: c") && file == "module.go" {
			assert.NotContains(t, sc.Text(), "leaking param")
		}
	}
	for file, lines := range wrapper {
		assert.NotZero(t, lines, "the report says nothing about %s", file)
	}
}
