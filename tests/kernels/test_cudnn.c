/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the row says to cuDNN is right, and which of its engines it takes, on machines without a
 * GPU: a stand-in for the library's backend interface keeps what descriptors are told and computes
 * the convolution that they say. Its heuristics list engines that must not be taken, each for a
 * reason of its own, and right ones, the fastest of which is neither the first nor the last; with
 * empty caches it is another one.
 */
#include "support/check.h"
#include "support/host_body.h"
#include "target/cuda.h"

/* ---- descriptors ------------------------------------------------------------------------- */

enum { ALWAYS = 1 << 20, BAD = 2000, NOT_SUPPORTED = 3000, MOST_ATTRIBUTES = 12 };
enum {
    CONFIG = 3,
    HEURISTIC = 4,
    PLAN = 5,
    PACK = 16,
    ENGINE = 2,
    IS_HANDLE = 0,
    IS_INT = 3,
    IS_DESCRIPTOR = 15,
    IS_POINTER = 6
};

typedef struct stream_handle {
    const void *stream;
} stream_handle;

typedef struct descriptor {
    int kind, engine; /* of the list */
    const stream_handle *handle;
    bool done;
    const struct descriptor *graph; /* of a config */
    int n;
    struct attribute {
        int name, type;
        int64_t n;
        union {
            int64_t number[4];
            void *pointer[4];
            int word;
            float real;
            double wide;
        };
    } attribute[MOST_ATTRIBUTES];
} descriptor;

static int handles, descriptors, packs_made;
static int creatable = ALWAYS; /* so many descriptors before one cannot be */
static bool cannot_start, cannot_time;
static char other_stream[1];

static int create_handle(void **handle)
{
    if (cannot_start)
        return BAD;
    *handle = ot_alloc(sizeof(stream_handle));
    handles++;
    return 0;
}

static int destroy_handle(void *handle)
{
    free(handle);
    handles--;
    return 0;
}

static int set_stream(void *handle, void *stream)
{
    stream_handle *h = handle;
    assert_true(stream == host_body_stream || stream == other_stream);
    h->stream = stream;
    return 0;
}

static const char *word_of(int status)
{
    return status == NOT_SUPPORTED ? "not supported" : "bad";
}

static int create(int kind, void **made)
{
    if (creatable-- == 0)
        return BAD;
    descriptor *d = ot_alloc(sizeof *d);
    *d = (descriptor){.kind = kind};
    *made = d;
    descriptors++;
    packs_made += kind == PACK;
    return 0;
}

static int destroy(void *of)
{
    free(of);
    descriptors--;
    return 0;
}

static size_t size_of(int type)
{
    return type == IS_HANDLE || type == IS_INT || type == IS_DESCRIPTOR || type == IS_POINTER ||
                   type == 5 /* double */
               ? 8
               : 4;
}

static int set(void *of, int name, int type, int64_t n, const void *value)
{
    descriptor *d = of;
    assert_true(d && !d->done && d->n < MOST_ATTRIBUTES && n >= 1 && n <= 4);
    struct attribute *a = &d->attribute[d->n++];
    *a = (struct attribute){.name = name, .type = type, .n = n};
    memcpy(a->number, value, size_of(type) * (size_t)n);
    return 0;
}

static const struct attribute *said(const descriptor *d, int name, int type, int64_t n)
{
    for (int i = 0; i < d->n; i++)
        if (d->attribute[i].name == name) {
            assert_int_equal(d->attribute[i].type, type);
            assert_int_equal(d->attribute[i].n, n);
            return &d->attribute[i];
        }
    fail_msg("a descriptor of kind %d was never told %d", d->kind, name);
    return NULL;
}

static const descriptor *part(const descriptor *d, int name, int kind)
{
    const descriptor *of = said(d, name, IS_DESCRIPTOR, 1)->pointer[0];
    assert_int_equal(of->kind, kind);
    assert_true(of->done);
    return of;
}

/* ---- engines ----------------------------------------------------------------------------- */

enum { TENSOR_CORES, NOT_BUILT, TOO_LARGE, SLOW, FAST, CANNOT_RUN, MIDDLE, N_ENGINES };

