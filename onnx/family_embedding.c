/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of tables (com.microsoft): what words, places and segments are in front of a transformer,
 * and tables of small integers, of which only the rows that are asked for become floats.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* Slices of a table along an axis, at indices that may count from its end. */
static value *slices(ot_onnx_node *n, value *table, value *index, int axis)
{
    return table && index
               ? ot_onnx_call(n, "take", 2, (value *const[]){table, index}, "axis=%d", axis)
               : NULL;
}

/* ---- in front of a transformer --------------------------------------------------------------- */

enum { WORD, PLACE, SEGMENT, SCALE, SHIFT, TABLES }; /* inputs 2 to 6 */
enum { FIRST = 2, MASK = 7, PLACES = 8, FACTORS = 8, ZEROS = 13 };

/* Numbers of table `i`; of small integers less their zero, times their factor. */
static value *numbers(ot_onnx_node *n, value *x, int i)
{
    if (!n->op->arg)
        return x;
    value *factor = ot_onnx_need(n, FACTORS + i), *zero = ot_onnx_in(n, ZEROS + i);
    x = ot_onnx_as(n, x, f32);
    if (zero)
        x = ot_onnx_2(n, "subtract", x, ot_onnx_as(n, zero, f32));
    return ot_onnx_2(n, "multiply", x, factor);
}

static value *rows(ot_onnx_node *n, int i, value *index)
{
    return numbers(n, slices(n, ot_onnx_in(n, FIRST + i), index, 0), i);
}

/* How many keys of each batch the mask [B,S] keeps, or zeros where there is none. */
static value *kept(ot_onnx_node *n, value *mask, value *ids)
{
    value *one = mask ? ot_onnx_2(n, "equal", mask, ot_onnx_number(n, mask, 1)) : NULL;
    value *all = mask ? ot_onnx_call(n, "cast", 1, &one, "dtype=i32")
                      : ot_onnx_2(n, "subtract", ids, ids);
    return ot_onnx_call(n, "sum", 1, &all, "axis=[1]");
}

/* The layer normalisation of the sum of words, places and, where they are given, segments. */
static int embed_layer_norm(ot_onnx_node *n)
{
    value *ids = ot_onnx_need(n, 0), *segments = ot_onnx_in(n, 1);
    value *at = n->op->arg ? NULL : ot_onnx_in(n, PLACES),
          *shift = ot_onnx_in(n, FIRST + SHIFT);
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ids || !ot_onnx_need(n, FIRST + WORD) || !ot_onnx_need(n, FIRST + PLACE) ||
        !ot_onnx_need(n, FIRST + SCALE))
        return n->err->status;
    if (ot_onnx_rank(n, ids) != 2)
        return ot_onnx_refuse(n, "indices of %d dims, not 2", ot_onnx_rank(n, ids));
    if (segments && !ot_onnx_in(n, FIRST + SEGMENT))
        return ot_onnx_refuse(n, "segments without their table");
    if (!at && !ot_onnx_dims_at(n, ids, 1u << 1, dim))
        return n->err->status;
    value *place = ot_onnx_in(n, FIRST + PLACE);
    place = at ? rows(n, PLACE, at) : numbers(n, ot_onnx_part(n, place, 0, 0, dim[1]), PLACE);
    value *sum = ot_onnx_2(n, "add", rows(n, WORD, ids), place);
    if (segments)
        sum = ot_onnx_2(n, "add", sum, rows(n, SEGMENT, segments));
    value *scale = numbers(n, ot_onnx_in(n, FIRST + SCALE), SCALE);
    shift = shift ? numbers(n, shift, SHIFT) : NULL;
    if (!sum || !scale || n->err->status < 0)
        return n->err->status;
    int status = ot_onnx_give(
        n, 0, ot_onnx_layer_normalised(n, sum, scale, shift, ot_onnx_type(n->m, sum)->dtype));
    if (status >= 0 && ot_onnx_wants(n, 1))
        status = ot_onnx_give(n, 1, kept(n, ot_onnx_in(n, MASK), ids));
    return status >= 0 && ot_onnx_wants(n, 2) ? ot_onnx_give(n, 2, sum) : status;
}

