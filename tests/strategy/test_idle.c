/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A knob that decides nothing is found, whether no macro has its value or no body reads the macro;
 * and of the rows in tree every knob decides something, on some device, of some sample.
 */
#include <string.h>

#include "strategy/inside.h"
#include "support/belongs.h"
#include "support/check.h"
#include "support/random_device.h"
#include "target/target.h"

/* ---- planted ----------------------------------------------------------------------------- */

static void three_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "used", 3, (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "unsaid", 3, (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "unread", 3, (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "alone", 1, (const int64_t[]){1});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task;
    const int m = optune_plan_module(plan);
    optune_plan_define(plan, m, "USED", optune_config_int(config, "used"));
    optune_plan_define(plan, m, "UNREAD", optune_config_int(config, "unread"));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "f",
                                            .n_args = 1,
                                            .arg = {optune_output_arg(0)}});
}

static const optune_impl planted = {.op = "relu",
                                    .name = "idle.test",
                                    .space = three_knobs,
                                    .plan = plan,
                                    .source = "void f(void *const *arg)\n"
                                              "{ (void)arg; int UNREADABLE = USED; }\n"};

static void test_planted(void **state)
{
    (void)state;
    optune_err err = {0};
    static optune_call call;
    static optune_target target;
    static const optune_device device = {.key = "here", .threads = 1};
    const optune_task task = {&call, &target, &device};
    optune_space *space;
    check_ok(ot_call_parse("relu(f32[64])", &call, &err));
    check_ok(ot_target_parse("cpu", &target, &err));
    check_ok(ot_space_open(&task, &planted, &space, &err));
    assert_int_equal(ot_space_idle(&task, space), 1 << 1 | 1 << 2);
    assert_int_equal(ot_space_idle_of_plugin(&task, space), 0); /* it is none's */
    ot_space_close(space);
}

/* ---- in tree ----------------------------------------------------------------------------- */

enum { DEVICES = 4 };

/* The names of a row's knobs, and whether any was seen to decide something. */
typedef struct knobs {
    int n;
    char name[OPTUNE_MAX_KNOBS][OPTUNE_KNOB_NAME_SIZE];
    bool compared[OPTUNE_MAX_KNOBS], used[OPTUNE_MAX_KNOBS];
} knobs;

static int place_of(knobs *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0)
            return i;
    assert_true(all->n < OPTUNE_MAX_KNOBS);
    ot_copy(all->name[all->n], sizeof all->name[0], name);
    return all->n++;
}

static void look(const optune_task *task, const optune_impl *impl, knobs *all)
{
    optune_err err = {0};
    optune_space *space;
    if (!ot_impl_applies(impl, task, NULL) || ot_space_open(task, impl, &space, &err) < 0)
        return;
    const uint32_t idle = ot_space_idle(task, space);
    for (int k = 0; k < optune_space_knobs(space); k++) {
        const int at = place_of(all, ot_space_knob_name(space, k));
        all->compared[at] = all->compared[at] || optune_space_radix(space, k) > 1;
        all->used[at] = all->used[at] || (optune_space_radix(space, k) > 1 && !(idle >> k & 1));
    }
    ot_space_close(space);
}

static bool all_used(const knobs *all)
{
    bool used = all->n > 0;
    for (int i = 0; i < all->n; i++)
        used = used && all->used[i];
    return used;
}

/* Of samples and the first workload of each preset, until all are known to be used. */
static void look_at(const optune_impl *impl, knobs *all)
{
    static const char *const kinds[] = {"cpu", "opencl", "cuda"};
    static optune_call call;
    const optune_op *op = ot_op_find(impl->op);
    uint64_t rng = 3;
    for (int d = 0; d < DEVICES * OT_COUNT(kinds) && !all_used(all); d++) {
        optune_target target;
        optune_device device;
        random_device(&rng, kinds[d % OT_COUNT(kinds)], &target, &device);
        if (!impl_belongs(impl, &target))
            continue;
        const optune_task task = {&call, &target, &device};
        for (int i = 0; op->samples[i] && !all_used(all); i++)
            if (ot_call_parse(op->samples[i], &call, NULL) >= 0)
                look(&task, impl, all);
        for (const optune_preset *p = op->presets; p && p->name && !all_used(all); p++)
            if (ot_call_parse(p->workloads[0], &call, NULL) >= 0)
                look(&task, impl, all);
    }
}

/* Rows that a pattern makes for many operators are one: what decides nothing for those that have
 * small samples alone does for others. */
static void test_in_tree(void **state)
{
    (void)state;
    int n, rows = 0, knobs_seen = 0, idle = 0;
    const optune_impl *const *impl = ot_impls(&n);
    const optune_impl **row = ot_alloc((size_t)n * sizeof *row);
    knobs *all = ot_alloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < rows && row[at] != ot_pattern_row(impl[i]))
            at++;
        rows += at == rows;
        row[at] = ot_pattern_row(impl[i]);
        if (!all_used(&all[at]))
            look_at(impl[i], &all[at]);
    }
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < all[i].n; k++) {
            knobs_seen += all[i].used[k];
            if (!all[i].compared[k] || all[i].used[k])
                continue;
            print_error("%s: knob '%s' decides nothing\n", row[i]->name, all[i].name[k]);
            idle++;
        }
    print_message("%d knobs of %d rows\n", knobs_seen, rows);
    free(all);
    free(row);
    assert_true(knobs_seen > 100);
    assert_int_equal(idle, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_in_tree),
    };
    return cmocka_run_group_tests_name("strategy/idle", tests, NULL, NULL);
}
