/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every implementation that takes dims at run time: each sample of its operator,
 * with those dims made ranges, is planned once for the whole range, and the one plan computes
 * every size in it right: the ends, the sample's own size and random ones; and once more with
 * operators fused behind it, whose operands have dims of the output or are broadcast. A library
 * that is not installed is skipped. OPTUNE_TEST_CONFIGS, OPTUNE_TEST_THIN and OPTUNE_TEST_IMPL
 * work as in test_impl, and so do OPTUNE_TEST_PARTS and OPTUNE_TEST_PART, which share the
 * implementations here; but where no random configs are drawn by default, as compilers take long,
 * they are of the one implementation that OPTUNE_TEST_IMPL names alone (test_ranges draws some).
 */
#include "support/check.h"

#include <math.h>

#include "support/batch.h"
#include "support/belongs.h"
#include "support/workbench.h"

enum { FUSED_THIN = 3 }; /* of the calls, how many are fused, too: test_ranges draws others */

static struct {
    workbench at;
    batch *many; /* NULL: each is a trial of its own */
    uint64_t rng;
    int configs, checked, skipped, failed, misfits, fused, taken;
} t;

static int input_named(const optune_op *op, const char *name, size_t n)
{
    for (int i = 0; op->inputs[i].name; i++)
        if (strlen(op->inputs[i].name) == n && strncmp(op->inputs[i].name, name, n) == 0)
            return i;
    fail_msg("no input '%.*s' of '%s'", (int)n, name, op->name);
    return -1;
}

static int make_range(optune_dim *dim, int d, int least)
{
    const int64_t size = dim->min;
    *dim = (optune_dim){.min = least, .max = 2 * size + 3};
    snprintf(dim->name, sizeof dim->name, "d%d_%d", d, (int)size);
    return 1;
}

/* Any dim: as many at once as the type relation lets vary, by a few draws. */
static bool widen_any(const optune_call *call, optune_call *range)
{
    optune_err err = {0};
    ot_symbols symbols;
    for (int tries = 0; tries < 20; tries++) {
        int varying = 0;
        *range = *call;
        for (int i = 0; i < call->n_inputs; i++)
            for (int d = 0; d < call->input[i].type.rank; d++)
                if (tries == 0 || optune_random_below(&t.rng, 2 + tries / 4) == 0)
                    varying += make_range(&range->input[i].type.dim[d], d, 1);
        for (int i = 0; i < range->n_outputs; i++)
            range->output[i] = (optune_tensor){.rank = -1};
        if (varying && ot_call_infer(range, &err) >= 0 &&
            ot_symbols_of(range, &symbols, &err) >= 0)
            return true;
    }
    return false;
}

/* Leading dims, as far as the implementation takes them, and from 0 on where it takes that:
 * operands are aligned at their last dims, and a 1 that is broadcast stays what it is. */
static bool widen_lead(const optune_impl *impl, const optune_call *call, optune_call *range)
{
    const optune_task task = {range, &t.at.target, &t.at.device};
    optune_err err = {0};
    ot_symbols symbols;
    int rank = 0;
    for (int i = 0; i < call->n_inputs; i++)
        rank = call->input[i].type.rank > rank ? call->input[i].type.rank : rank;
    for (int tries = 2 * rank; tries > 0; tries--) {
        const int lead = (tries + 1) / 2, least = tries % 2;
        int varying = 0;
        *range = *call;
        for (int i = 0; i < call->n_inputs; i++) {
            optune_tensor *type = &range->input[i].type;
            for (int d = rank - type->rank; d < lead; d++)
                if (type->dim[d - (rank - type->rank)].min != 1 || i == 0)
                    varying += make_range(&type->dim[d - (rank - type->rank)], d, least);
        }
        for (int i = 0; i < range->n_outputs; i++)
            range->output[i] = (optune_tensor){.rank = -1};
        if (varying && ot_call_infer(range, &err) >= 0 &&
            ot_symbols_of(range, &symbols, &err) >= 0 && ot_impl_applies(impl, &task, NULL))
            return true;
    }
    return false;
}

/* Every listed dim becomes a range; equal sizes at equal places are one dim, and a 1 that is
 * broadcast stays what it is. False when nothing is left to vary. */
