// A small interpreter for PTX: enough for the kernels of tests and examples, which use integers, floats, branches and
// global memory. Threads of a launch run one after the other, so barriers and shared memory are refused when the text is
// loaded, as is every instruction it does not know: with the message a PTX compiler would give.

#define _GNU_SOURCE
#include "standin.h"

#include <ctype.h>
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

// A parse reads one text.
typedef struct {
	char *at;
	int line;
	char *log;
	ptx_kernel *k;
	char reg[512][48];
	char label[128][64];
	int label_at[128], labels, capacity;
} parse;

static int complain(parse *p, const char *what, const char *which) {
	if (!p->log[0])
		snprintf(p->log, PTX_LOG, "ptxas application ptx input, line %d; error   : %s '%.80s'", p->line, what, which);
	return 0;
}

static void space(parse *p) {
	for (; isspace((unsigned char)*p->at); p->at++)
		p->line += *p->at == '\n';
}

// word reads one token: a name with its dots, or a single other character.
static int word(parse *p, char *out, int n) {
	space(p);
	int i = 0;
	while (isalnum((unsigned char)*p->at) || (*p->at && strchr("_$%.", *p->at))) {
		if (i < n - 1)
			out[i++] = *p->at;
		p->at++;
	}
	if (!i && *p->at)
		out[i++] = *p->at++;
	out[i] = 0;
	return i;
}

static int reg(parse *p, const char *name) {
	int i = 0;
	for (; i < p->k->registers; i++)
		if (!strcmp(p->reg[i], name))
			return i;
	if (i == 512)
		return -1;
	snprintf(p->reg[i], sizeof p->reg[i], "%s", name);
	return p->k->registers++;
}

static int number(const char *s, operand *o) {
	char *end;
	o->kind = A_IMM;
	if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F')) {
		uint32_t b = strtoul(s + 2, &end, 16);
		float f;
		memcpy(&f, &b, 4);
		o->real = f;
		o->is_real = 1;
		return !*end;
	}
	if (s[0] == '0' && (s[1] == 'd' || s[1] == 'D')) {
		uint64_t b = strtoull(s + 2, &end, 16);
		memcpy(&o->real, &b, 8);
		o->is_real = 1;
		return !*end;
	}
	o->offset = (int64_t)strtoull(s, &end, 0);
	o->real = (double)o->offset;
	if (*end == '.') {
		o->real = strtod(s, &end);
		o->is_real = 1;
	}
	return !*end || !strcmp(end, "U");
}

static int special(const char *s) {
	static const char *names[] = {"%tid.", "%ntid.", "%ctaid.", "%nctaid."};
	for (int i = 0; i < 4; i++) {
		size_t n = strlen(names[i]);
		if (!strncmp(s, names[i], n) && s[n] >= 'x' && s[n] <= 'z' && !s[n + 1])
			return 3 * i + s[n] - 'x';
	}
	if (!strcmp(s, "%globaltimer"))
		return S_TIMER;
	if (!strcmp(s, "%laneid"))
		return S_LANE;
	return -1;
}

static int param(const ptx_kernel *k, const char *name) {
	for (int i = 0; i < k->params; i++)
		if (!strcmp(k->param_name[i], name))
			return i;
	return -1;
}

