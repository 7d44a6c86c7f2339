/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relation of ops whose output's shape is given: data has its dims, or 1 in their place, so an
 * unknown dim of data stays unknown.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_TO_H
#define OPTUNE_KERNELS_BROADCAST_TO_H

#include "optune/define.h"

int broadcast_to_output(optune_call *call, optune_err *err);

#endif
