/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcuda.so.1 where there is no GPU: device memory is the host's, graphs record
 * launches and replay them. It proves how the target `cuda` drives a driver, not what a GPU
 * computes: kernels are not run but looked up by name. `dense` and `matmul` are a product of the
 * shape in FAKE_CUDA_DENSE (M,N,K); `dense_<fault>` does the same and then what its name says. An
 * encoded tensor map begins with its tensor's address, so that `dense` takes maps, too. With
 * -DOLD_DRIVER there are none; with -DCRASHES it does not survive its start. `peak_<anything>` does
 * nothing; no module has the one that FAKE_CUDA_WITHOUT names. A module that is PTX has the kernels
 * that it says; each reads (from, bytes), as a flush does. With FAKE_CUDA_NO_CAPTURE nothing is
 * captured. Events read a clock that only work moves: a launch takes a microsecond, bringing a
 * graph to the device a millisecond. A thread that has not the context gets nothing done.
 *
 * With FAKE_CUDA_ANY every kernel is found, and launched does nothing: what it was to compute is
 * wrong. Such a kernel `hang`s, or `crash`es, where FAKE_CUDA_FAULTS says so (NAME:hang,NAME:crash
 * with the name of a kernel, what OPTUNE_TEST_IMPL names, or * for all).
 *
 * Build: cc -shared -fPIC -o libfake_cuda.so tests/data/fake_cuda.c, named by OPTUNE_CUDA_DRIVER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int

enum {
    MOST_ARGS = 24,
    PLAIN_SHARED = 48 << 10,
    INVALID = 1,
    OUT_OF_MEMORY = 2,
    BAD_IMAGE = 200,
    NO_CONTEXT = 201,
    ILLEGAL_ADDRESS = 700
};

typedef struct kernel {
    struct kernel *next; /* of its module, which ends it */
    char name[64];
    int shared; /* what it may ask for */
    int reads;  /* it is PTX's */
} kernel;

typedef struct module {
    kernel *first;
    char *text; /* of PTX; NULL: a binary */
} module;

typedef struct launch {
    struct launch *next;
    const kernel *kernel;
    uint64_t arg[MOST_ARGS];
    unsigned rows;
} launch;

typedef struct graph {
    launch *first, **last;
    int uploaded;
} graph;

static int sticky, hanging, context_refs;
static _Thread_local int current; /* this thread has the context */
static graph *capture;
static int64_t now_us;
static int taken, n_blocks; /* buffers that are open; that there ever were */
static struct block {
    uint64_t pointer; /* 0: it is closed */
    size_t bytes;
    int written;
} block[4096]; /* the first so many, the oldest first */

/* ---- the one kernel ---------------------------------------------------------------------- */

