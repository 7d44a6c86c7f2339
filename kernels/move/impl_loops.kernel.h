/* SPDX-License-Identifier: Apache-2.0 */
/* What moves values element by element: PLACES or PIECES says how it is told where they go. */
#define ALONE 1024
#include "kernels/common/generic_body.kernel.h"
#ifdef PLACES
#include "kernels/move/places.kernel.h"
#else
#include "kernels/move/pieces.kernel.h"
#endif
GENERIC_ENTRY
