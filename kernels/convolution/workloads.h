/* SPDX-License-Identifier: Apache-2.0 */
/* The workloads of op_conv2d.c: convolutions of real networks, and small odd ones for tests. */
#ifndef OPTUNE_KERNELS_CONV2D_WORKLOADS_H
#define OPTUNE_KERNELS_CONV2D_WORKLOADS_H

#include "optune/define.h"

#define ONE(c, h, o)                                                                             \
    "conv2d(f32[1," #c "," #h "," #h "], const f32[" #o "," #c ",1,1])"
#define ONE_S2(c, h, o)                                                                          \
    "conv2d(f32[1," #c "," #h "," #h "], const f32[" #o "," #c ",1,1], strides=[2,2])"
#define THREE(c, h, o)                                                                           \
    "conv2d(f32[1," #c "," #h "," #h "], const f32[" #o "," #c ",3,3], padding=[1,1,1,1])"
#define THREE_S2(c, h, o)                                                                        \
    "conv2d(f32[1," #c "," #h "," #h "], const f32[" #o "," #c                                  \
    ",3,3], strides=[2,2], padding=[1,1,1,1])"
#define DEPTHWISE(c, h, s)                                                                       \
    "conv2d(f32[1," #c "," #h "," #h "], const f32[" #c ",1,3,3], strides=[" #s "," #s          \
    "], padding=[1,1,1,1], groups=" #c ")"

static const char *const resnet50[] = {
    "conv2d(f32[1,3,224,224], const f32[64,3,7,7], strides=[2,2], padding=[3,3,3,3])",
    ONE(64, 56, 64),     THREE(64, 56, 64),    ONE(64, 56, 256),      ONE(256, 56, 64),
    ONE(256, 56, 128),   THREE_S2(128, 56, 128), ONE(128, 28, 512),   ONE_S2(256, 56, 512),
    ONE(512, 28, 128),   THREE(128, 28, 128),  ONE(512, 28, 256),     THREE_S2(256, 28, 256),
    ONE(256, 14, 1024),  ONE_S2(512, 28, 1024), ONE(1024, 14, 256),   THREE(256, 14, 256),
    ONE(1024, 14, 512),  THREE_S2(512, 14, 512), ONE(512, 7, 2048),   ONE_S2(1024, 14, 2048),
    ONE(2048, 7, 512),   THREE(512, 7, 512),   NULL,
};

static const char *const vgg16[] = {
    THREE(3, 224, 64),   THREE(64, 224, 64),  THREE(64, 112, 128),
    THREE(128, 112, 128), THREE(128, 56, 256), THREE(256, 56, 256),
    THREE(256, 28, 512), THREE(512, 28, 512), THREE(512, 14, 512),
    NULL,
};

static const char *const mobilenetv2[] = {
    THREE_S2(3, 224, 32),  DEPTHWISE(32, 112, 1), ONE(32, 112, 16),      ONE(16, 112, 96),
    DEPTHWISE(96, 112, 2), ONE(96, 56, 24),       ONE(24, 56, 144),      DEPTHWISE(144, 56, 1),
    ONE(144, 56, 24),      DEPTHWISE(144, 56, 2), ONE(144, 28, 32),      ONE(32, 28, 192),
    DEPTHWISE(192, 28, 1), ONE(192, 28, 32),      DEPTHWISE(192, 28, 2), ONE(192, 14, 64),
    ONE(64, 14, 384),      DEPTHWISE(384, 14, 1), ONE(384, 14, 64),      ONE(384, 14, 96),
    ONE(96, 14, 576),      DEPTHWISE(576, 14, 1), ONE(576, 14, 96),      DEPTHWISE(576, 14, 2),
    ONE(576, 7, 160),      ONE(160, 7, 960),      DEPTHWISE(960, 7, 1),  ONE(960, 7, 160),
    ONE(960, 7, 320),      ONE(320, 7, 1280),     NULL,
};

static const optune_preset presets[] = {
    {.name = "resnet50",
     .description = "the 23 distinct convolutions of ResNet-50 at 224x224, batch 1, strides on "
                    "the 3x3 ones (\"v1.5\")",
     .workloads = resnet50},
    {.name = "vgg16",
     .description = "the 9 distinct convolutions of VGG-16 at 224x224, batch 1",
     .workloads = vgg16},
    {.name = "mobilenetv2",
     .description = "the 30 distinct convolutions of MobileNet-V2 1.0 at 224x224, batch 1",
     .workloads = mobilenetv2},
    {0},
};