static bool widen(const optune_impl *impl, const optune_call *call, optune_call *range)
{
    int varying = 0;
    if (strcmp(impl->symbolic, "*") == 0)
        return impl->generic ? widen_any(call, range) : widen_lead(impl, call, range);
    *range = *call;
    for (const char *p = impl->symbolic; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " "), dot = strcspn(p, ".");
        const int input = input_named(call->op, p, dot), d = p[dot + 1] - '0';
        p += n;
        if (input < 0)
            return false;
        optune_dim *dim = &range->input[input].type.dim[d];
        if (input > 0 && dim->min == 1)
            continue;
        varying += make_range(dim, d, 1);
    }
    for (int i = 0; i < range->n_outputs; i++)
        range->output[i] = (optune_tensor){.rank = -1};
    ot_symbols symbols; /* the relation may have made constants of all */
    return varying && ot_call_infer(range, NULL) >= 0 &&
           ot_symbols_of(range, &symbols, NULL) >= 0;
}

static void try_at(const optune_impl *impl, const optune_call *range, const char *text,
                   const optune_config *config, const ot_job *job, const ot_symbols *at)
{
    optune_err err = {0};
    ot_arena arena = {0};
    ot_text fixed = {0}, short_config = {0};
    optune_call *call = ot_alloc(sizeof *call);
    if (ot_call_narrow(range, at, call, &err) < 0 && strcmp(impl->symbolic, "*") == 0) {
        t.misfits++; /* sizes of dims that only the type relation holds together */
        ot_arena_release(&arena);
        free(call);
        return;
    }
    assert_true(ot_call_static(call));
    ot_call_print(call, &fixed);
    check_ok(ot_worker_workload(t.at.worker, fixed.s, 11, &err));
    const ot_trial trial = {.impl = impl,
                            .config = config,
                            .job = job,
                            .best = INFINITY,
                            .limit_s = 60,
                            .range = text};
    ot_trial_result r;
    check_ok(ot_worker_trial(t.at.worker, &trial, &workbench_quick, &arena, &r, &err));
    ot_config_print_short(config, &short_config);
    const char *message = r.message ? r.message : "";
    if (r.outcome != OPTUNE_OUTCOME_OK && impl->library && strstr(message, "library")) {
        t.skipped++;
    } else if (r.outcome != OPTUNE_OUTCOME_OK) {
        print_error("%s %s %s\n  at %s\n    %s\n    %s: %s\n", impl->name, t.at.text, text,
                    fixed.s, ot_text_str(&short_config), ot_outcome_name(r.outcome), message);
        t.failed++;
    } else {
        t.checked++;
    }
    ot_text_release(&fixed);
    ot_text_release(&short_config);
    ot_arena_release(&arena);
    free(call);
}

/* Ends first, then anything in between. */
static void choose_sizes(const ot_symbols *all, int turn, ot_symbols *at)
{
    *at = *all;
    for (int i = 0; i < all->n; i++) {
        const int64_t lo = all->dim[i].min, hi = all->dim[i].max;
        const int64_t size = turn == 0   ? lo
                             : turn == 1 ? hi
                                         : lo + optune_random_below(&t.rng, hi - lo + 1);
        at->dim[i].min = at->dim[i].max = size;
    }
}

enum { SIZES = 5 };

/* With many others. */
static void add_config(const optune_impl *impl, const optune_task *task,
                       const optune_config *config)
{
    optune_err err = {0};
    ot_text text[SIZES] = {0};
    const char *sizes[SIZES];
    int n = 0;
    ot_symbols all, at;
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_symbols_of(task->call, &all, &err));
    for (int turn = 0; turn < SIZES; turn++) {
        choose_sizes(&all, turn, &at);
        if (ot_call_narrow(task->call, &at, call, &err) < 0) {
            if (strcmp(impl->symbolic, "*") != 0)
                fail_msg("%s: %s", impl->name, err.text);
            t.misfits++;
            continue;
        }
        assert_true(ot_call_static(call));
        ot_call_print(call, &text[n]);
        sizes[n] = ot_text_str(&text[n]);
        n++;
    }
    if (n)
        batch_add(t.many, task->call, impl, config, sizes, n);
    t.checked += n;
    for (int i = 0; i < n; i++)
        ot_text_release(&text[i]);
    free(call);
}