/* ---- small integers in blocks ------------------------------------------------------------ */

/* What the node's data, its zeros and blocks are. */
typedef struct blocks {
    int bits;      /* of an integer in bytes that hold 8 / bits of them along the last dim */
    int axis;      /* along which blocks share a scale, in what was gathered */
    int64_t block; /* of so many places */
} blocks;

/* Bytes as the small integers in them, along the last dim, as floats. */
static value *unpacked(ot_onnx_node *n, value *bytes, int bits)
{
    value *part[4];
    const int each = 8 / bits, rank = bytes ? ot_onnx_rank(n, bytes) : -1;
    int64_t to[OPTUNE_MAX_RANK] = {0}, dim[OPTUNE_MAX_RANK];
    if (rank < 1 || each == 1 || !ot_onnx_dims_at(n, bytes, 1u << (rank - 1), dim))
        return rank < 1 || each > 1 ? NULL : ot_onnx_as(n, bytes, f32);
    for (int i = 0; i < each; i++) {
        const double mask = (1 << bits) - 1, place = ldexp(1, bits * i);
        part[i] = ot_onnx_2(n, "bitwise_and", bytes, ot_onnx_number(n, bytes, mask * place));
        part[i] = ot_onnx_as(n, part[i], f32);
        if (i && part[i])
            part[i] = ot_onnx_2(n, "multiply", part[i], ot_onnx_number(n, part[i], 1 / place));
        part[i] = ot_onnx_call(n, "expand_dims", 1, &part[i], "axis=%d", rank);
    }
    to[rank - 1] = dim[rank - 1] * each;
    value *all = n->err->status < 0 ? NULL : ot_onnx_join(n, rank, each, part);
    return all ? ot_onnx_reshape_keeping(n, all, rank, to) : NULL;
}

/* (x - zero) scale, with one scale, and one zero (NULL: `middle`), for the places of each block. */
static value *times_blocks(ot_onnx_node *n, value *x, value *scale, value *zero, double middle,
                           const blocks *b)
{
    int64_t to[OPTUNE_MAX_RANK], one[OPTUNE_MAX_RANK], back[OPTUNE_MAX_RANK];
    int64_t dim[OPTUNE_MAX_RANK], has[OPTUNE_MAX_RANK];
    const int rank = x && scale ? ot_onnx_rank(n, x) : -1;
    const unsigned wanted = ~((1u << b->axis) - 1);
    if (rank < 0 || !ot_onnx_dims_at(n, x, wanted, dim) ||
        !ot_onnx_dims_at(n, scale, wanted, has))
        return NULL;
    const int64_t extent = dim[b->axis], n_blocks = (extent + b->block - 1) / b->block;
    if (rank == OPTUNE_MAX_RANK || has[b->axis] != n_blocks) {
        ot_onnx_refuse(n, "%lld scales along an axis for %lld places in blocks of %lld",
                       (long long)has[b->axis], (long long)extent, (long long)b->block);
        return NULL;
    }
    for (int d = 0; d < rank; d++) {
        to[d + (d > b->axis)] = one[d + (d > b->axis)] = back[d] = d < b->axis ? 0 : dim[d];
    }
    to[b->axis] = one[b->axis] = n_blocks;
    to[b->axis + 1] = b->block;
    one[b->axis + 1] = 1;
    back[b->axis] = n_blocks * b->block;
    if (n_blocks * b->block > extent) {
        int64_t before[OPTUNE_MAX_RANK] = {0}, after[OPTUNE_MAX_RANK] = {0};
        after[b->axis] = n_blocks * b->block - extent;
        x = ot_onnx_call(n, "pad", 1, &x, "before=[%s], after=[%s]",
                         ot_onnx_text(n->m, rank, before), ot_onnx_text(n->m, rank, after));
    }
    x = ot_onnx_reshape_keeping(n, x, rank + 1, to);
    zero = zero ? ot_onnx_reshape_keeping(n, zero, rank + 1, one) : NULL;
    if (zero || middle != 0)
        x = ot_onnx_2(n, "subtract", x, zero ? zero : ot_onnx_number(n, x, middle));
    scale = ot_onnx_reshape_keeping(n, ot_onnx_as(n, scale, f32), rank + 1, one);
    x = ot_onnx_reshape_keeping(n, ot_onnx_2(n, "multiply", x, scale), rank, back);
    return back[b->axis] > extent ? ot_onnx_part(n, x, b->axis, 0, extent) : x;
}

