/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in all of the data the largest element of each window lies. Every element of a window is a
 * part of the padded data: each is held against the largest until then, in order, and what is
 * kept is how far it lies behind the window's first element.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

/* One element of every window, `at` along each dim. */
static value *tap(ot_onnx_node *n, value *padded, const ot_onnx_places *p, const int64_t *at)
{
    int64_t begin[OPTUNE_MAX_RANK] = {0}, end[OPTUNE_MAX_RANK], step[OPTUNE_MAX_RANK];
    for (int d = 0; d < 2 + p->dims; d++) {
        end[d] = OPTUNE_MAX_DIM;
        step[d] = 1;
    }
    for (int d = 0; d < p->dims; d++) {
        step[2 + d] = p->stride[d];
        begin[2 + d] = at[d] * p->dilation[d];
        end[2 + d] = begin[2 + d] + (p->windows[d] - 1) * p->stride[d] + 1;
    }
    const int rank = 2 + p->dims;
    return ot_onnx_call(n, "strided_slice", 1, &padded, "begin=[%s], end=[%s], strides=[%s]",
                        ot_onnx_text(n->m, rank, begin), ot_onnx_text(n->m, rank, end),
                        ot_onnx_text(n->m, rank, step));
}

/* With as much around it as windows reach, which is below every element that is finite. */
static value *padded(ot_onnx_node *n, value *x, const ot_onnx_places *p, const int64_t *dim)
{
    int64_t before[OPTUNE_MAX_RANK] = {0}, after[OPTUNE_MAX_RANK] = {0};
    for (int d = 0; d < p->dims; d++) {
        const int64_t span = (p->kernel[d] - 1) * p->dilation[d] + 1;
        before[2 + d] = p->before[d];
        after[2 + d] = (p->windows[d] - 1) * p->stride[d] + span - dim[2 + d] - p->before[d];
    }
    if (!ot_onnx_floating(n, x))
        x = ot_onnx_as(n, x, i32);
    if (!x)
        return NULL;
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    const char *below = !ot_onnx_floating(n, x)             ? "-1e9"
                        : dtype.bits == 64                  ? "-1.7976931348623157e308"
                        : dtype.bits == 32                  ? "-3.4028234663852886e38"
                        : dtype.code == OPTUNE_DTYPE_BFLOAT ? "-3.3895313892515355e38"
                                                            : "-65504";
    return ot_onnx_call(n, "pad", 1, &x, "before=[%s], after=[%s], value=%s",
                        ot_onnx_text(n->m, 2 + p->dims, before),
                        ot_onnx_text(n->m, 2 + p->dims, after), below);
}

/* How far an element lies behind one in front of it along spatial dim d. */
static int64_t reach(const ot_onnx_places *p, const int64_t *dim, int d)
{
    int64_t by = 1;
    for (int k = 0; k < p->dims; k++)
        by *= (p->columns ? k < d : k > d) ? dim[2 + k] : 1;
    return by;
}

/* Where the first element of each window lies, in pads or not. */
static value *first(ot_onnx_node *n, const ot_onnx_places *p, const int64_t *dim)
{
    const int rank = 2 + p->dims;
    int64_t plane = 1, start = 0;
    for (int d = 0; d < p->dims; d++) {
        plane *= dim[2 + d];
        start -= p->before[d] * reach(p, dim, d);
    }
    value *at = ot_onnx_2(n, "add", ot_onnx_count_up(n, rank, 0, dim[0], dim[1] * plane),
                          ot_onnx_count_up(n, rank, 1, dim[1], plane));
    for (int d = 0; d < p->dims && at; d++)
        at = ot_onnx_2(
            n, "add", at,
            ot_onnx_count_up(n, rank, 2 + d, p->windows[d], p->stride[d] * reach(p, dim, d)));
    return at && start ? ot_onnx_2(n, "add", at, ot_onnx_number(n, at, (double)start)) : at;
}

ot_onnx_value *ot_onnx_places_of(ot_onnx_node *n, value *x, const ot_onnx_places *p)
{
    int64_t dim[OPTUNE_MAX_RANK], at[3] = {0}, taps = 1;
    if (!x || !ot_onnx_dims(n, x, dim))
        return NULL;
    for (int d = 0; d < p->dims; d++)
        taps *= p->kernel[d];
    if (taps > OT_ONNX_TAPS) {
        ot_onnx_refuse(n, "places in windows of more than %d elements", (int)OT_ONNX_TAPS);
        return NULL;
    }
    value *all = padded(n, x, p, dim), *best = NULL, *far = NULL;
    for (int64_t k = 0; k < taps && all; k++) {
        int64_t offset = 0;
        for (int d = p->dims - 1, rest = (int)k; d >= 0; d--) {
            at[d] = rest % p->kernel[d];
            rest /= (int)p->kernel[d];
            offset += at[d] * p->dilation[d] * reach(p, dim, d);
        }
        value *one = tap(n, all, p, at);
        value *behind = one ? ot_onnx_number(n, &(value){.type = {.dtype = i64}, .node = -1},
                                             (double)offset)
                            : NULL;
        if (!behind)
            return NULL;
        if (best) {
            value *const in[] = {ot_onnx_2(n, "greater", one, best), behind, far};
            behind = ot_onnx_call(n, "where", 3, in, NULL);
            one = ot_onnx_2(n, "maximum", best, one);
        }
        best = one;
        far = behind;
    }
    return all ? ot_onnx_2(n, "add", first(n, p, dim), far) : NULL;
}
