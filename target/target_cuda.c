/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target `cuda`: one device through the driver API, one stream, times from events around
 * graphs, so that what is timed is the device and not the launching, which may take longer.
 *
 * The one idea: a fault on the device poisons the whole context, so nothing is repaired here;
 * the row says that it is no longer alive, and another process takes over.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/cuda.h"
#include "target/library.h"

enum {
    MOST_REPLAYED = 16,      /* runs in one graph */
    PLAIN_SHARED = 48 << 10, /* more must be asked for */
    OUT_OF_MEMORY = 2,       /* CUDA's */
};

static const char *const keys[] = {"cuda", "gpu", NULL};

typedef struct cuda_state {
    const ot_cuda *cu;
    optune_device device;
    int id;
    cuda_context context;
    cuda_stream stream;
    cuda_event begin, end;
    ot_cuda_flusher flusher;
    bool flushing; /* a flush is on its way */
    bool broken;
    bool timing;         /* the events and the flush are in use */
    bool asked;          /* by a body, which is being measured for itself */
    ot_cuda_clock clock; /* for bodies */
    ot_library_words words;
    ot_libraries libraries;
} cuda_state;

static double seconds_of(ot_cuda_clock *clock, void (*body)(void *const *arg), void *const *arg,
                         int n, int cold);

typedef struct function { /* what `symbol` gives; the module's memory */
    struct function *next;
    cuda_function device;
    void (*host)(void *const *arg);
} function;

typedef struct loaded { /* a module */
    cuda_module device; /* NULL: a shared object of the host */
    void *host;
    function *functions;
} loaded;

/* Notes what an error means here: after a fault nothing works any more. */
static int failed(cuda_state *s, int rc, const char *doing, optune_err *err)
{
    static const int harmless[] = {1, 2, 200, 209, 500, 701, 801, 912}; /* nothing ran */
    bool sticky = true;
    for (int i = 0; i < OT_COUNT(harmless); i++)
        sticky = sticky && rc != harmless[i];
    s->broken = s->broken || sticky;
    return optune_fail(err, OPTUNE_EIO, "%s: %s", doing, ot_cuda_error(rc));
}

/* The driver, for whichever of the caller's threads this is: its context is a thread's own. */
static const ot_cuda *here(const cuda_state *s)
{
    s->cu->cuCtxSetCurrent(s->context);
    return s->cu;
}

static void close_cuda(void *state)
{
    cuda_state *s = state;
    if (s->begin)
        here(s)->cuEventDestroy(s->begin);
    if (s->end)
        s->cu->cuEventDestroy(s->end);
    if (s->context)
        ot_cuda_flusher_close(here(s), &s->flusher);
    if (s->stream)
        s->cu->cuStreamDestroy(s->stream);
    if (s->context)
        s->cu->cuDevicePrimaryCtxRelease(s->id);
    *s = (cuda_state){0};
}

static int open_cuda(void *state, const optune_target *target, const optune_device *device,
                     optune_err *err)
{
    cuda_state *s = state;
    s->device = *device;
    s->clock.seconds = seconds_of;
    int status = ot_cuda_open(&s->cu, err);
    if (status >= 0)
        status = ot_cuda_find(s->cu, target->device, &s->id, err);
    if (status < 0)
        return status;
    int rc = s->cu->cuDevicePrimaryCtxRetain(&s->context, s->id);
    if (!rc)
        rc = s->cu->cuCtxSetCurrent(s->context);
    if (!rc)
        rc = s->cu->cuStreamCreate(&s->stream, 0); /* ordered with copies and fills */
    if (!rc)
        rc = s->cu->cuEventCreate(&s->begin, 0);
    if (!rc)
        rc = s->cu->cuEventCreate(&s->end, 0);
    return rc ? optune_fail(err, OPTUNE_ENODEV, "'%s' gives no context: %s", device->name,
                            ot_cuda_error(rc))
              : OPTUNE_OK;
}

static int flush(void *state)
{
    cuda_state *s = state;
    const int rc = ot_cuda_flush(here(s), &s->flusher, &s->device, s->stream);
    s->flushing = !rc;
    return rc ? failed(s, rc, "flushing", NULL) : OPTUNE_OK;
}

static bool alive(void *state)
{
    return !((const cuda_state *)state)->broken;
}

/* ---- modules ----------------------------------------------------------------------------- */

