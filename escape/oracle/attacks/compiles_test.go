//go:build long

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	load "golang.org/x/tools/go/packages"
)

// Each text is Go in all its kinds: one that is not would keep all others from being run.
func TestCompiles(t *testing.T) {
	progs, err := Read("")
	require.NoError(t, err)
	tr, err := newTrial(t.TempDir(), "../../..", progs)
	require.NoError(t, err)
	pkgs, err := load.Load(&load.Config{Dir: tr.dir, Env: environment(), Mode: load.NeedName | load.NeedTypes |
		load.NeedSyntax | load.NeedTypesInfo | load.NeedImports | load.NeedDeps}, "./progs/...")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pkgs), len(progs))
	for _, p := range pkgs {
		assert.Empty(t, p.Errors, p.PkgPath)
	}
}
