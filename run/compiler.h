/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c: compiler processes, one command each. Where the command is the worker program's
 * own (--compile), the process stays and serves the next: loading a driver's compiler takes
 * longer than most kernels.
 */
#ifndef OPTUNE_COMPILER_H
#define OPTUNE_COMPILER_H

#include "base/base.h"

typedef struct ot_compiler {
    struct ot_compiler *next; /* while idle */
    ot_child child;           /* its text, times and group; `answered`: it may serve again */
    const optune_argv *argv;  /* the caller's, until the compiler is put back */
    const char *temp; /* ot_compilers.temp */
    double limit_s;
    int served;        /* commands, with this one; 0: it ends with its command */
    double idle_since; /* ot_now() */
} ot_compiler;

typedef struct ot_compilers { /* those that wait for a command; {0} has none */
    ot_compiler *idle;
    const char *temp; /* their folder for temporary files, which one that is killed leaves behind;
                         NULL: the system's */
} ot_compilers;

/* Starts the command, in a new process or one that is idle, at a lower priority than what
 * measures. ETOOL when no process can be started. The compiler is the caller's until put back. */
int ot_compiler_start(ot_compilers *all, const optune_argv *argv, double limit_s,
                      ot_compiler **compiler, optune_err *err);
/* True once the command is done: it answered, or the process ended or was killed for its limit.
 * One that ends on its second command or later has the command done by a new process, so that
 * no candidate is blamed for what came before it. */
bool ot_compiler_done(ot_compiler *compiler);
bool ot_compiler_succeeded(const ot_compiler *compiler);
/* The compiler is idle from here on or, when it ended or still runs its command, ended. */
void ot_compiler_put(ot_compilers *all, ot_compiler *compiler);
/* The first line of what a compiler said that names an error, *n bytes of it: where that only tells
 * that the linker failed, the linker's last word, which is in front of it. NULL: no line does. */
const char *ot_compiler_error(const char *text, size_t *n);
/* The `#define` of *n bytes that such a line is about, where gcc shows one below it: it names the
 * macro and not who used it. NULL: it is about something else. */
const char *ot_compiler_macro(const char *error, size_t *n);
#define OT_MACRO_USED " (some code has another use for the name of this macro: "
/* Ends those that were idle for longer than `seconds`. */
void ot_compilers_end_idle(ot_compilers *all, double seconds);

#endif
