/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a CUDA device: zeroed, and when it is guarded between two canaries that no kernel may
 * change and that are no number where one is read.
 */
#include <stdlib.h>

#include "target/cuda.h"

void ot_cuda_buffer_close(const ot_cuda *cu, ot_cuda_buffer *buffer)
{
    if (buffer->whole)
        cu->cuMemFree(buffer->whole);
    free(buffer);
}

int ot_cuda_buffer_open(const ot_cuda *cu, int64_t bytes, bool guarded, ot_cuda_buffer **buffer)
{
    /* Whole words: what adds to 16 bits in memory has the word that they lie in. */
    const size_t pad = guarded ? OT_GPU_PAD : 0;
    const size_t whole = ((size_t)(bytes ? bytes : 1) + 2 * pad + 3) / 4 * 4;
    ot_cuda_buffer *b = ot_alloc(sizeof *b);
    b->bytes = (size_t)bytes;
    b->guarded = guarded;
    int rc = cu->cuMemAlloc(&b->whole, whole);
    if (!rc)
        rc = cu->cuMemsetD8(b->whole, 0, whole);
    b->part = b->whole + pad;
    if (!rc && guarded)
        rc = cu->cuMemcpyHtoD(b->whole, ot_gpu_canary(), OT_GPU_PAD);
    if (!rc && guarded)
        rc = cu->cuMemcpyHtoD(b->part + b->bytes, ot_gpu_canary(), OT_GPU_PAD);
    *buffer = rc ? NULL : b;
    if (rc)
        ot_cuda_buffer_close(cu, b);
    return rc;
}

bool ot_cuda_buffer_intact(const ot_cuda *cu, const ot_cuda_buffer *buffer)
{
    static char pad[OT_GPU_PAD];
    for (int side = 0; side < 2 && buffer->guarded; side++) {
        const cuda_pointer at = side ? buffer->part + buffer->bytes : buffer->whole;
        if (cu->cuMemcpyDtoH(pad, at, sizeof pad) || !ot_gpu_canary_intact(pad))
            return false;
    }
    return true;
}
