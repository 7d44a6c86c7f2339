/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_runs.gpu: the body that sort, argsort and topk share; the plan says what is wanted. */
#include "kernels/sort/body_runs.h"
