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

// func samePCs(pcs *uintptr, n, skip int) bool
//
// The walk of returnPCs, comparing instead of writing.
TEXT ·samePCs(SB), NOSPLIT|NOFRAME, $0-25
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), SI
	MOVQ skip+16(FP), BX
	MOVQ 8(R14), R8
	SUBQ $16, R8
	MOVQ SP, R9
	MOVQ BP, AX
	XORQ CX, CX

step:
	TESTQ AX, AX
	JEQ  end
	CMPQ AX, R9
	JLS  differ
	CMPQ AX, R8
	JHI  differ
	TESTQ $7, AX
	JNE  differ
	DECQ BX
	JGE  skipped
	CMPQ CX, SI
	JGE  differ
	MOVQ 8(AX), DX
	CMPQ DX, (DI)(CX*8)
	JNE  differ
	INCQ CX

skipped:
	MOVQ AX, R9
	MOVQ (AX), AX
	JMP  step

end:
	CMPQ CX, SI
	JNE  differ
	TESTQ SI, SI
	JEQ  differ
	MOVB $1, ret+24(FP)
	RET

differ:
	MOVB $0, ret+24(FP)
	RET

// func ticks() uint64
TEXT ·ticks(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
