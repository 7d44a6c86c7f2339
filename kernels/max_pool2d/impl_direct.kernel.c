/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'direct'. */
#include "kernels/max_pool2d/compute.h"
#include "kernels/pool/direct.h"
