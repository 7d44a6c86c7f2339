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
