package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStartsWithPosition(t *testing.T) {
	require.True(t, startsWithPosition("a/b.go:3: text"))
	require.True(t, startsWithPosition("/x/b.spec:13:4: text\nmore"))
	require.False(t, startsWithPosition("go: module 3:4"))
	require.False(t, startsWithPosition("open x: no such file"))
}
