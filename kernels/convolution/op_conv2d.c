/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d: what it means. Attributes, the type relation, operation count, the reference, and the
 * workloads of real networks. Says nothing about speed.
 *
 * The type relation propagates intervals through
 *     out = (in + pads - dilation * (kernel - 1) - 1) / stride + 1
 * in all directions, so that any part of a call may be left unknown. The reference gathers
 * patches into a small double precision panel and multiplies it with the weights, so that layout,
 * padding, stride, dilation and groups cost nothing in the inner loop.
 *
 * An infinity or a NaN in the data may be met by more outputs than have it in their window:
 * Winograd computes tiles of outputs from all that they see, and tensor cores multiply what is
 * beside a depthwise window by 0. Where products of bfloat16 are added up by an instruction of x86,
 * denormals count as zero.
 */
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/workloads.h"

static const optune_op_input inputs[] = {
    {.name = "data",
     .type = "tensor [N,C,H,W] or [N,C/c,H,W,c]",
     .description = "Activations, in data_layout."},
    {.name = "weight",
     .type = "tensor [CO,C/groups,KH,KW]",
     .description = "Kernels, in kernel_layout.",
     .is_const = true},
    {0},
};

static const optune_op_attr attrs[] = {
    CONV2D_STRIDES("Steps between output rows and columns."),
    CONV2D_PADDING("Zeros around the input"),
    CONV2D_DILATION(true),
    CONV2D_GROUPS("Independent groups of channels; C of them make it depthwise."),
    {.name = "data_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "NCHW",
     .description = "NCHW, or NCHW<c>c with c channels innermost."},
    {.name = "kernel_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "OIHW",
     .description = "Layout of the weight.",
     .words = "OIHW"},
    {.name = "out_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "",
     .description = "Layout of the output; empty: data_layout."},
    {.name = "out_dtype",
     .kind = OPTUNE_ATTR_DTYPE,
     .value = "",
     .description = "Type of the output's elements; empty: the data's."},
    {0},
};

/* ---- type relation ----------------------------------------------------------------------- */

