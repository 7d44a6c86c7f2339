/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/support/counted.h declares. */
#include "support/counted.h"

#include <dlfcn.h>

#include "support/check.h"
#include "target/target.h"

enum { THREADS = 2, BEHIND = 1 << 16 };

/* ---- the team ---------------------------------------------------------------------------- */

static int loops, part;
static void (*look)(void *);
static void *look_context;

static void run(void (*body)(void *), void *arg, unsigned n)
{
    loops++;
    for (part = (int)n * OT_TEAM_PARTS - 1; part >= 0; part--) {
        body(arg);
        if (look)
            look(look_context);
    }
}

static int number(void)
{
    return part;
}

static int count(void)
{
    return THREADS * OT_TEAM_PARTS;
}

static int thread(void)
{
    return (part + 1) % THREADS;
}

/* ---- modules ------------------------------------------------------------------------------- */

static void *load(const counted *c, const optune_task *task, int module)
{
    char from[1100], to[1100];
    optune_err err = {0};
    optune_argv argv = {0};
    ot_text text = {0};
    optune_target target = *task->target;
    target.threads = THREADS;
    ot_plan_module_source(task, c->plan, module, &text);
    snprintf(from, sizeof from, "%s/m%d.c", c->dir, module);
    snprintf(to, sizeof to, "%s/m%d.so", c->dir, module);
    check_ok(ot_write_file(from, text.s, text.n, &err));
    check_ok(
        ot_target_find("cpu")->compile(&target, task->device, NULL, 0, from, to, &argv, &err));
    check_ok(ot_run_program(argv.word, 60, NULL, &err));
    void *loaded = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    const ot_cpu_team **given = dlsym(loaded, "ot_team");
    assert_true(!given || !*given);
    optune_argv_release(&argv);
    ot_text_release(&text);
    return loaded;
}

void counted_open(counted *c, const optune_task *task, const optune_plan *plan)
{
    optune_err err = {0};
    *c = (counted){.plan = plan};
    assert_int_equal(task->device->threads, THREADS);
    check_ok(ot_temp_dir(c->dir, sizeof c->dir, &err));
    for (int i = 0; i < plan->n_modules; i++)
        c->module[i] = load(c, task, i);
    for (int i = 0; i < plan->n_scratch; i++)
        c->scratch[i] = ot_alloc((size_t)plan->scratch[i].bytes + BEHIND);
}

void counted_close(counted *c)
{
    for (int i = 0; i < c->plan->n_modules; i++)
        dlclose(c->module[i]);
    for (int i = 0; i < c->plan->n_scratch; i++)
        free(c->scratch[i]);
    ot_remove_tree(c->dir);
}

static void *resolved(const counted *c, const optune_arg *arg, void *const *in, void *out)
{
    switch (arg->kind) {
    case OPTUNE_ARG_INPUT:
        return in[arg->index];
    case OPTUNE_ARG_OUTPUT:
        return out;
    case OPTUNE_ARG_SCRATCH:
        return c->scratch[arg->index];
    case OPTUNE_ARG_INT:
        return (void *)&arg->value;
    case OPTUNE_ARG_FUNCTION:
        return dlsym(c->module[arg->index], arg->symbol);
    default:
        fail_msg("an argument of kind %d", (int)arg->kind);
        return NULL;
    }
}

int counted_compute(const counted *c, void *const *in, void *out, bool team,
                    void (*looks)(void *), void *context)
{
    static const ot_cpu_team played = {run, number, count, thread};
    int modules_with = 0;
    loops = 0;
    look = looks;
    look_context = context;
    for (int i = 0; i < c->plan->n_modules; i++) {
        const ot_cpu_team **given = dlsym(c->module[i], "ot_team");
        modules_with += given != NULL;
        if (given)
            *given = team ? &played : NULL;
    }
    assert_true(modules_with > 0);
    for (int i = 0; i < c->plan->n_scratch; i++)
        memset(c->scratch[i] + c->plan->scratch[i].bytes, 0x5a, BEHIND);
    for (int s = 0; s < c->plan->n_stages; s++) {
        const optune_stage *stage = &c->plan->stage[s];
        void *arg[OPTUNE_MAX_ARGS], *found = dlsym(c->module[stage->module], stage->function);
        void (*function)(void *const *) = NULL;
        memcpy(&function, &found, sizeof function);
        assert_non_null(function);
        for (int i = 0; i < stage->n_args; i++)
            arg[i] = resolved(c, &stage->arg[i], in, out);
        function(arg);
    }
    for (int i = 0; i < c->plan->n_scratch; i++)
        for (int j = 0; j < BEHIND; j++)
            assert_int_equal(c->scratch[i][c->plan->scratch[i].bytes + j], 0x5a);
    return loops;
}
