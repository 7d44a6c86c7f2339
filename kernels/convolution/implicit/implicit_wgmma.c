/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/implicit/implicit_wgmma.h declares. */
#include "kernels/convolution/implicit/implicit_wgmma.h"

/* What an image's window may look like to the copy engine. */
enum { MOST_CORNER = 127, MOST_OFFSET = 255, MOST_STRIDE = 8 };

/* Where the last pixel of a line (0) or column (1) of an image looks first, behind its end. */
static int64_t high_of(const conv2d_shape *s, int axis)
{
    return axis ? (s->oh - 1) * s->sh - s->pt - (s->h - 1)
                : (s->ow - 1) * s->sw - s->pl - (s->w - 1);
}

bool implicit_wgmma_reaches(const conv2d_shape *s, char *why)
{
    if (s->sh > MOST_STRIDE || s->sw > MOST_STRIDE)
        return optune_refuse(why, "the copy engine steps by at most %d", (int)MOST_STRIDE);
    if (s->pt > MOST_CORNER || s->pl > MOST_CORNER)
        return optune_refuse(why, "the copy engine pads by at most %d", (int)MOST_CORNER);
    for (int axis = 0; axis < 2; axis++)
        if (high_of(s, axis) > MOST_CORNER || high_of(s, axis) < -MOST_CORNER - 1)
            return optune_refuse(why, "windows end too far from the image's end");
    return ((s->kh - 1) * s->dh <= MOST_OFFSET && (s->kw - 1) * s->dw <= MOST_OFFSET) ||
           optune_refuse(why, "a window is wider than the copy engine reaches");
}

int64_t implicit_wgmma_panels(int64_t taps, int64_t channels, int64_t size)
{
    return taps * host_ceil(channels * size, MATMUL_GPU_WGMMA_ROW);
}

bool implicit_wgmma_steps_fit(int64_t panels, const optune_config *config, char *why)
{
    const int64_t step = matmul_gpu_wgmma_of(config).kb / MATMUL_GPU_WGMMA_ROW;
    return panels % step == 0 ||
           optune_refuse(why, "a step of depth is partly behind the last tap");
}

optune_arg implicit_wgmma_pixels(optune_plan *plan, optune_arg images, optune_dtype dtype,
                                 const conv2d_shape *s, int64_t channels, int64_t rows)
{
    const int64_t size = dtype.bits / 8, pixel = channels * size;
    const bool tf32 = size == 4;
    return optune_tensor_map_arg(optune_plan_tensor_map(
        plan, &(optune_tensor_map){
                  .tensor = images,
                  .dtype = tf32 ? dtype : (optune_dtype){OPTUNE_DTYPE_UINT, dtype.bits, 1},
                  .tf32 = tf32,
                  .rank = 4,
                  .swizzle = MATMUL_GPU_WGMMA_ROW,
                  .dim = {channels, s->w, s->h, s->n},
                  .stride = {0, pixel, s->w * pixel, s->h * s->w * pixel},
                  .box = {MATMUL_GPU_WGMMA_ROW / size},
                  .pixels = (int)rows,
                  .low = {(int)-s->pl, (int)-s->pt},
                  .high = {(int)high_of(s, 0), (int)high_of(s, 1)},
                  .step = {(int)s->sw, (int)s->sh},
              }));
}

void implicit_wgmma_define(optune_plan *plan, int m, const conv2d_shape *s, int64_t passes)
{
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"PASSES", passes}, {"CI", s->ci}, {"KH", s->kh},
        {"KW", s->kw},      {"OW", s->ow}, {"PLANE_OUT", s->oh * s->ow},
        {"SH", s->sh},      {"SW", s->sw}, {"PT", s->pt},
        {"PL", s->pl},      {"DH", s->dh}, {"DW", s->dw},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
}
