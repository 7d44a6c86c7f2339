/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of weights: this header, then the elements of every constant, dense and row-major, each
 * at a multiple of 64 bytes, zeros between them. Numbers are in the writer's byte order, which
 * `order` shows. The checksum is over all that follows the header.
 */
#ifndef OPTUNE_EMITTED_WEIGHTS_H
#define OPTUNE_EMITTED_WEIGHTS_H

#include <stdint.h>
#include <string.h>

#define WEIGHTS_MAGIC "OPTUNEW1"
enum { WEIGHTS_VERSION = 1, WEIGHTS_ORDER = 0x01020304, WEIGHTS_ALIGNMENT = 64 };

struct weights_header {
    char magic[8];
    uint32_t version, order;
    uint64_t bytes;  /* of the whole file, a multiple of 64 */
    uint64_t layout; /* which model's: a digest of types and offsets */
    uint64_t checksum[4];
};

/* Of a multiple of 32 bytes, in four lanes that each take every fourth word; any one word that
 * changes changes its lane. Goes on from `sum`, all zeros at first. */
static inline void weights_checksum(const void *data, size_t bytes, uint64_t sum[4])
{
    const unsigned char *at = data;
    uint64_t a = sum[0], b = sum[1], c = sum[2], d = sum[3], word[4];
    for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(word, at + i, sizeof word);
        a = (a ^ word[0]) * 0x9e3779b97f4a7c15u;
        b = (b ^ word[1]) * 0x9e3779b97f4a7c15u;
        c = (c ^ word[2]) * 0x9e3779b97f4a7c15u;
        d = (d ^ word[3]) * 0x9e3779b97f4a7c15u;
        a ^= a >> 32;
        b ^= b >> 32;
        c ^= c >> 32;
        d ^= d >> 32;
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
}

#endif