/* What follows `dense` or `matmul` in a kernel's name; NULL: neither begins it. */
static const char *fault_of(const char *name)
{
    static const char *const stems[] = {"dense", "matmul"};
    for (unsigned i = 0; i < sizeof stems / sizeof stems[0]; i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return name + strlen(stems[i]);
    return NULL;
}

static int is_peak(const char *name)
{
    return strncmp(name, "peak_", 5) == 0;
}

static int is(const launch *l, const char *fault)
{
    return strcmp(fault_of(l->kernel->name), fault) == 0;
}

/* Of all buffers as large as this tensor the oldest, but for that itself. */
static float *other(const float *data, size_t bytes)
{
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
        if (block[i].bytes == bytes && block[i].pointer &&
            block[i].pointer != (uint64_t)(uintptr_t)data)
            return (float *)(uintptr_t)block[i].pointer;
    return NULL;
}

/* How often something was read that is larger than the L2 and was written before; and whether
 * anything was written behind it, which then is in the L2 and has to leave it. */
enum { L2 = 1 << 20 };
__attribute__((visibility("default"))) int fake_cuda_flushes, fake_cuda_dirty;

static int flush(uint64_t from, uint64_t bytes)
{
    int inside = 0;
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
        inside |= block[i].pointer && block[i].pointer <= from && block[i].written &&
                  from + bytes <= block[i].pointer + block[i].bytes;
    if (!inside)
        return ILLEGAL_ADDRESS;
    if (bytes > L2) {
        fake_cuda_flushes++;
        fake_cuda_dirty = 0;
    }
    return 0;
}

/* Whether FAKE_CUDA_FAULTS has this fault for the name. */
static int listed(const char *name, const char *fault)
{
    char one[128];
    const char *all = getenv("FAKE_CUDA_FAULTS");
    snprintf(one, sizeof one, "%s:%s", name ? name : "-", fault);
    const char *at = all ? strstr(all, one) : NULL;
    while (at && at != all && at[-1] != ',')
        at = strstr(at + 1, one);
    return at != NULL;
}

static int has_fault(const launch *l, const char *fault)
{
    return listed("*", fault) || listed(l->kernel->name, fault) ||
           listed(getenv("OPTUNE_TEST_IMPL"), fault);
}

static void dense(const launch *l)
{
    int m = 0, n = 0, k = 0;
    if (getenv("FAKE_CUDA_ANY") && !l->kernel->reads) {
        now_us++;
        hanging |= has_fault(l, "hang");
        if (has_fault(l, "crash"))
            sticky = ILLEGAL_ADDRESS;
        return;
    }
    if (l->kernel->reads) {
        sticky = flush(l->arg[0], l->arg[1]);
        return;
    }
    now_us++;
    if (is_peak(l->kernel->name))
        return;
    const char *shape = getenv("FAKE_CUDA_DENSE");
    float *data = (float *)l->arg[0], *out = (float *)l->arg[2];
    const float *weight = (const float *)l->arg[1];
    if (!shape || sscanf(shape, "%d,%d,%d", &m, &n, &k) != 3)
        return;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n && !(is(l, "_half") && i % 2); j++) {
            float sum = is(l, "_read") ? 0 * data[m * k] : 0;
            for (int d = 0; d < k; d++)
                sum += data[i * k + d] * weight[j * k + d];
            out[i * n + j] = sum;
        }
    if (is(l, "_bounds"))
        out[m * n] = 0;
    if (is(l, "_before"))
        out[-1] = 0;
    if (is(l, "_input"))
        data[0] += 1;
    if (is(l, "_lie"))
        out[0] += 0.5f;
    float *stray = is(l, "_stray") ? other(data, (size_t)m * (size_t)k * sizeof *data) : NULL;
    if (stray)
        stray[0] = 1e6f;
    if (is(l, "_crash"))
        sticky = ILLEGAL_ADDRESS;
    if (is(l, "_hang"))
        hanging = 1;
}

/* What a library does before it launches anything takes the host's time, which the device waits. */
__attribute__((visibility("default"))) void fake_cuda_pass(int microseconds)
{
    now_us += microseconds;
}

/* ---- device ------------------------------------------------------------------------------ */

API cuInit(unsigned flags)
{
#ifdef CRASHES
    fputs("no firmware\n", stderr);
    abort();
#endif
    return flags ? INVALID : 0;
}

API cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

API cuGetErrorName(int code, const char **name)
{
    *name = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == BAD_IMAGE     ? "CUDA_ERROR_INVALID_IMAGE"
            : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                    : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}

API cuDeviceGetCount(int *n)
{
    *n = 1;
    return 0;
}

API cuDeviceGet(int *device, int ordinal)
{
    *device = 7;
    return ordinal ? INVALID : 0;
}

API cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Stand-in GPU");
    return device == 7 ? 0 : INVALID;
}

API cuDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "0000:00:00.0");
    return device == 7 ? 0 : INVALID;
}

API cuDeviceGetAttribute(int *value, int what, int device)
{
    static const struct {
        int what, value;
    } table[] = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {10, 32}, {12, 65536},
                 {16, 4},   {32, 1},   {38, L2},  {75, 9}, {76, 0},  {97, 232448}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].what == what) {
            *value = table[i].value;
            return device == 7 ? 0 : INVALID;
        }
    return INVALID;
}

API cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 30;
    return device == 7 ? 0 : INVALID;
}

API cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &context_refs;
    context_refs++;
    return device == 7 ? 0 : INVALID;
}

API cuDevicePrimaryCtxRelease_v2(int device)
{
    return device == 7 && context_refs-- > 0 ? 0 : INVALID;
}

API cuCtxSetCurrent(void *context)
{
    current = context == &context_refs;
    return current ? 0 : INVALID;
}

/* ---- modules, memory --------------------------------------------------------------------- */

API cuModuleLoadData(void **made, const void *image)
{
    if (!current)
        return NO_CONTEXT;
    if (sticky)
        return sticky;
    module *m = calloc(1, sizeof *m);
    *made = m;
    if (strncmp(image, ".version ", 9) == 0)
        m->text = strdup(image);
    return !m->text && (memcmp(image, "\177ELF", 4) || (uintptr_t)image % 8) ? BAD_IMAGE : 0;
}

