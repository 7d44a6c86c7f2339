/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/shaped/shaped.h declares. */
#include "kernels/shaped/shaped.h"
#include "kernels/host/region_lines.h"

bool shaped_bound(optune_dim *dim, int64_t most)
{
    optune_dim range = {.min = 0, .max = most};
    return optune_dim_unify(dim, &range);
}

bool shaped_output(optune_tensor *out, int rank, optune_dtype dtype)
{
    return optune_tensor_set_rank(out, rank) && optune_dtype_unify(&out->dtype, &dtype);
}

int shaped_known(const optune_call *call)
{
    bool known = true;
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    for (int i = 0; i < call->n_outputs; i++)
        known = known && optune_tensor_known(&call->output[i]);
    return known ? OPTUNE_OK : 1;
}

void shaped_region(const optune_tensor *type, const optune_region *region, const double *value,
                   int64_t n, double *out, double *magnitude)
{
    int64_t at[OPTUNE_MAX_RANK] = {0}, k = 0;
    for (bool more = region_begin(region, at); more; more = region_next(region, at)) {
        int64_t place = 0;
        for (int d = 0; d < region->rank; d++)
            place = place * type->dim[d].min + at[d];
        out[k] = place < n ? value[place] : 0;
        magnitude[k] = fabs(out[k]);
        k++;
    }
}
