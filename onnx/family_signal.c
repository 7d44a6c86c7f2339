/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spectra as products with a constant matrix of cosines and sines, real and imaginary parts beside
 * each other as ONNX has them: what frames of a few hundred samples take, and no more than that.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const double turn = 2 * 3.14159265358979323846;

enum { MOST_ELEMENTS = 1 << 24 }; /* of a matrix */

/* What is transformed: `samples` of them, each a number or a pair, over a period. */
typedef struct transform {
    int64_t samples, period, bins;
    int parts;            /* of a sample: 1: real, 2: complex */
    int gives;            /* parts of what it gives */
    bool inverse, half;   /* half: the samples are the first half of a spectrum of real ones */
    const double *window; /* or NULL */
} transform;

/* Rows `gives` k and on: what the parts of bin k take of each sample, the real one first. */
static void fill_rows(const transform *t, int64_t k, optune_dtype dtype, void *to)
{
    const double scale = t->inverse ? 1 / (double)t->period : 1;
    const int64_t columns = t->samples * t->parts;
    for (int64_t i = 0; i < t->samples && i < t->period; i++) {
        const double at = turn * (double)(i * k % t->period) / (double)t->period;
        const bool twice = t->half && i && 2 * i < t->period; /* its mirror image, too */
        const double weight = scale * (t->window ? t->window[i] : 1) * (twice ? 2 : 1);
        const double c = weight * cos(at), s = weight * sin(at) * (t->inverse ? -1 : 1);
        const double part[2][2] = {{c, s}, {-s, c}};
        for (int row = 0; row < t->gives; row++)
            ot_elements_set(dtype, to, (t->gives * k + row) * columns + i * t->parts, t->parts,
                            part[row]);
    }
}

/* Of x [M,samples parts]: [M,bins gives]. */
static value *transformed(ot_onnx_node *n, const transform *t, value *x)
{
    value *matrix = NULL;
    const int64_t rows = t->gives * t->bins, columns = t->samples * t->parts;
    if (!x)
        return NULL;
    if (rows < 1 || columns < 1 || rows > MOST_ELEMENTS / columns) {
        ot_onnx_refuse(n, "spectra of %lld samples are not supported", (long long)t->samples);
        return NULL;
    }
    const optune_tensor type = {.dtype = ot_onnx_type(n->m, x)->dtype,
                                .rank = 2,
                                .dim = {optune_dim_of(rows), optune_dim_of(columns)}};
    if (ot_onnx_room(n->m, &type, &matrix, n->err) < 0)
        return NULL;
    for (int64_t k = 0; k < t->bins; k++)
        fill_rows(t, k, type.dtype, matrix->data);
    return ot_onnx_2(n, "dense", x, matrix);
}

/* ---- DFT ------------------------------------------------------------------------------------ */

/* The axis of the samples; -1: the node has failed. */
static int axis_of(ot_onnx_node *n, int rank)
{
    ot_onnx_list list;
    int64_t axis = n->m->opset < 20 ? ot_onnx_int(n, "axis", 1) : -2;
    value *told = n->m->opset < 20 ? NULL : ot_onnx_in(n, 2);
    if (told && ot_onnx_list_of(n, told, "axis", &list) < 0)
        return -1;
    if (told)
        axis = list.n ? list.i[0] : axis;
    const int at = ot_onnx_axis(n, axis, rank);
    if (at == rank - 1)
        ot_onnx_refuse(n, "its axis is that of real and imaginary parts");
    return at == rank - 1 ? -1 : at;
}

