/* SPDX-License-Identifier: Apache-2.0 */
/* Which of n slices an index means, for generic bodies. */
#ifndef OPTUNE_KERNELS_TAKE_SLICE_H
#define OPTUNE_KERNELS_TAKE_SLICE_H

#include "kernels/common/generic_body.kernel.h"

/* An index below 0 counts from the end; what is outside is the first or the last slice. Of none,
 * which only lengths known at run time come to, nothing may be read: outputs are zeros. */
INLINE i64 slice(i64 index, i64 n)
{
    const i64 at = index < 0 ? index + n : index;
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

#endif