static void try_config(const optune_impl *impl, const optune_task *task,
                       const optune_config *config, const char *text)
{
    optune_err err = {0};
    if (t.many) {
        add_config(impl, task, config);
        return;
    }
    optune_plan *plan = ot_alloc(sizeof *plan);
    ot_job *job = ot_alloc(sizeof *job);
    ot_symbols all, at;
    check_ok(ot_plan_make(task, impl, config, plan, &err));
    check_ok(ot_builder_submit(t.at.builder, task, plan, job, &err));
    while (!job->done)
        ot_builder_wait(t.at.builder, job, 1);
    if (job->outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s %s: %s", impl->name, text, job->message);
    check_ok(ot_symbols_of(task->call, &all, &err));
    for (int turn = 0; turn < SIZES; turn++) {
        choose_sizes(&all, turn, &at);
        try_at(impl, task->call, text, config, job, &at);
    }
    free(plan);
    free(job);
}

static void try_range(const optune_impl *impl, const optune_call *range, int configs)
{
    optune_err err = {0};
    const optune_task task = {range, &t.at.target, &t.at.device};
    optune_space *space;
    optune_config *config = ot_alloc(sizeof *config);
    ot_text text = {0};
    ot_call_print(range, &text);
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, config, NULL));
    try_config(impl, &task, config, text.s);
    for (int n = 0, tries = 0; n < configs && tries < 200; tries++) {
        ot_space_nth(space, ot_space_random(space, &t.rng), config);
        if (!ot_space_valid(space, config, NULL))
            continue;
        try_config(impl, &task, config, text.s);
        n++;
    }
    ot_space_close(space);
    ot_text_release(&text);
    free(config);
}

/* An operand of the output's type or of fewer dims, each of them the output's or 1. A dim without a
 * name cannot be said twice. */
static void add_operand(const optune_tensor *out, ot_text *to)
{
    const int from = (int)optune_random_below(&t.rng, out->rank);
    char dtype[16];
    ot_print_dtype(out->dtype, dtype, sizeof dtype);
    ot_text_add(to, dtype);
    for (int d = from; d < out->rank; d++) {
        const optune_dim *dim = &out->dim[d];
        const bool whole = optune_random_below(&t.rng, 3) > 0;
        ot_text_add(to, d == from ? "[" : ",");
        if (whole && (optune_dim_known(dim) || dim->name[0]))
            ot_dim_print(dim, to);
        else
            ot_text_add(to, "1");
    }
    ot_text_add(to, "]");
}

/* The same with operators behind it; false: nothing is fused behind its operator, in its types, or
 * not here. */
static bool fuse(const optune_impl *impl, const optune_call *range, optune_call *fused)
{
    const optune_tensor *out = &range->output[0];
    const optune_task task = {fused, &t.at.target, &t.at.device};
    optune_err err = {0};
    ot_text text = {0};
    if (range->n_outputs != 1 || range->op->pattern >= OPTUNE_TUPLE || out->rank < 1 ||
        out->dtype.code != OPTUNE_DTYPE_FLOAT || impl->generic)
        return false;
    ot_call_print(range, &text);
    ot_text_add(&text, " -> add(");
    add_operand(out, &text);
    ot_text_add(&text, ") -> relu()");
    if (optune_random_below(&t.rng, 2)) {
        ot_text_add(&text, " -> multiply(");
        add_operand(out, &text);
        ot_text_add(&text, ")");
    }
    check_ok(ot_call_parse(ot_text_str(&text), fused, &err));
    ot_text_release(&text);
    return ot_impl_applies(impl, &task, NULL) && ot_epilogue_applies(&task, NULL);
}

/* `brief`: the fallback alone, and nothing fused. */
static bool sample_of(const optune_impl *impl, const char *sample, bool brief)
{
    optune_err err = {0};
    optune_call *call = ot_alloc(3 * sizeof *call), *range = call + 1, *fused = call + 2;
    char why[OPTUNE_WHY_SIZE];
    check_ok(ot_call_parse(sample, call, &err));
    const optune_task task = {range, &t.at.target, &t.at.device};
    const bool takes =
        !call->n_epilogues && widen(impl, call, range) && ot_impl_applies(impl, &task, why);
    if (takes)
        try_range(impl, range, brief ? 0 : t.configs);
    if (takes && !brief && t.taken++ % FUSED_THIN == 0 && fuse(impl, range, fused)) {
        try_range(impl, fused, 0);
        t.fused++;
    }
    free(call);
    return takes;
}

/* Some sample applies as it is. Emulated, only what asks for an architecture of CUDA's is in
 * question. */