static int dft(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *length = ot_onnx_in(n, 1);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int axis = rank < 2 ? -1 : axis_of(n, rank);
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_list list;
    if (axis < 0 || !ot_onnx_dims(n, x, dim))
        return n->err->status < 0 ? n->err->status
                                  : ot_onnx_refuse(n, "its input has %d dims", rank);
    transform t = {.samples = dim[axis],
                   .period = dim[axis],
                   .parts = (int)dim[rank - 1],
                   .gives = 2,
                   .inverse = ot_onnx_int(n, "inverse", 0)};
    const bool onesided = ot_onnx_int(n, "onesided", 0);
    if (length && ot_onnx_list_of(n, length, "dft_length", &list) < 0)
        return n->err->status;
    if (length)
        t.period = list.n ? list.i[0] : 0;
    else if (onesided && t.inverse)
        t.period = 2 * (t.samples - 1);
    if (t.period < 1 || t.period > MOST_ELEMENTS || (dim[rank - 1] != 1 && dim[rank - 1] != 2))
        return ot_onnx_refuse(n, "its length is %lld, and a sample has %lld parts",
                              (long long)t.period, (long long)dim[rank - 1]);
    t.bins = onesided && !t.inverse ? t.period / 2 + 1 : t.period;
    if (onesided && t.inverse) {
        t.half = true;
        t.gives = 1;
    }
    int forth[OPTUNE_MAX_RANK], back[OPTUNE_MAX_RANK];
    for (int d = 0; d < rank; d++) /* the axis comes before the parts */
        forth[d] = d < axis || d == rank - 1 ? d : d == rank - 2 ? axis : d + 1;
    for (int d = 0; d < rank; d++)
        back[forth[d]] = d;
    value *last = ot_onnx_wide(n, ot_onnx_transpose(n, x, rank, forth));
    int64_t rows = 1, moved[OPTUNE_MAX_RANK];
    for (int d = 0; d < rank; d++)
        moved[d] = dim[forth[d]];
    for (int d = 0; d < rank - 2; d++)
        rows *= moved[d];
    if (!last)
        return n->err->status;
    value *y = transformed(
        n, &t, ot_onnx_reshape(n, last, 2, (const int64_t[]){rows, t.samples * t.parts}));
    moved[rank - 2] = t.bins;
    moved[rank - 1] = t.gives;
    y = y ? ot_onnx_reshape(n, y, rank, moved) : NULL;
    y = y ? ot_onnx_transpose(n, y, rank, back) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_as(n, y, ot_onnx_type(n->m, x)->dtype));
}

/* ---- STFT ----------------------------------------------------------------------------------- */

/* A number that input i is; -1: it is none. */
static int64_t number_of(ot_onnx_node *n, int i, const char *what)
{
    ot_onnx_list list;
    value *at = ot_onnx_in(n, i);
    if (!at)
        return -1;
    if (ot_onnx_list_of(n, at, what, &list) < 0)
        return -1;
    return list.n == 1 ? list.i[0] : -1;
}

/* A constant window's elements, the arena's; NULL: it has none. */
static const double *weights_of(ot_onnx_node *n, value *window, int64_t length)
{
    const void *data = ot_onnx_look(n, window);
    double *weight = ot_arena_alloc(&n->m->arena, (size_t)length * sizeof *weight);
    if (data)
        ot_elements(window->type.dtype, data, 0, length, weight);
    return data ? weight : NULL;
}

/* Where the samples of each frame lie, [frames,length]. */
static value *places(ot_onnx_node *n, int64_t frames, int64_t length, int64_t step)
{
    value *made = NULL;
    const optune_tensor type = {.dtype = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1},
                                .rank = 2,
                                .dim = {optune_dim_of(frames), optune_dim_of(length)}};
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    int64_t *at = made->data;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t i = 0; i < length; i++)
            at[f * length + i] = f * step + i;
    return made;
}

