/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads texts, for tests that spoil them: each ends with an error, or checks that the value
 * prints as a text which reads back as the same value, and ends the process where it does not.
 * readers.c with -DOPTUNE_LIBFUZZER is an entry for clang's fuzzer, over a build's libot_static.a:
 * clang -fsanitize=fuzzer -D_GNU_SOURCE -DOPTUNE_LIBFUZZER -I. -Itests -Iinclude
 *     tests/support/readers.c build/tests/libot_static.a -ljansson -lhwloc -llmdb -lxxhash -lm
 */
#ifndef OPTUNE_TESTS_READERS_H
#define OPTUNE_TESTS_READERS_H

typedef struct reader {
    const char *name;
    void (*read)(const char *text);
} reader;

enum {
    READ_WORKLOAD,
    READ_GRAPH,
    READ_TARGET,
    READ_CONFIG,
    READ_CONDITION,
    READ_DISPATCH,
    READ_TYPE,
    READERS
};
extern const reader readers[READERS];

#endif
