/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of scalar expressions in generic bodies, see scalar.h. */
#ifndef OPTUNE_KERNELS_COMMON_GENERIC_SCALAR_H
#define OPTUNE_KERNELS_COMMON_GENERIC_SCALAR_H

#include "kernels/common/generic_body.kernel.h"
#ifdef OT_WARP
#include "kernels/common/scalar_gpu.kernel.h"
#else
#include "kernels/common/scalar_cpu.kernel.h"
#endif

#endif
