/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of planted candidates for dense on cpu, each bad in one way, beside two good
 * ones. It overrides dense's strategy for the key "cpu", so that a run meets all of them:
 *
 *   bad_crash.cpu    writes to an address that is nobody's
 *   bad_mute.cpu     the same, after it has put the signal's default in place of all handlers
 *   bad_hang.cpu     never returns
 *   bad_lie.cpu      right everywhere but in its last element
 *   bad_bounds.cpu   right, but also writes one element past its output
 *   bad_input.cpu    right, but changes its data
 *   bad_compile.cpu  does not compile
 *   bad_exit.cpu     ends the process as if nothing was wrong
 *   bad_forks.cpu    leaves a process in a session of its own behind
 *   bad_stops.cpu    stops its process
 *   bad_writes.cpu   writes to every file that is open
 *   bad_closes.cpu   closes them all
 *   bad_spoils.cpu   right; then changes what it can of inputs that are timed, and its priority
 *   bad_lazy.cpu     computes twice, then no more
 *   bad_keeps.cpu    takes it that its scratch holds zeros, which it does at first
 *   bad_killed.cpu   kills its process; only the first time when OPTUNE_PLANTED_MARK names a
 *                    file, which it makes
 *
 * Build: cc -shared -fPIC -I include -o plugin_bad.so tests/data/plugin_bad.c
 */
#include <string.h>

#include "planted_dense.h"

static const char body[] =
    "extern void exit(int);\n"
    "extern int raise(int);\n"
    "extern void *signal(int, void *);\n"
    "extern char *getenv(const char *);\n"
    "extern int open(const char *, int, ...);\n"
    "extern int access(const char *, int);\n"
    "extern int fork(void), setsid(void), close(int), nice(int);\n"
    "extern unsigned sleep(unsigned);\n"
    "extern long write(int, const void *, unsigned long);\n"
    "#ifdef BAD_COMPILE\n"
    "#error planted: this candidate does not compile\n"
    "#endif\n"
    "void dense(void *const *arg) {\n"
    "    float *data = arg[0];\n"
    "    const float *weight = arg[1];\n"
    "    float *out = arg[2];\n"
    "#ifdef BAD_MUTE\n"
    "    signal(11, 0);\n" /* SIGSEGV, SIG_DFL */
    "    *(volatile int *)16 = 1;\n"
    "#endif\n"
    "#ifdef BAD_CRASH\n"
    "    *(volatile int *)16 = 1;\n"
    "#endif\n"
    "#ifdef BAD_HANG\n"
    "    for (volatile int i = 0;; i++) ;\n"
    "#endif\n"
    "#ifdef BAD_EXIT\n"
    "    exit(0);\n"
    "#endif\n"
    "#ifdef BAD_KILLED\n"
    "    const char *mark = getenv(\"OPTUNE_PLANTED_MARK\");\n"
    "    if (!mark || access(mark, 0) != 0) {\n"
    "        if (mark) open(mark, 0101, 0600);\n" /* O_CREAT | O_WRONLY */
    "        raise(9);\n"
    "    }\n"
    "#endif\n"
    "#ifdef BAD_FORKS\n"
    "    static int forked;\n"
    "    if (!forked++ && fork() == 0) { setsid(); sleep(60); exit(0); }\n"
    "#endif\n"
    "#ifdef BAD_STOPS\n"
    "    raise(19);\n"
    "#endif\n"
    "#ifdef BAD_WRITES\n"
    "    for (int i = 0; i < 64; i++) write(i, \"{}\", 2);\n"
    "#endif\n"
    "#ifdef BAD_CLOSES\n"
    "    for (int i = 0; i < 64; i++) close(i);\n"
    "#endif\n"
    "#ifdef BAD_LAZY\n"
    "    static int calls;\n"
    "    if (calls++ >= 2) return;\n"
    "#endif\n" PLANTED_LOOPS "#ifdef BAD_LIE\n"
    "    out[M * N - 1] += 0.5f;\n"
    "#endif\n"
    "#ifdef BAD_BOUNDS\n"
    "    out[M * N] = 0;\n"
    "#endif\n"
    "#ifdef BAD_SPOILS\n"
    "    static int spoilt;\n"
    "    if (spoilt++ == 1) { nice(19); data[0] = 7; }\n"
    "#endif\n"
    "#ifdef BAD_KEEPS\n"
    "    out[0] += *(const float *)arg[3];\n"
    "#endif\n"
    "#ifdef BAD_INPUT\n"
    "    data[0] += 1;\n"
    "#endif\n"
    "}\n";