API cuModuleUnload(module *m)
{
    if (!current)
        return NO_CONTEXT;
    for (kernel *k = m->first, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(m->text);
    free(m);
    return sticky;
}

API cuModuleGetFunction(void **function, module *m, const char *name)
{
    char entry[80];
    if (!m)
        return INVALID;
    kernel *k = calloc(1, sizeof *k);
    k->next = m->first;
    m->first = k;
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(entry, sizeof entry, ".entry %s(", name);
    k->shared = PLAIN_SHARED;
    k->reads = m->text != NULL;
    *function = k;
    if (getenv("FAKE_CUDA_WITHOUT") && strcmp(name, getenv("FAKE_CUDA_WITHOUT")) == 0)
        return INVALID;
    if (m->text)
        return strstr(m->text, entry) ? sticky : INVALID;
    if (getenv("FAKE_CUDA_ANY"))
        return sticky;
    return fault_of(name) || is_peak(name) ? sticky : INVALID;
}

API cuFuncSetAttribute(kernel *function, int what, int value)
{
    if (!current)
        return NO_CONTEXT;
    function->shared = value;
    return what == 8 && value <= 232448 ? sticky : INVALID;
}

API cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    if (!current)
        return NO_CONTEXT;
    const char *most = getenv("FAKE_CUDA_MEMORY"); /* bytes that one buffer may have */
    const char *room = getenv("FAKE_CUDA_ROOM");   /* buffers at once */
    if ((most && bytes > strtoull(most, NULL, 10)) || (room && taken >= atoi(room)))
        return OUT_OF_MEMORY;
    taken++;
    *pointer = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (n_blocks < (int)(sizeof block / sizeof block[0]))
        block[n_blocks++] = (struct block){*pointer, bytes, 0};
    return bytes ? sticky : INVALID;
}

API cuMemFree_v2(uint64_t pointer)
{
    if (!current)
        return NO_CONTEXT;
    taken--;
    for (int i = 0; i < n_blocks; i++)
        if (block[i].pointer == pointer)
            block[i].pointer = 0;
    free((void *)(uintptr_t)pointer);
    return sticky;
}

static void written(uint64_t to)
{
    fake_cuda_dirty = 1;
    for (int i = 0; i < n_blocks; i++)
        block[i].written |= block[i].pointer == to;
}

API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    if (!current)
        return NO_CONTEXT;
    written(to);
    if (!sticky)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return sticky;
}

API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    if (!current)
        return NO_CONTEXT;
    if (!sticky)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return sticky;
}

API cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
    if (!current)
        return NO_CONTEXT;
    if (!sticky)
        memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return sticky;
}

API cuMemsetD8_v2(uint64_t pointer, unsigned char value, size_t bytes)
{
    if (!current)
        return NO_CONTEXT;
    written(pointer);
    if (!sticky)
        memset((void *)(uintptr_t)pointer, value, bytes);
    return sticky;
}

API cuMemsetD8Async(uint64_t pointer, unsigned char value, size_t bytes, void *stream)
{
    return stream ? cuMemsetD8_v2(pointer, value, bytes) : INVALID;
}

/* ---- streams, events, graphs ------------------------------------------------------------- */

API cuStreamCreate(void **stream, unsigned flags)
{
    *stream = malloc(1);
    return flags ? INVALID : sticky;
}

API cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return sticky;
}

API cuStreamSynchronize(void *stream)
{
    while (hanging)
        sleep(1);
    return stream && !capture ? sticky : INVALID;
}

API cuStreamBeginCapture_v2(void *stream, int mode)
{
    if (!current)
        return NO_CONTEXT;
    if (!stream || capture || mode != 2 || getenv("FAKE_CUDA_NO_CAPTURE"))
        return INVALID;
    capture = calloc(1, sizeof *capture);
    capture->last = &capture->first;
    return 0;
}

API cuStreamEndCapture(void *stream, graph **made)
{
    *made = capture;
    capture = NULL;
    return stream && *made ? 0 : INVALID;
}

API cuGraphInstantiateWithFlags(graph **exec, graph *from, unsigned long long flags)
{
    *exec = malloc(sizeof **exec);
    **exec = *from;
    from->first = NULL; /* the launches are the instance's now */
    return flags ? INVALID : 0;
}

API cuGraphUpload(graph *exec, void *stream)
{
    if (!exec->uploaded)
        now_us += 1000;
    exec->uploaded = 1;
    return stream ? sticky : INVALID;
}

API cuGraphLaunch(graph *exec, void *stream)
{
    cuGraphUpload(exec, stream);
    for (const launch *l = exec->first; l; l = l->next)
        dense(l);
    return stream ? sticky : INVALID;
}