static const struct {
    int mode, note; /* -1: it has none */
    double seconds, cold;
} engines[N_ENGINES] = {
    [TENSOR_CORES] = {3, 0, 1e-6, 1e-6}, [NOT_BUILT] = {3, -1, 1e-6, 1e-6},
    [TOO_LARGE] = {3, 5, 1e-6, 1e-6},    [SLOW] = {3, -1, 30e-6, 60e-6},
    [FAST] = {3, 5, 10e-6, 50e-6},       [CANNOT_RUN] = {3, -1, 5e-6, 5e-6},
    [MIDDLE] = {2, -1, 20e-6, 40e-6},
};

static int ran[N_ENGINES], last;
static const void *ran_on;
static int crowd;      /* engines that are not built come first, so many from each heuristic */
static int measurable; /* so often the clock measures before it cannot */

static int finalize(void *of)
{
    descriptor *d = of;
    assert_false(d->done);
    d->done = true;
    if (d->kind != PLAN)
        return 0;
    d->handle = said(d, 400, IS_HANDLE, 1)->pointer[0];
    d->engine = part(d, 401, CONFIG)->engine;
    return d->engine == NOT_BUILT ? NOT_SUPPORTED : 0;
}

static int results(descriptor *heuristic, int64_t n, int64_t *got, descriptor **config)
{
    const int mode = said(heuristic, 200, 8, 1)->word;
    const descriptor *graph = part(heuristic, 201, 15);
    assert_non_null(said(graph, 800, IS_HANDLE, 1)->pointer[0]);
    *got = 0;
    for (int i = -crowd; i < N_ENGINES; i++)
        if ((i < 0 || engines[i].mode == mode) && (!config || *got < n)) {
            if (config) {
                config[*got]->engine = i < 0 ? NOT_BUILT : i;
                config[*got]->graph = graph;
                config[*got]->done = true;
                assert_int_equal(config[*got]->kind, CONFIG);
            }
            ++*got;
        }
    return 0;
}

static int get(void *of, int name, int type, int64_t n, int64_t *got, void *value)
{
    descriptor *d = of;
    assert_true(d->done);
    switch (name) {
    case 202:
        assert_true(d->kind == HEURISTIC && type == IS_DESCRIPTOR);
        return results(d, n, got, n ? value : NULL);
    case 300:
        assert_true(d->kind == CONFIG && type == IS_DESCRIPTOR && n == 1);
        (*(descriptor **)value)->engine = d->engine;
        (*(descriptor **)value)->done = true;
        *got = 1;
        return 0;
    case 1303:
        assert_true(d->kind == ENGINE && type == 11 && n >= 10);
        *got = engines[d->engine].note >= 0;
        if (*got)
            *(int *)value = engines[d->engine].note;
        return 0;
    case 402:
        assert_true(d->kind == PLAN && type == IS_INT && n == 1);
        *(int64_t *)value = d->engine == TOO_LARGE ? (int64_t)1 << 40 : 1000;
        *got = 1;
        return 0;
    }
    return BAD;
}

/* ---- what is computed -------------------------------------------------------------------- */

static double element(const void *of, const descriptor *tensor, const int64_t *at)
{
    const int64_t *stride = said(tensor, 903, IS_INT, 4)->number;
    int64_t offset = 0;
    for (int i = 0; i < 4; i++)
        offset += at[i] * stride[i];
    return said(tensor, 901, 1, 1)->word ? ((const double *)of)[offset]
                                         : (double)((const float *)of)[offset];
}