static int parse_operand(parse *p, operand *o) {
	char w[128];
	memset(o, 0, sizeof *o);
	if (!word(p, w, sizeof w))
		return complain(p, "unexpected end of", "instruction");
	if (w[0] == '[') {
		word(p, w, sizeof w);
		int i = param(p->k, w);
		o->kind = i >= 0 ? A_PARAM : A_ADDR;
		if (i < 0 && w[0] != '%')
			return complain(p, "Unknown symbol", w);
		o->reg = i >= 0 ? i : reg(p, w);
		space(p);
		if (*p->at == '+') {
			p->at++;
			operand off;
			word(p, w, sizeof w);
			if (!number(w, &off))
				return complain(p, "bad offset", w);
			o->offset = off.offset;
		}
		word(p, w, sizeof w);
		return w[0] == ']' ? 1 : complain(p, "expected ']' before", w);
	}
	int negative = w[0] == '-';
	if (negative)
		word(p, w, sizeof w);
	if (isdigit((unsigned char)w[0])) {
		if (!number(w, o))
			return complain(p, "bad number", w);
		if (negative) {
			o->offset = -o->offset;
			o->real = -o->real;
		}
		return 1;
	}
	if (w[0] == '%') {
		int s = special(w);
		o->kind = s >= 0 ? A_SPECIAL : A_REG;
		o->reg = s >= 0 ? s : reg(p, w);
		return 1;
	}
	o->kind = A_LABEL;
	snprintf(o->label, sizeof o->label, "%.60s", w);
	return isalpha((unsigned char)w[0]) || strchr("_$", w[0]) ? 1 : complain(p, "unexpected", w);
}

// opcode takes an instruction's name apart: ld.global.f32 is load, of float, from global memory.
static int opcode(parse *p, char *name, ptx_insn *in) {
	static const struct { const char *name; int op, operands; } ops[] = {
		{"ld", I_LD, 2}, {"st", I_ST, 2}, {"mov", I_MOV, 2}, {"cvta", I_MOV, 2}, {"add", I_ADD, 3}, {"sub", I_SUB, 3}, {"mul", I_MUL, 3},
		{"mad", I_MAD, 4}, {"fma", I_FMA, 4}, {"div", I_DIV, 3}, {"rem", I_REM, 3}, {"min", I_MIN, 3}, {"max", I_MAX, 3},
		{"and", I_AND, 3}, {"or", I_OR, 3}, {"xor", I_XOR, 3}, {"not", I_NOT, 2}, {"shl", I_SHL, 3}, {"shr", I_SHR, 3},
		{"setp", I_SETP, 3}, {"selp", I_SELP, 4}, {"cvt", I_CVT, 2}, {"bra", I_BRA, 1}, {"ret", I_RET, 0}, {"exit", I_RET, 0},
		{"trap", I_TRAP, 0}, {"neg", I_NEG, 2}, {"abs", I_ABS, 2}, {"sqrt", I_SQRT, 2}, {"nanosleep", I_NOP, 1},
	};
	char whole[96];
	snprintf(whole, sizeof whole, "%.90s", name);
	char *save, *part = strtok_r(name, ".", &save);
	size_t i = 0;
	while (part && i < sizeof ops / sizeof *ops && strcmp(ops[i].name, part))
		i++;
	if (!part || i == sizeof ops / sizeof *ops)
		return complain(p, "Not a name of any known instruction:", whole);
	in->op = ops[i].op;
	in->operands = ops[i].operands;
	while ((part = strtok_r(NULL, ".", &save))) {
		static const char *compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
		static const char *ignored[] = {"lo", "rn", "rz", "rzi", "rni", "rm", "rmi", "ftz", "to", "global", "uni", "approx", "volatile", "relaxed", "gpu", "sys", "sat", "full"};
		static const char *unsigned_compares[] = {"xx", "xx", "lo", "ls", "hi", "hs"};
		int t = type_of(part), known = 0;
		if (t) {
			in->from = in->type;
			in->type = in->type ? in->type : t;
			in->from = in->op == I_CVT && in->from ? t : in->from;
			continue;
		}
		if (in->op == I_SETP)
			for (int c = 0; c < 6; c++)
				if (!strcmp(part, compares[c]) || !strcmp(part, unsigned_compares[c])) {
					in->compare = c;
					known = 1;
				}
		if (!strcmp(part, "wide") && (in->op == I_MUL || in->op == I_MAD)) {
			in->op = in->op == I_MUL ? I_MULWIDE : I_MADWIDE;
			known = 1;
		}
		if (!strcmp(part, "param") && in->op == I_LD) {
			in->op = I_LDPARAM;
			known = 1;
		}
		if (in->op == I_CVT && !strcmp(part, "rzi"))
			in->compare = 1; // towards zero
		for (size_t j = 0; j < sizeof ignored / sizeof *ignored; j++)
			known |= !strcmp(part, ignored[j]);
		if (!known)
			return complain(p, "Unknown modifier in", whole);
	}
	return 1;
}

