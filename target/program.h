/* SPDX-License-Identifier: Apache-2.0 */
/* What the target `program` is made of: one run of somebody's program, seen from outside. */
#ifndef OPTUNE_TARGET_PROGRAM_H
#define OPTUNE_TARGET_PROGRAM_H

#include <sys/resource.h>

#include "base/program.h"

/* ---- program_run.c ----------------------------------------------------------------------- */
typedef struct ot_program_order {
    char *const *argv;
    int exe;            /* an open file to run as argv[0]; -1: argv[0] itself, found on PATH */
    const char *folder; /* where */
    char *const *more;  /* NAME=VALUE, beside the environment of this process; NULL: none */
    const char *input;  /* on its stdin; NULL: nothing */
    double limit_s;     /* then it is killed */
    /* Of this process, which leads it and has no other child: it ends, or stops, with that, and
     * time for which it was stopped is none of its limit. What it leaves running ends with it, but
     * for what is in a session of its own. All of it ends when nobody is at the other end of stdin
     * any more, where that is a socket. */
    bool in_group;
} ot_program_order;
typedef struct ot_program_end {
    double wall; /* seconds, from its start until it ended */
    int status;  /* as waitpid gives it */
    bool late;   /* it was killed */
    bool cut;    /* it printed more than is kept: the last of it */
    struct rusage used;
    ot_text printed; /* stdout and stderr, as they came; the caller releases it */
} ot_program_end;
/* Runs it, unless the order says else in a process group of its own, which is over when it is. It
 * dies with this process.
 * ETOOL: it cannot be started. */
int ot_program_run(const ot_program_order *order, ot_program_end *end, optune_err *err);
/* The last line that says something; into line[]. */
void ot_program_last_line(const ot_text *printed, char *line, size_t size);
/* How it ended, where that was not well: ETIMEOUT, EWORKER (a signal), EIO (an exit status); else
 * OK. */
int ot_program_check_end(const ot_program_end *end, const char *what, double limit_s,
                         optune_err *err);

#endif