static void unload(void *state, void *handle)
{
    cuda_state *s = state;
    loaded *l = handle;
    for (function *f = l->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    if (l->device)
        here(s)->cuModuleUnload(l->device);
    if (l->host) {
        ot_library_words_drop(&s->words, l->host);
        dlclose(l->host);
    }
    free(l);
}

static int load_device(cuda_state *s, const char *path, loaded *l, optune_err *err)
{
    ot_text all = {0};
    const void *binary;
    size_t size;
    int status = ot_gpu_module_read(path, &all, &binary, &size, err);
    if (status >= 0) {
        void *image = ot_alloc(size + 16); /* aligned, as the driver likes it */
        memcpy(image, binary, size);
        const int rc = here(s)->cuModuleLoadData(&l->device, image);
        free(image);
        status = rc ? failed(s, rc, "cannot load module", err) : OPTUNE_OK;
    }
    ot_text_release(&all);
    return status;
}

static int load_host(cuda_state *s, const char *path, loaded *l, optune_err *err)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* its own number may come again */
    if (file < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot load module '%s': %s", path,
                           strerror(errno));
    l->host = ot_library_of_file(file);
    close(file);
    if (!l->host)
        return optune_fail(err, OPTUNE_EIO, "cannot load module: %s", ot_library_why());
    ot_library_words_add(&s->words, l->host);
    return OPTUNE_OK;
}

static int load(void *state, const char *path, void **handle, optune_err *err)
{
    cuda_state *s = state;
    loaded *l = ot_alloc(sizeof *l);
    int status = OPTUNE_OK;
    if (ot_gpu_module_is_host(path)) {
        status = load_host(s, path, l, err);
    } else {
        status = load_device(s, path, l, err);
    }
    if (status < 0)
        unload(state, l);
    else
        *handle = l;
    return status;
}

static void *symbol(void *state, void *handle, const char *name)
{
    cuda_state *s = state;
    loaded *l = handle;
    function found = {.next = l->functions};
    if (l->host) {
        void *const address = dlsym(l->host, name);
        memcpy(&found.host, &address, sizeof address);
        if (!address)
            return NULL;
    } else if (s->cu->cuModuleGetFunction(&found.device, l->device, name)) {
        return NULL;
    }
    l->functions = ot_alloc(sizeof found);
    *l->functions = found;
    return l->functions;
}

static int open_library(void *state, const char *name, void **handle, optune_err *err)
{
    (void)state;
    return ot_cuda_library_of(name, handle, err);
}

/* The stream and the clock come by the same way as a library's functions do. */
static void *library(void *state, const char *name, const char *wanted, optune_err *err)
{
    cuda_state *s = state;
    if (strcmp(wanted, "ot_stream") == 0)
        return s->stream;
    if (strcmp(wanted, "ot_clock") == 0)
        return &s->clock;
    void *handle = ot_libraries_open(&s->libraries, name, open_library, s, err);
    void *found = handle ? dlsym(handle, wanted) : NULL;
    if (handle && !found)
        optune_fail(err, OPTUNE_ENOENT, "library '%s' has no function '%s'", name, wanted);
    return found;
}

/* ---- buffers ----------------------------------------------------------------------------- */

static void free_buffer(void *state, void *handle)
{
    ot_cuda_buffer_close(here(state), handle);
}

static int alloc(void *state, int64_t bytes, bool guarded, void **handle, optune_err *err)
{
    cuda_state *s = state;
    ot_cuda_buffer *b = NULL;
    const int rc = ot_cuda_buffer_open(here(s), bytes, guarded, &b);
    *handle = b;
    if (rc != OUT_OF_MEMORY)
        return rc ? failed(s, rc, "allocating", err) : OPTUNE_OK;
    return optune_fail(err, OPTUNE_ENOMEM, "no device memory for a buffer of %lld bytes: %s",
                       (long long)bytes, ot_cuda_error(rc));
}

static int write_buffer(void *state, void *handle, const void *from, int64_t bytes)
{
    cuda_state *s = state;
    const ot_cuda_buffer *b = handle;
    const int rc = bytes ? here(s)->cuMemcpyHtoD(b->part, from, (size_t)bytes) : 0;
    return rc ? failed(s, rc, "writing", NULL) : OPTUNE_OK;
}

static int read_buffer(void *state, const void *handle, void *to, int64_t bytes)
{
    cuda_state *s = state;
    const ot_cuda_buffer *b = handle;
    const int rc = bytes ? here(s)->cuMemcpyDtoH(to, b->part, (size_t)bytes) : 0;
    return rc ? failed(s, rc, "reading", NULL) : OPTUNE_OK;
}

