package main

import (
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// A line is a kernel in a few letters: every element x becomes x*mul + add.
type line struct{ mul, add uint32 }

func parse(text string) (line, error) {
	var op string
	var v uint32
	_, err := fmt.Sscan(text, &op, &v)
	switch {
	case err != nil:
	case op == "set":
		return line{0, v}, nil
	case op == "add":
		return line{1, v}, nil
	case op == "mul":
		return line{v, 0}, nil
	}
	return line{}, fmt.Errorf("%q: want set, add or mul and a number", text)
}

// short runs l, and checks what came of it.
func (r *repl) short(u unit, l line) error {
	run := runGo
	if r.lacks == nil {
		run = runPTX
	}
	want := make([]uint32, elements)
	for i, x := range r.numbers {
		want[i] = x*l.mul + l.add
	}
	if err := r.ran(u, run(r.s, l, r.b)); err != nil {
		return err
	}
	for i, x := range r.numbers {
		if x != want[i] {
			return fmt.Errorf("after %q: element %d is %d, want %d", u.text, i, x, want[i])
		}
	}
	return nil
}

// ptx is a kernel that makes each of n elements x*mul + add. Every module has one of the same name.
const ptx = `.version 6.5
.target sm_50
.address_size 64
.visible .entry step(.param .u64 p, .param .u32 n)
{
	.reg .pred %%p<2>;
	.reg .b32 %%r<8>;
	.reg .b64 %%rd<5>;
	ld.param.u64 %%rd1, [p];
	ld.param.u32 %%r1, [n];
	mov.u32 %%r2, %%ctaid.x;
	mov.u32 %%r3, %%ntid.x;
	mov.u32 %%r4, %%tid.x;
	mad.lo.u32 %%r5, %%r2, %%r3, %%r4;
	setp.ge.u32 %%p1, %%r5, %%r1;
	@%%p1 bra DONE;
	cvta.to.global.u64 %%rd2, %%rd1;
	mul.wide.u32 %%rd3, %%r5, 4;
	add.u64 %%rd4, %%rd2, %%rd3;
	ld.global.u32 %%r6, [%%rd4];
	mul.lo.u32 %%r7, %%r6, %d;
	add.u32 %%r7, %%r7, %d;
	st.global.u32 [%%rd4], %%r7;
DONE:
	ret;
}
`

func runPTX(s *alloc.Stream, l line, b alloc.Buffer[uint32]) error {
	m, err := cuda.LoadModule(s.Pool(), fmt.Appendf(nil, ptx, l.mul, l.add))
	if err != nil {
		return err
	}
	k, err := m.Kernel("step")
	if err == nil {
		n := b.Len()
		err = k.Launch(s, cuda.Dim{X: (n + 255) / 256}, cuda.Dim{X: 256}, 0, b.Arg(), alloc.Scalar(uint32(n)))
	}
	return errors.Join(err, m.Unload())
}

func runGo(s *alloc.Stream, l line, b alloc.Buffer[uint32]) error {
	return host.Launch(s, func(a host.Args) {
		for i, x := range host.Slice[uint32](a, 0) {
			host.Slice[uint32](a, 0)[i] = x*l.mul + l.add
		}
	}, b.Arg())
}
