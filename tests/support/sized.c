/* SPDX-License-Identifier: Apache-2.0 */
#include "support/sized.h"

#include <math.h>

#include "support/check.h"
#include "support/tuning.h"

enum { GUARD = 64 };

optune_graph *sized_parse(const char *text)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse(text, "test", &graph, &err));
    check_ok(optune_graph_infer(graph, &err));
    check_ok(optune_graph_fill(graph, 7, &err));
    return graph;
}

int sized_types(const char *text, optune_tensor *type)
{
    optune_err err = {0};
    int n = 0;
    for (const char *end; *text; text = end + strspn(end, " "))
        check_ok(ot_tensor_parse(text, &type[n++], &end, &err));
    return n;
}

void sized_run(optune_graph *g, optune_program *p, const char *sizes)
{
    optune_err err = {0};
    optune_tensor type[SIZED_MOST];
    void *in[SIZED_MOST], *out[SIZED_MOST];
    optune_values *values = NULL;
    const int n = sized_types(sizes, type), n_out = optune_graph_outputs(g);
    for (int i = 0; i < n; i++) {
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&type[i]) + 1);
        ot_fill_input(&type[i], 5, i, in[i]);
    }
    for (int i = 0; i < n_out; i++) {
        const size_t most = (size_t)ot_tensor_most_bytes(optune_graph_output_type(g, i));
        out[i] = ot_alloc(most + GUARD);
        memset(out[i], 0x5A, most + GUARD);
    }
    check_ok(optune_program_resize(p, type, &err));
    check_ok(optune_program_run(p, (const void *const *)in, out, &err));
    check_ok(optune_graph_evaluate(g, (const void *const *)in, type, &values, &err));
    for (int i = 0; i < n_out; i++) {
        const optune_tensor *is = optune_values_type(values, i);
        const float *want = optune_values_data(values, i), *got = out[i];
        const int64_t elements = optune_tensor_elements(is);
        int64_t dims[OPTUNE_MAX_RANK];
        assert_int_equal(optune_program_shape(p, i, dims, &err), is->rank);
        for (int d = 0; d < is->rank; d++)
            assert_int_equal(dims[d], is->dim[d].min);
        for (int64_t k = 0; k < elements; k++)
            if (!(fabs((double)got[k] - (double)want[k]) <= 1e-3))
                fail_msg("%s: output %d[%lld] is %g, not %g", sizes, i, (long long)k,
                         (double)got[k], (double)want[k]);
        for (size_t k = 0; k < GUARD; k++)
            assert_int_equal(((const char *)(got + elements))[k], 0x5A);
    }
    optune_values_free(values);
    for (int i = 0; i < n; i++)
        free(in[i]);
    for (int i = 0; i < n_out; i++)
        free(out[i]);
}

sized sized_open(const char *target, const char *text)
{
    optune_err err = {0};
    sized of = {.o = tuning_open_with("sized", (optune_options){.target = target}),
                .g = sized_parse(text)};
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    check_ok(optune_program_open(of.partition, &of.program, &err));
    return of;
}

void sized_close(sized *of)
{
    optune_program_close(of->program);
    optune_partition_close(of->partition);
    optune_graph_close(of->g);
    optune_close(of->o);
}