static int read_part(void *state, const void *handle, int64_t at, void *to, int64_t bytes)
{
    cuda_state *s = state;
    const ot_cuda_buffer *b = handle;
    const cuda_pointer from = b->part + (cuda_pointer)at;
    const int rc = bytes ? here(s)->cuMemcpyDtoH(to, from, (size_t)bytes) : 0;
    return rc ? failed(s, rc, "reading", NULL) : OPTUNE_OK;
}

static int fill_buffer(void *state, void *handle, int byte, int64_t bytes)
{
    cuda_state *s = state;
    const ot_cuda_buffer *b = handle;
    const ot_cuda *cu = here(s);
    const int rc = bytes ? cu->cuMemsetD8(b->part, (unsigned char)byte, (size_t)bytes) : 0;
    return rc ? failed(s, rc, "filling", NULL) : OPTUNE_OK;
}

static int copy_buffer(void *state, void *to, const void *from, int64_t bytes)
{
    cuda_state *s = state;
    const ot_cuda_buffer *a = to, *b = from;
    const int rc = bytes ? here(s)->cuMemcpyDtoD(a->part, b->part, (size_t)bytes) : 0;
    return rc ? failed(s, rc, "copying", NULL) : OPTUNE_OK;
}

static bool intact(void *state, void *handle)
{
    return ot_cuda_buffer_intact(here(state), handle);
}

/* ---- launching --------------------------------------------------------------------------- */

/* A launch with its arguments as the driver, or a host body, takes them. */
typedef struct ready {
    ot_cuda_tensor_map map[OPTUNE_MAX_ARGS];
    const optune_stage *stage;
    const function *function;
    cuda_pointer pointer[OPTUNE_MAX_ARGS];
    float real[OPTUNE_MAX_ARGS];
    void *arg[OPTUNE_MAX_ARGS];
} ready;

static ready *new_ready(int n)
{
    ready *r = aligned_alloc(_Alignof(ready), (size_t)(n + 1) * sizeof *r);
    if (!r)
        abort();
    return r;
}

static int prepare_args(const optune_launch *launch, ready *to, optune_err *err)
{
    const bool host = to->function->host != NULL;
    const optune_tensor_map *map;
    int status = OPTUNE_OK;
    for (int i = 0; i < launch->stage->n_args && status >= 0; i++) {
        const ot_cuda_buffer *b = launch->arg[i];
        switch (launch->stage->arg[i].kind) {
        case OPTUNE_ARG_INPUT:
        case OPTUNE_ARG_OUTPUT:
        case OPTUNE_ARG_SCRATCH:
        case OPTUNE_ARG_DIMS:
            to->pointer[i] = b ? b->part : 0;
            to->arg[i] = host ? (void *)(uintptr_t)to->pointer[i] : &to->pointer[i];
            break;
        case OPTUNE_ARG_FLOAT:
            to->real[i] = (float)*(const double *)launch->arg[i];
            to->arg[i] = host ? launch->arg[i] : &to->real[i];
            break;
        case OPTUNE_ARG_INT:
        case OPTUNE_ARG_DIM:
            to->arg[i] = launch->arg[i];
            break;
        case OPTUNE_ARG_FUNCTION:
        case OPTUNE_ARG_SYMBOL:
            if (!host)
                return optune_fail(err, OPTUNE_EUSAGE, "a kernel cannot call '%s'",
                                   launch->stage->arg[i].symbol);
            to->arg[i] = launch->arg[i];
            break;
        case OPTUNE_ARG_TENSOR_MAP:
            if (host)
                return optune_fail(err, OPTUNE_EUNSUPPORTED,
                                   "a library's body takes no tensor map");
            map = launch->arg[i];
            b = map->buffer;
            to->arg[i] = &to->map[i];
            status = ot_cuda_map(map, b ? b->part : 0, &to->map[i], err);
            break;
        }
    }
    return status;
}

