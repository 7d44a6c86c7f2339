/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of symbolic shapes share: tables, tuning them, and their C source. */
#ifndef OPTUNE_TUNER_DISPATCH_H
#define OPTUNE_TUNER_DISPATCH_H

#include "strategy/dispatch.h"
#include "tuner/tuner.h"

/* dispatch.c: DB/dispatch/<digest of device, target and call>.json */
int ot_dispatch_path(optune *o, const optune_call *call, char *path, size_t size,
                     optune_err *err);
optune_dispatch *ot_dispatch_wrap(ot_dispatch *table); /* takes a compiled table */

#endif