static bool in_question(const optune_impl *impl)
{
    optune_err err = {0};
    optune_device plain = t.at.device;
    plain.cc_major = plain.cc_minor = 0;
    optune_call *call = ot_alloc(sizeof *call);
    const optune_task task = {call, &t.at.target, &t.at.device};
    const optune_task portable = {call, &t.at.target, &plain};
    const optune_op *op = ot_op_find(impl->op);
    bool yes = false;
    for (const char *const *sample = op->samples; *sample && !yes; sample++) {
        check_ok(ot_call_parse(*sample, call, &err));
        yes = ot_impl_applies(impl, &task, NULL) &&
              !(t.at.emulated && (impl->library || ot_impl_applies(impl, &portable, NULL)));
    }
    free(call);
    return yes;
}

enum { GENERIC_THIN = 12 }; /* few bodies for all operators */

/* `again`: another target had those of which little is asked. */
static void every_impl(const char *target, int configs, int thin, bool again)
{
    const int part = workbench_asked("OPTUNE_TEST_PART", 0);
    const int asked = workbench_asked("OPTUNE_TEST_PARTS", 1), parts = asked > 0 ? asked : 1;
    int n, tried = 0;
    const optune_impl *const *impl = ot_impls(&n);
    t.configs = configs;
    thin = workbench_thin(thin);
    t.checked = t.skipped = t.failed = t.misfits = t.fused = 0;
    if (!workbench_find(&t.at, target))
        skip();
    static batch many;
    t.many = batch_serves(&many, target) ? &many : NULL;
    if (!t.many)
        workbench_start(&t.at);
    t.rng = workbench_seed(7);
    for (int i = 0; i < n; i++) {
        if (!impl[i]->symbolic || !workbench_wants(impl[i]->name) ||
            !ot_impl_runs_on(impl[i], &t.at.device, NULL) ||
            !impl_belongs(impl[i], &t.at.target) || !in_question(impl[i]) ||
            (again && workbench_brief(impl, i)) || tried++ % parts != part)
            continue;
        int taken = 0, turn = 0;
        t.taken = 0;
        const bool alone = getenv("OPTUNE_TEST_IMPL") != NULL, brief = workbench_brief(impl, i);
        const int each = impl[i]->generic && !alone ? GENERIC_THIN * thin : thin;
        const optune_op *op = ot_op_find(impl[i]->op);
        for (const char *const *sample = op->samples; *sample; sample++, turn++)
            if (taken == 0 || (turn % each == 0 && !brief))
                taken += sample_of(impl[i], *sample, brief);
        if (!taken && strcmp(impl[i]->symbolic, "*") != 0)
            fail_msg("'%s' takes no sample's dims at run time", impl[i]->name);
        if (!taken && !impl[i]->generic) /* a pattern's, and this op has no such sample */
            print_message("'%s' takes no sample's dims at run time\n", impl[i]->name);
    }
    print_message("%d checked, %d fused calls, %d skipped (no library), %d failed on %s\n",
                  t.checked, t.fused, t.skipped, t.failed, target);
    if (t.many)
        batch_judge(t.many);
    workbench_close(&t.at);
    assert_int_equal(t.failed, 0);
}

static int configs(int otherwise)
{
    return otherwise || getenv("OPTUNE_TEST_IMPL")
               ? workbench_asked("OPTUNE_TEST_CONFIGS", otherwise)
               : 0;
}

static void one_thread(void **state)
{
    (void)state;
    every_impl("cpu -threads=1", configs(2), 1, false);
}

/* What one thread computes right is in question again for how it is shared alone. */
static void two_threads(void **state)
{
    (void)state;
    every_impl("cpu -threads=2", 1, workbench_shares() ? 3 : 1, true);
}

static const workbench_contract contracts[] = {
    {"opencl", "opencl", 0, 1},
    {"emulated", "emulated", 0, 1},
    {"cuda", "cuda", 2, 1},
};

static void as_asked(void **state)
{
    const workbench_contract *c = *state;
    every_impl(c->target, configs(c->configs), c->thin, false);
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    const struct CMUnitTest on_cpu[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(two_threads),
    };
    const int code =
        workbench_contract_run(argc, argv, contracts, OT_COUNT(contracts), as_asked);
    if (code >= 0)
        return code;
    return cmocka_run_group_tests_name("kernels/symbolic", on_cpu, NULL, NULL);
}
