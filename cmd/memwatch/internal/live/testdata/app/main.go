// The program that the test watches: a Go program that allocates through C, at places
// with names. It does each step when it reads a line.
package main

/*
#cgo LDFLAGS: -L${SRCDIR} -l:libcuda.so.1
#include <stdint.h>

extern int cuMemAlloc_v2(uint64_t *p, uint64_t n);
extern int cuMemFree_v2(uint64_t p);
extern int cuDevicePrimaryCtxRetain(uint64_t *c, int device);
extern int cuCtxSetCurrent(uint64_t c);
extern void storm_calm(int on);

// through breaks the chain of frame pointers, as optimised C does.
extern int through(uint64_t *p, uint64_t n);
__asm__(".text\n.globl through\n.type through, @function\nthrough:\n"
	"push %rbp\nxor %ebp, %ebp\ncall cuMemAlloc_v2@PLT\npop %rbp\nret\n.size through, .-through\n");

static int begin(void)
{
	uint64_t c = 0;
	storm_calm(1);
	int r = cuDevicePrimaryCtxRetain(&c, 0);
	return r ? r : cuCtxSetCurrent(c);
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

func must(r C.int) {
	if r != 0 {
		panic(fmt.Sprint("error ", r))
	}
}

//go:noinline
func weights(n uint64) (p C.uint64_t) {
	must(C.cuMemAlloc_v2(&p, C.uint64_t(n)))
	return p
}

//go:noinline
func broken(n uint64) (p C.uint64_t) {
	must(C.through(&p, C.uint64_t(n)))
	return p
}

//go:noinline
func train() {
	for range 10 {
		p := broken(1 << 10)
		must(C.cuMemFree_v2(p))
	}
	broken(1 << 12)
}

func main() {
	runtime.LockOSThread()
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	in.Scan()
	must(C.begin())
	for range 5 {
		weights(1 << 20)
	}
	train()
	fmt.Println("done")
	in.Scan()
}
