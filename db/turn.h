/* SPDX-License-Identifier: Apache-2.0 */
/* Turns at what a folder holds: a lock file in it, which may be removed with all of it. */
#ifndef OPTUNE_DB_TURN_H
#define OPTUNE_DB_TURN_H

#include "db/db.h"

/* Locks the file of that name, made when it is not there, and waits a minute for it. close(*fd)
 * gives it back. ENOENT: its folder is not there, or no longer; ETIMEOUT, EINTERRUPTED; EIO. */
int ot_turn_take(const char *path, const atomic_bool *stop, int *fd, optune_err *err);
/* Whether that very file has this name now. */
bool ot_is_named(int fd, const char *path);

#endif
