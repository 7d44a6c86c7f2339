/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum, generic. */
#include "kernels/cumsum/body_generic.h"
