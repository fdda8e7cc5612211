#include "textflag.h"

// func returnPCs(pcs *uintptr, n int) int
//
// Frame pointers form a chain: each points to its caller's, and the return address lies
// above it. All of the walk is here because no goroutine is stopped inside assembly: its
// stack, which these addresses lie in, cannot move meanwhile. A link that does not
// lead up within the goroutine's own stack ends the walk, as when C code called back into Go.
TEXT ·returnPCs(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), SI
	MOVQ 8(R14), R8        // g.stack.hi, the second word of g
	SUBQ $16, R8           // the highest place of a frame pointer with its return address
	MOVQ SP, R9            // below every frame pointer in use
	MOVQ BP, AX
	XORQ CX, CX

next:
	CMPQ CX, SI
	JGE  done
	CMPQ AX, R9
	JLS  done
	CMPQ AX, R8
	JHI  done
	TESTQ $7, AX
	JNE  done
	MOVQ 8(AX), DX
	TESTQ DX, DX
	JEQ  done
	MOVQ DX, (DI)(CX*8)
	INCQ CX
	MOVQ AX, R9
	MOVQ (AX), AX
	JMP  next

done:
	MOVQ CX, ret+16(FP)
	RET
