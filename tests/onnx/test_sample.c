/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images and volumes between their pixels: GridSample, RoiAlign and DeformConv, in their modes and
 * what lies outside, with numbers worked out by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* A row of four pixels; places along it: pixels are half a unit wide, or two thirds apart. */
static void rows_at_places(void **state)
{
    static const float x[] = {1, 2, 4, 8};
    static const float grid[] = {-0.75f, 0, 0, 0, 0.25f, 0, 1, 0, 1.5f, 0, -1.75f, 0};
    static const struct {
        const char *mode, *pads;
        int64_t corners, opset;
        float y[6];
    } all[] = {
        {"bilinear", "zeros", 0, 16, {1, 3, 4, 4, 0, 0}},
        {"linear", "border", 0, 20, {1, 3, 4, 8, 8, 1}},
        {"linear", "reflection", 0, 20, {1, 3, 4, 8, 6, 2}},
        {"linear", "reflection", 1, 20, {1.375f, 3, 3.75f, 8, 5, 2.25f}},
        /* Halfway between two it is the even one: of 1 and 2 the third pixel, of 3 and 4 the
         * fifth, which is not there. */
        {"nearest", "zeros", 0, 20, {1, 4, 4, 0, 0, 0}},
        {"nearest", "reflection", 0, 20, {1, 4, 4, 8, 8, 2}},
        /* -0.09375 1 + 0.59375 2 + 0.59375 4 - 0.09375 8 in the middle */
        {"cubic", "border", 0, 20, {1, 2.71875f, 4, 8.375f, 8, 1}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        print_message("%s, %s\n", all[i].mode, all[i].pads);
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,4");
        onnx_initializer(&g, "grid", ONNX_FLOAT, "1,1,6,2", grid, sizeof grid);
        attr_text(&attrs, "mode", all[i].mode);
        attr_text(&attrs, "padding_mode", all[i].pads);
        attr_int(&attrs, "align_corners", all[i].corners);
        onnx_node(&g, "GridSample", "only", "x grid", "y", &attrs);
        onnx_gives(&g, all[i].opset, x, 6, all[i].y, 1e-5f);
    }
}

/* A plane that rises by 1 to the right and by 4 downwards: a mean is the value in the middle. */
static void boxes_of_a_plane(void **state)
{
    static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const float rois[] = {1, 1, 3, 3, 2, 2, 6, 6};
    static const int64_t image[] = {0, 0};
    static const struct {
        const char *where, *mode;
        int64_t ratio, opset;
        float scale, y[8];
    } all[] = {
        /* [0.5, 2.5] in bins of one pixel, [1.5, 5.5] in bins of 2x2: of places 2, 3, 4, 5 the
         * third is the edge, the last one outside. */
        {NULL, NULL, 0, 16, 1, {5, 6, 9, 10, 12.5f, 6.5f, 7.25f, 3.75f}},
        {NULL, NULL, 1, 10, 1, {7.5f, 8.5f, 11.5f, 12.5f, 15, 0, 0, 0}},
        {"half_pixel", "avg", 2, 16, 0.5f, {1.25f, 1.75f, 3.25f, 3.75f, 5, 6, 9, 10}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        print_message("case %d\n", i);
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,4,4");
        onnx_initializer(&g, "rois", ONNX_FLOAT, "2,4", rois, sizeof rois);
        onnx_initializer(&g, "image", ONNX_INT64, "2", image, sizeof image);
        if (all[i].where)
            attr_text(&attrs, "coordinate_transformation_mode", all[i].where);
        if (all[i].mode)
            attr_text(&attrs, "mode", all[i].mode);
        attr_int(&attrs, "sampling_ratio", all[i].ratio);
        attr_int(&attrs, "output_height", 2);
        attr_int(&attrs, "output_width", 2);
        attr_real(&attrs, "spatial_scale", all[i].scale);
        onnx_node(&g, "RoiAlign", "only", "x rois image", "y", &attrs);
        onnx_gives(&g, all[i].opset, x, 8, all[i].y, 1e-5f);
    }
}

/* Between the corners of a cube of 1 to 8, and the nearest of them. */
static void places_in_a_volume(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const float between[] = {0, 0, 0, -1, -1, 1, 1, -1, -1, -1, 1, 0};
    static const float near_corners[] = {0.4f,  -0.4f, -0.4f, -0.4f, 0.4f,  -0.4f,
                                         -0.4f, -0.4f, 0.4f,  -1.6f, -0.4f, -0.4f};
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    (void)state;
    for (int nearest = 0; nearest < 2; nearest++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2");
        onnx_initializer(&g, "grid", ONNX_FLOAT, "1,1,2,2,3", nearest ? near_corners : between,
                         sizeof between);
        attr_text(&attrs, "mode", nearest ? "nearest" : "linear");
        attr_int(&attrs, "align_corners", !nearest);
        onnx_node(&g, "GridSample", "only", "x grid", "y", &attrs);
        onnx_gives(&g, 20, x, 4,
                   nearest ? (const float[]){2, 3, 5, 0} : (const float[]){4.5f, 5, 2, 5},
                   1e-6f);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2");
    onnx_initializer(&g, "grid", ONNX_FLOAT, "1,1,2,2,3", between, sizeof between);
    attr_text(&attrs, "mode", "cubic");
    onnx_node(&g, "GridSample", "only", "x grid", "y", &attrs);
    assert_true(onnx_read(&g, 20, &graph, &err) < 0);
    check_contains(err.text, "mode 'cubic' is for images, not for volumes");
}

/* Pixels of a row of two, and of one, that is turned by a quarter and moved. */
static void grids_of_a_map(void **state)
{
    static const float theta[] = {0, -1, 0.5f, 1, 0, 0};
    static const int64_t size[] = {1, 1, 1, 2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int corners = 0; corners < 2; corners++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,2,3");
        onnx_initializer(&g, "size", ONNX_INT64, "4", size, sizeof size);
        attr_int(&attrs, "align_corners", corners);
        onnx_node(&g, "AffineGrid", "only", "x size", "y", &attrs);
        onnx_gives(&g, 20, theta, 4,
                   corners ? (const float[]){1.5f, -1, 1.5f, 1}
                           : (const float[]){0.5f, -0.5f, 0.5f, 0.5f},
                   1e-6f);
    }
}

/* Pixels under a kernel of 1 and 10 side by side: one is read a row further down, one between two,
 * one half outside; one counts half. */
static void windows_that_are_deformed(void **state)
{
    static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, w[] = {1, 10}, bias[] = {100};
    static const float offset[4][6] = {
        {0, 0, 0, -1.5f, 0, 0}, {0, 0, 0, 0, 0, 0.5f}, {1, 0, 0, 0, 0, 0}, {0}};
    static const float mask[] = {1, 1, 1, 1, 1, 1, 1, 1, 0.5f, 1, 1, 1};
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    (void)state;
    for (int groups = 1; groups <= 2; groups++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,3,3");
        onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,1,2", w, sizeof w);
        onnx_initializer(&g, "offset", ONNX_FLOAT, "1,4,3,2", offset, sizeof offset);
        onnx_initializer(&g, "b", ONNX_FLOAT, "1", bias, sizeof bias);
        onnx_initializer(&g, "mask", ONNX_FLOAT, "1,2,3,2", mask, sizeof mask);
        attr_int(&attrs, "offset_group", groups);
        onnx_node(&g, "DeformConv", "only", "x w offset b mask", "y", &attrs);
        if (groups == 1)
            onnx_gives(&g, 19, x, 6, (const float[]){140, 121, 123, 150.5f, 176, 187.5f},
                       1e-5f);
    }
    assert_true(onnx_read(&g, 19, &graph, &err) < 0);
    check_contains(err.text, "4 offsets of 2 places for 2 groups of 1 channels");
}

/* Positions of nearest neighbours and lengths are float32's, as PyTorch and onnxruntime have it: 3
 * over 0.6 is 5, ten times 2.3 is 23, and what a scale of 4/7 makes of a half is one. */
static void neighbours_by_scales_that_no_float_has(void **state)
{
    static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const float shrunk[] = {0, 1, 3, 5, 6, 8}, halves[] = {0, 2, 4, 5};
    static const float grown[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4,
                                  5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9};
    static const int64_t sizes[] = {1, 1, 4};
    static const struct {
        float scale; /* 0: by sizes */
        const char *dims, *rounded;
        int n;
        const float *want;
    } all[] = {{0.6f, "1,1,10", "floor", 6, shrunk},
               {2.3f, "1,1,10", "floor", 23, grown},
               {0, "1,1,7", "round_prefer_ceil", 4, halves}};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        const float scales[] = {1, 1, all[i].scale};
        onnx_input(&g, "x", ONNX_FLOAT, all[i].dims);
        onnx_initializer(&g, "scales", ONNX_FLOAT, "3", scales, sizeof scales);
        onnx_initializer(&g, "sizes", ONNX_INT64, "3", sizes, sizeof sizes);
        attr_text(&attrs, "coordinate_transformation_mode", "asymmetric");
        attr_text(&attrs, "nearest_mode", all[i].rounded);
        onnx_node(&g, "Resize", "resize", all[i].scale > 0 ? "x - scales" : "x - - sizes", "y",
                  &attrs);
        onnx_gives(&g, 19, x, all[i].n, all[i].want, 0);
    }
}

/* A part of a line that reaches beyond it, and one without an end. */
static void parts_of_lines(void **state)
{
    static const float x[] = {0, 10, 20, 30}, roi[] = {0, 0, 0.5f, 1, 1, 1.5f};
    static const float open[] = {0, 0, 0.5f, 1, 1, INFINITY};
    static const int64_t sizes[] = {1, 1, 4};
    static const float want[] = {15, 25, 7, 7};
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        ot_text g = {0}, attrs = {0};
        optune_graph *read;
        optune_err err = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,4");
        onnx_initializer(&g, "roi", ONNX_FLOAT, "6", wrong ? open : roi, sizeof roi);
        onnx_initializer(&g, "sizes", ONNX_INT64, "3", sizes, sizeof sizes);
        attr_text(&attrs, "coordinate_transformation_mode", "tf_crop_and_resize");
        attr_text(&attrs, "mode", "linear");
        attr_real(&attrs, "extrapolation_value", 7);
        onnx_node(&g, "Resize", "resize", "x roi - sizes", "y", &attrs);
        if (!wrong) {
            onnx_gives(&g, 19, x, 4, want, 1e-6f);
            continue;
        }
        onnx_output(&g, "y");
        assert_true(onnx_read(&g, 19, &read, &err) < 0);
        check_contains(err.text, "'roi' has 0.5 and inf");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_by_scales_that_no_float_has),
        cmocka_unit_test(parts_of_lines),
        cmocka_unit_test(rows_at_places),
        cmocka_unit_test(boxes_of_a_plane),
        cmocka_unit_test(places_in_a_volume),
        cmocka_unit_test(grids_of_a_map),
        cmocka_unit_test(windows_that_are_deformed),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