static int prepare(cuda_state *s, const optune_launch *launch, int n, ready *to,
                   optune_err *err)
{
    const ot_cuda *cu = here(s);
    int status = OPTUNE_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        const optune_stage *stage = launch[i].stage;
        to[i].stage = stage;
        to[i].function = launch[i].function;
        status = prepare_args(&launch[i], &to[i], err);
        if (status < 0 || to[i].function->host)
            continue;
        status = ot_gpu_check_launch(&s->device, stage, err);
        if (status >= 0 && stage->shared > PLAIN_SHARED) {
            const int rc = cu->cuFuncSetAttribute(
                to[i].function->device, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)stage->shared);
            status = rc ? failed(s, rc, stage->function, err) : OPTUNE_OK;
        }
    }
    return status;
}

static int launch_all(cuda_state *s, ready *stage, int n)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        const optune_stage *what = stage[i].stage;
        if (stage[i].function->host) {
            stage[i].function->host(stage[i].arg);
            continue;
        }
        unsigned grid[3], block[3];
        for (int k = 0; k < 3; k++) {
            grid[k] = (unsigned)ot_gpu_size(what->grid[k]);
            block[k] = (unsigned)ot_gpu_size(what->block[k]);
        }
        rc = s->cu->cuLaunchKernel(stage[i].function->device, grid[0], grid[1], grid[2],
                                   block[0], block[1], block[2], (unsigned)what->shared,
                                   s->stream, stage[i].arg, NULL);
    }
    return rc;
}

static int run(void *state, const optune_launch *launch, int n, optune_err *err)
{
    cuda_state *s = state;
    ready *stage = new_ready(n);
    int status = prepare(s, launch, n, stage, err);
    int rc = status < 0 ? 0 : launch_all(s, stage, n);
    if (status >= 0 && !rc)
        rc = s->cu->cuStreamSynchronize(s->stream);
    free(stage);
    if (rc)
        return failed(s, rc, n ? launch[0].stage->function : "waiting", err);
    return status < 0 ? status : ot_library_words_check(&s->words, err);
}

/* `replayed` runs as one graph; NULL where they cannot be captured, which is no failure. */
static cuda_graph_exec make_graph(cuda_state *s, ready *stage, int n, int64_t replayed)
{
    cuda_graph graph = NULL;
    cuda_graph_exec exec = NULL;
    if (s->cu->cuStreamBeginCapture(s->stream, CUDA_CAPTURE_RELAXED))
        return NULL;
    int rc = 0;
    for (int64_t k = 0; k < replayed && !rc; k++)
        rc = launch_all(s, stage, n);
    rc = s->cu->cuStreamEndCapture(s->stream, &graph) || rc;
    /* A library that cannot be captured says so, too. */
    if (ot_library_words_check(&s->words, NULL) < 0 || rc || !graph) {
        if (graph)
            s->cu->cuGraphDestroy(graph);
        return NULL;
    }
    if (s->cu->cuGraphInstantiate(&exec, graph, 0))
        exec = NULL;
    s->cu->cuGraphDestroy(graph);
    return exec;
}

/* Milliseconds between events around launches of the graph, or of the stages; CUDA's result. */
static int time_launches(cuda_state *s, ready *stage, int n, cuda_graph_exec graph,
                         int64_t launches, float *milliseconds)
{
    int rc = s->cu->cuEventRecord(s->begin, s->stream);
    for (; launches > 0 && !rc; launches--)
        rc = graph ? s->cu->cuGraphLaunch(graph, s->stream) : launch_all(s, stage, n);
    if (!rc)
        rc = s->cu->cuEventRecord(s->end, s->stream);
    if (!rc)
        rc = s->cu->cuEventSynchronize(s->end);
    return rc ? rc : s->cu->cuEventElapsedTime(milliseconds, s->begin, s->end);
}

static bool calls_libraries(const ready *stage, int n)
{
    while (n > 0 && !stage[n - 1].function->host)
        n--;
    return n > 0;
}

/* A graph's first launch brings it to the device, which is not in the time: short runs are launched
 * once in front of it, which also hides how long launching takes. A flush hides that as well, but
 * for what a library does in front of its launches: it does that for a graph, before a flush. What
 * a library cannot do while it is captured, it may have to do but once: choosing by trying, say. So
 * one that cannot be captured is run, and captured then; it may ask the clock in that run, which is
 * in no time. CUDA's result. */