static int stft(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *window = ot_onnx_in(n, 2);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int64_t step = x ? number_of(n, 1, "frame_step") : -1;
    int64_t dim[OPTUNE_MAX_RANK], wide[OPTUNE_MAX_RANK];
    int64_t length = x ? number_of(n, 3, "frame_length") : -1;
    if (n->err->status < 0 || rank < 0 || !ot_onnx_dims(n, x, dim) ||
        (window && !ot_onnx_dims(n, window, wide)))
        return n->err->status;
    if (window && length < 0)
        length = wide[0];
    const int64_t parts = rank == 3 ? dim[2] : 1;
    if (rank < 2 || rank > 3 || (parts != 1 && parts != 2) || step < 1 || length < 1 ||
        length > dim[1] || (window && wide[0] != length))
        return ot_onnx_refuse(n,
                              "frames of %lld samples at steps of %lld do not fit its signal "
                              "or its window",
                              (long long)length, (long long)step);
    const bool onesided = ot_onnx_int(n, "onesided", 1);
    const int64_t frames = (dim[1] - length) / step + 1;
    transform t = {.samples = length,
                   .period = length,
                   .bins = onesided ? length / 2 + 1 : length,
                   .parts = (int)parts,
                   .gives = 2};
    if (window && !window->data)
        return ot_onnx_refuse(n, "its window must be a constant");
    if (window && !(t.window = weights_of(n, window, length)))
        return n->err->status;
    value *flat =
        ot_onnx_wide(n, ot_onnx_reshape(n, x, 3, (const int64_t[]){dim[0], dim[1], parts}));
    value *const in[] = {flat, places(n, frames, length, step)};
    value *framed = ot_onnx_call(n, "take", 2, in, "axis=1");
    if (!framed)
        return n->err->status;
    value *y = transformed(
        n, &t,
        ot_onnx_reshape(n, framed, 2, (const int64_t[]){dim[0] * frames, length * parts}));
    y = y ? ot_onnx_reshape(n, y, 4, (const int64_t[]){dim[0], frames, t.bins, 2}) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_as(n, y, ot_onnx_type(n->m, x)->dtype));
}

/* ---- MelWeightMatrix ------------------------------------------------------------------------ */

static double real_of(ot_onnx_node *n, int i)
{
    double number = NAN;
    value *at = ot_onnx_in(n, i);
    const void *data = at && at->data ? ot_onnx_look(n, at) : NULL;
    if (data && optune_tensor_elements(&at->type) == 1)
        ot_elements(at->type.dtype, data, 0, 1, &number);
    return number;
}

/* Hertz of a place on the scale of mels, and the other way round. */
static double hertz(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

static double mels(double frequency)
{
    return 2595 * log10(1 + frequency / 700);
}

/* Triangles over the bins of a spectrum, [bins,filters]. */
static int mel_matrix(ot_onnx_node *n)
{
    value *made = NULL;
    const double filters = real_of(n, 0), length = real_of(n, 1), rate = real_of(n, 2);
    const double low = mels(real_of(n, 3)), high = mels(real_of(n, 4));
    if (!(filters >= 1 && filters <= 4096 && length >= 1 && length <= 1 << 20 && rate > 0) ||
        !(low >= 0 && high >= low && real_of(n, 4) <= rate))
        return ot_onnx_refuse(n, "its five inputs must be constants that fit each other");
    const int64_t bins = (int64_t)length / 2 + 1, all = (int64_t)filters;
    optune_tensor type = {.rank = 2, .dim = {optune_dim_of(bins), optune_dim_of(all)}};
    int status = ot_onnx_dtype((int)ot_onnx_int(n, "output_datatype", 1), &type.dtype, n->err);
    if (status >= 0)
        status = ot_onnx_room(n->m, &type, &made, n->err);
    for (int64_t i = 0; i < all && status >= 0; i++) {
        int64_t edge[3];
        for (int k = 0; k < 3; k++)
            edge[k] = (int64_t)floor(
                (length + 1) * hertz(low + (double)(i + k) * (high - low) / (filters + 2)) /
                rate);
        for (int64_t j = edge[0]; j <= edge[2] && j < bins; j++) {
            const int64_t rise = edge[1] - edge[0], fall = edge[2] - edge[1];
            const double up = rise ? (double)(j - edge[0]) / (double)rise : j == edge[1];
            const double down = fall ? (double)(edge[2] - j) / (double)fall : j == edge[1];
            const double weight = j < edge[1] ? up : j == edge[1] ? 1 : down;
            ot_elements_set(type.dtype, made->data, j * all + i, 1, &weight);
        }
    }
    return status < 0 ? status : ot_onnx_give(n, 0, made);
}

static const ot_onnx_op ops[] = {
    {"DFT", dft, NULL},
    {"STFT", stft, NULL},
    {"MelWeightMatrix", mel_matrix, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(signal) = {ops};
