/* SPDX-License-Identifier: Apache-2.0 */
/* topk, generic. */
#include "kernels/sort/body_generic.h"