/* Only where something is fused, which it offers to compute and then forgets. */
static bool forgets(const optune_task *task, char *why)
{
    return planted_applies(task, why) &&
           (task->call->n_epilogues > 0 || optune_refuse(why, "nothing is fused"));
}

static void plan_with(const optune_task *task, optune_plan *plan, const char *fault)
{
    const int module = planted_shape(task, plan);
    optune_stage stage = planted_stage(module);
    optune_plan_define(plan, module, fault, 1);
    if (strcmp(fault, "BAD_KEEPS") == 0)
        stage.arg[stage.n_args++] =
            optune_scratch_arg(optune_plan_scratch(plan, "sums", 64, false));
    if (strcmp(fault, "BAD_FORGETS") == 0)
        optune_plan_fuse(task, plan, &stage, 1);
    optune_plan_stage(plan, &stage);
}

#define PLANTED(id, fault, when)                                                               \
    PLANTED_PLAN(id, plan_with, fault)                                                         \
    PLANTED_ROW(id, "bad_" #id ".cpu", fault, body, .applies = when);

PLANTED(crash, "BAD_CRASH", planted_applies)
PLANTED(mute, "BAD_MUTE", planted_applies)
PLANTED(hang, "BAD_HANG", planted_applies)
PLANTED(lie, "BAD_LIE", planted_applies)
PLANTED(bounds, "BAD_BOUNDS", planted_applies)
PLANTED(input, "BAD_INPUT", planted_applies)
PLANTED(compile, "BAD_COMPILE", planted_applies)
PLANTED(exit, "BAD_EXIT", planted_applies)
PLANTED(killed, "BAD_KILLED", planted_applies)
PLANTED(forks, "BAD_FORKS", planted_applies)
PLANTED(stops, "BAD_STOPS", planted_applies)
PLANTED(writes, "BAD_WRITES", planted_applies)
PLANTED(closes, "BAD_CLOSES", planted_applies)
PLANTED(spoils, "BAD_SPOILS", planted_applies)
PLANTED(lazy, "BAD_LAZY", planted_applies)
PLANTED(keeps, "BAD_KEEPS", planted_applies)
PLANTED(forgets, "BAD_FORGETS", forgets)

static const optune_impl *const impls[] = {
    &impl_crash,   &impl_mute,   &impl_hang,   &impl_lie,     &impl_bounds, &impl_input,
    &impl_compile, &impl_exit,   &impl_killed, &impl_forgets, &impl_forks,  &impl_stops,
    &impl_writes,  &impl_closes, &impl_spoils, &impl_lazy,    &impl_keeps,  NULL,
};

static const optune_strategy_row rows[] = {
    {.impl = "dense_pack.x86"},
    {.impl = "dense_nopack.x86", .plevel = 5},
    {.impl = "bad_crash.cpu"},
    {.impl = "bad_mute.cpu"},
    {.impl = "bad_hang.cpu"},
    {.impl = "bad_lie.cpu"},
    {.impl = "bad_bounds.cpu"},
    {.impl = "bad_input.cpu"},
    {.impl = "bad_compile.cpu"},
    {.impl = "bad_exit.cpu"},
    {.impl = "bad_killed.cpu"},
    {.impl = "bad_forgets.cpu"},
    {.impl = NULL},
};

static const optune_strategy strategy = {.op = "dense", .key = "cpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted candidates",
    .strategies = strategies,
    .impls = impls,
};
