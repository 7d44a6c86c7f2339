/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a library's implementation is: its body is C for the host on any target. */
#ifndef OPTUNE_TESTS_BELONGS_H
#define OPTUNE_TESTS_BELONGS_H

#include "optune/define.h"

/* True for generated code, and for a library's implementation that the target's strategy names. */
bool impl_belongs(const optune_impl *impl, const optune_target *target);

#endif
