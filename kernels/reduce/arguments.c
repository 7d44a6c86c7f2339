/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/reduce/arguments.h declares. */
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
