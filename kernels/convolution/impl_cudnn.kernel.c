/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d through cuDNN's backend interface. Its heuristics list engines, the best guess first;
 * of these the ones that may serve are kept: they build here, want no more than WORKSPACE bytes
 * and compute in the call's numerics, so that float32 is not rounded unless TF32. With FASTEST
 * the first run measures all of them, as its users have it do, and later ones take the fastest,
 * if COLD the one that is when nothing is in the caches; else the first is taken. Macros: the
 * shape, FASTEST, COLD, WORKSPACE, TF32, TYPE.
 */
#include "kernels/common/cuda_clock.kernel.h"
#include "kernels/common/cuda_users.kernel.h"

/* The interface's numbers. */
enum {
    DATA_BFLOAT = 9,
    CROSS_CORRELATION = 1,

    A_CONVOLUTION = 1,
    AN_ENGINE = 2,
    A_CONFIG = 3,
    A_HEURISTIC = 4,
    A_PLAN = 5,
    A_FORWARD = 10,
    A_GRAPH = 15,
    A_PACK = 16,
    A_TENSOR = 17,

    OF_HANDLE = 0,
    OF_DATA_TYPE = 1,
    OF_INT = 3,
    OF_FLOAT = 4,
    OF_DOUBLE = 5,
    OF_POINTER = 6,
    OF_MODE = 7,
    OF_HEURISTIC = 8,
    OF_NOTE = 11,
    OF_DESCRIPTOR = 15,

    CONVOLUTION_TYPE = 100,
    CONVOLUTION_MODE = 101,
    CONVOLUTION_DILATIONS = 102,
    CONVOLUTION_STRIDES = 103,
    CONVOLUTION_POST_PADDING = 104,
    CONVOLUTION_PRE_PADDING = 105,
    CONVOLUTION_DIMS = 106,
    HEURISTIC_MODE = 200,
    HEURISTIC_GRAPH = 201,
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    PLAN_HANDLE = 400,
    PLAN_CONFIG = 401,
    PLAN_WORKSPACE = 402,
    FORWARD_ALPHA = 700,
    FORWARD_BETA = 701,
    FORWARD_CONVOLUTION = 702,
    FORWARD_W = 703,
    FORWARD_X = 704,
    FORWARD_Y = 705,
    GRAPH_HANDLE = 800,
    GRAPH_OPERATIONS = 801,
    TENSOR_ALIGNMENT = 900,
    TENSOR_TYPE = 901,
    TENSOR_DIMS = 902,
    TENSOR_STRIDES = 903,
    TENSOR_ID = 906,
    PACK_IDS = 1000,
    PACK_POINTERS = 1001,
    PACK_WORKSPACE = 1003,
    ENGINE_NOTES = 1303,

    HEURISTIC_FALLBACK = 2,
    HEURISTIC_A = 3,

    NOTE_TENSOR_CORE = 0,
    NOTE_DOWN_CONVERT = 1,
    NOTE_REDUCED_SUMS = 2,
    NOTE_WINOGRAD_13 = 8,
};

enum { ALIGNED = 16, MOST_NOTES = 16, MOST_RESULTS = 64, MOST_PLANS = 16, MOST_PACKS = 16 };
enum { GRAPH_PARTS = 6, MOST_KEPT = GRAPH_PARTS + 2 * MOST_PLANS }; /* a plan has a config */

#define DATA_TYPE (TYPE == CUDA_BFLOAT ? DATA_BFLOAT : TYPE)

static struct backend {
    int (*create)(int kind, void **descriptor);
    int (*set)(void *descriptor, int name, int type, i64 n, const void *value);
    int (*get)(void *descriptor, int name, int type, i64 n, i64 *got, void *value);
    int (*finalize)(void *descriptor);
    int (*destroy)(void *descriptor);
    const char *(*word)(int status);
} cudnn;

/* A run's addresses, as the library has them. */
typedef struct packed {
    void *pack, *pointer[4];
} packed;

/* Of one stream. */
typedef struct instance {
    const void *stream;
    void *handle, *kept[MOST_KEPT], *plans[MOST_PLANS];
    packed packs[MOST_PACKS];    /* of equal calls and of copies, which take turns */
    int n_kept, n_plans, oldest; /* of the packs */
    int chosen; /* of the plans from 1 on, which are the same ones whenever they are made */
} instance;

static instance instances[MOST_STREAMS];

