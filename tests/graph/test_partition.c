/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed as one, and what nodes that say the same share. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "graph/graph.h"
#include "tests/support/graphs.h"

static bool anything(void *arg, const optune_call *call)
{
    (void)arg;
    (void)call;
    return true;
}

static int groups_of(const char *text)
{
    optune_graph *g = graph_of(text);
    ot_groups groups;
    optune_err err = {0};
    check_ok(ot_graph_partition(g, anything, NULL, &groups, &err));
    const int n = groups.n;
    ot_groups_release(&groups);
    optune_graph_close(g);
    return n;
}

/* What an operator behind makes larger, or only a run tells whether it does, is no part of what one
 * in front computes. */
static void what_may_grow_is_not_fused(void **state)
{
    (void)state;
    static const struct {
        const char *front, *behind;
        int groups;
    } all[] = {
        {"?n,1,8", "?n,1,8", 1}, {"?n,1,8", "1,1,8", 1},  {"?n,1,8", "8", 1},
        {"?n,1,8", "1,?t,1", 2}, {"1,1,8", "?n,1,8", 2},  {"?n,?t,8", "?t,8", 1},
        {"?n,1,8", "?t,1", 2},   {"?n,4,8", "?n,4,1", 1}, {"4,1,8", "4,1,8", 1},
    };
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text text = {0};
        ot_text_printf(
            &text, "x = var f32[%s]\nz = var f32[%s]\na = relu(x)\nb = add(a, z)\noutput b\n",
            all[i].front, all[i].behind);
        print_message("%s", ot_text_str(&text));
        assert_int_equal(groups_of(ot_text_str(&text)), all[i].groups);
        ot_text_release(&text);
    }
}

static const optune_call *call_of(const optune_graph *g, const char *name)
{
    const int *id = ot_names_find(&g->names, name);
    assert_non_null(id);
    return g->node[*id].call;
}

/* A call is large: a network of a thousand nodes has as many as there are that differ. */
static void nodes_share_what_they_say(void **state)
{
    (void)state;
    optune_graph *g = graph_of("x = var f32[2,3]\n"
                               "a = clip(x, a_min=0, a_max=6)\n"
                               "b = clip(a, a_min=0, a_max=6)\n"
                               "c = clip(b, a_min=0, a_max=5)\n"
                               "d = cast(c, dtype=f16)\n"
                               "e = relu(d)\n"
                               "output e\n");
    optune_err err = {0};
    optune_graph *wide = ot_graph_copy(g, true, &err);
    assert_non_null(wide);
    const optune_graph *const both[] = {g, wide};
    for (int i = 0; i < OT_COUNT(both); i++) {
        assert_ptr_equal(call_of(both[i], "a"), call_of(both[i], "b"));
        assert_ptr_not_equal(call_of(both[i], "a"), call_of(both[i], "c"));
        assert_int_equal(both[i]->calls.n, 4);
    }
    assert_ptr_not_equal(call_of(g, "a"), call_of(wide, "a"));
    assert_int_equal(optune_call_attr(call_of(wide, "d"), "dtype")->dtype.bits, 64);
    assert_int_equal(optune_call_attr(call_of(g, "d"), "dtype")->dtype.bits, 16);
    optune_graph_close(g); /* the other keeps its own */
    assert_true(optune_call_attr(call_of(wide, "c"), "a_max")->f == 5);
    optune_graph_close(wide);
}

/* So have groups: hundreds of one workload have one call. */
static void groups_share_calls(void **state)
{
    (void)state;
    optune_graph *g = graph_of("x = var f32[2,3]\n"
                               "y = var f32[2,4]\n"
                               "a = softmax(x)\n"
                               "b = softmax(a)\n"
                               "c = softmax(y)\n"
                               "d = softmax(b)\n"
                               "output c\n"
                               "output d\n");
    ot_groups groups;
    optune_err err = {0};
    check_ok(ot_graph_partition(g, anything, NULL, &groups, &err));
    assert_int_equal(groups.n, 4);
    assert_int_equal(groups.calls.n, 2);
    const optune_call *call[4];
    for (int i = 0; i < 4; i++) {
        optune_call *want = ot_alloc(sizeof *want);
        call[i] = groups.group[i].call;
        ot_graph_call_of(g, groups.group[i].node[0], want);
        ot_text is = {0}, is_to_be = {0};
        ot_call_print(call[i], &is);
        ot_call_print(want, &is_to_be);
        assert_string_equal(ot_text_str(&is), ot_text_str(&is_to_be));
        ot_text_release(&is);
        ot_text_release(&is_to_be);
        free(want);
    }
    assert_ptr_equal(call[0], call[1]);
    assert_ptr_not_equal(call[1], call[2]);
    assert_ptr_equal(call[0], call[3]);
    ot_groups_release(&groups);
    optune_graph_close(g);
}

/* Each is found again however many there are. */
static void calls_are_shared(void **state)
{
    (void)state;
    enum { MANY = 200 };
    static const optune_call *first[MANY];
    optune_call *call = ot_alloc(sizeof *call);
    ot_calls calls = {0};
    optune_err err = {0};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            char text[64];
            snprintf(text, sizeof text, "relu(f32[%d])", i + 1);
            check_ok(ot_call_parse(text, call, &err));
            const optune_call *is = ot_calls_share(&calls, call);
            assert_ptr_not_equal(is, call);
            assert_true(is->input[0].type.dim[0].min == i + 1);
            if (round)
                assert_ptr_equal(is, first[i]);
            first[i] = is;
        }
    assert_int_equal(calls.n, MANY);
    ot_calls_release(&calls);
    assert_int_equal(calls.n, 0);
    free(call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_grow_is_not_fused),
        cmocka_unit_test(nodes_share_what_they_say),
        cmocka_unit_test(groups_share_calls),
        cmocka_unit_test(calls_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