static int parse_body(parse *p) {
	char w[128];
	ptx_kernel *k = p->k;
	for (;;) {
		if (!word(p, w, sizeof w))
			return complain(p, "unexpected end of", "input");
		if (!strcmp(w, "}"))
			break;
		if (!strcmp(w, ".reg")) {
			while (*p->at && *p->at != ';')
				p->line += *p->at++ == '\n';
			if (*p->at)
				p->at++;
			continue;
		}
		if (w[0] == '.')
			return complain(p, "unsupported directive", w);
		space(p);
		if (*p->at == ':') {
			p->at++;
			if (p->labels == 128)
				return complain(p, "too many labels:", w);
			snprintf(p->label[p->labels], 64, "%.60s", w);
			p->label_at[p->labels++] = k->length;
			continue;
		}
		if (k->length == p->capacity) {
			p->capacity = p->capacity ? 2 * p->capacity : 32;
			k->code = realloc(k->code, p->capacity * sizeof *k->code);
		}
		ptx_insn *in = &k->code[k->length];
		memset(in, 0, sizeof *in);
		in->guard = -1;
		if (w[0] == '@') {
			word(p, w, sizeof w);
			if (w[0] == '!') {
				in->negated = 1;
				word(p, w, sizeof w);
			}
			in->guard = reg(p, w);
			word(p, w, sizeof w);
		}
		if (!opcode(p, w, in))
			return 0;
		for (int i = 0; i < in->operands; i++) {
			if (i) {
				word(p, w, sizeof w);
				if (w[0] != ',')
					return complain(p, "expected ',' before", w);
			}
			if (!parse_operand(p, &in->o[i]))
				return 0;
		}
		word(p, w, sizeof w);
		if (w[0] != ';')
			return complain(p, "expected ';' before", w);
		k->length++;
	}
	for (int i = 0; i < k->length; i++)
		for (int j = 0; j < k->code[i].operands; j++) {
			operand *o = &k->code[i].o[j];
			if (o->kind != A_LABEL)
				continue;
			o->reg = -1;
			for (int l = 0; l < p->labels; l++)
				if (!strcmp(o->label, p->label[l]))
					o->reg = p->label_at[l];
			if (o->reg < 0 || k->code[i].op != I_BRA)
				return complain(p, "Unknown symbol", o->label);
		}
	return 1;
}

// reserved reports whether PTX keeps a name for an instruction.
static int reserved(const char *name) {
	static const char *words[] = {
		"abs", "add", "and", "atom", "bar", "bra", "call", "clz", "cos", "cvt", "cvta", "div", "ex2", "exit", "fma", "ld", "lg2", "mad", "max",
		"membar", "min", "mov", "mul", "neg", "not", "or", "popc", "prefetch", "rcp", "red", "rem", "ret", "sad", "selp", "set", "setp", "shfl",
		"shl", "shr", "sin", "sqrt", "st", "sub", "suld", "sust", "tex", "trap", "txq", "vote", "xor",
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(name, words[i]))
			return 1;
	return 0;
}

