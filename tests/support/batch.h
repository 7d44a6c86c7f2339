/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many calls computed and verified at once, for contracts that ask thousands of them: the bodies
 * of a batch are compiled together, a few translation units (OpenCL: programs) with renamed
 * functions, while a process of its own computes the batch before it, verified over guarded
 * buffers, then twice over aligned ones. Nothing is timed but the deadline of each call and of its
 * loading: one that does not end is told by its text, fails the contract and is waited for no
 * longer.
 *
 * All but every fourth batch is compiled with -Og in place of -O3 on CPUs, which costs half, and
 * without an optimizer on OpenCL, which costs a third, but for contracts that are `usual`; a
 * failure says with which, by the target that repeats it.
 */
#ifndef OPTUNE_TESTS_BATCH_H
#define OPTUNE_TESTS_BATCH_H

#include "run/worker.h"

enum { BATCH_SEED = 11 };

typedef struct batch_load batch_load;
typedef struct batch {
    optune_target target, cheap; /* asked about; compiled for */
    optune_device device;
    char text[OPTUNE_TEXT_SIZE], dir[4096]; /* the target's; a folder of its own */
    ot_builder *builder[2];   /* with the target's own flags; with cheaper ones, or NULL */
    batch_load *load[2];      /* what comes in; what compiles meanwhile */
    optune_plan *plan;
    int loads;
    bool opened;
    bool usual;      /* every batch with the target's own flags */
    ot_text cheaply; /* the target with cheaper ones, as it is asked for */
    ot_text said;
    double own_s, children_s, computing_s; /* of processors; the first two when it was opened */
    double limit_s; /* of a computed call: processor time; six times as much by the clock */
    /* Plans; their calls at sizes, verified; what failed; plans that no compiler ended in time;
     * libraries that are not there or refuse; plans of joined modules that no compiler took. */
    long plans, computed, failed, late, skipped, alone;
} batch;

/* Looks for the target's device and makes everything ready. False, with the reason on the screen:
 * there is none here, and nothing is to be closed. */
bool batch_open(batch *b, const char *target);
/* This plan at the sizes of `at`, texts of one call or more. */
void batch_add(batch *b, const optune_call *call, const optune_impl *impl,
               const optune_config *config, const char *const *at, int n);
/* Whether a contract of many implementations on this target is a batch: on CPUs and on OpenCL, but
 * not where races are looked for, nor of the one implementation that OPTUNE_TEST_IMPL names,
 * which is compiled, tried and told of as in a run. Opens it; with the target's own flags where
 * OPTUNE_TEST_THIN asks for everything. */
bool batch_serves(batch *b, const char *target);
/* Everything that was added is computed. */
void batch_finish(batch *b);
void batch_close(batch *b);
/* Finishes, closes and says how much was done; fails the test if anything failed, or nothing was
 * computed. */
void batch_judge(batch *b);

/* What a program that uses these has to call at first: in the process that computes it does so and
 * ends the process. */
void batch_inside(int argc, char **argv);

/* ---- between the two processes ------------------------------------------------------------ */
typedef struct batch_progress {
    int item, at; /* at hand */
    bool working; /* else it loads, or is done */
    double since; /* ot_now(), of this call */
    long computed, failed, skipped;
} batch_progress;
#define BATCH_WORD "--compute-batch"
/* How a plan's function is called where its module lies among others. */
void batch_function(const char *prefix, int module, const char *function, ot_text *to);

#endif