static int failed(const char *call, int status)
{
    if (status)
        fail(call, status, cudnn.word(status), "");
    return status;
}

/* NULL: it cannot be, which is said. */
static void *make(int kind)
{
    void *descriptor = 0;
    return failed("cudnnBackendCreateDescriptor", cudnn.create(kind, &descriptor)) ? 0
                                                                                   : descriptor;
}

static void drop(void *descriptor)
{
    if (descriptor)
        cudnn.destroy(descriptor);
}

/* Until `end`. */
static void *keep(instance *of, void *descriptor)
{
    return of->kept[of->n_kept++] = descriptor;
}

/* Of what could be made. */
static void put(void *descriptor, int name, int type, i64 n, const void *value)
{
    if (descriptor)
        failed("cudnnBackendSetAttribute", cudnn.set(descriptor, name, type, n, value));
}

static void finish(void *descriptor)
{
    if (descriptor)
        failed("cudnnBackendFinalize", cudnn.finalize(descriptor));
}

static void put_int(void *descriptor, int name, int type, i64 value)
{
    const int word = (int)value;
    put(descriptor, name, type, 1, type == OF_INT ? (const void *)&value : &word);
}

static void put_pair(void *descriptor, int name, i64 a, i64 b)
{
    const i64 pair[] = {a, b};
    put(descriptor, name, OF_INT, 2, pair);
}

/* ---- the graph --------------------------------------------------------------------------- */

static void *tensor(instance *of, i64 id, i64 n, i64 c, i64 h, i64 w)
{
    const i64 dims[] = {n, c, h, w}, strides[] = {c * h * w, h * w, w, 1};
    void *t = keep(of, make(A_TENSOR));
    put_int(t, TENSOR_TYPE, OF_DATA_TYPE, DATA_TYPE);
    put(t, TENSOR_DIMS, OF_INT, 4, dims);
    put(t, TENSOR_STRIDES, OF_INT, 4, strides);
    put_int(t, TENSOR_ID, OF_INT, id);
    put_int(t, TENSOR_ALIGNMENT, OF_INT, ALIGNED);
    finish(t);
    return t;
}

static void *convolution(instance *of)
{
    void *c = keep(of, make(A_CONVOLUTION));
    put_int(c, CONVOLUTION_DIMS, OF_INT, 2);
    put_int(c, CONVOLUTION_TYPE, OF_DATA_TYPE, SCALE_TYPE);
    put_int(c, CONVOLUTION_MODE, OF_MODE, CROSS_CORRELATION);
    put_pair(c, CONVOLUTION_DILATIONS, DH, DW);
    put_pair(c, CONVOLUTION_STRIDES, SH, SW);
    put_pair(c, CONVOLUTION_PRE_PADDING, PH, PW);
    put_pair(c, CONVOLUTION_POST_PADDING, PH, PW);
    finish(c);
    return c;
}

/* NULL, or not whole: a part cannot be, which is said. */
static void *graph(instance *of)
{
    const scale one = 1, zero = 0;
    const int scales = SCALE_TYPE == CUDA_DOUBLE ? OF_DOUBLE : OF_FLOAT;
    void *const what = convolution(of), *const x = tensor(of, 'x', N, CI, H, W);
    void *const w = tensor(of, 'w', CO, CI_G, KH, KW), *const y =
                                                           tensor(of, 'y', N, CO, OH, OW);
    void *const forward = keep(of, make(A_FORWARD));
    if (!what || !x || !w || !y || !forward)
        return 0;
    put(forward, FORWARD_CONVOLUTION, OF_DESCRIPTOR, 1, &what);
    put(forward, FORWARD_X, OF_DESCRIPTOR, 1, &x);
    put(forward, FORWARD_W, OF_DESCRIPTOR, 1, &w);
    put(forward, FORWARD_Y, OF_DESCRIPTOR, 1, &y);
    put(forward, FORWARD_ALPHA, scales, 1, &one);
    put(forward, FORWARD_BETA, scales, 1, &zero);
    finish(forward);
    void *const g = keep(of, make(A_GRAPH));
    put(g, GRAPH_HANDLE, OF_HANDLE, 1, &of->handle);
    put(g, GRAPH_OPERATIONS, OF_DESCRIPTOR, 1, &forward);
    finish(g);
    return g;
}

/* ---- engines ----------------------------------------------------------------------------- */

