/* SPDX-License-Identifier: Apache-2.0 */
/* Every piece by vectors along its rows. */
#include "kernels/injective/move_body_gpu.h"