static int misfit(const optune_call *call, int arg, const char *what, optune_err *err)
{
    const optune_tensor *data = &call->input[CONV2D_DATA].type;
    const optune_tensor *weight = &call->input[CONV2D_WEIGHT].type;
    if (arg == CONV2D_DATA)
        return tensor_misfit(err, "conv2d", "argument 1 (data)", data, "weight", weight, what);
    if (arg == CONV2D_WEIGHT)
        return tensor_misfit(err, "conv2d", "argument 2 (weight)", weight, "data", data, what);
    return tensor_misfit(err, "conv2d", "output", &call->output[0], "data", data, what);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[CONV2D_DATA].type;
    optune_tensor *weight = &call->input[CONV2D_WEIGHT].type;
    optune_tensor *out = &call->output[0];
    const char *layout = optune_call_word(call, "data_layout");
    const int in_block = tensor_layout_block(layout);
    const int out_block = conv2d_out_block(call);
    if (in_block < 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "conv2d: data_layout=%s is neither NCHW nor NCHW<c>c", layout);
    if (out_block < 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "conv2d: out_layout=%s is neither NCHW nor NCHW<c>c",
                           optune_call_word(call, "out_layout"));

    /* The data's layout, spelt out, is what leaving it out means. */
    if (strcmp(optune_call_word(call, "out_layout"), layout) == 0)
        memset(host_attr(call, "out_layout")->word, 0, OPTUNE_WORD_SIZE);

    if (!optune_tensor_set_rank(data, in_block ? 5 : 4))
        return misfit(call, CONV2D_DATA,
                      in_block ? "a blocked layout has 5 dimensions" : "NCHW has 4 dimensions",
                      err);
    if (!optune_tensor_set_rank(weight, 4))
        return misfit(call, CONV2D_WEIGHT, "OIHW has 4 dimensions", err);
    if (!optune_tensor_set_rank(out, out_block ? 5 : 4))
        return misfit(call, -1, "its rank is not that of out_layout", err);

    if (!optune_dtype_unify(&data->dtype, &weight->dtype))
        return misfit(call, CONV2D_WEIGHT, "element types differ", err);
    optune_dtype out_dtype = optune_call_attr(call, "out_dtype")->dtype;
    if (!optune_dtype_unify(&out->dtype, out_dtype.code ? &out_dtype : &data->dtype))
        return misfit(call, -1, "its element type is not out_dtype", err);
    if (!tensor_sums_fit(data->dtype, out->dtype))
        return misfit(call, -1, TENSOR_SUMS_NEED, err);

    optune_dim inner = optune_dim_of(in_block);
    if (in_block && !optune_dim_unify(&data->dim[4], &inner))
        return misfit(call, CONV2D_DATA, "its last dimension is not the layout's block", err);
    inner = optune_dim_of(out_block);
    if (out_block && !optune_dim_unify(&out->dim[4], &inner))
        return misfit(call, -1, "its last dimension is not out_layout's block", err);

    const int64_t groups = optune_call_int(call, "groups");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    char what[160];
    if (!optune_dim_unify(&data->dim[0], &out->dim[0]))
        return misfit(call, -1, "batch sizes differ", err);
    if (!window_proportional(&data->dim[1], in_block ? in_block : 1, &weight->dim[1], groups)) {
        snprintf(what, sizeof what, "the data's channels must be %lld group%s of the weight's",
                 (long long)groups, groups == 1 ? "" : "s");
        return misfit(call, CONV2D_WEIGHT, what, err);
    }
    if (!window_proportional(&weight->dim[0], 1, &out->dim[1], out_block ? out_block : 1))
        return misfit(call, -1,
                      out_block ? "the weight's output channels do not fill its blocks"
                                : "its channels are not the weight's",
                      err);
    if (optune_dim_known(&weight->dim[0]) && weight->dim[0].min % groups) {
        snprintf(what, sizeof what, "%lld output channels do not divide into %lld groups",
                 (long long)weight->dim[0].min, (long long)groups);
        return misfit(call, CONV2D_WEIGHT, what, err);
    }
    for (int axis = 0; axis < 2; axis++) {
        optune_dim *in = &data->dim[2 + axis], *kernel = &weight->dim[2 + axis];
        optune_dim *o = &out->dim[2 + axis];
        const int64_t pads = pad[axis] + pad[axis + 2];
        if (optune_dim_known(in) && optune_dim_known(kernel) &&
            dilation[axis] * (kernel->min - 1) + 1 > in->min + pads) {
            snprintf(what, sizeof what,
                     "a kernel spanning %lld is larger than the padded input's %s of %lld",
                     (long long)(dilation[axis] * (kernel->min - 1) + 1),
                     axis ? "width" : "height", (long long)(in->min + pads));
            return misfit(call, CONV2D_WEIGHT, what, err);
        }
        if (!window_slide(in, kernel, o, pads, stride[axis], dilation[axis]) ||
            (conv2d_same_extent(kernel, pads, stride[axis], dilation[axis]) &&
             !optune_dim_unify(in, o))) {
            snprintf(what, sizeof what, "no %s satisfies strides, padding and dilation",
                     axis ? "width" : "height");
            return misfit(call, -1, what, err);
        }
    }

    const optune_tensor *const all[] = {data, weight, out};
    const int empty = conv2d_empty_image(all);
    if (empty >= 0)
        return misfit(call, empty == 2 ? -1 : empty, "a dimension is empty", err);
    return conv2d_solved(all);
}

/* ---- counts ------------------------------------------------------------------------------ */

static double terms(const optune_call *call)
{
    conv2d_shape s;
    return conv2d_shape_of(call, &s) ? (double)(s.ci_g * s.kh * s.kw) : 1;
}

static double flops(const optune_call *call)
{
    conv2d_shape s;
    if (!conv2d_shape_of(call, &s))
        return 0;
    return 2.0 * (double)(s.n * s.co) * (double)(s.oh * s.ow) * (double)(s.ci_g * s.kh * s.kw);
}

/* ---- reference --------------------------------------------------------------------------- */

enum { PIXELS = 32, DEPTH = 128 }; /* a panel of patches: 32 KB of doubles */

typedef double v2 __attribute__((vector_size(16), may_alias));
typedef int64_t m2 __attribute__((vector_size(16)));

typedef struct panel {
    _Alignas(16) double x[DEPTH][PIXELS];
} panel;

