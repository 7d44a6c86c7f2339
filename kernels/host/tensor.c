/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/tensor.h declares. */
#include "kernels/host/tensor.h"

int tensor_misfit(optune_err *err, const char *op, const char *a_name, const optune_tensor *a,
                  const char *b_name, const optune_tensor *b, const char *what)
{
    char a_text[HOST_TYPE_TEXT], b_text[HOST_TYPE_TEXT];
    return optune_fail(err, OPTUNE_ETYPE, "%s: %s %s does not fit %s %s: %s", op, a_name,
                       host_type_text(a, a_text), b_name, host_type_text(b, b_text), what);
}

bool tensor_sums_fit(optune_dtype in, optune_dtype out)
{
    const bool narrow = (in.code == OPTUNE_DTYPE_INT || in.code == OPTUNE_DTYPE_UINT) &&
                        in.bits <= 8 && in.lanes <= 1;
    if (out.code == OPTUNE_DTYPE_UNKNOWN)
        return true;
    return host_is_real(in) ? host_is_real(out)
                            : !narrow || (out.code == OPTUNE_DTYPE_INT && out.bits >= 32);
}

int tensor_layout_block(const char *layout)
{
    if (strncmp(layout, "NCHW", 4) != 0)
        return -1;
    if (layout[4] == '\0')
        return 0;
    int block = 0;
    const char *p = layout + 4;
    for (; *p >= '0' && *p <= '9' && block < 10000; p++)
        block = block * 10 + (*p - '0');
    return block > 0 && layout[4] != '0' && p[0] == 'c' && p[1] == '\0' ? block : -1;
}

bool tensor_unify(optune_tensor *a, optune_tensor *b)
{
    if (a->rank < 0 && b->rank < 0)
        return optune_dtype_unify(&a->dtype, &b->dtype);
    const int rank = a->rank >= 0 ? a->rank : b->rank;
    bool same = optune_tensor_set_rank(a, rank) && optune_tensor_set_rank(b, rank) &&
                optune_dtype_unify(&a->dtype, &b->dtype);
    for (int d = 0; d < rank && same; d++)
        same = optune_dim_unify(&a->dim[d], &b->dim[d]);
    return same;
}
