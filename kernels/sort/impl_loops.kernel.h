/* SPDX-License-Identifier: Apache-2.0 */
/* sort, generic. */
#include "kernels/sort/body_generic.h"
