/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'flat'. */
#include "kernels/max_pool2d/compute.h"
#include "kernels/pool/flat.h"
