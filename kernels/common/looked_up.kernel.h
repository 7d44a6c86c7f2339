/* SPDX-License-Identifier: Apache-2.0 */
/* GPU bodies that look places up: an index below 0 counts from the end; what is outside is the
 * first or the last of n. */
#ifndef OPTUNE_KERNELS_COMMON_LOOKED_UP_H
#define OPTUNE_KERNELS_COMMON_LOOKED_UP_H

#include "kernels/common/gpu.kernel.h"

INLINE i64 place_of(const i64 index, const i64 n)
{
    const i64 at = index < 0 ? index + n : index;
    return at < 0 ? 0 : MIN(at, n - 1);
}

#endif
