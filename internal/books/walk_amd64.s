#include "textflag.h"

// func returnPCs(pcs *uintptr, n int) int
//
// Frame pointers form a chain: each points to its caller's, and the return address lies
// above it. All of the walk is here because no goroutine is stopped inside assembly: its
// stack, which these addresses lie in, cannot move meanwhile. The chain ends with a zero. A link
// that leads anywhere but up within the goroutine's own stack is not followed: C code has called
// back into Go.
TEXT ·returnPCs(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), SI
	MOVQ 8(R14), R8        // g.stack.hi, the second word of g
	SUBQ $16, R8           // the highest place of a frame pointer with its return address
	MOVQ SP, R9            // below every frame pointer in use
	MOVQ BP, AX
	XORQ CX, CX

next:
	TESTQ AX, AX
	JEQ  done
	CMPQ CX, SI
	JGE  done
	CMPQ AX, R9
	JLS  lost
	CMPQ AX, R8
	JHI  lost
	TESTQ $7, AX
	JNE  lost
	MOVQ 8(AX), DX
	MOVQ DX, (DI)(CX*8)
	INCQ CX
	MOVQ AX, R9
	MOVQ (AX), AX
	JMP  next

lost:
	MOVQ $-1, CX

done:
	MOVQ CX, ret+16(FP)
	RET
