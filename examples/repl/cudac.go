package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lastuse/lastuse/alloc/cuda"
)

// kernelName finds the names of kernels in CUDA C.
var kernelName = regexp.MustCompile(`__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+` +
	`(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(`)

// declaration finds what is for later kernels.
var declaration = regexp.MustCompile(`^(#|(__global__|__device__|__constant__|__host__|struct|union|enum|` +
	`class|template|typedef|using|namespace|inline|static|constexpr|const|extern)\b)`)

// cudaC compiles a unit and does what it is for: keeps declarations, runs kernels and keeps them, runs
// statements.
func (r *repl) cudaC(u unit) error {
	var names []string
	for _, m := range kernelName.FindAllStringSubmatch(u.text, -1) {
		names = append(names, m[1])
	}
	text := fmt.Sprintf("#line %d\n%s\n", u.line, u.text)
	switch {
	case len(names) > 0:
		return r.define(u, text, names)
	case declaration.MatchString(u.text):
		m, err := r.compile(text+"extern \"C\" __global__ void nothing() {}\n", nil)
		if err != nil {
			return err
		}
		r.before += text
		fmt.Fprintln(r.out, "declared")
		return m.Unload()
	}
	m, err := r.compile(fmt.Sprintf(statement, u.line, u.text), []string{"statement"})
	if err != nil {
		return err
	}
	k, err := m.Kernel("statement")
	if err == nil {
		err = r.launch(k)
	}
	return errors.Join(r.ran(u, err), m.Unload())
}

// statement is a kernel made of statements, which stand on a line of their own.
const statement = `__global__ void statement(unsigned *p, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		unsigned &x = p[i];
#line %d
		%s
		;
	}
}
`

// define compiles kernels, runs each and keeps it. One that had a name before is unloaded.
func (r *repl) define(u unit, text string, names []string) error {
	for _, name := range names {
		// A module for each, so that a name can be replaced alone.
		m, err := r.compile(text, []string{name})
		if err != nil {
			return err
		}
		k, err := m.Kernel(name)
		if err != nil {
			return errors.Join(err, m.Unload())
		}
		if old, ok := r.kernels[name]; ok {
			err = old.module.Unload()
		}
		r.kernels[name] = kernel{m, k}
		if err = errors.Join(err, r.ran(u.named(name), r.launch(k))); err != nil {
			return err
		}
	}
	return nil
}

// compile compiles and loads what has been declared and text. Names are those of its kernels.
func (r *repl) compile(text string, names []string) (*cuda.Module, error) {
	m, err := cuda.Compile(r.pool, r.before+text,
		cuda.CompileOptions{Name: "input", Names: names, Library: r.nvrtc})
	var said *cuda.Error
	if errors.As(err, &said) && said.Log != "" {
		return nil, errors.New(strings.TrimSpace(said.Log))
	}
	return m, err
}
