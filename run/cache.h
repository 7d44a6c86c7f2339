/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled modules by content, in one directory shared by all runs of a user. */
#ifndef OPTUNE_CACHE_H
#define OPTUNE_CACHE_H

#include "base/base.h"

enum { OT_CACHE_KEEP_S = 3600 };

#define OT_CACHE_SUM ".sum" /* behind a module's name: the file with its digest */

/* The directory is made when absent. EIO: it is somebody else's, or others may write there. */
int ot_cache_open(const char *dir, optune_err *err);
/* The module `made` becomes `path`, with its digest beside it. ETOOL: there is none; anything else
 * is what the system refused. */
int ot_cache_keep(const char *made, const char *path, optune_err *err);
/* The bytes of the module at `path`; false: it is not there, or not as it was made. */
bool ot_cache_read(const char *path, ot_text *bytes);
/* True when `path` holds a module as it was made; it then counts as used now. */
bool ot_cache_hit(const char *path);
/* Removes the modules used longest ago until at most `limit` bytes are left; never one used in
 * the last OT_CACHE_KEEP_S seconds, which a run may still need. Remains of builds that died go
 * too. Returns how many bytes are left. */
int64_t ot_cache_trim(const char *dir, const char *suffix, int64_t limit);

#endif