static void compute(const descriptor *forward, void *const *pointer)
{
    const descriptor *how = part(forward, 702, 1), *w = part(forward, 703, 17),
                     *x = part(forward, 704, 17), *y = part(forward, 705, 17);
    const int64_t *dilation = said(how, 102, IS_INT, 2)->number,
                  *stride = said(how, 103, IS_INT, 2)->number,
                  *behind = said(how, 104, IS_INT, 2)->number,
                  *before = said(how, 105, IS_INT, 2)->number;
    const int64_t *in = said(x, 902, IS_INT, 4)->number,
                  *taps = said(w, 902, IS_INT, 4)->number,
                  *out = said(y, 902, IS_INT, 4)->number;
    const bool wide = said(y, 901, 1, 1)->word == 1;
    assert_true(said(how, 101, 7, 1)->word == 1 && said(how, 106, IS_INT, 1)->number[0] == 2);
    assert_true(said(how, 100, 1, 1)->word == wide);
    assert_true(wide ? said(forward, 700, 5, 1)->wide == 1
                     : said(forward, 700, 4, 1)->real == 1);
    assert_true(wide ? said(forward, 701, 5, 1)->wide == 0
                     : said(forward, 701, 4, 1)->real == 0);
    assert_true(said(x, 906, IS_INT, 1)->number[0] == 'x' &&
                said(w, 906, IS_INT, 1)->number[0] == 'w' &&
                said(y, 906, IS_INT, 1)->number[0] == 'y');
    for (int d = 0; d < 2; d++)
        assert_int_equal(out[d + 2],
                         (in[d + 2] + before[d] + behind[d] - dilation[d] * (taps[d + 2] - 1) -
                          1) / stride[d] +
                             1);
    const int64_t group = out[1] / (in[1] / taps[1]);
    int64_t at = 0;
    for (int64_t n = 0; n < out[0]; n++)
        for (int64_t c = 0; c < out[1]; c++)
            for (int64_t i = 0; i < out[2]; i++)
                for (int64_t j = 0; j < out[3]; j++, at++) {
                    double sum = 0;
                    for (int64_t k = 0; k < taps[1] * taps[2] * taps[3]; k++) {
                        const int64_t tap[] = {c, k / (taps[2] * taps[3]),
                                               k / taps[3] % taps[2], k % taps[3]};
                        const int64_t from[] = {
                            n, c / group * taps[1] + tap[1],
                            i * stride[0] + tap[2] * dilation[0] - before[0],
                            j * stride[1] + tap[3] * dilation[1] - before[1]};
                        if (from[2] >= 0 && from[2] < in[2] && from[3] >= 0 && from[3] < in[3])
                            sum += element(pointer[0], x, from) * element(pointer[1], w, tap);
                    }
                    if (wide)
                        ((double *)pointer[2])[at] = sum;
                    else
                        ((float *)pointer[2])[at] = (float)sum;
                }
}

static int execute(void *handle, void *of, void *with)
{
    const descriptor *plan = of, *pack = with;
    assert_ptr_equal(handle, plan->handle);
    ran_on = plan->handle->stream;
    assert_true(plan->kind == PLAN && plan->done && pack->kind == PACK && pack->done);
    assert_ptr_equal(said(pack, 1003, IS_POINTER, 1)->pointer[0], host_body_scratch);
    const int64_t *id = said(pack, 1000, IS_INT, 3)->number;
    assert_true(id[0] == 'x' && id[1] == 'w' && id[2] == 'y');
    last = plan->engine;
    ran[last]++;
    if (last == CANNOT_RUN)
        return NOT_SUPPORTED;
    compute(part(part(plan, 401, CONFIG)->graph, 801, 10),
            said(pack, 1001, IS_POINTER, 3)->pointer);
    return 0;
}

static double seconds_of(ot_cuda_clock *clock, void (*body)(void *const *arg), void *const *arg,
                         int n, int cold)
{
    (void)clock;
    assert_true(n >= 1 && n <= OPTUNE_MAX_ARGS);
    if (measurable-- <= 0)
        return -1;
    body(arg);
    return cannot_time ? -1 : cold ? engines[last].cold : engines[last].seconds;
}

static ot_cuda_clock clock = {seconds_of};

static void *stand_in(const char *symbol)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
        {"cudnnCreate", (void (*)(void))create_handle},
        {"cudnnDestroy", (void (*)(void))destroy_handle},
        {"cudnnSetStream", (void (*)(void))set_stream},
        {"cudnnGetErrorString", (void (*)(void))word_of},
        {"cudnnBackendCreateDescriptor", (void (*)(void))create},
        {"cudnnBackendDestroyDescriptor", (void (*)(void))destroy},
        {"cudnnBackendSetAttribute", (void (*)(void))set},
        {"cudnnBackendGetAttribute", (void (*)(void))get},
        {"cudnnBackendFinalize", (void (*)(void))finalize},
        {"cudnnBackendExecute", (void (*)(void))execute},
    };
    if (!strcmp(symbol, "ot_clock"))
        return &clock;
    for (int i = 0; i < OT_COUNT(table); i++)
        if (!strcmp(symbol, table[i].name)) {
            void *address;
            memcpy(&address, &table[i].function, sizeof address);
            return address;
        }
    fail_msg("no function '%s'", symbol);
    return NULL;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void between(void)
{
    assert_int_equal(handles, 1);
}

