// A stand-in for NVRTC. It knows no CUDA C: the PTX that it "compiles" to stands in the source between the
// last /*ptx and ptx*/. A line that begins with #error fails, as does an #include of a header that it was not
// given. The name of an expression is made of its letters and digits; one that has neither gets no name.
// Where it was built with STANDIN_CUDAC, a source without PTX is compiled by the system's C++ compiler: see
// cudac.inc.

#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
	char *text, *name, *log, *image, *names[16], *lowered[16];
	size_t size; // of image
	int headers, expressions, compiled;
	char *header_names[16], *header_texts[16];
} program;

enum { OK = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6, NO_NAMES = 8 };

int nvrtcVersion(int *major, int *minor) {
	*major = 13;
	*minor = 0;
	return OK;
}

const char *nvrtcGetErrorString(int r) {
	switch (r) {
	case OK:
		return "NVRTC_SUCCESS";
	case COMPILATION:
		return "NVRTC_ERROR_COMPILATION";
	case INVALID_OPTION:
		return "NVRTC_ERROR_INVALID_OPTION";
	}
	return "NVRTC_ERROR_INVALID_INPUT";
}

int nvrtcCreateProgram(program **out, const char *text, const char *name, int headers, const char *const *texts,
	const char *const *names) {
	if (headers > 16)
		return INVALID_INPUT;
	program *p = calloc(1, sizeof *p);
	p->text = strdup(text);
	p->name = strdup(name);
	p->headers = headers;
	for (int i = 0; i < headers; i++) {
		p->header_names[i] = strdup(names[i]);
		p->header_texts[i] = strdup(texts[i]);
	}
	*out = p;
	return OK;
}

int nvrtcDestroyProgram(program **at) {
	program *p = *at;
	for (int i = 0; i < p->expressions; i++) {
		free(p->names[i]);
		free(p->lowered[i]);
	}
	for (int i = 0; i < p->headers; i++) {
		free(p->header_names[i]);
		free(p->header_texts[i]);
	}
	free(p->text);
	free(p->name);
	free(p->log);
	free(p->image);
	free(p);
	*at = NULL;
	return OK;
}

int nvrtcAddNameExpression(program *p, const char *name) {
	if (p->compiled || p->expressions == 16)
		return INVALID_INPUT;
	char *low = calloc(1, strlen(name) + 1), *to = low;
	for (const char *c = name; *c; c++)
		if (isalnum((unsigned char)*c))
			*to++ = *c;
	p->names[p->expressions] = strdup(name);
	p->lowered[p->expressions++] = low;
	return OK;
}

static int complain(program *p, int line, const char *what) {
	p->log = malloc(strlen(p->name) + strlen(what) + 100);
	sprintf(p->log, "%s(%d): error: %s\n\n1 error detected in the compilation of \"%s\".\n", p->name, line, what, p->name);
	return COMPILATION;
}

static int known(const program *p, const char *include) {
	for (int i = 0; i < p->headers; i++) {
		size_t n = strlen(p->header_names[i]);
		if (!strncmp(include + 1, p->header_names[i], n) && strchr(">\"", include[n + 1]))
			return 1;
	}
	return 0;
}

#ifdef STANDIN_CUDAC
#include "cudac.inc"
#endif

static const char arch[] = "--gpu-architecture=sm_";
enum { NEWEST = 121 }; // that NVRTC 13.0 knows

int nvrtcCompileProgram(program *p, int options, const char *const *all) {
	p->compiled = 1;
	for (int i = 0; i < options; i++) {
		if (all[i][0] != '-')
			return INVALID_OPTION;
		if (!strncmp(all[i], arch, sizeof arch - 1) && atoi(all[i] + sizeof arch - 1) > NEWEST) {
			p->log = strdup("nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
			return INVALID_OPTION;
		}
	}
	int line = 1;
	for (const char *c = p->text; *c; line++) {
		const char *end = strchr(c, '\n');
		size_t n = end ? (size_t)(end - c) : strlen(c);
		if (!strncmp(c, "#error", 6))
			return complain(p, line, "#error directive");
		if (!strncmp(c, "#include ", 9) && !known(p, c + 9))
			return complain(p, line, "cannot open source file");
		c += n + (end != NULL);
	}
	const char *from = strstr(p->text, "/*ptx"), *to = strstr(p->text, "ptx*/");
#ifdef STANDIN_CUDAC
	if (!from || !to)
		return compile(p, options, all);
#endif
	if (!from || !to)
		return complain(p, 1, "this stand-in wants PTX in a comment");
	for (const char *more; (more = strstr(to, "/*ptx")) && strstr(more, "ptx*/");) {
		from = more;
		to = strstr(more, "ptx*/");
	}
	from += 5;
	p->image = calloc(1, (size_t)(to - from) + 1);
	memcpy(p->image, from, (size_t)(to - from));
	p->size = (size_t)(to - from);
	return OK;
}

int nvrtcGetProgramLogSize(program *p, size_t *n) {
	*n = (p->log ? strlen(p->log) : 0) + 1;
	return OK;
}

int nvrtcGetProgramLog(program *p, char *out) {
	strcpy(out, p->log ? p->log : "");
	return OK;
}

int nvrtcGetCUBINSize(program *p, size_t *n) {
	if (!p->image)
		return INVALID_PROGRAM;
	*n = p->size;
	return OK;
}

int nvrtcGetCUBIN(program *p, char *out) {
	memcpy(out, p->image, p->size);
	return OK;
}

int nvrtcGetLoweredName(program *p, const char *name, const char **out) {
	for (int i = 0; i < p->expressions; i++)
		if (!strcmp(p->names[i], name)) {
			*out = *p->lowered[i] ? p->lowered[i] : NULL;
			return OK;
		}
	return NO_NAMES;
}
