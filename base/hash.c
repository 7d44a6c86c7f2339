/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stable digests: XXH3 in its canonical (big-endian) byte order, the same on every machine and
 * in every version. They name and compare things; they protect nothing against an adversary,
 * so whatever is found by a digest is compared in full before it is believed.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/base.h"

ot_digest ot_digest_of(const void *data, size_t size)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    ot_digest digest;
    memcpy(digest.byte, canonical.digest, sizeof digest.byte);
    return digest;
}

ot_digest ot_digest_texts(const char *const *texts, int n)
{
    /* Each text after its length, eight bytes little-endian, so that {"ab", "c"} is not
     * {"a", "bc"}; an absent text is a length that no text has. */
    enum { FEW = 8 };
    size_t size = 0, few[FEW];
    for (int i = 0; i < n; i++) {
        const size_t length = texts[i] ? strlen(texts[i]) : 0;
        size += 8 + length;
        if (i < FEW)
            few[i] = length;
    }
    unsigned char small[2048];
    small[0] = 0;
    unsigned char *bytes = size <= sizeof small ? small : ot_alloc(size);
    unsigned char *at = bytes;
    for (int i = 0; i < n; i++) {
        const size_t length = !texts[i] ? 0 : i < FEW ? few[i] : strlen(texts[i]);
        uint64_t prefix = texts[i] ? length : UINT64_MAX;
        if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
            prefix = __builtin_bswap64(prefix);
        memcpy(at, &prefix, sizeof prefix);
        at += sizeof prefix;
        if (length)
            memcpy(at, texts[i], length);
        at += length;
    }
    ot_digest digest = ot_digest_of(bytes, size);
    if (bytes != small)
        free(bytes);
    return digest;
}

void ot_digest_hex(ot_digest digest, char hex[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digits[digest.byte[i] >> 4];
        hex[2 * i + 1] = digits[digest.byte[i] & 15];
    }
    hex[32] = 0;
}

uint64_t ot_hash64(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