static const host_body body = {stand_in, between, 3, 1e-6};
static const char plain[] = "conv2d(f32[1,4,6,7], f32[6,4,3,3], padding=[1,1,1,1])";

/* So many runs of each engine, measuring included. */
static void expect(const char *workload, const char *config, const int *runs)
{
    memset(ran, 0, sizeof ran);
    assert_true(host_body_try(&body, ot_impl_find("conv2d_cudnn.cuda"), workload, config));
    for (int i = 0; i < N_ENGINES; i++)
        if (ran[i] != runs[i])
            fail_msg("%s: engine %d ran %d times, not %d", workload, i, ran[i], runs[i]);
    assert_int_equal(handles, 0);
    assert_int_equal(descriptors, 0);
}

static void test_samples(void **state)
{
    (void)state;
    measurable = ALWAYS;
    host_body_try_samples(&body, "conv2d_cudnn.cuda", 4);
    assert_int_equal(handles, 0);
    assert_int_equal(descriptors, 0);
}

static void test_fastest(void **state)
{
    (void)state;
    measurable = ALWAYS;
    expect(plain, NULL,
           (int[N_ENGINES]){[SLOW] = 1, [FAST] = 1 + 3, [CANNOT_RUN] = 1, [MIDDLE] = 1});
}

/* Tensor cores round float32, which math=tf32 lets them; float64 they do not round. */
static void test_numerics(void **state)
{
    (void)state;
    measurable = ALWAYS;
    const int rounded[N_ENGINES] = {
        [TENSOR_CORES] = 1 + 3, [SLOW] = 1, [FAST] = 1, [CANNOT_RUN] = 1, [MIDDLE] = 1};
    expect("conv2d(f32[1,4,6,7], f32[6,4,3,3], math=tf32)", NULL, rounded);
    expect("conv2d(f64[1,4,6,7], f64[6,4,3,3])", NULL, rounded);
}

static void test_fastest_cold(void **state)
{
    (void)state;
    measurable = ALWAYS;
    expect(plain, "[[\"engine\",\"ot\",\"fastest_cold\"]]",
           (int[N_ENGINES]){[SLOW] = 1, [FAST] = 1, [CANNOT_RUN] = 1, [MIDDLE] = 1 + 3});
}

static void test_first(void **state)
{
    (void)state;
    measurable = ALWAYS;
    expect(plain, "[[\"engine\",\"ot\",\"first\"]]", (int[N_ENGINES]){[SLOW] = 3});
}

static void open_plain(const char *config)
{
    measurable = ALWAYS;
    assert_true(host_body_open(&body, ot_impl_find("conv2d_cudnn.cuda"), plain, config));
}

static void close_all(void)
{
    host_body_close();
    assert_int_equal(handles, 0);
    assert_int_equal(descriptors, 0);
}

static void run_on(void *stream)
{
    host_body_run(OPTUNE_TIMED, stream);
    host_body_said(NULL);
    host_body_compare();
    assert_ptr_equal(ran_on, stream);
}

/* While it is captured nothing can be measured: no engine is taken for the fastest then, and the
 * next run that can measures all of them. */
static void test_not_now(void **state)
{
    (void)state;
    open_plain(NULL);
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    for (measurable = 0; measurable < 4; measurable++) { /* of four */
        const int before = measurable;
        memset(ran, 0, sizeof ran);
        host_body_run(OPTUNE_TIMED, host_body_stream);
        host_body_said("engines cannot be measured while they are captured");
        assert_int_equal(ran[SLOW] + ran[FAST] + ran[CANNOT_RUN] + ran[MIDDLE], before);
        measurable = before;
    }
    measurable = ALWAYS;
    cannot_time = true;
    host_body_run(OPTUNE_TIMED, host_body_stream);
    host_body_said("cudnnBackendExecute: no engine could be measured");
    cannot_time = false;
    memset(ran, 0, sizeof ran);
    run_on(host_body_stream);
    measurable = 0;
    run_on(host_body_stream);
    assert_int_equal(ran[FAST], 1 + 2);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
}

