// A small interpreter for PTX: enough for the kernels of tests and examples, which use integers, floats, branches and
// global memory. Threads of a launch run one after the other, so barriers and shared memory are refused when the text is
// loaded, as is every instruction it does not know: with the message a PTX compiler would give.

#define _GNU_SOURCE
#include "standin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { T_NONE, T_U8, T_U16, T_U32, T_U64, T_S8, T_S16, T_S32, T_S64, T_F32, T_F64, T_PRED };
enum { A_NONE, A_REG, A_IMM, A_PARAM, A_SPECIAL, A_ADDR, A_LABEL };
enum { S_TID, S_NTID = 3, S_CTAID = 6, S_NCTAID = 9, S_TIMER = 12, S_LANE };
enum {
	I_LDPARAM, I_LD, I_ST, I_MOV, I_ADD, I_SUB, I_MUL, I_MULWIDE, I_MAD, I_MADWIDE, I_FMA, I_DIV, I_REM, I_MIN, I_MAX, I_AND,
	I_OR, I_XOR, I_NOT, I_SHL, I_SHR, I_SETP, I_SELP, I_CVT, I_BRA, I_RET, I_TRAP, I_NEG, I_ABS, I_SQRT, I_NOP
};
enum { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE };

typedef struct {
	int kind, reg;
	int64_t offset; // of an address; a literal's integer value
	double real;    // a literal's value as a float
	int is_real;
	char label[64];
} operand;

struct ptx_insn {
	int op, type, from, compare, guard, negated, operands;
	operand o[4];
};

static int size_of(int type) {
	static const int n[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1};
	return n[type];
}

static int is_signed(int type) { return type >= T_S8 && type <= T_S64; }
static int is_float(int type) { return type == T_F32 || type == T_F64; }

static int type_of(const char *s) {
	static const struct { const char *name; int type; } names[] = {
		{"u8", T_U8}, {"u16", T_U16}, {"u32", T_U32}, {"u64", T_U64}, {"s8", T_S8}, {"s16", T_S16}, {"s32", T_S32},
		{"s64", T_S64}, {"b8", T_U8}, {"b16", T_U16}, {"b32", T_U32}, {"b64", T_U64}, {"f32", T_F32}, {"f64", T_F64}, {"pred", T_PRED},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i].name))
			return names[i].type;
	return T_NONE;
}

#include "parse.inc"
#include "run.inc"
