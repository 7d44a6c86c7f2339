/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps: what the copy engine of compute capability 9.0 is told of a tensor, encoded by
 * the driver into 128 bytes that a kernel gets by value. Drivers older than CUDA 12 have no
 * such function, so it is looked up when the first map is made, and its absence refuses that
 * plan only.
 *
 * Plans were judged by arithmetic before; what only the address can tell is judged here.
 */
#include <pthread.h>
#include <string.h>

#include "target/cuda.h"

/* The numbers that the driver's header gives these. */
enum {
    TYPE_UINT8 = 0,
    TYPE_UINT16 = 1,
    TYPE_UINT32 = 2,
    TYPE_INT32 = 3,
    TYPE_UINT64 = 4,
    TYPE_INT64 = 5,
    TYPE_FLOAT16 = 6,
    TYPE_FLOAT32 = 7,
    TYPE_FLOAT64 = 8,
    TYPE_BFLOAT16 = 9,
    TYPE_TFLOAT32 = 11,
    INTERLEAVE_NONE = 0,
    PROMOTE_256 = 3,
    FILL_ZERO = 0,
};

typedef int encode_function(void *map, int type, unsigned rank, void *base, const uint64_t *dim,
                            const uint64_t *stride, const unsigned *box, const unsigned *step,
                            int interleave, int swizzle, int promotion, int fill);

typedef int encode_pixels_function(void *map, int type, unsigned rank, void *base,
                                   const uint64_t *dim, const uint64_t *stride, const int *low,
                                   const int *high, unsigned channels, unsigned pixels,
                                   const unsigned *step, int interleave, int swizzle,
                                   int promotion, int fill);

static encode_function *encode;
static encode_pixels_function *encode_pixels;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_encode(void)
{
    void *const boxes = ot_cuda_entry("cuTensorMapEncodeTiled");
    void *const pixels = ot_cuda_entry("cuTensorMapEncodeIm2col");
    memcpy(&encode, &boxes, sizeof boxes);
    memcpy(&encode_pixels, &pixels, sizeof pixels);
}

static int type_of(const optune_tensor_map *map)
{
    static const struct {
        uint8_t code, bits;
        int type;
    } table[] = {
        {OPTUNE_DTYPE_FLOAT, 16, TYPE_FLOAT16}, {OPTUNE_DTYPE_FLOAT, 32, TYPE_FLOAT32},
        {OPTUNE_DTYPE_FLOAT, 64, TYPE_FLOAT64}, {OPTUNE_DTYPE_BFLOAT, 16, TYPE_BFLOAT16},
        {OPTUNE_DTYPE_INT, 8, TYPE_UINT8},      {OPTUNE_DTYPE_UINT, 8, TYPE_UINT8},
        {OPTUNE_DTYPE_INT, 16, TYPE_UINT16},    {OPTUNE_DTYPE_UINT, 16, TYPE_UINT16},
        {OPTUNE_DTYPE_INT, 32, TYPE_INT32},     {OPTUNE_DTYPE_UINT, 32, TYPE_UINT32},
        {OPTUNE_DTYPE_INT, 64, TYPE_INT64},     {OPTUNE_DTYPE_UINT, 64, TYPE_UINT64},
    };
    if (map->tf32)
        return TYPE_TFLOAT32;
    for (int i = 0; i < OT_COUNT(table); i++)
        if (table[i].code == map->dtype.code && table[i].bits == map->dtype.bits)
            return table[i].type;
    return -1;
}

static int swizzle_of(const optune_tensor_map *map)
{
    return map->swizzle == 32 ? 1 : map->swizzle == 64 ? 2 : map->swizzle == 128 ? 3 : 0;
}

int ot_cuda_map(const optune_tensor_map *map, cuda_pointer base, ot_cuda_tensor_map *to,
                optune_err *err)
{
    pthread_once(&once, find_encode);
    if (!encode || !encode_pixels)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "NVIDIA's driver has no '%s': tensor maps need one of CUDA 12 or "
                           "newer",
                           encode ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled");
    const int type = type_of(map);
    if (type < 0)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "no tensor map of this element type");
    if (base == 0 || base % 16)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a tensor map's tensor at %#llx is not aligned to 16 bytes",
                           (unsigned long long)base);
    uint64_t dim[OPTUNE_TENSOR_MAP_RANK], stride[OPTUNE_TENSOR_MAP_RANK];
    unsigned box[OPTUNE_TENSOR_MAP_RANK], step[OPTUNE_TENSOR_MAP_RANK];
    for (int d = 0; d < map->rank; d++) {
        dim[d] = (uint64_t)map->dim[d];
        box[d] = (unsigned)map->box[d];
        step[d] = 1;
        if (d > 0)
            stride[d - 1] = (uint64_t)map->stride[d];
    }
    for (int d = 0; d < 2 && map->pixels; d++)
        step[d + 1] = (unsigned)map->step[d];
    void *const start = (void *)(uintptr_t)base;
    const unsigned rank = (unsigned)map->rank;
    const int swizzle = swizzle_of(map);
    const int rc = map->pixels
                       ? encode_pixels(to, type, rank, start, dim, stride, map->low, map->high,
                                       box[0], (unsigned)map->pixels, step, INTERLEAVE_NONE,
                                       swizzle, PROMOTE_256, FILL_ZERO)
                       : encode(to, type, rank, start, dim, stride, box, step, INTERLEAVE_NONE,
                                swizzle, PROMOTE_256, FILL_ZERO);
    return rc ? optune_fail(err, OPTUNE_EIO, "cannot encode a tensor map: %s",
                            ot_cuda_error(rc))
              : OPTUNE_OK;
}
