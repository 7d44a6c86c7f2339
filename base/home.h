/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of who runs this, as the environment has them. */
#ifndef OPTUNE_HOME_H
#define OPTUNE_HOME_H

#include "base/base.h"

/* Of the effective user, by the system's list of users. False: it has none there. */
bool ot_own_home(char *to, size_t size);
/* Whether what is made at a path is in another user's place: the first folder on the way that is
 * there is neither ours nor the system's. */
bool ot_is_anothers(const char *path);
/* A folder or file in HOME, or in one's own home where HOME is no absolute path; for root where
 * HOME is another user's, in its own instead, unless it is there and `any` one serves, whoever owns
 * it. False: there is no home, or the path is too long. */
bool ot_home_folder(const char *folder, bool any, char *to, size_t size);
/* Where things are kept that can be made again: $OPTUNE_CACHE, else optune's folder in
 * $XDG_CACHE_HOME or ~/.cache. False: there is no such place. */
bool ot_cache_home(char *path, size_t size);

#endif