static int parse_params(parse *p) {
	char w[128];
	ptx_kernel *k = p->k;
	word(p, w, sizeof w);
	if (w[0] != '(')
		return complain(p, "expected '(' before", w);
	for (;;) {
		word(p, w, sizeof w);
		if (w[0] == ')')
			return 1;
		if (w[0] == ',')
			continue;
		if (strcmp(w, ".param"))
			return complain(p, "expected .param before", w);
		if (k->params == PTX_PARAMS)
			return complain(p, "too many parameters:", k->name);
		int align = 0, size = 0;
		for (;;) {
			word(p, w, sizeof w);
			if (!strcmp(w, ".align")) {
				word(p, w, sizeof w);
				align = atoi(w);
			} else if (!strcmp(w, ".ptr") || !strcmp(w, ".global")) {
				continue;
			} else if (w[0] == '.') {
				size = size_of(type_of(w + 1));
				if (!size)
					return complain(p, "unknown type", w);
			} else {
				break;
			}
		}
		snprintf(k->param_name[k->params], 64, "%.60s", w);
		space(p);
		align = align ? align : size;
		if (*p->at == '[') {
			p->at++;
			word(p, w, sizeof w);
			size *= atoi(w);
			word(p, w, sizeof w);
		}
		if (!size)
			return complain(p, "parameter without type:", w);
		int offset = (k->param_total + align - 1) / align * align;
		k->param_offset[k->params] = offset;
		k->param_size[k->params++] = size;
		k->param_total = offset + size;
	}
}

ptx_kernel *ptx_parse(const char *text, char *log) {
	log[0] = 0;
	char *copy = strdup(text);
	// Comments become blanks, so that lines keep their numbers.
	for (char *s = copy; *s;) {
		if (s[0] == '/' && s[1] == '/') {
			while (*s && *s != '\n')
				*s++ = ' ';
		} else if (s[0] == '/' && s[1] == '*') {
			for (; *s && !(s[0] == '*' && s[1] == '/'); s++)
				*s = *s == '\n' ? '\n' : ' ';
			if (*s) {
				s[0] = s[1] = ' ';
				s += 2;
			}
		} else {
			s++;
		}
	}
	parse p = {.at = copy, .line = 1, .log = log};
	char w[128];
	ptx_kernel *all = NULL;
	int ok = 1, version = 0;
	while (ok && word(&p, w, sizeof w)) {
		if (!strcmp(w, ".version") || !strcmp(w, ".target") || !strcmp(w, ".address_size")) {
			version = 1;
			while (*p.at && *p.at != '\n')
				p.at++;
		} else if (!version) {
			ok = complain(&p, "Missing .version directive at start of file:", w);
		} else if (!strcmp(w, ".visible") || !strcmp(w, ".weak")) {
			continue;
		} else if (!strcmp(w, ".entry")) {
			ptx_kernel *k = p.k = calloc(1, sizeof *k);
			k->next = all;
			all = k;
			p.labels = p.capacity = 0;
			word(&p, k->name, sizeof k->name);
			ok = reserved(k->name) ? complain(&p, "Parsing error near", k->name) : parse_params(&p);
			while (ok && word(&p, w, sizeof w) && w[0] != '{')
				; // what the kernel asks of the machine, such as .maxntid
			ok = ok && parse_body(&p);
		} else {
			ok = complain(&p, "unexpected", w);
		}
	}
	if (ok && !version)
		complain(&p, "Missing .version directive at start of file:", "");
	free(copy);
	if (log[0]) {
		ptx_free(all);
		return NULL;
	}
	return all;
}

void ptx_free(ptx_kernel *k) {
	while (k) {
		ptx_kernel *next = k->next;
		free(k->code);
		free(k);
		k = next;
	}
}

// A thread is one thread of a launch while it runs.
typedef struct {
	uint64_t r[512];
	unsigned special[12];
	const unsigned char *params;
	const ptx_kernel *k;
} thread;

static uint64_t narrow(uint64_t v, int type) {
	switch (type) {
	case T_U8: return (uint8_t)v;
	case T_U16: return (uint16_t)v;
	case T_U32: return (uint32_t)v;
	case T_S8: return (uint64_t)(int64_t)(int8_t)v;
	case T_S16: return (uint64_t)(int64_t)(int16_t)v;
	case T_S32: return (uint64_t)(int64_t)(int32_t)v;
	}
	return v;
}

static uint64_t from_real(double x, int type) {
	uint64_t v = 0;
	if (type == T_F32) {
		float f = (float)x;
		memcpy(&v, &f, 4);
	} else {
		memcpy(&v, &x, 8);
	}
	return v;
}

