package drvtest

// Pieces of PTX that several packages' tests put together.
const (
	// Head begins a text that every GPU since 2014 runs.
	Head = ".version 6.5\n.target sm_50\n.address_size 64\n"

	// Empty is the kernel empty(), which does nothing.
	Empty = `
.visible .entry empty()
{
	ret;
}
`

	// Spin is the kernel spin(ns), which runs for a number of nanoseconds.
	Spin = `
.visible .entry spin(.param .u64 ns)
{
	.reg .pred %p<2>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [ns];
	mov.u64 %rd2, %globaltimer;
LOOP:
	mov.u64 %rd3, %globaltimer;
	sub.u64 %rd4, %rd3, %rd2;
	setp.lt.u64 %p1, %rd4, %rd1;
	@%p1 bra LOOP;
	ret;
}
`
)
