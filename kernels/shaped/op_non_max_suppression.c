/* SPDX-License-Identifier: Apache-2.0 */
/*
 * non_max_suppression, with ONNX's semantics (Relay's all_class_non_max_suppression in its ONNX
 * form): for each image and class, boxes whose score is above score_threshold, best first (of equal
 * scores the lower index), except those that overlap a chosen one by more than iou_threshold; at
 * most max_output_size of a class. A row (image, class, box) for each, in that order.
 *
 * Products are rounded once each, and no quotient is taken, so that the shape function and every
 * body decide alike: boxes overlap too much when intersection > iou_threshold * union, computed in
 * float64 for float64, else in float32.
 */
#include <stdlib.h>

#include "kernels/shaped/shaped.h"

static const optune_op_input inputs[] = {
    {.name = "boxes",
     .type = "tensor [images,n,4]",
     .description = "two corners (y1, x1, y2, x2) or centre and size (x, y, width, height)"},
    {.name = "scores", .type = "tensor [images,classes,n]", .description = "of each class"},
    {0}};
static const optune_op_attr attrs[] = {
    {.name = "max_output_size",
     .kind = OPTUNE_ATTR_INT,
     .value = "-1",
     .min = -1,
     .max = OPTUNE_MAX_DIM,
     .description = "boxes of a class at most; -1: all"},
    {.name = "iou_threshold",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "0.5",
     .description = "0 to 1: what overlaps more is left out"},
    {.name = "score_threshold",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "0",
     .description = "only scores above it"},
    {.name = "center_point_box",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "boxes are given by centre and size"},
    {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *boxes = &call->input[0].type, *scores = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    optune_dim four = optune_dim_of(4), three = optune_dim_of(3);
    const double iou = optune_call_attr(call, "iou_threshold")->f;
    if (!(iou >= 0 && iou <= 1))
        return optune_fail(err, OPTUNE_ETYPE, "iou_threshold is 0 to 1");
    if (!optune_tensor_set_rank(boxes, 3) || !optune_tensor_set_rank(scores, 3) ||
        !optune_dtype_unify(&boxes->dtype, &scores->dtype) ||
        !optune_dim_unify(&boxes->dim[0], &scores->dim[0]) ||
        !optune_dim_unify(&boxes->dim[1], &scores->dim[2]) ||
        !optune_dim_unify(&boxes->dim[2], &four) || !tensor_is_real(boxes))
        return optune_types_differ(err, "[images,n,4] and [images,classes,n] of one float type",
                                   "boxes", boxes, "scores", scores);
    const int64_t most = optune_call_int(call, "max_output_size");
    int64_t rows = most >= 0 ? host_min(most, boxes->dim[1].max) : boxes->dim[1].max;
    for (int d = 0; d < 2; d++)
        if (__builtin_mul_overflow(rows, scores->dim[d].max, &rows))
            rows = OPTUNE_DIM_MAX;
    if (!shaped_output(out, 2, shaped_index) || !optune_dim_unify(&out->dim[1], &three) ||
        !shaped_bound(&out->dim[0], rows))
        return optune_types_differ(err, "a row (image, class, box) for each", "scores", scores,
                                   "output", out);
    return shaped_known(call);
}

/* ---- in the type at hand ----------------------------------------------------------------- */

/* Values are rounded to float after each step where `narrow`. */
typedef struct boxes {
    bool narrow, centred;
    int64_t n;
    double iou, score;
    const double *box;    /* [n][4], of one image */
    const double *scores; /* [n], of one class */
} boxes;

static double rounded(const boxes *b, double x)
{
    return b->narrow ? (double)(float)x : x;
}

/* As the bodies have them: what is not less does not replace. */
static double smaller(double a, double b)
{
    return b < a ? b : a;
}

static double larger(double a, double b)
{
    return b > a ? b : a;
}

static void edges(const boxes *b, const double *box, int axis, double *low, double *high)
{
    if (b->centred) {
        const double half = rounded(b, box[2 + axis] * 0.5);
        *low = rounded(b, box[axis] - half);
        *high = rounded(b, box[axis] + half);
    } else {
        *low = smaller(box[axis], box[2 + axis]);
        *high = larger(box[axis], box[2 + axis]);
    }
}

static bool overlaps(const boxes *b, int64_t i, int64_t j)
{
    double size[3][2];
    for (int axis = 0; axis < 2; axis++) {
        double low[2], high[2];
        edges(b, b->box + 4 * i, axis, &low[0], &high[0]);
        edges(b, b->box + 4 * j, axis, &low[1], &high[1]);
        size[0][axis] = rounded(b, high[0] - low[0]);
        size[1][axis] = rounded(b, high[1] - low[1]);
        size[2][axis] =
            larger(rounded(b, smaller(high[0], high[1]) - larger(low[0], low[1])), 0);
    }
    const double of_i = rounded(b, size[0][0] * size[0][1]);
    const double of_j = rounded(b, size[1][0] * size[1][1]);
    const double both = rounded(b, size[2][0] * size[2][1]);
    const double either = rounded(b, rounded(b, of_i + of_j) - both);
    return both > rounded(b, b->iou * either);
}

/* The best of those that come behind `last` (-1: all) in the order of scores; -1: none. */
static int64_t next(const boxes *b, int64_t last)
{
    int64_t best = -1;
    for (int64_t j = 0; j < b->n; j++) {
        const double s = b->scores[j];
        if (s > b->score &&
            (last < 0 || s < b->scores[last] || (s == b->scores[last] && j > last)) &&
            (best < 0 || s > b->scores[best]))
            best = j;
    }
    return best;
}

/* How many rows there are; the rows, unless `row` is NULL. */
static int64_t choose(const optune_call *call, const void *const *in, double *row)
{
    const optune_tensor *type = &call->input[0].type, *scores = &call->input[1].type;
    const int64_t images = type->dim[0].min, classes = scores->dim[1].min, n = type->dim[1].min;
    const int64_t asked = optune_call_int(call, "max_output_size");
    const int64_t most = asked < 0 ? n : host_min(asked, n);
    double *box = calloc((size_t)n * 4 + 1, sizeof *box);
    double *score = calloc((size_t)n + 1, sizeof *score);
    int64_t *chosen = calloc((size_t)n + 1, sizeof *chosen);
    boxes b = {.narrow = type->dtype.bits != 64,
               .centred = optune_call_int(call, "center_point_box"),
               .n = n,
               .box = box,
               .scores = score};
    b.iou = rounded(&b, optune_call_attr(call, "iou_threshold")->f);
    b.score = rounded(&b, optune_call_attr(call, "score_threshold")->f);
    int64_t rows = 0;
    for (int64_t at = 0; at < images * classes; at++) {
        const int64_t image = at / classes;
        int64_t k = 0;
        for (int64_t i = 0; i < 4 * n; i++)
            box[i] = tensor_element(in[0], type->dtype, image * 4 * n + i);
        for (int64_t i = 0; i < n; i++)
            score[i] = tensor_element(in[1], type->dtype, at * n + i);
        for (int64_t j = next(&b, -1); j >= 0 && k < most; j = next(&b, j)) {
            bool free_one = true;
            for (int64_t c = 0; c < k && free_one; c++)
                free_one = !overlaps(&b, j, chosen[c]);
            if (!free_one)
                continue;
            chosen[k++] = j;
            if (row) {
                row[3 * rows] = (double)image;
                row[3 * rows + 1] = (double)(at % classes);
                row[3 * rows + 2] = (double)j;
            }
            rows++;
        }
    }
    free(box);
    free(score);
    free(chosen);
    return rows;
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    (void)err;
    call->output[0].dim[0] = optune_dim_of(choose(call, in, NULL));
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const int64_t room = optune_tensor_elements(&call->input[1].type);
    double *row = calloc((size_t)room * 3 + 1, sizeof *row);
    const int64_t n = choose(call, in, row);
    shaped_region(&call->output[0], region, row, 3 * n, out, magnitude);
    free(row);
}

/* Each chosen one takes a pass over the scores, and is compared with those before it. */
static double flops(const optune_call *call)
{
    const optune_tensor *scores = &call->input[1].type;
    const double n = (double)scores->dim[2].min;
    return (double)optune_tensor_elements(scores) * (n + 1);
}

/* Whole numbers: many boxes are equal, and so are many scores. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    (void)call;
    *low = input == 0 ? 0 : -2;
    *high = 16;
    return true;
}

OPTUNE_OP(non_max_suppression) = {
    .name = "non_max_suppression",
    .summary = "the best boxes of each class that do not overlap much",
    .attrs = attrs,
    .n_outputs = 1,
    .support_level = 5,
    .flops = flops,
    .range = range,
    .samples =
        (const char *const[]){
            "non_max_suppression(f32[1,20,4], f32[1,2,20])",
            "non_max_suppression(f32[2,13,4], f32[2,3,13], max_output_size=3)",
            "non_max_suppression(f64[1,17,4], f64[1,1,17], iou_threshold=0.25, "
            "score_threshold=4)",
            "non_max_suppression(f16[1,9,4], f16[1,2,9], center_point_box=true)", NULL},
    SHAPED_OP,
};
