#include "textflag.h"

// func returnPCs(pcs *uintptr, n int) int
//
// See walk_amd64.s. Here a frame pointer lies one word below the stack pointer of its frame.
TEXT ·returnPCs(SB), NOSPLIT|NOFRAME, $0-24
	MOVD pcs+0(FP), R0
	MOVD n+8(FP), R1
	MOVD 8(g), R2          // g.stack.hi, the second word of g
	SUB  $16, R2           // the highest place of a frame pointer with its return address
	MOVD RSP, R3
	SUB  $16, R3           // below every frame pointer in use
	MOVD R29, R4
	MOVD $0, R5

next:
	CBZ  R4, done
	CMP  R1, R5
	BGE  done
	CMP  R3, R4
	BLS  lost
	CMP  R2, R4
	BHI  lost
	TST  $7, R4
	BNE  lost
	MOVD 8(R4), R6
	MOVD R6, (R0)(R5<<3)
	ADD  $1, R5
	MOVD R4, R3
	MOVD (R4), R4
	B    next

lost:
	MOVD $-1, R5

done:
	MOVD R5, ret+16(FP)
	RET
