/* SPDX-License-Identifier: Apache-2.0 */
/* What a loaded library of host code is. Between target/'s files that open libraries. */
#ifndef OPTUNE_TARGET_LIBRARY_H
#define OPTUNE_TARGET_LIBRARY_H

#include "target/target.h"

typedef struct ot_library_identity {
    char name[160];     /* OpenBLAS, MKL, BLIS, ATLAS, oneDNN, reference BLAS ... */
    char version[64];   /* empty: it does not say */
    char core[64];      /* the kernels that it chose; empty: it does not say */
    char build[512];    /* how it was built, or a digest of its file */
    char file[4096];    /* links followed */
    bool reference;     /* the reference BLAS: correct, never fast */
    bool wide_integers; /* its functions take 64-bit sizes */
} ot_library_identity;

/* `symbol`: a function that will be called; the file that has it is the one that counts. */
void ot_library_identify(void *handle, const char *symbol, ot_library_identity *is);
/* "OpenBLAS 0.3.21 SkylakeX" */
void ot_library_name(const ot_library_identity *is, char *to, size_t size);

/* A function by its plain name, also where a build puts a prefix before all names. */
void *ot_library_function(void *handle, const char *name);
/* The same into a pointer of the caller's type, without a cast that ISO C forbids. */
bool ot_library_bind(void *handle, const char *name, void *pointer);

/* library_note.c: what a library is, noted by the process that opens it for those that ask. */
typedef struct ot_library_look {
    ot_text as;   /* the note's circumstances */
    ot_text seen; /* folders and files that decided it */
    bool told;    /* nothing else did */
} ot_library_look;
/* In front of the first change of the environment. */
void ot_library_look_begin(ot_library_look *look, const char *library);
/* While a file that was opened still is. */
void ot_library_look_opened(ot_library_look *look, const ot_library_identity *is);
void ot_library_look_failed(ot_library_look *look, const char *file, const char *why);
/* `said`: what those who ask are told. */
void ot_library_look_end(ot_library_look *look, int status, const char *said);
/* What this worker program would say: *status as that of ot_library_look_end. False: nobody
 * knows. */
bool ot_library_noted(const char *library, const char *program, int *status, char *text,
                      size_t size);

/* library_file.c: what an open file has, which may be closed then; NULL: ot_library_why. For
 * dlclose. No other object comes instead, not even of a file that had its number. */
void *ot_library_of_file(int file);
/* dlerror(), without the name that such a file got. */
const char *ot_library_why(void);

/* cpu_module.c: a module loaded from a folder of whatever kind, for dlclose; NULL: ot_library_why,
 * and *noexec says whether that is as nothing there may be executed. */
void *ot_cpu_module_open(const char *path, bool *noexec);

/* library_once.c: those that a worker has opened, which stay open: threads of theirs may still be
 * inside. */
enum { OT_MOST_LIBRARIES = 8 };
typedef struct ot_libraries {
    int n;
    struct {
        char name[OPTUNE_NAME_SIZE];
        void *handle;
    } item[OT_MOST_LIBRARIES];
} ot_libraries;
/* The handle of one that is among them, else what `open` gives, kept; NULL: that failed, or there
 * are too many. */
void *ot_libraries_open(ot_libraries *all, const char *name,
                        int (*open)(void *arg, const char *name, void **handle,
                                    optune_err *err),
                        void *arg, optune_err *err);

/* The core whose kernels OpenBLAS should take instead of an older one; NULL: `core` is new
 * enough for this CPU, or nobody knows it. */
const char *ot_library_newer_core(const char *core, const ot_cpu_features *f);
/* The instructions that a core's kernels leave unused here: "AVX-512"; NULL: none. */
const char *ot_library_unused(const char *core, const ot_cpu_features *f);

#endif
