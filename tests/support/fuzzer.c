/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of clang's fuzzer over every reader; OPTUNE_FUZZ_READER says which. */
#include "support/readers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool read_as(const char *name, const char *bytes, size_t n)
{
    /* So that reading behind the end shows. */
    char *exact = malloc(n + 1);
    bool known = false;
    memcpy(exact, bytes, n);
    exact[n] = 0;
    for (int i = 0; i < READERS && !known; i++)
        if ((known = !strcmp(readers[i].name, name)))
            readers[i].read(exact);
    free(exact);
    exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    for (int i = 0; i < BYTE_READERS && !known; i++)
        if ((known = !strcmp(byte_readers[i].name, name)))
            byte_readers[i].read(exact, n);
    free(exact);
    return known;
}

#ifdef OPTUNE_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *name = getenv("OPTUNE_FUZZ_READER");
    if (!name || !read_as(name, (const char *)data, n))
        abort();
    return 0;
}

#endif
