/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads texts, for tests that spoil them: each ends with an error, or checks that the value
 * prints as a text which reads back as the same value, and ends the process where it does not.
 * scripts/fuzz builds fuzzer.c with -DOPTUNE_LIBFUZZER, an entry for clang's fuzzer over all of
 * them; answer/test_corpus reads what that found once more.
 */
#ifndef OPTUNE_TESTS_READERS_H
#define OPTUNE_TESTS_READERS_H

#include <stdbool.h>
#include <stddef.h>

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

/* readers_db.c: what is no text, of n bytes in memory of exactly that size. */
typedef struct byte_reader {
    const char *name;
    void (*read)(const char *bytes, size_t n);
} byte_reader;
enum { BYTE_READERS = 4 };
extern const byte_reader byte_readers[BYTE_READERS];

/* fuzzer.c: by a name of either list; false: there is none of that name. */
bool read_as(const char *name, const char *bytes, size_t n);

#endif