static void drop(graph *g)
{
    for (launch *l = g->first, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    free(g);
}

API cuGraphExecDestroy(graph *exec)
{
    drop(exec);
    return 0;
}

API cuGraphDestroy(graph *from)
{
    drop(from);
    return 0;
}

API cuEventCreate(int64_t **event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    return flags ? INVALID : sticky;
}

API cuEventRecord(int64_t *event, void *stream)
{
    if (!current)
        return NO_CONTEXT;
    *event = ++now_us;
    return stream ? sticky : INVALID;
}

API cuEventSynchronize(const int64_t *event)
{
    while (hanging)
        sleep(1);
    return *event ? sticky : INVALID;
}

API cuEventElapsedTime(float *ms, const int64_t *a, const int64_t *b)
{
    *ms = (float)(*b - *a - 1) * 1e-3f; /* recording took one */
    return sticky;
}

API cuEventDestroy_v2(int64_t *event)
{
    free(event);
    return sticky;
}

/* ---- tensor maps ------------------------------------------------------------------------- */

#ifndef OLD_DRIVER
/* What the driver's manual asks for; the map then holds the arguments as they came. */
API cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, void *base,
                           const uint64_t *dim, const uint64_t *stride, const unsigned *box,
                           const unsigned *step, int interleave, int swizzle, int promotion,
                           int fill)
{
    static const unsigned size[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4};
    static const unsigned span[] = {0, 32, 64, 128};
    if ((uintptr_t)map % 64 || type < 0 || type > 11 || rank < 1 || rank > 5 ||
        (uintptr_t)base % 16 || !base || interleave || swizzle < 0 || swizzle > 3 ||
        promotion < 0 || promotion > 3 || fill)
        return INVALID;
    memset(map, 0, 128);
    map[0] = (uintptr_t)base;
    map[1] = (uint64_t)type | (uint64_t)rank << 8 | (uint64_t)swizzle << 16;
    for (unsigned d = 0; d < rank; d++) {
        if (!dim[d] || dim[d] > (uint64_t)1 << 32 || !box[d] || box[d] > 256 || step[d] != 1 ||
            (d && (stride[d - 1] % 16 || stride[d - 1] >= (uint64_t)1 << 40)))
            return INVALID;
        map[2 + d] = dim[d];
        map[7 + d] = d ? stride[d - 1] : size[type];
        map[12 + d / 2] |= (uint64_t)box[d] << (d % 2 * 32);
    }
    const unsigned row = box[0] * size[type];
    return row % 16 || (swizzle && row > span[swizzle]) ? INVALID : sticky;
}

/* Of four dims; the numbers that the other has not are behind those of a box. */
API cuTensorMapEncodeIm2col(uint64_t *map, int type, unsigned rank, void *base,
                            const uint64_t *dim, const uint64_t *stride, const int *low,
                            const int *high, unsigned channels, unsigned pixels,
                            const unsigned *step, int interleave, int swizzle, int promotion,
                            int fill)
{
    const unsigned box[] = {channels, 1, 1, 1}, one[] = {1, 1, 1, 1};
    if (rank != 4 || !pixels || pixels > 1024 || step[3] != 1)
        return INVALID;
    for (int d = 0; d < 2; d++)
        if (low[d] < -128 || low[d] > 127 || high[d] < -128 || high[d] > 127 || !step[d + 1] ||
            step[d + 1] > 8 || (int64_t)dim[d + 1] + high[d] <= low[d])
            return INVALID;
    const int rc = cuTensorMapEncodeTiled(map, type, rank, base, dim, stride, box, one,
                                          interleave, swizzle, promotion, fill);
    for (int d = 0; d < 2; d++)
        map[14 + d] = (uint64_t)(low[d] & 255) | (uint64_t)(high[d] & 255) << 8 |
                      (uint64_t)step[d + 1] << 16 | (uint64_t)pixels << 32;
    return rc;
}
#endif

API cuLaunchKernel(const kernel *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void *stream, void **arg,
                   void **extra)
{
    if (!current)
        return NO_CONTEXT;
    if (sticky)
        return sticky;
    if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024 || extra ||
        !stream || (int)shared > function->shared)
        return INVALID;
    launch *l = calloc(1, sizeof *l);
    l->kernel = function;
    const int args = function->reads ? 2 : getenv("FAKE_CUDA_ANY") ? 0 : 3;
    for (int i = 0; i < args; i++)
        memcpy(&l->arg[i], arg[i], sizeof l->arg[i]);
    if (capture) {
        *capture->last = l;
        capture->last = &l->next;
        return 0;
    }
    dense(l);
    free(l);
    return function->reads ? sticky : 0;
}
