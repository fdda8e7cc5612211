// The compiler of CUDA C, as this package sees it.

#ifndef LASTUSE_NVRTC_H
#define LASTUSE_NVRTC_H

#include <stddef.h>
#include <stdint.h>

// LU_RTC_SYMBOLS lists every call: X(name after "nvrtc", result, parameters). A program is an opaque pointer.
#define LU_RTC_SYMBOLS(X) \
	X(Version, int, (int *, int *)) \
	X(GetErrorString, const char *, (int)) \
	X(CreateProgram, int, (void **, const char *, const char *, int, const char *const *, const char *const *)) \
	X(DestroyProgram, int, (void **)) \
	X(AddNameExpression, int, (void *, const char *)) \
	X(CompileProgram, int, (void *, int, const char *const *)) \
	X(GetProgramLogSize, int, (void *, size_t *)) \
	X(GetProgramLog, int, (void *, char *)) \
	X(GetCUBINSize, int, (void *, size_t *)) \
	X(GetCUBIN, int, (void *, char *)) \
	X(GetLoweredName, int, (void *, const char *, const char **))

// Results of our own.
enum { LU_RTC_MEMORY = -1, LU_RTC_NO_NAME = -2 };

typedef struct lu_rtc {
#define X(name, result, params) result (*name) params;
	LU_RTC_SYMBOLS(X)
#undef X
	void *library;
	struct lu_rtc *next;
} lu_rtc;

// lu_rtc_opened is an opened library, or why there is none; the text is malloc'ed.
typedef struct {
	lu_rtc *rtc;
	char *why;
	int major, minor;
} lu_rtc_opened;

// lu_source is what is compiled. Nothing of it is kept.
typedef struct {
	const char *text, *name;
	int headers;
	char **header_texts, **header_names;
	int options;
	char **option_texts;
	int names;
	char **name_texts;
} lu_source;

// lu_compiled is what came of it. Image, log and the lowered names, one behind the other with a zero behind each,
// are malloc'ed.
typedef struct {
	int r;
	const char *call; // that failed with r
	int at;           // the expression among the names that it was about
	char *image, *log, *lowered;
	size_t size;
} lu_compiled;

lu_rtc_opened lu_rtc_Open(const char *path);
const char *lu_rtc_ErrorString(lu_rtc *rtc, int r);
lu_compiled lu_rtc_Compile(lu_rtc *rtc, const lu_source *s);

#endif
