/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a last word on a graph chose is what the graph is computed with: the newest choice, not the
 * lowest cost, as long as its kernel is the same. One run feeds all tests; what it stored goes
 * forged into other databases.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#define GRAPH "graph-0123abcd"

static const char *impl[2]; /* of the run's good records; no libraries, which nobody asks for */

static int setup(void **state)
{
    const int status = forged_setup(state);
    for (int i = 0; i < forged_run.n; i++) {
        const optune_record *r = &forged_run.record[i];
        const int at = impl[0] && strcmp(impl[0], r->impl) ? 1 : 0;
        if (r->outcome == OPTUNE_OUTCOME_OK && !ot_impl_find(r->impl)->library && !impl[at])
            impl[at] = r->impl;
    }
    assert_non_null(impl[1]);
    return status;
}

static void put(const char *db, int which, double cost, double time, const char *lines,
                const char *policy, const char *digest)
{
    for (int i = 0; i < forged_run.n; i++) {
        optune_record r = forged_run.record[i];
        if (r.outcome != OPTUNE_OUTCOME_OK || strcmp(r.impl, impl[which]))
            continue;
        record_cost(&r, cost);
        r.final = true;
        r.time = time;
        r.counters = lines;
        r.policy = policy;
        r.digest = digest ? digest : r.digest;
        forged_put(db, &r, 1, NULL);
        return;
    }
    fail_msg("no record of %s", impl[which]);
}

static void check_chosen(const char *db, const char *policy, int which, double cost)
{
    optune_err err = {0};
    optune_selection *s = NULL;
    optune *o = tuning_open_with(db, (optune_options){.policy = policy});
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    assert_string_equal(optune_selection_impl(s), impl[which]);
    assert_true(optune_selection_cost(s) == cost);
    optune_selection_free(s);
    optune_close(o);
}

static const char chosen[] = "chosen=1\n";

static void the_newest_choice_decides(void **state)
{
    (void)state;
    put("one", 0, 2e-6, 100, NULL, GRAPH, NULL);
    put("one", 1, 3e-6, 101, chosen, GRAPH, NULL);
    check_chosen("one", GRAPH, 1, 3e-6);
    put("one", 1, 2.5e-6, 102, NULL, GRAPH, NULL); /* it, measured once more */
    check_chosen("one", GRAPH, 1, 2.5e-6);
    put("one", 0, 4e-6, 103, chosen, GRAPH, NULL); /* another time another one was */
    check_chosen("one", GRAPH, 0, 4e-6);
}

static void without_one_costs_decide(void **state)
{
    (void)state;
    put("none", 0, 2e-6, 100, NULL, GRAPH, NULL);
    put("none", 1, 3e-6, 101, NULL, GRAPH, NULL);
    check_chosen("none", GRAPH, 0, 2e-6);
    put("none", 1, 3e-6, 102, chosen, "warm", NULL); /* no graph was there */
    put("none", 0, 2e-6, 101, NULL, "warm", NULL);
    check_chosen("none", "warm", 0, 2e-6);
}

static void a_choice_of_another_kernel_is_over(void **state)
{
    (void)state;
    put("old", 0, 2e-6, 100, NULL, GRAPH, NULL);
    put("old", 1, 3e-6, 101, chosen, GRAPH, "0123456789abcdef0123456789abcdef");
    check_chosen("old", GRAPH, 0, 2e-6);
}

/* Each database of a list for itself: what a hub says, of whatever time, ends no choice of a
 * database that is consulted. */
static void a_hint_ends_no_choice(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_selection *s = NULL;
    put("hub", 1, 9e-6, 100, NULL, GRAPH, NULL);
    put("hub", 0, 1e-6, 300, chosen, GRAPH, NULL);
    put("pack", 0, 2e-6, 100, NULL, GRAPH, NULL);
    put("pack", 1, 3e-6, 101, chosen, GRAPH, NULL);
    optune *o = tuning_open_with("of_none", (optune_options){.policy = GRAPH});
    const char *hub = tuning_path("hub");
    check_ok(ot_context_consult(o, hub, strlen(hub), "hub", true, &err));
    const char *pack = tuning_path("pack");
    check_ok(ot_context_consult(o, pack, strlen(pack), NULL, false, &err));
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    assert_string_equal(optune_selection_impl(s), impl[1]);
    assert_true(optune_selection_cost(s) == 3e-6);
    optune_selection_free(s);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_choice_decides),
        cmocka_unit_test(without_one_costs_decide),
        cmocka_unit_test(a_choice_of_another_kernel_is_over),
        cmocka_unit_test(a_hint_ends_no_choice),
    };
    return cmocka_run_group_tests(tests, setup, forged_teardown);
}
