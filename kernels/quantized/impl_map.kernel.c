/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_map.cpu. Macros from the plan: X_SIGNED, ELEMENTS, SHARE (of a thread).
 *
 * The one idea: a shuffle gives 0 where an index has its highest bit. An index whose upper half is
 * made 0 where that is r, plus 112 and at most 255, has the bit but where it is in row r of the
 * table.
 */
#include "kernels/common/cpu.kernel.h"

typedef unsigned char byte;
typedef byte bytes __attribute__((vector_size(VEC_BYTES)));
typedef byte bytes_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));

#define ROWS 16
/* Makes a place in the table of an integer. */
#define FLIP (X_SIGNED ? 128 : 0)

#if (VEC_BYTES == 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512BW__))

INLINE bytes looked_up(bytes at, const bytes row[ROWS])
{
    bytes all = {0};
    UNROLL(16)
    for (int r = 0; r < ROWS; r++) {
        bytes place = at ^ (byte)(16 * r), found;
        __asm__("vpaddusb %1, %0, %0" : "+v"(place) : "v"((byte)112 - (bytes){0}));
        __asm__("vpshufb %2, %1, %0" : "=v"(found) : "v"(row[r]), "v"(place));
        all |= found;
    }
    return all;
}

INLINE void read_rows(const byte *table, bytes row[ROWS])
{
    typedef byte quarter __attribute__((vector_size(16), aligned(1), may_alias));
    UNROLL(16)
    for (int r = 0; r < ROWS; r++)
#if VEC_BYTES == 64
        __asm__("vbroadcasti32x4 %1, %0"
                : "=v"(row[r])
                : "m"(*(const quarter *)(table + 16 * r)));
#else
        __asm__("vbroadcasti128 %1, %0"
                : "=x"(row[r])
                : "m"(*(const quarter *)(table + 16 * r)));
#endif
}

INLINE i64 whole_vectors(const byte *data, const byte *table, byte *out, i64 n)
{
    bytes row[ROWS];
    i64 i = 0;
    if (n >= VEC_BYTES)
        read_rows(table, row);
    for (; i + VEC_BYTES <= n; i += VEC_BYTES)
        *(bytes_at *)(out + i) = looked_up(*(const bytes_at *)(data + i) ^ (byte)FLIP, row);
    return i;
}

#else

INLINE i64 whole_vectors(const byte *data, const byte *table, byte *out, i64 n)
{
    (void)data, (void)table, (void)out, (void)n;
    return 0;
}

#endif

/* arg: data, table, out */
void map(void *const *arg)
{
    const byte *data = arg[0], *table = arg[1];
    byte *out = arg[2];
    PARALLEL_FOR
    for (i64 from = 0; from < ELEMENTS; from += SHARE) {
        const i64 n = MIN((i64)SHARE, ELEMENTS - from);
        for (i64 i = whole_vectors(data + from, table, out + from, n); i < n; i++)
            out[from + i] = table[data[from + i] ^ FLIP];
    }
}
