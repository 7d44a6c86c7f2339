/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that ask longer than others take. */
#define PATIENCE 1000