static double to_real(uint64_t v, int type) {
	if (type == T_F32) {
		float f;
		memcpy(&f, &v, 4);
		return f;
	}
	double d;
	memcpy(&d, &v, 8);
	return d;
}

static uint64_t value(const thread *t, const operand *o, int type) {
	switch (o->kind) {
	case A_REG:
		return is_float(type) || type == T_PRED ? t->r[o->reg] : narrow(t->r[o->reg], type);
	case A_IMM:
		return is_float(type) ? from_real(o->real, type) : o->is_real ? from_real(o->real, T_F32) : narrow((uint64_t)o->offset, type);
	case A_SPECIAL:
		if (o->reg == S_TIMER) {
			struct timespec now;
			clock_gettime(CLOCK_MONOTONIC, &now);
			return (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
		}
		if (o->reg == S_LANE)
			return t->special[S_TID] % 32;
		return t->special[o->reg];
	}
	return 0;
}

static int holds(const ptx_insn *in, uint64_t a, uint64_t b) {
	int less, equal;
	if (is_float(in->type)) {
		double x = to_real(a, in->type), y = to_real(b, in->type);
		less = x < y;
		equal = x == y;
	} else if (is_signed(in->type)) {
		less = (int64_t)a < (int64_t)b;
		equal = a == b;
	} else {
		less = a < b;
		equal = a == b;
	}
	switch (in->compare) {
	case C_EQ: return equal;
	case C_NE: return !equal;
	case C_LT: return less;
	case C_LE: return less || equal;
	case C_GT: return !less && !equal;
	}
	return !less;
}

// compute is for instructions that make one value of their operands.
static uint64_t compute(const ptx_insn *in, uint64_t a, uint64_t b, uint64_t c) {
	int type = in->type;
	if (is_float(type)) {
		double x = to_real(a, type), y = to_real(b, type), z = to_real(c, type), v = 0;
		switch (in->op) {
		case I_ADD: v = x + y; break;
		case I_SUB: v = x - y; break;
		case I_MUL: v = x * y; break;
		case I_MAD:
		case I_FMA: v = type == T_F32 ? fmaf(x, y, z) : fma(x, y, z); break;
		case I_DIV: v = x / y; break;
		case I_MIN: v = fmin(x, y); break;
		case I_MAX: v = fmax(x, y); break;
		case I_NEG: v = -x; break;
		case I_ABS: v = fabs(x); break;
		case I_SQRT: v = sqrt(x); break;
		}
		return from_real(v, type);
	}
	uint64_t v = 0;
	int wide = in->op == I_MULWIDE || in->op == I_MADWIDE, s = is_signed(type), bits = 8 * size_of(type);
	switch (in->op) {
	case I_ADD: v = a + b; break;
	case I_SUB: v = a - b; break;
	case I_MUL:
	case I_MULWIDE: v = a * b; break;
	case I_MAD:
	case I_MADWIDE: v = a * b + c; break;
	case I_DIV: v = !b ? ~0ull : s ? (uint64_t)((int64_t)a / (int64_t)b) : a / b; break;
	case I_REM: v = !b ? a : s ? (uint64_t)((int64_t)a % (int64_t)b) : a % b; break;
	case I_MIN: v = (s ? (int64_t)a < (int64_t)b : a < b) ? a : b; break;
	case I_MAX: v = (s ? (int64_t)a > (int64_t)b : a > b) ? a : b; break;
	case I_AND: v = a & b; break;
	case I_OR: v = a | b; break;
	case I_XOR: v = a ^ b; break;
	case I_NOT: v = ~a; break;
	case I_SHL: v = b >= (uint64_t)bits ? 0 : a << b; break;
	case I_SHR: v = b >= (uint64_t)bits ? (s && (int64_t)a < 0 ? ~0ull : 0) : s ? (uint64_t)((int64_t)a >> b) : a >> b; break;
	case I_NEG: v = -a; break;
	case I_ABS: v = (int64_t)a < 0 ? -a : a; break;
	}
	return wide ? v : narrow(v, type);
}

static int run_thread(thread *t, ptx_reach *reach, void *launch) {
	const ptx_kernel *k = t->k;
	for (int pc = 0; pc < k->length; pc++) {
		const ptx_insn *in = &k->code[pc];
		if (in->guard >= 0 && !!t->r[in->guard] == in->negated)
			continue;
		const operand *o = in->o;
		switch (in->op) {
		case I_RET:
			return 0;
		case I_TRAP:
			return 719;
		case I_NOP:
			break;
		case I_BRA:
			pc = o[0].reg - 1;
			break;
		case I_LDPARAM: {
			uint64_t v = 0;
			memcpy(&v, t->params + k->param_offset[o[1].reg] + o[1].offset, size_of(in->type));
			t->r[o[0].reg] = narrow(v, in->type);
			break;
		}
		case I_LD:
		case I_ST: {
			const operand *m = in->op == I_LD ? &o[1] : &o[0];
			uint64_t v = 0, at = t->r[m->reg] + (uint64_t)m->offset;
			size_t n = size_of(in->type);
			if (at % n)
				return 716; // misaligned
			if (!reach(launch, at, n))
				return 700;
			if (in->op == I_LD) {
				memcpy(&v, (void *)at, n);
				t->r[o[0].reg] = narrow(v, in->type);
			} else {
				v = value(t, &o[1], in->type);
				memcpy((void *)at, &v, n);
			}
			break;
		}
		case I_SETP:
			t->r[o[0].reg] = holds(in, value(t, &o[1], in->type), value(t, &o[2], in->type));
			break;
		case I_SELP:
			t->r[o[0].reg] = t->r[o[3].reg] ? value(t, &o[1], in->type) : value(t, &o[2], in->type);
			break;
		case I_MOV:
			t->r[o[0].reg] = value(t, &o[1], in->type);
			break;
		case I_CVT: {
			uint64_t v = value(t, &o[1], in->from);
			if (is_float(in->from)) {
				double x = to_real(v, in->from);
				double whole = in->compare ? trunc(x) : rint(x);
				v = is_float(in->type) ? from_real(x, in->type) : is_signed(in->type) ? (uint64_t)(int64_t)whole : whole < 0 ? 0 : (uint64_t)whole;
			} else if (is_float(in->type)) {
				v = from_real(is_signed(in->from) ? (double)(int64_t)v : (double)v, in->type);
			}
			t->r[o[0].reg] = is_float(in->type) ? v : narrow(v, in->type);
			break;
		}
		default: {
			int third = in->op == I_MADWIDE ? (is_signed(in->type) ? T_S64 : T_U64) : in->type;
			int second = in->op == I_SHL || in->op == I_SHR ? T_U32 : in->type;
			uint64_t b = in->operands > 2 ? value(t, &o[2], second) : 0;
			uint64_t c = in->operands > 3 ? value(t, &o[3], third) : 0;
			t->r[o[0].reg] = compute(in, value(t, &o[1], in->type), b, c);
		}
		}
	}
	return 0;
}

int ptx_run(const ptx_kernel *k, const unsigned grid[3], const unsigned block[3], const unsigned char *params, ptx_reach *reach, void *launch) {
	thread t = {.params = params, .k = k};
	unsigned *s = t.special;
	memcpy(s + S_NTID, block, 3 * sizeof *s);
	memcpy(s + S_NCTAID, grid, 3 * sizeof *s);
	for (s[8] = 0; s[8] < grid[2]; s[8]++)
		for (s[7] = 0; s[7] < grid[1]; s[7]++)
			for (s[6] = 0; s[6] < grid[0]; s[6]++)
				for (s[2] = 0; s[2] < block[2]; s[2]++)
					for (s[1] = 0; s[1] < block[1]; s[1]++)
						for (s[0] = 0; s[0] < block[0]; s[0]++) {
							int r = run_thread(&t, reach, launch);
							if (r)
								return r;
						}
	return 0;
}
