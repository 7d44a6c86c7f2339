/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/reduce/arguments.h declares. */
#include <stdio.h>

#include "kernels/reduce/arguments.h"

int reduce_kept(optune_grad *grad, const optune_call *call, int value)
{
    const optune_tensor *in = &call->input[0].type;
    const optune_attr *axis = optune_call_attr(call, "axis");
    const bool exclude = optune_call_int(call, "exclude");
    optune_tensor kept = *in;
    for (int d = 0; d < in->rank; d++) {
        bool named = axis->n == 0 && !exclude;
        for (int i = 0; i < axis->n; i++)
            named = named || (axis->i[i] + in->rank) % in->rank == d;
        if (axis->n == 0 ? named : named != exclude)
            kept.dim[d] = optune_dim_of(1);
    }
    return optune_grad_reshape(grad, value, &kept);
}

reduce_turn reduce_turn_of(const optune_call *call)
{
    const optune_tensor *in = &call->input[0].type;
    const uint32_t reduced = optune_reduce_axes(call);
    reduce_turn turn = {.turned = *in, .lines = {.rank = 2}};
    int64_t extent[2] = {1, 1};
    int n = 0;
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < in->rank; d++)
            if ((int)(reduced >> d & 1) == side) {
                turn.turned.dim[n] = in->dim[d];
                turn.back[d] = n;
                turn.order[n++] = d;
                extent[side] *= in->dim[d].min;
            }
    turn.lines.dim[0] = optune_dim_of(extent[0]);
    turn.lines.dim[1] = optune_dim_of(extent[1]);
    return turn;
}

static int transposed(optune_grad *grad, int value, const int *order, int rank)
{
    char axes[8 * OPTUNE_MAX_RANK] = "";
    bool moved = false;
    int n = 0;
    for (int d = 0; d < rank; d++) {
        moved = moved || order[d] != d;
        n += snprintf(axes + n, sizeof axes - (size_t)n, "%s%d", d ? "," : "", order[d]);
    }
    return moved ? optune_grad_call(grad, "transpose", 1, &value, "axes=[%s]", axes) : value;
}

int reduce_turned(optune_grad *grad, const reduce_turn *turn, int value)
{
    value = transposed(grad, value, turn->order, turn->turned.rank);
    return optune_grad_reshape(grad, value, &turn->lines);
}

int reduce_turned_back(optune_grad *grad, const reduce_turn *turn, int value)
{
    value = optune_grad_reshape(grad, value, &turn->turned);
    return transposed(grad, value, turn->back, turn->turned.rank);
}

void reduce_give_to_chosen(optune_grad *grad, const optune_call *call)
{
    const int x = optune_grad_input(grad, 0), zero = optune_grad_scalar(grad, x, 0);
    const int y = reduce_kept(grad, call, optune_grad_output(grad, 0));
    const int dy = reduce_kept(grad, call, optune_grad_adjoint(grad, 0));
    const int chosen = optune_grad_binary(grad, "equal", x, y);
    const int ones = optune_grad_call(
        grad, "where", 3, (const int[]){chosen, optune_grad_scalar(grad, x, 1), zero}, NULL);
    const int many = optune_grad_binary(grad, "collapse_sum_like", ones, y);
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", ones,
                                       optune_grad_binary(grad, "divide", dy, many)));
}
