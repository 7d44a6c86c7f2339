/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that ask once. */
#define PATIENCE 1
