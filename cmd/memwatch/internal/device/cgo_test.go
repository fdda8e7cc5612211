//go:build cgo

package device

const cgo = true