static const char *const samples[] = {
    "conv2d(f32[1,1,1,1], const f32[1,1,1,1])",
    "conv2d(f16[1,16,13,14], const f16[24,16,3,3], padding=[1,1,1,1])",
    "conv2d(bf16[2,24,9,9], const bf16[32,24,1,1], out_dtype=f32)",
    "conv2d(bf16[1,12,11,13], const bf16[20,12,1,1])",
    "conv2d(f16[1,3,17,15], const f16[16,3,3,3], strides=[2,2], padding=[1,1,1,1], "
    "out_dtype=f32)",
    "conv2d(bf16[2,12,9,11], const bf16[10,6,3,2], strides=[2,1], padding=[0,1,2,1], "
    "dilation=[1,2], groups=2)",
    "conv2d(i8[1,16,10,10], const i8[16,16,3,3], padding=[1,1,1,1], out_dtype=i32)",
    "conv2d(f32[1,16,12,12], const f32[24,16,3,3], padding=[1,1,1,1], math=tf32)",
    "conv2d(f32[1,3,17,19], const f32[8,3,3,3], padding=[1,1,1,1])",
    "conv2d(f32[1,16,14,14], const f32[32,16,3,3], padding=[1,1,1,1])",
    "conv2d(f32[2,10,15,13], const f32[18,10,3,3], strides=[2,2], padding=[1,1,1,1])",
    "conv2d(f32[1,16,22,17], const f32[40,16,3,3], strides=[2,1], padding=[0,1,1,0])",
    "conv2d(f32[1,1,29,30,16], const f32[16,16,3,3], strides=[2,2], padding=[1,1,1,1], "
    "data_layout=NCHW16c)",
    "conv2d(f64[1,9,13,12], const f64[11,9,3,3], strides=[1,2], padding=[1,1,1,1])",
    "conv2d(f32[2,5,11,13], const f32[7,5,3,3], strides=[2,2], padding=[1,1,1,1])",
    "conv2d(f32[1,6,15,12], const f32[10,6,3,5], padding=[0,2,1,3], dilation=[2,1])",
    "conv2d(f32[1,4,16,16], const f32[9,4,3,3], strides=[2,1], padding=[2,0,1,1], "
    "dilation=[1,2])",
    "conv2d(f32[1,3,33,35], const f32[24,3,7,7], strides=[2,2], padding=[3,3,3,3])",
    "conv2d(f32[2,4,21,37], const f32[20,4,5,5], padding=[2,2,2,2])",
    "conv2d(f64[1,2,18,23], const f64[9,2,6,7], strides=[1,2], padding=[2,3,3,3])",
    "conv2d(f32[1,32,15,14], const f32[24,32,3,3], strides=[2,2], padding=[1,1,1,1])",
    "conv2d(f32[1,128,8,9], const f32[20,128,3,3], padding=[1,1,1,1])",
    "conv2d(f64[2,6,15,18], const f64[9,6,1,1], strides=[3,2])",
    "conv2d(f32[1,40,7,7], const f32[72,40,1,1])",
    "conv2d(f32[2,33,9,9], const f32[17,33,1,1])",
    "conv2d(f32[1,20,5,10], const f32[30,10,1,1], groups=2)",
    "conv2d(f32[1,24,14,14], const f32[48,24,1,1], strides=[2,2])",
    "conv2d(f32[1,32,28,28], var f32[16,32,1,1])",
    "conv2d(f32[1,8,12,12], var f32[8,8,3,3], padding=[1,1,1,1])",
    "conv2d(f32[1,12,10,10], const f32[18,4,3,3], padding=[1,1,1,1], groups=3)",
    "conv2d(f32[1,20,13,15], const f32[20,1,3,3], padding=[1,1,1,1], groups=20)",
    "conv2d(f32[2,12,14,14], const f32[12,1,3,3], strides=[2,2], padding=[1,1,1,1], groups=12)",
    "conv2d(f32[1,6,11,11], const f32[12,1,5,5], padding=[2,2,2,2], groups=6)",
    "conv2d(f32[1,2,14,14,16], const f32[32,32,3,3], padding=[1,1,1,1], data_layout=NCHW16c)",
    "conv2d(f32[2,3,9,11,8], const f32[40,24,3,3], strides=[2,2], padding=[1,1,1,1], "
    "data_layout=NCHW8c)",
    "conv2d(f32[1,4,7,7,16], const f32[64,64,1,1], data_layout=NCHW16c)",
    "conv2d(f32[1,2,15,15,8], const f32[32,16,1,1], strides=[2,2], data_layout=NCHW8c, "
    "out_layout=NCHW16c)",
    "conv2d(f32[1,3,20,22], const f32[32,3,3,3], strides=[2,2], padding=[1,1,1,1], "
    "out_layout=NCHW16c)",
    "conv2d(f32[1,2,12,12,16], const f32[21,32,3,3], padding=[1,1,1,1], data_layout=NCHW16c, "
    "out_layout=NCHW)",
    "conv2d(f32[1,3,10,10,8], const f32[24,1,3,3], padding=[1,1,1,1], groups=24, "
    "data_layout=NCHW8c)",
    "conv2d(f32[1,4,10,10,4], const f32[16,8,3,3], padding=[1,1,1,1], groups=2, "
    "data_layout=NCHW4c)",
    "conv2d(f32[1,24,14,14], const f32[48,12,1,1], groups=2, out_layout=NCHW16c)",
    "conv2d(f32[1,24,9,10], const f32[48,12,3,3], padding=[1,1,1,1], groups=2, "
    "out_layout=NCHW16c)",
    "conv2d(f64[1,5,9,10], const f64[11,5,3,3], padding=[1,1,1,1])",
    "conv2d(f64[2,16,8,8], const f64[24,16,1,1])",
    "conv2d(f64[1,8,12,12], const f64[8,1,3,3], padding=[1,1,1,1], groups=8)",
    "conv2d(bf16[2,24,12,16], const bf16[24,1,3,3], padding=[1,1,1,1], groups=24)",
    "conv2d(f16[1,6,13,20], const f16[12,1,5,5], strides=[2,2], padding=[2,2,2,2], groups=6, "
    "out_dtype=f32)",
    "conv2d(bf16[2,3,19,20], const bf16[6,1,7,7], padding=[3,3,3,3], groups=3)",
    "conv2d(f16[1,5,37,22], f16[5,1,5,5], padding=[1,2,3,2], groups=5)",
    "conv2d(f16[1,2,9,15], f16[2,1,9,4], padding=[4,0,4,4], groups=2, out_dtype=f32)",
    "conv2d(f32[1,5,17,24], const f32[5,1,7,7], padding=[3,6,3,6], dilation=[1,2], groups=5)",
    "conv2d(f64[1,2,10,10,8], const f64[16,16,3,3], padding=[1,1,1,1], data_layout=NCHW8c)",
    NULL,
};

#endif
