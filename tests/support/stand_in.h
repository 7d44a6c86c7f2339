/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins for vendors' libraries (tests/data/fake_*.c), built when a test wants one. */
#ifndef OPTUNE_TESTS_STAND_IN_H
#define OPTUNE_TESTS_STAND_IN_H

/* tests/data/SOURCE as the shared object DIR/NAME, whose path is returned: a buffer that the fourth
 * next call overwrites. `define` ("-DOLD_DRIVER") may be NULL. */
const char *stand_in_build(const char *dir, const char *source, const char *name,
                           const char *define);

#endif
