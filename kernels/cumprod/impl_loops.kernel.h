/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod, generic. */
#include "kernels/cumsum/body_generic.h"