/* Slices of small integers, as floats. Typed as such they lie a byte each; in bytes that are packed
 * their zero is the middle unless it is given. */
static int gather_blocks(ot_onnx_node *n)
{
    enum { DATA, INDEX, SCALES, ZERO };
    value *in[] = {ot_onnx_need(n, DATA), ot_onnx_need(n, INDEX), ot_onnx_need(n, SCALES),
                   ot_onnx_in(n, ZERO)};
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = in[DATA] && in[INDEX] && in[SCALES] ? ot_onnx_rank(n, in[DATA]) : -1;
    if (rank < 0)
        return n->err->status;
    const int along = ot_onnx_axis(n, ot_onnx_int(n, "gather_axis", 0), rank);
    const int blocked = ot_onnx_axis(n, ot_onnx_int(n, "quantize_axis", 1), rank);
    if (along < 0 || blocked < 0 || !ot_onnx_dims_at(n, in[DATA], 1u << along, dim))
        return n->err->status;
    const int bits = in[DATA]->nibbles ? 8 : (int)ot_onnx_int(n, "bits", 4);
    const int places = ot_onnx_rank(n, in[INDEX]);
    blocks b = {.bits = bits,
                .axis = blocked < along ? blocked : blocked + places - 1,
                .block = ot_onnx_int(n, "block_size", 128)};
    if (along == blocked || ot_onnx_rank(n, in[SCALES]) != rank ||
        (in[ZERO] && ot_onnx_rank(n, in[ZERO]) != rank))
        return ot_onnx_refuse(n, "axis %d of %d dims in blocks, axis %d gathered", blocked,
                              rank, along);
    if ((bits != 2 && bits != 4 && bits != 8) || b.block < 1 || b.block > OPTUNE_MAX_DIM ||
        (bits < 8 && blocked != rank - 1) || ot_onnx_type(n->m, in[DATA])->dtype.bits != 8)
        return ot_onnx_refuse(n, "%d bits, in blocks of %lld along axis %d of %d", bits,
                              (long long)b.block, blocked, rank);
    const double middle = in[DATA]->nibbles ? 0 : 1 << (bits - 1);
    const optune_dtype dtype = ot_onnx_type(n->m, in[SCALES])->dtype;
    value *index = ot_onnx_from_start(n, in[INDEX], dim[along]);
    for (int i = 0; i <= ZERO; i++)
        if (i != INDEX && in[i])
            in[i] = slices(n, in[i], index, along);
    if (n->err->status < 0)
        return n->err->status;
    value *x = unpacked(n, in[DATA], bits),
          *zero = in[ZERO] ? unpacked(n, in[ZERO], bits) : NULL;
    if (zero && bits < 8 && ot_onnx_dims_at(n, in[SCALES], 1u << b.axis, dim))
        zero = ot_onnx_part(n, zero, b.axis, 0, dim[b.axis]);
    x = n->err->status < 0 ? NULL : times_blocks(n, x, in[SCALES], zero, middle, &b);
    return ot_onnx_give(n, 0, ot_onnx_as(n, x, dtype));
}

#define MS "com.microsoft::"
static const ot_onnx_op ops[] = {
    {MS "EmbedLayerNormalization", embed_layer_norm, NULL},
    {MS "QEmbedLayerNormalization", embed_layer_norm, "narrow"},
    {MS "GatherBlockQuantized", gather_blocks, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(embedding) = {ops};
