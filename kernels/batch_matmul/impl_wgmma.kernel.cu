/* SPDX-License-Identifier: Apache-2.0 */
/* The product by warpgroups: x and y both with their rows along the depth. */
#include "kernels/common/wgmma_tile_gpu.h"
