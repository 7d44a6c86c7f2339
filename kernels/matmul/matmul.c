/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/matmul.h declares. */
#include "kernels/matmul/matmul.h"

int matmul_rank(optune_err *err, const char *name, optune_tensor *type, int rank)
{
    char text[HOST_TYPE_TEXT];
    if (optune_tensor_set_rank(type, rank))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_ETYPE, "%s %s: needs %d dimensions, has %d", name,
                       host_type_text(type, text), rank, (int)type->rank);
}

int matmul_dtypes(optune_call *call, const char *a_name, const char *b_name, optune_err *err)
{
    optune_tensor *a = &call->input[0].type, *b = &call->input[1].type, *out = &call->output[0];
    if (!optune_dtype_unify(&a->dtype, &b->dtype))
        return host_conflict(err, "their types differ", b_name, b, a_name, a);
    optune_dtype want = optune_call_attr(call, "out_dtype")->dtype;
    if (want.code == OPTUNE_DTYPE_UNKNOWN) {
        if (!optune_dtype_unify(&out->dtype, &a->dtype))
            return host_conflict(err, "out_dtype is left out, so their types are the same",
                                 "output", out, a_name, a);
        optune_dtype_unify(&b->dtype, &a->dtype);
    } else if (!optune_dtype_unify(&out->dtype, &want)) {
        const optune_tensor wanted = {.dtype = want, .rank = -1};
        return host_conflict(err, "their types differ", "output", out, "out_dtype", &wanted);
    }
    if (!tensor_sums_fit(a->dtype, out->dtype))
        return host_conflict(err, TENSOR_SUMS_NEED, "output", out, a_name, a);
    return OPTUNE_OK;
}

int64_t matmul_block_rows(const optune_task *task, int64_t m, int64_t row_bytes,
                          int64_t column_tasks)
{
    const int64_t threads = matmul_threads(task);
    int64_t rows = matmul_l2(task) / 2 / row_bytes;
    if (column_tasks < 4 * threads && rows > host_ceil(m, threads))
        rows = host_ceil(m, threads);
    return rows < 1 ? 1 : rows > m ? m : rows;
}

bool matmul_tile_fits(const optune_task *task, int64_t mr, int64_t nv, char *why)
{
    const int64_t registers = matmul_registers(task);
    if (mr * nv + nv + 1 > registers)
        return optune_refuse(why,
                             "a tile of %" PRId64 " x %" PRId64 " vectors needs %" PRId64
                             " of %" PRId64 " registers",
                             mr, nv, mr * nv + nv + 1, registers);
    return true;
}

/* Cost of one step of depth, in eighths of a cycle of a core with two vector pipes: products
 * or the latency of dependent additions, whichever is longer. Loads mostly hide behind them,
 * less so those of B, which come from the second cache. */
static int64_t matmul_tile_cost(int64_t rows, int64_t vectors)
{
    const int64_t work = rows * vectors > 8 ? rows * vectors : 8;
    return 4 * work + 2 * rows + 4 * vectors;
}

void matmul_best_tile(const optune_task *task, int64_t m, int64_t vectors, int64_t *mr,
                      int64_t *nv)
{
    int64_t best = INT64_MAX;
    const int64_t registers = matmul_registers(task);
    *mr = *nv = 1;
    for (int64_t v = host_min(4, vectors); v >= 1; v--) {
        const int64_t columns = host_ceil(vectors, v);
        for (int64_t r = host_min(host_min(14, m), (registers - 1 - v) / v); r >= 1; r--) {
            const int64_t whole = matmul_tile_cost(r, v);
            /* A row costs no less in a tile of fewer, as those that are left over are. */
            if ((double)m * (double)(whole * columns) >= (double)best * (double)r)
                break;
            int64_t column = m / r * whole;
            if (m % r > 0)
                column += matmul_tile_cost(m % r, v) + 16; /* shorter chains, more code */
            const int64_t cost = column * columns;
            if (cost < best) {
                best = cost;
                *mr = r;
                *nv = v;
            }
        }
    }
}

void matmul_choose_tile(const optune_task *task, const optune_space *space,
                        optune_config *config, int64_t m, int64_t vectors)
{
    int64_t mr, nv;
    matmul_best_tile(task, m, vectors, &mr, &nv);
    optune_config_choose_int(config, space, "tile_m", mr);
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "unroll_k", 2);
}

void matmul_up_to(optune_space *space, const char *name, const int64_t *values, int n,
                  int64_t limit)
{
    int64_t kept[OPTUNE_MAX_KNOBS];
    int count = 0;
    for (int i = 0; i < n; i++)
        if (values[i] < limit)
            kept[count++] = values[i];
    kept[count++] = limit;
    optune_space_ints(space, name, count, kept);
}

void matmul_tile_knobs(optune_space *space, int64_t m, int64_t vectors)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};
    int n = 0;
    while (n < 12 && rows[n] <= m)
        n++;
    optune_space_ints(space, "tile_m", n, rows);
    optune_space_ints(space, "tile_n", (int)host_min(4, vectors), (int64_t[]){1, 2, 3, 4});
    optune_space_ints(space, "unroll_k", 4, (int64_t[]){1, 2, 4, 8});
}

void matmul_define_tile(optune_plan *plan, int module, const optune_config *config)
{
    optune_plan_define(plan, module, "GEMM_MR", optune_config_int(config, "tile_m"));
    optune_plan_define(plan, module, "GEMM_NV", optune_config_int(config, "tile_n"));
    optune_plan_define(plan, module, "GEMM_KU", optune_config_int(config, "unroll_k"));
}