/* Bindings of one module share what is made; it is there until the last is closed. */
static void test_bound_twice(void **state)
{
    (void)state;
    open_plain(NULL);
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    assert_int_equal(handles, 1);
    run_on(host_body_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    assert_int_equal(handles, 1);
    run_on(host_body_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
}

/* However many engines are refused, those behind them are found; what is refused is not kept: the
 * graph has six parts, each of four plans a config, and there is a pack. */
static void test_crowd(void **state)
{
    (void)state;
    crowd = 56;
    open_plain(NULL);
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    assert_int_equal(descriptors, 6 + 2 * 4);
    memset(ran, 0, sizeof ran);
    run_on(host_body_stream);
    assert_true(ran[SLOW] == 1 && ran[FAST] == 2 && ran[CANNOT_RUN] == 1 && ran[MIDDLE] == 1);
    assert_int_equal(descriptors, 6 + 2 * 4 + 1);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
    crowd = 0;
}

/* Whichever descriptor cannot be made, that is said, and what was made goes. */
static void test_cannot_create(void **state)
{
    (void)state;
    static const char said[] = "cudnnBackendCreateDescriptor: bad (status 2000)";
    int n = 0;
    open_plain(NULL);
    for (;; n++) {
        creatable = n;
        host_body_run(OPTUNE_PREPACK, host_body_stream);
        if (creatable >= 0)
            break; /* all were made */
        host_body_said(said);
        host_body_run(OPTUNE_TEARDOWN, host_body_stream);
        assert_int_equal(descriptors, 0);
        assert_int_equal(handles, 0);
    }
    /* The graph's, two heuristics, configs, engines, and plans but for tensor cores. */
    assert_int_equal(n, 6 + 2 + N_ENGINES + N_ENGINES + N_ENGINES - 1);
    creatable = 0;
    host_body_run(OPTUNE_TIMED, host_body_stream);
    host_body_said(said);
    creatable = ALWAYS;
    run_on(host_body_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
}

/* Calls that take turns, each with a workspace of its own, are told to the library once each; of
 * too many the oldest is forgotten. */
static void test_taking_turns(void **state)
{
    (void)state;
    enum { CALLS = 40 };
    char *const scratch = host_body_scratch;
    open_plain(NULL);
    packs_made = 0;
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    const int before = descriptors;
    for (int i = 0; i < 8; i++) {
        host_body_scratch = scratch + i % 4;
        run_on(host_body_stream);
    }
    assert_int_equal(packs_made, 4);
    for (int i = 0; i < CALLS; i++) {
        host_body_scratch = scratch + i;
        run_on(host_body_stream);
    }
    assert_int_equal(packs_made, CALLS);
    assert_true(descriptors < before + CALLS);
    host_body_scratch = scratch;
    run_on(host_body_stream);
    assert_int_equal(packs_made, CALLS + 1);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
}

/* Each stream has a handle and plans of its own; what one closes is not the other's. */
static void test_two_streams(void **state)
{
    (void)state;
    open_plain(NULL);
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    host_body_run(OPTUNE_PREPACK, other_stream);
    assert_int_equal(handles, 2);
    run_on(host_body_stream);
    run_on(other_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    assert_int_equal(handles, 1);
    run_on(other_stream);
    host_body_run(OPTUNE_TEARDOWN, other_stream);
    close_all();
}

/* What cannot be run is never passed over. */
static void test_no_plan(void **state)
{
    (void)state;
    open_plain(NULL);
    cannot_start = true;
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    host_body_said("cudnnCreate: bad (status 2000)");
    host_body_run(OPTUNE_TIMED, host_body_stream);
    host_body_said("cudnnBackendExecute: there is no plan to execute");
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    cannot_start = false;
    host_body_run(OPTUNE_TIMED, host_body_stream);
    host_body_said("cudnnBackendExecute: there is no plan to execute");
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    run_on(host_body_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    close_all();
}

static int setup(void **state)
{
    (void)state;
    return host_body_setup("cuda -arch=sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),       cmocka_unit_test(test_fastest),
        cmocka_unit_test(test_numerics),      cmocka_unit_test(test_first),
        cmocka_unit_test(test_not_now),       cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_cannot_create), cmocka_unit_test(test_fastest_cold),
        cmocka_unit_test(test_bound_twice),   cmocka_unit_test(test_two_streams),
        cmocka_unit_test(test_no_plan),       cmocka_unit_test(test_taking_turns),
    };
    return cmocka_run_group_tests(tests, setup, host_body_teardown);
}