/* In the call's numerics: what a note of the engine says is in `out`. */
static int admissible(void *config)
{
    static const unsigned out = 1u << NOTE_DOWN_CONVERT | 1u << NOTE_REDUCED_SUMS |
                                1u << NOTE_WINOGRAD_13 |
                                (unsigned)(TYPE == CUDA_FLOAT && !TF32) << NOTE_TENSOR_CORE;
    void *engine = make(AN_ENGINE);
    int note[MOST_NOTES] = {0};
    i64 n = 0, got = 0;
    int good = engine && !cudnn.get(config, CONFIG_ENGINE, OF_DESCRIPTOR, 1, &got, &engine) &&
               !cudnn.get(engine, ENGINE_NOTES, OF_NOTE, MOST_NOTES, &n, note);
    for (i64 i = 0; good && i < n && i < MOST_NOTES; i++)
        good = note[i] >= 32 || !(out >> note[i] & 1);
    drop(engine);
    return good;
}

/* Keeps the config with its plan; neither where it cannot serve. */
static void add_plan(instance *of, void *config)
{
    i64 bytes = 0, got = 0;
    void *plan = admissible(config) ? make(A_PLAN) : 0;
    if (plan && !cudnn.set(plan, PLAN_HANDLE, OF_HANDLE, 1, &of->handle) &&
        !cudnn.set(plan, PLAN_CONFIG, OF_DESCRIPTOR, 1, &config) && !cudnn.finalize(plan) &&
        !cudnn.get(plan, PLAN_WORKSPACE, OF_INT, 1, &got, &bytes) && bytes <= WORKSPACE) {
        keep(of, config);
        of->plans[of->n_plans++] = keep(of, plan);
        return;
    }
    drop(plan);
    drop(config);
}

/* Up to `most` plans in all. */
static void add_plans(instance *of, void *g, int mode, int most)
{
    void *config[MOST_RESULTS], *heuristic = make(A_HEURISTIC);
    i64 n = 0, got = 0, made = 0;
    if (!heuristic)
        return;
    put(heuristic, HEURISTIC_GRAPH, OF_DESCRIPTOR, 1, &g);
    put_int(heuristic, HEURISTIC_MODE, OF_HEURISTIC, mode);
    if (cudnn.finalize(heuristic) ||
        cudnn.get(heuristic, HEURISTIC_RESULTS, OF_DESCRIPTOR, 0, &n, 0))
        n = 0;
    n = n < MOST_RESULTS ? n : MOST_RESULTS;
    while (made < n && (config[made] = make(A_CONFIG)))
        made++;
    if (made && cudnn.get(heuristic, HEURISTIC_RESULTS, OF_DESCRIPTOR, made, &got, config))
        got = 0;
    for (i64 i = 0; i < made; i++)
        if (i < got && of->n_plans < most)
            add_plan(of, config[i]);
        else
            drop(config[i]);
    drop(heuristic);
}

/* arg: cudnnCreate, SetStream, stream, BackendCreateDescriptor, BackendSetAttribute,
 * BackendGetAttribute, BackendFinalize, BackendDestroyDescriptor, GetErrorString */
void begin(void *const *arg)
{
    const int place = first_user(arg[2]);
    if (place < 0)
        return;
    instance *const of = &instances[place];
    *of = (instance){.stream = arg[2], .chosen = of->stream == arg[2] ? of->chosen : 0};
    cudnn = (struct backend){
        (int (*)(int, void **))arg[3],
        (int (*)(void *, int, int, i64, const void *))arg[4],
        (int (*)(void *, int, int, i64, i64 *, void *))arg[5],
        (int (*)(void *))arg[6],
        (int (*)(void *))arg[7],
        (const char *(*)(int))arg[8],
    };
    const int status = ((int (*)(void **))arg[0])(&of->handle);
    if (status) {
        of->handle = 0;
        fail("cudnnCreate", status, cudnn.word(status), CANNOT_START);
        return;
    }
    failed("cudnnSetStream", ((int (*)(void *, void *))arg[1])(of->handle, arg[2]));
    void *const g = graph(of);
    const int most = of->chosen ? of->chosen : FASTEST ? MOST_PLANS : 1;
    if (!ot_failure[0])
        add_plans(of, g, HEURISTIC_A, most);
    if (!ot_failure[0] && of->n_plans < most)
        add_plans(of, g, HEURISTIC_FALLBACK, most);
    if (!ot_failure[0] && !of->n_plans)
        fail("cudnnBackendFinalize", 0, "no engine serves this call in its numerics", "");
    of->chosen = of->chosen <= of->n_plans ? of->chosen : 0;
}

