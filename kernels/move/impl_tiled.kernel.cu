/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that transpose by tiles in shared memory, the others by their rows. */
#include "kernels/move/impl_grid.kernel.cu"
