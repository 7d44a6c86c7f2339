/* SPDX-License-Identifier: Apache-2.0 */
/* What rules of gradients share. They are of operators alone: no implementation reaches it. */
#ifndef OPTUNE_KERNELS_HOST_GRADIENT_H
#define OPTUNE_KERNELS_HOST_GRADIENT_H

#include "optune/define.h"

/* x where the condition is not 0, else y. */
static inline int host_choose(optune_grad *grad, int condition, int x, int y)
{
    return optune_grad_call(grad, "where", 3, (const int[]){condition, x, y}, NULL);
}

/* x there, else 0. */
static inline int host_keep(optune_grad *grad, int condition, int x)
{
    return host_choose(grad, condition, x, optune_grad_scalar(grad, x, 0));
}

#endif
