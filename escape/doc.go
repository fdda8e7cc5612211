// Package escape finds foreign buffers that never leave the function that owns
// them, and plans the statements that free each one at its last use.
package escape
