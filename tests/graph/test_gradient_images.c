/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions, pooling and what reads images between pixels, by differences. */
#include "support/check.h"

#include "support/gradients.h"

static void test_images(void **state)
{
    (void)state;
    static const char *const attrs[] = {"padding=[1]", "strides=[2,2], padding=[1]",
                                        "strides=[2,3], padding=[1,0,2,1]",
                                        "groups=2, padding=[1]", "dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(attrs); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,4,6,7]\nv = var f32[6,%d,3,3]\ny = conv2d(x, v, %s)\n"
                 "w = var f32[6,1,1]" WEIGHED,
                 strstr(attrs[i], "groups") ? 2 : 4, attrs[i]);
        gradients_hold(text, false);
    }
    static const char *const pools[] = {"pool_size=[2,2], strides=[2,2]",
                                        "pool_size=[3,3], strides=[2,2], padding=[1]",
                                        "pool_size=[3,2], padding=[1,0,1,1], ceil_mode=true"};
    for (int i = 0; i < OT_COUNT(pools); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[1,2,6,7]\ny = max_pool2d(x, %s)\nw = var f32[2,1,1]" WEIGHED,
                 pools[i]);
        gradients_hold(text, false);
        snprintf(text, sizeof text,
                 "x = var f32[1,2,6,7]\ny = avg_pool2d(x, %s)\nw = var f32[2,1,1]" WEIGHED,
                 pools[i]);
        gradients_hold(text, false);
    }
    gradients_hold("x = var f32[1,2,6,7]\n"
                   "y = avg_pool2d(x, pool_size=[3,3], padding=[1], count_include_pad=true)\n"
                   "w = var f32[2,1,1]" WEIGHED,
                   false);
}

/* A gradient is a graph of operators that have rules: it can be differentiated again. */
static void test_images_backwards(void **state)
{
    (void)state;
    static const char *const attrs[] = {"padding=[1]", "strides=[2,3], padding=[1,0,2,1]",
                                        "groups=2, padding=[1]", "dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(attrs); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,4,5,6]\nv = var f32[4,3,3,3]\ny = conv2d_transpose(x, v, %s)\n"
                 "w = var f32[]" WEIGHED,
                 attrs[i]);
        gradients_hold(text, false);
        snprintf(text, sizeof text,
                 "x = var f32[2,4,7,8]\nc = conv2d(x, var f32[6,%d,3,3], %s)\n"
                 "g = multiply(c, const f32[] {0.5})\nh = add(g, var f32[6,1,1])\n"
                 "y = conv2d_backward_weight(h, x, kernel_size=[3,3], %s)\n"
                 "w = var f32[]" WEIGHED,
                 strstr(attrs[i], "groups") ? 2 : 4, attrs[i], attrs[i]);
        gradients_hold(text, false);
    }
    /* All of the data's single row lies in what is cut off in front. */
    gradients_hold("x = var f32[3,3,1,1]\nv = var f32[3,1,1,1]\n"
                   "y = conv2d_transpose(x, v, padding=[1,0,1,0], dilation=[4,5], "
                   "output_padding=[2,1])\nw = var f32[]" WEIGHED,
                   false);
    /* Rows and columns of output_padding that are whole strides. */
    gradients_hold(
        "x = var f32[1,3,3,4]\nv = var f32[3,2,2,2]\n"
        "y = conv2d_transpose(x, v, strides=[2,1], dilation=[1,4], padding=[0,1,0,1], "
        "output_padding=[1,3])\nw = var f32[]" WEIGHED,
        false);
    gradients_hold("x = var f32[2,3,4,5]\ny = global_avg_pool2d(x)\nw = var f32[3,1,1]" WEIGHED,
                   false);
    /* Two convolutions and what stands between them as one. */
    static const char *const between[] = {"none, padding=[1,1,1,1]", "relu, strides=[2,1]",
                                          "relu6, strides=[2,2], padding=[1,1,1,1]",
                                          "hard_swish, padding=[0,1,2,1]",
                                          "silu, dilation=[2,1]"};
    for (int i = 0; i < OT_COUNT(between); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,3,5,6]\nf = var f32[4,3,1,1]\nd = var f32[4,1,3,3]\n"
                 "y = pointwise_depthwise_conv2d(x, f, d%s, between=%s)\nw = var f32[]" WEIGHED,
                 i ? ", var f32[4,1,1]" : "", between[i]);
        gradients_hold(text, false);
    }
}

/* What is read between pixels: of them, and of where it lies. */
static void test_samples(void **state)
{
    (void)state;
    static const char *const ways[] = {"",
                                       ", align_corners=true, padding_mode=border",
                                       ", padding_mode=reflection",
                                       ", method=nearest",
                                       ", method=cubic",
                                       ", method=cubic, align_corners=true, "
                                       "padding_mode=reflection"};
    char text[512];
    for (int i = 0; i < OT_COUNT(ways); i++) {
        snprintf(text, sizeof text,
                 "d = var f32[2,2,3,4]\ng = var f32[2,3,2,2]\ny = grid_sample(d, g%s)\n"
                 "w = var f32[2,1,1]" WEIGHED,
                 ways[i]);
        gradients_hold(text, false);
    }
    gradients_hold("d = var f32[1,2,3,2,4]\ng = var f32[1,2,2,3,3]\ny = grid_sample(d, g)\n"
                   "w = var f32[2,1,1,1]" WEIGHED,
                   false);
    for (int half = 0; half < 2; half++)
        for (int ratio = 1; ratio <= 2; ratio++) {
            snprintf(text, sizeof text,
                     "d = var f32[2,2,4,5]\nr = var f32[3,4]\n"
                     "y = roi_align(d, r, const i64[3] {0,1,-2}, pooled_size=[2,3], "
                     "sample_ratio=%d, spatial_scale=3, half_pixel=%s)\n"
                     "w = var f32[2,1,1]" WEIGHED,
                     ratio, half ? "true" : "false");
            gradients_hold(text, false);
        }
}

static void test_pools_backwards(void **state)
{
    (void)state;
    static const char *const pools[] = {
        "pool_size=[2,2], strides=[2,2]", "pool_size=[3,3], strides=[2,1], padding=[1]",
        "pool_size=[3,2], padding=[1,0,1,1], ceil_mode=true, strides=[2,3]",
        "pool_size=[2,3], dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(pools); i++)
        for (int k = 0; k < 2; k++) {
            const char *op = k ? "avg_pool2d" : "max_pool2d";
            snprintf(text, sizeof text,
                     "x = var f32[1,2,6,7]\nv = var f32[1,2,6,7]\np = %s(v, %s)\n"
                     "d = multiply(p, p)\ny = %s_grad(d, x, %s)\nw = var f32[7]" WEIGHED,
                     op, pools[i], op, pools[i]);
            gradients_hold(text, false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_images_backwards),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_pools_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
