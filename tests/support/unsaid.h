/* SPDX-License-Identifier: Apache-2.0 */
/* A commit whose writer is killed behind its last page, in front of the word of it to readers. */
#ifndef OPTUNE_TESTS_UNSAID_H
#define OPTUNE_TESTS_UNSAID_H

/* A process stores some_record(number) and the next, a commit each, and dies as if the word of the
 * last were still to come. This process has the store of `dir` open. Returns when that may be seen
 * in the file. */
void store_unsaid(const char *dir, int number);

#endif
