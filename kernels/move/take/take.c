/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/take/take.h declares. */
#include "kernels/move/take/take.h"

bool take_range(const optune_call *call, int input, double *low, double *high)
{
    const double n = (double)call->input[0].type.dim[take_axis(call)].min;
    *low = -n;
    *high = n - 1;
    return input == 1;
}

double take_bytes(const optune_call *call)
{
    return 2 * (double)optune_tensor_bytes(&call->output[0]) +
           (double)optune_tensor_bytes(&call->input[1].type);
}

bool take_moves_bytes(const optune_call *call, char *why)
{
    const optune_dtype dtype = call->output[0].dtype;
    const int bits = dtype.bits < 8 ? 8 : dtype.bits;
    if (dtype.lanes > 1 || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        return optune_refuse(why, "moves elements of 1, 2, 4 or 8 bytes");
    return true;
}

bool take_moves_known(const optune_call *call, char *why)
{
    if (!optune_tensor_known(&call->input[0].type) ||
        !optune_tensor_known(&call->input[1].type))
        return optune_refuse(why, "needs constant shapes");
    return take_moves_bytes(call, why);
}
