package deptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	const m = "example.com/m"
	pkgs := []Package{
		{ImportPath: m + "/low", Imports: []string{"fmt", "golang.org/x/sys/unix"}, Deps: []string{"fmt", "golang.org/x/sys/unix"}},
		{ImportPath: m + "/high", Imports: []string{m + "/low", "testing"}, Deps: []string{m + "/low", "fmt", "testing"}},
		{ImportPath: m + "/cmd/tool", Imports: []string{m + "/high"}, Deps: []string{m + "/high", m + "/low", "testing"}, CgoFiles: []string{"x.go"}},
	}
	for _, tt := range []struct {
		name string
		rule Rule
		want []string
	}{
		{"allowed by std and module tree", Rule{Match: "low", Allow: []string{"std", "golang.org/x/sys/..."}, Because: "b"}, nil},
		{"not on the list", Rule{Match: "low", Allow: []string{"std"}, Because: "b"},
			[]string{"example.com/m/low imports golang.org/x/sys/unix: not among [std], because b"}},
		{"denied directly", Rule{Match: "high", Deny: []string{"low"}, Because: "b"},
			[]string{"example.com/m/high imports example.com/m/low (directly): forbidden, because b"}},
		{"denied through others", Rule{Match: "cmd/...", Deny: []string{"low"}, Because: "b"},
			[]string{"example.com/m/cmd/tool imports example.com/m/low (through others): forbidden, because b"}},
		{"cgo", Rule{Match: "cmd/...", Deny: []string{"C"}, Because: "b"},
			[]string{"example.com/m/cmd/tool uses cgo ([x.go]): forbidden, because b"}},
		{"everything but", Rule{Match: "...", Except: []string{"cmd/..."}, Deny: []string{"C"}, Because: "b"}, nil},
		{"a tree of the module is not one of the standard library", Rule{Match: "low", Deny: []string{"fmt/..."}, Because: "b"}, nil},
		{"a rule without a subject", Rule{Match: "gone", Because: "b"}, []string{`rule for "gone" matches no package`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Check(m, pkgs, []Rule{tt.rule}))
		})
	}
}

func TestListSeesThisPackage(t *testing.T) {
	pkgs, err := List(".", ".")
	require.NoError(t, err)
	require.Len(t, pkgs, 1)
	require.Equal(t, "github.com/lastuse/lastuse/internal/deptest", pkgs[0].ImportPath)
	require.Contains(t, pkgs[0].Imports, "os/exec")
}
