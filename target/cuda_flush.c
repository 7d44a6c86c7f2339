/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empties a device's L2 by reading what nobody else uses, so that all lines are clean: those of a
 * fill would have to be written back first, in the time of a kernel that needs their room. The
 * kernel is PTX, which the driver compiles: a worker has no compiler.
 */
#include "target/cuda.h"

enum {
    FACTOR = 4,          /* times the L2 are read */
    UNKNOWN = 256 << 20, /* bytes, where its size is not */
    THREADS = 256,
    RESIDENT = 2048, /* threads of a multiprocessor */
    EACH = 64        /* bytes that a thread reads at once, as the PTX says */
};

/* flush(from, bytes): threads read 16 bytes each, four times a turn, past L1. The sum of it all is
 * stored where it has one value of 2^32, lest nothing is read. */
static const char text[] = ".version 6.0\n"
                           ".target sm_50\n"
                           ".address_size 64\n"
                           ".visible .entry flush(.param .u64 from, .param .u64 bytes)\n"
                           "{\n"
                           "    .reg .b32 %w<21>;\n"
                           "    .reg .b64 %d<8>;\n"
                           "    .reg .pred %p<2>;\n"
                           "    ld.param.u64 %d0, [from];\n"
                           "    ld.param.u64 %d1, [bytes];\n"
                           "    cvta.to.global.u64 %d0, %d0;\n"
                           "    mov.u32 %w0, %ctaid.x;\n"
                           "    mov.u32 %w1, %ntid.x;\n"
                           "    mov.u32 %w2, %tid.x;\n"
                           "    mov.u32 %w3, %nctaid.x;\n"
                           "    mad.lo.u32 %w0, %w0, %w1, %w2;\n"
                           "    mul.lo.u32 %w3, %w3, %w1;\n"
                           "    mul.wide.u32 %d2, %w0, 16;\n" /* this thread's place */
                           "    mul.wide.u32 %d3, %w3, 16;\n" /* to its next one */
                           "    shl.b64 %d4, %d3, 2;\n"       /* and that of the next turn */
                           "    mov.u32 %w4, 0;\n"
                           "    bra test;\n"
                           "turn:\n"
                           "    add.u64 %d5, %d0, %d2;\n"
                           "    add.u64 %d6, %d5, %d3;\n"
                           "    ld.global.cg.v4.u32 {%w5, %w6, %w7, %w8}, [%d5];\n"
                           "    ld.global.cg.v4.u32 {%w9, %w10, %w11, %w12}, [%d6];\n"
                           "    add.u64 %d5, %d6, %d3;\n"
                           "    add.u64 %d6, %d5, %d3;\n"
                           "    ld.global.cg.v4.u32 {%w13, %w14, %w15, %w16}, [%d5];\n"
                           "    ld.global.cg.v4.u32 {%w17, %w18, %w19, %w20}, [%d6];\n"
                           "    add.u32 %w5, %w5, %w6;\n"
                           "    add.u32 %w7, %w7, %w8;\n"
                           "    add.u32 %w9, %w9, %w10;\n"
                           "    add.u32 %w11, %w11, %w12;\n"
                           "    add.u32 %w13, %w13, %w14;\n"
                           "    add.u32 %w15, %w15, %w16;\n"
                           "    add.u32 %w17, %w17, %w18;\n"
                           "    add.u32 %w19, %w19, %w20;\n"
                           "    add.u32 %w5, %w5, %w7;\n"
                           "    add.u32 %w9, %w9, %w11;\n"
                           "    add.u32 %w13, %w13, %w15;\n"
                           "    add.u32 %w17, %w17, %w19;\n"
                           "    add.u32 %w5, %w5, %w9;\n"
                           "    add.u32 %w13, %w13, %w17;\n"
                           "    add.u32 %w4, %w4, %w5;\n"
                           "    add.u32 %w4, %w4, %w13;\n"
                           "    add.u64 %d2, %d2, %d4;\n"
                           "test:\n"
                           "    setp.lt.u64 %p0, %d2, %d1;\n"
                           "    @%p0 bra turn;\n"
                           "    setp.eq.u32 %p1, %w4, 2147483647;\n"
                           "    @%p1 st.global.u32 [%d0], %w4;\n"
                           "    ret;\n"
                           "}\n";

static int blocks(const optune_device *device)
{
    return (device->cores > 0 ? device->cores : 1) * (RESIDENT / THREADS);
}

/* What all threads read in whole turns, at least as much as wanted. */
static size_t bytes_of(const optune_device *device)
{
    const size_t turn = (size_t)blocks(device) * THREADS * EACH;
    const size_t wanted = device->l2 > 0 ? FACTOR * (size_t)device->l2 : UNKNOWN;
    return (wanted + turn - 1) / turn * turn;
}

static int launch(const ot_cuda *cu, ot_cuda_flusher *f, const optune_device *device,
                  cuda_stream stream)
{
    uint64_t bytes = f->bytes;
    void *arg[] = {&f->from, &bytes};
    return cu->cuLaunchKernel(f->read, (unsigned)blocks(device), 1, 1, THREADS, 1, 1, 0, stream,
                              arg, NULL);
}

/* Memory that was never written might not be there. What is left of writing it goes, too. */
static int open(const ot_cuda *cu, ot_cuda_flusher *f, const optune_device *device,
                cuda_stream stream)
{
    f->bytes = bytes_of(device);
    int rc = f->module ? 0 : cu->cuModuleLoadData(&f->module, text);
    if (!rc)
        rc = cu->cuModuleGetFunction(&f->read, f->module, "flush");
    if (!rc)
        rc = cu->cuMemAlloc(&f->from, f->bytes);
    if (rc)
        return rc;
    rc = cu->cuMemsetD8Async(f->from, 1, f->bytes, stream);
    return rc ? rc : launch(cu, f, device, stream);
}

int ot_cuda_flush(const ot_cuda *cu, ot_cuda_flusher *f, const optune_device *device,
                  cuda_stream stream)
{
    const int rc = f->from ? 0 : open(cu, f, device, stream);
    return rc ? rc : launch(cu, f, device, stream);
}

void ot_cuda_flusher_close(const ot_cuda *cu, ot_cuda_flusher *f)
{
    if (f->from)
        cu->cuMemFree(f->from);
    if (f->module)
        cu->cuModuleUnload(f->module);
    *f = (ot_cuda_flusher){0};
}