/* ---- running ----------------------------------------------------------------------------- */

typedef int execution(void *handle, void *plan, void *pack);

/* What is being measured. */
typedef struct trial {
    void *handle, *plan, *pack;
    int ran, refused; /* ever; what it said when it did not run */
} trial;

/* arg: cudnnBackendExecute, a trial */
static void measure(void *const *arg)
{
    trial *t = arg[1];
    const int status = ((execution *)arg[0])(t->handle, t->plan, t->pack);
    t->ran = 1;
    t->refused = status ? status : t->refused;
}

/* Of all plans, or of none: there are moments when nothing can be measured. 0: none is known, which
 * is said. A target that captures this runs it once then, and captures it again. */
static int find_fastest(const instance *of, void *pack, void *execute, cuda_clock *clock)
{
    double least = 0;
    int found = 0, able = 0, refused = 0;
    for (int i = 0; i < of->n_plans; i++) {
        trial t = {.handle = of->handle, .plan = of->plans[i], .pack = pack};
        void *const arg[] = {execute, &t};
        const double seconds = clock->seconds(clock, measure, arg, 2, COLD);
        if (!t.ran) {
            fail("cudnnBackendExecute", 0, "engines cannot be measured while they are captured",
                 "run it once before");
            return 0;
        }
        able += !t.refused;
        refused = refused ? refused : t.refused;
        if (seconds > 0 && !t.refused && (!found || seconds < least)) {
            least = seconds;
            found = i + 1;
        }
    }
    if (!found && (able || !failed("cudnnBackendExecute", refused)))
        fail("cudnnBackendExecute", 0, "no engine could be measured", "");
    return found;
}

static void *new_pack(void *const *pointer)
{
    static const i64 ids[] = {'x', 'w', 'y'};
    void *pack = make(A_PACK);
    if (!pack)
        return 0;
    put(pack, PACK_POINTERS, OF_POINTER, 3, pointer + 1);
    put(pack, PACK_IDS, OF_INT, 3, ids);
    put(pack, PACK_WORKSPACE, OF_POINTER, 1, pointer);
    if (failed("cudnnBackendFinalize", cudnn.finalize(pack))) {
        drop(pack);
        return 0;
    }
    return pack;
}

static int same(void *const *a, void *const *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* pointer: workspace, data, weight, out. The oldest goes when there is no room for one more. */
static void *pack_of(instance *of, void *const *pointer)
{
    for (int i = 0; i < MOST_PACKS; i++)
        if (of->packs[i].pack && same(of->packs[i].pointer, pointer))
            return of->packs[i].pack;
    packed *const at = &of->packs[of->oldest];
    of->oldest = (of->oldest + 1) % MOST_PACKS;
    drop(at->pack);
    *at = (packed){new_pack(pointer), {pointer[0], pointer[1], pointer[2], pointer[3]}};
    return at->pack;
}

/* arg: cudnnBackendExecute, workspace, data, weight, out, clock, stream */
void conv2d(void *const *arg)
{
    const int place = place_of(arg[6]);
    instance *const of = &instances[place < 0 ? 0 : place];
    if (place < 0 || !of->n_plans) {
        fail("cudnnBackendExecute", 0, "there is no plan to execute", "");
        return;
    }
    void *const pack = pack_of(of, arg + 1);
    if (!pack)
        return;
    if (FASTEST && !of->chosen && !(of->chosen = find_fastest(of, pack, arg[0], arg[5])))
        return;
    void *const plan = of->plans[FASTEST ? of->chosen - 1 : 0];
    failed("cudnnBackendExecute", ((execution *)arg[0])(of->handle, plan, pack));
}

/* arg: cudnnDestroy, stream */
void end(void *const *arg)
{
    const int place = last_user(arg[1]);
    if (place >= 0) {
        instance *const of = &instances[place];
        for (int i = 0; i < MOST_PACKS; i++)
            drop(of->packs[i].pack);
        while (of->n_kept > 0)
            drop(of->kept[--of->n_kept]);
        if (of->handle)
            ((int (*)(void *))arg[0])(of->handle);
        *of = (instance){.stream = of->stream, .chosen = of->chosen};
    }
    leave(arg[1]);
}