/* Rows [k0, k0+depth) of the patches of `count` output pixels, the first being `pixel` of the
 * region's plane; unused columns are zero. */
static void gather(const conv2d_shape *s, const void *data, optune_dtype dtype, int64_t n,
                   int64_t group, const optune_region *r, int64_t pixel, int count, int64_t k0,
                   int depth, panel *p)
{
    const int64_t width = r->hi[3] - r->lo[3];
    const int64_t block = s->data_block ? s->data_block : 1;
    int64_t y0[PIXELS], x0[PIXELS];
    for (int i = 0; i < count; i++) {
        y0[i] = (r->lo[2] + (pixel + i) / width) * s->sh - s->pt;
        x0[i] = (r->lo[3] + (pixel + i) % width) * s->sw - s->pl;
    }
    for (int k = 0; k < depth; k++) {
        const int64_t tap = (k0 + k) % (s->kh * s->kw);
        const int64_t c = group * s->ci_g + (k0 + k) / (s->kh * s->kw);
        const int64_t dy = tap / s->kw * s->dh, dx = tap % s->kw * s->dw;
        const int64_t plane = (n * (s->ci / block) + c / block) * s->h;
        double *row = p->x[k];
        for (int i = 0; i < count; i++) {
            const int64_t y = y0[i] + dy, x = x0[i] + dx;
            row[i] =
                y >= 0 && y < s->h && x >= 0 && x < s->w
                    ? tensor_element(data, dtype, ((plane + y) * s->w + x) * block + c % block)
                    : 0;
        }
        for (int i = count; i < PIXELS; i++)
            row[i] = 0;
    }
}

/* sum[] += w . panel, size[] += |w| . |panel| for all columns of the panel. */
static void multiply(const panel *p, int depth, const double *w, double *sum, double *size)
{
    const m2 positive = {INT64_MAX, INT64_MAX};
    for (int i = 0; i < PIXELS; i += 8) {
        v2 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        v2 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
        for (int k = 0; k < depth; k++) {
            const v2 *x = (const v2 *)&p->x[k][i];
            const v2 wk = {w[k], w[k]};
            const v2 p0 = x[0] * wk, p1 = x[1] * wk, p2 = x[2] * wk, p3 = x[3] * wk;
            s0 += p0;
            s1 += p1;
            s2 += p2;
            s3 += p3;
            a0 += (v2)((m2)p0 & positive);
            a1 += (v2)((m2)p1 & positive);
            a2 += (v2)((m2)p2 & positive);
            a3 += (v2)((m2)p3 & positive);
        }
        const v2 sums[4] = {s0, s1, s2, s3}, sizes[4] = {a0, a1, a2, a3};
        for (int j = 0; j < 8; j++) {
            sum[i + j] += sums[j / 2][j % 2];
            size[i + j] += sizes[j / 2][j % 2];
        }
    }
}

