/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod_across.gpu: the body that both scans share. */
#include "kernels/cumsum/body_across.h"