static int time_ready(cuda_state *s, ready *stage, int n, int64_t count, double *seconds)
{
    const bool hidden = s->flushing, library = calls_libraries(stage, n);
    const int64_t graphs = (count + MOST_REPLAYED - 1) / MOST_REPLAYED;
    const int64_t replayed = graphs > 0 ? (count + graphs - 1) / graphs : 0;
    s->flushing = false;
    cuda_graph_exec graph = hidden && !library ? NULL : make_graph(s, stage, n, replayed);
    if (!graph && library) {
        s->timing = s->asked;
        const int ran = launch_all(s, stage, n);
        s->timing = true;
        graph = ran ? NULL : make_graph(s, stage, n, replayed);
    }
    float milliseconds = 0;
    int rc = !graph      ? 0
             : count > 1 ? s->cu->cuGraphLaunch(graph, s->stream)
                         : s->cu->cuGraphUpload(graph, s->stream);
    if (library && hidden && !rc && flush(s) >= 0)
        s->flushing = false;
    if (!rc)
        rc = time_launches(s, stage, n, graph, graph ? graphs : count, &milliseconds);
    if (graph)
        s->cu->cuGraphExecDestroy(graph);
    const double share = graph ? (double)count / (double)(graphs * replayed) : 1;
    *seconds = milliseconds > 0 ? milliseconds * 1e-3 * share : 1e-9;
    return rc;
}

static double time_runs(void *state, const optune_launch *launch, int n, int64_t count,
                        optune_err *err)
{
    cuda_state *s = state;
    double seconds = -1;
    ready *stage = new_ready(n);
    int rc = 0;
    if (prepare(s, launch, n, stage, err) < 0) {
        s->flushing = false;
        free(stage);
        return -1;
    }
    s->timing = true;
    rc = time_ready(s, stage, n, count, &seconds);
    s->timing = false;
    free(stage);
    if (rc)
        failed(s, rc, n ? launch[0].stage->function : "timing", err);
    return rc || ot_library_words_check(&s->words, err) < 0 ? -1 : seconds;
}

/* For a body that chooses by trying (kernels/common/cuda_clock.kernel.h). Not while it is timed or
 * captured: it would be in that time and move its events, or wait for what has not begun. */
static double seconds_of(ot_cuda_clock *clock, void (*body)(void *const *arg), void *const *arg,
                         int n, int cold)
{
    enum { RUNS = 8, TIMES = 3 };
    cuda_state *s = (cuda_state *)((char *)clock - offsetof(cuda_state, clock));
    if (s->timing || n > OPTUNE_MAX_ARGS)
        return -1;
    s->timing = s->asked = true;
    function called = {.host = body};
    ready *stage = new_ready(1);
    stage->function = &called;
    memcpy(stage->arg, arg, (size_t)n * sizeof *arg);
    double least = INFINITY;
    int rc = launch_all(s, stage, 1); /* what it loads the first time is not in the time */
    for (int i = 0; i < TIMES && !rc; i++) {
        double seconds = INFINITY;
        if (cold && flush(s) < 0)
            break;
        rc = time_ready(s, stage, 1, cold ? 1 : RUNS, &seconds);
        least = fmin(least, cold ? seconds : seconds / RUNS);
    }
    s->timing = s->asked = false;
    free(stage);
    return rc || isinf(least) ? -1 : least;
}

/* Clocks while it runs: read right behind some milliseconds of work. */
static void counters(void *state, const optune_launch *launch, int n, char *text, size_t size,
                     char *why)
{
    cuda_state *s = state;
    text[0] = why[0] = '\0';
    const double once = time_runs(s, launch, n, 1, NULL);
    if (once > 0)
        time_runs(s, launch, n, once < 5e-3 ? (int64_t)(5e-3 / once) + 1 : 1, NULL);
    ot_cuda_clocks(s->cu, s->id, text, size, why);
}

OPTUNE_TARGET(cuda) = {
    .name = "cuda",
    .summary = "NVIDIA GPUs, through the driver and NVRTC",
    .keys = keys,
    .source_suffix = ".cu",
    .module_suffix = ".cubin",
    .probe = ot_cuda_probe,
    .assume = ot_cuda_assume,
    .dependencies = ot_cuda_dependencies,
    .compile = ot_cuda_compile,
    .translate = ot_cuda_translate,
    .resources = ot_cuda_resources,
    .worker =
        {
            .state_size = sizeof(cuda_state),
            .open = open_cuda,
            .close = close_cuda,
            OT_WORKER_FUNCTIONS,
            .alive = alive,
            .flush = flush,
            .flush_by = "reading",
            .fill = fill_buffer,
            .copy = copy_buffer,
            .read_at = read_part,
            .library = library,
            .counters = counters,
        },
};