/* One panel's share of the channels of one group that the region holds. */
static void apply_panel(const conv2d_shape *s, const void *weight, optune_dtype dtype,
                        const optune_region *r, int64_t n, int64_t group, int64_t pixel,
                        int count, int64_t k0, int depth, const panel *p, double *out,
                        double *magnitude)
{
    const int64_t block = s->out_block ? s->out_block : 1;
    const int64_t lane_lo = s->out_block ? r->lo[4] : 0, lane_hi = s->out_block ? r->hi[4] : 1;
    const int64_t plane = (r->hi[2] - r->lo[2]) * (r->hi[3] - r->lo[3]);
    const int64_t blocks = r->hi[1] - r->lo[1], lanes = lane_hi - lane_lo;
    const int64_t size = s->ci_g * s->kh * s->kw;
    for (int64_t b = r->lo[1]; b < r->hi[1]; b++) {
        for (int64_t lane = lane_lo; lane < lane_hi; lane++) {
            const int64_t co = b * block + lane;
            if (co / s->co_g != group)
                continue;
            double w[DEPTH], sum[PIXELS] = {0}, abs[PIXELS] = {0};
            for (int k = 0; k < depth; k++)
                w[k] = tensor_element(weight, dtype, co * size + k0 + k);
            multiply(p, depth, w, sum, abs);
            const int64_t base = ((n - r->lo[0]) * blocks + b - r->lo[1]) * plane + pixel;
            for (int i = 0; i < count; i++) {
                const int64_t at = (base + i) * lanes + lane - lane_lo;
                out[at] = k0 ? out[at] + sum[i] : sum[i];
                magnitude[at] = k0 ? magnitude[at] + abs[i] : abs[i];
            }
        }
    }
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    conv2d_shape s;
    if (!conv2d_shape_of(call, &s))
        return;
    const optune_dtype data_type = call->input[CONV2D_DATA].type.dtype;
    const optune_dtype weight_type = call->input[CONV2D_WEIGHT].type.dtype;
    const int64_t block = s.out_block ? s.out_block : 1;
    const int64_t pixels = (region->hi[2] - region->lo[2]) * (region->hi[3] - region->lo[3]);
    const int64_t first = region->lo[1] * block / s.co_g;
    const int64_t last = (region->hi[1] * block - 1) / s.co_g;
    const int64_t size = s.ci_g * s.kh * s.kw;
    panel p;
    for (int64_t n = region->lo[0]; n < region->hi[0]; n++)
        for (int64_t g = first; g <= last; g++)
            for (int64_t pixel = 0; pixel < pixels; pixel += PIXELS)
                for (int64_t k = 0; k < size; k += DEPTH) {
                    const int count = pixels - pixel < PIXELS ? (int)(pixels - pixel) : PIXELS;
                    const int depth = size - k < DEPTH ? (int)(size - k) : DEPTH;
                    gather(&s, in[CONV2D_DATA], data_type, n, g, region, pixel, count, k, depth,
                           &p);
                    apply_panel(&s, in[CONV2D_WEIGHT], weight_type, region, n, g, pixel, count,
                                k, depth, &p, out, magnitude);
                }
}

/* d data = the transposed convolution of dy, d weight = dy correlated with the data */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    conv2d_shape s;
    if (!conv2d_shape_of(call, &s) || s.data_block || s.out_block ||
        !optune_dtype_equal(call->output[0].dtype, call->input[CONV2D_DATA].type.dtype))
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "it is known for NCHW and one dtype only");
    const int data = optune_grad_input(grad, CONV2D_DATA);
    const int weight = optune_grad_input(grad, CONV2D_WEIGHT);
    const int dy = optune_grad_adjoint(grad, 0);
    const int64_t *pad = optune_call_ints(call, "padding");
    const optune_tensor *out = &call->output[0];
    char common[256];
    snprintf(common, sizeof common,
             "strides=[%d,%d], padding=[%d,%d,%d,%d], dilation=[%d,%d], groups=%d", (int)s.sh,
             (int)s.sw, (int)pad[0], (int)pad[1], (int)pad[2], (int)pad[3], (int)s.dh,
             (int)s.dw, (int)optune_call_int(call, "groups"));
    /* Rows and columns of the data behind the last window. */
    const int64_t rest_h =
        s.h + pad[0] + pad[2] - s.dh * (s.kh - 1) - 1 - (out->dim[2].min - 1) * s.sh;
    const int64_t rest_w =
        s.w + pad[1] + pad[3] - s.dw * (s.kw - 1) - 1 - (out->dim[3].min - 1) * s.sw;
    if (optune_grad_wants(grad, CONV2D_DATA))
        optune_grad_add(grad, CONV2D_DATA,
                        optune_grad_call(grad, "conv2d_transpose", 2, (const int[]){dy, weight},
                                         "%s, output_padding=[%d,%d]", common, (int)rest_h,
                                         (int)rest_w));
    if (optune_grad_wants(grad, CONV2D_WEIGHT))
        optune_grad_add(grad, CONV2D_WEIGHT,
                        optune_grad_call(grad, "conv2d_backward_weight", 2,
                                         (const int[]){dy, data}, "%s, kernel_size=[%d,%d]",
                                         common, (int)s.kh, (int)s.kw));
    return OPTUNE_OK;
}

static const optune_op_blocks blocks = {1, .in = "data_layout", .out = "out_layout"};

OPTUNE_OP(conv2d) = {
    .name = "conv2d",
    .blocks = &blocks,
    .summary = "2-D convolution with strides, padding, dilation and groups",
    .presets = presets,
    .float32_sums = true,
    .samples = samples,
    CONV2D_OP,
};
