/* SPDX-License-Identifier: Apache-2.0 */
/* argsort, generic. */
#include "kernels/sort/body_generic.h"
