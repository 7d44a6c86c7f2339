/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of one workload, as the steps of a layer that is written out: what is loaded for them is
 * loaded once, what is packed of one constant is packed once, what is packed of another is not
 * shared; they compute what the references do, in clones, too.
 */
#include "support/tuning.h"

#include <math.h>

#include "answer/graph.h"
#include "support/check.h"

enum { SIZE = 16 * 64, OUTPUTS = 2, GROUPS = 5 };

static const char text[] = "x = var f32[16,64]\n"
                           "w = const f32[64,64]\n"
                           "v = const f32[64,64]\n"
                           "a = dense(x, w)\n"
                           "b = dense(a, v)\n"
                           "c = dense(b, w)\n"
                           "d = dense(c, v)\n"
                           "e = dense(d, w)\n"
                           "output e, b\n";

static float in[SIZE], out[OUTPUTS][SIZE];

static void check_outputs(optune_graph *g, optune_program *program)
{
    optune_err err = {0};
    optune_graph *wide = NULL;
    optune_values *values = NULL;
    double exact[SIZE];
    memset(out, 0, sizeof out);
    check_ok(optune_program_run(program, (const void *const[]){in},
                                (void *const[]){out[0], out[1]}, &err));
    for (int i = 0; i < SIZE; i++)
        exact[i] = in[i];
    check_ok(optune_graph_copy(g, true, &wide, &err));
    check_ok(optune_graph_evaluate(wide, (const void *const[]){exact}, NULL, &values, &err));
    for (int o = 0; o < OUTPUTS; o++) {
        const double *want = optune_values_data(values, o);
        double largest = 0;
        for (int i = 0; i < SIZE; i++)
            largest = fmax(largest, fabs(want[i]));
        assert_true(largest > 0);
        for (int i = 0; i < SIZE; i++)
            assert_true(fabs(want[i] - out[o][i]) <= 1e-5 * largest);
    }
    optune_values_free(values);
    optune_graph_close(wide);
}

/* Constants alternate: groups of the same one have the same packed memory, others do not. */
static int64_t check_packed(const optune_program *p)
{
    int64_t bytes = 0;
    for (int i = 0; i < GROUPS; i++) {
        const ot_bound *own = p->kernel[i].bound;
        assert_ptr_equal(own->loaded, p->kernel[0].bound->loaded);
        for (int j = 0; j < GROUPS; j++)
            for (int k = 0; k < own->loaded->plan.n_scratch; k++)
                if (own->loaded->plan.scratch[k].constant) {
                    assert_int_equal(own->scratch[k] == p->kernel[j].bound->scratch[k],
                                     i % 2 == j % 2);
                    bytes += i == 0 && j == 0 ? own->loaded->plan.scratch[k].bytes : 0;
                }
    }
    return bytes;
}

static void test_steps(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = NULL;
    optune_partition *p = NULL;
    optune_program *program = NULL, *clone = NULL;
    optune *o = tuning_open("repeated");
    for (int i = 0; i < SIZE; i++)
        in[i] = (float)(i % 13) - 6;
    check_ok(optune_graph_parse(text, "test", &g, &err));
    assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
    check_ok(optune_graph_fill(g, 7, &err));
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_int_equal(optune_partition_size(p), GROUPS);
    check_ok(optune_program_open(p, &program, &err));
    const int64_t packed = check_packed(program);
    assert_true(packed >= (int64_t)sizeof(float) * 64 * 64);
    assert_int_equal(ot_program_figures_of(program).packed, 2 * packed);
    check_outputs(g, program);
    check_ok(optune_program_clone(program, &clone, &err));
    assert_int_equal(check_packed(clone), packed);
    assert_int_equal(ot_program_figures_of(clone).packed, 0);
    optune_program_close(program); /* the clone uses what it has */
    check_outputs(g, clone);
    optune_program_close(clone);
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
