//go:build cgo && linux

// Opening NVRTC, and compiling with it.

#define _GNU_SOURCE
#include "nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static lu_rtc *all; // the libraries that have been opened

// fill looks the symbols of a library up. mu is held.
static lu_rtc *fill(void *lib, const char *path, char **why) {
	lu_rtc *rtc = calloc(1, sizeof *rtc);
	if (!rtc) {
		*why = strdup("out of host memory");
		return NULL;
	}
#define X(name, result, params) \
	*(void **)&rtc->name = dlsym(lib, "nvrtc" #name); \
	if (!rtc->name && !*why && asprintf(why, "%s lacks nvrtc" #name ": too old, or no NVRTC", path) < 0) \
		*why = strdup("out of host memory");
	LU_RTC_SYMBOLS(X)
#undef X
	if (*why) {
		free(rtc);
		return NULL;
	}
	rtc->library = lib;
	rtc->next = all;
	return all = rtc;
}

// lu_rtc_Open opens the library at path. It stays open as long as the process lives: it starts threads of its own.
lu_rtc_opened lu_rtc_Open(const char *path) {
	lu_rtc_opened o = {0};
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib) {
		const char *e = dlerror();
		o.why = strdup(e ? e : "dlopen failed");
		return o;
	}
	pthread_mutex_lock(&mu);
	lu_rtc *rtc = all;
	while (rtc && rtc->library != lib)
		rtc = rtc->next;
	if (!rtc)
		rtc = fill(lib, path, &o.why);
	pthread_mutex_unlock(&mu);
	if (rtc)
		rtc->Version(&o.major, &o.minor);
	o.rtc = rtc;
	return o;
}

const char *lu_rtc_ErrorString(lu_rtc *rtc, int r) {
	switch (r) {
	case LU_RTC_MEMORY:
		return "out of host memory";
	case LU_RTC_NO_NAME:
		return "no such name";
	}
	return rtc->GetErrorString(r);
}

// grow makes room for n bytes at *p, or answers LU_RTC_MEMORY and leaves it alone.
static int grow(char **p, size_t n) {
	char *q = realloc(*p, n);
	if (!q)
		return LU_RTC_MEMORY;
	*p = q;
	return 0;
}

#define TRY(name, ...) \
	if (!o.r) { \
		o.call = "nvrtc" #name; \
		o.r = rtc->name(__VA_ARGS__); \
	}

lu_compiled lu_rtc_Compile(lu_rtc *rtc, const lu_source *s) {
	lu_compiled o = {0};
	void *p = NULL;
	size_t log = 0;
	TRY(CreateProgram, &p, s->text, s->name, s->headers, (const char *const *)s->header_texts,
		(const char *const *)s->header_names)
	for (int i = 0; i < s->names; i++)
		TRY(AddNameExpression, p, s->name_texts[i])
	TRY(CompileProgram, p, s->options, (const char *const *)s->option_texts)
	if (p && !rtc->GetProgramLogSize(p, &log) && log > 1 && (o.log = calloc(1, log + 1)))
		rtc->GetProgramLog(p, o.log);
	TRY(GetCUBINSize, p, &o.size)
	if (!o.r)
		o.r = grow(&o.image, o.size + 1);
	TRY(GetCUBIN, p, o.image)
	size_t n = 0;
	for (int i = 0; i < s->names; i++) {
		const char *name = NULL;
		o.at = i;
		TRY(GetLoweredName, p, s->name_texts[i], &name)
		size_t m = name ? strlen(name) + 1 : 0;
		if (!o.r)
			o.r = name ? grow(&o.lowered, n + m) : LU_RTC_NO_NAME;
		if (o.r)
			break;
		memcpy(o.lowered + n, name, m);
		n += m;
	}
	if (p)
		rtc->DestroyProgram(&p);
	return o;
}
