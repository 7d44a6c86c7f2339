/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that people and programs hand to the library, spoilt at random: workloads, graphs,
 * targets, configs, conditions, dispatch tables, types, kernels. Whatever they hold, reading ends
 * with an error or with a value that prints as a text which reads back as the same value.
 *
 * OPTUNE_TEST_SEED says which seed, OPTUNE_TEST_SECONDS how long (without it a fixed number of
 * texts). support/readers.c is an entry for clang's -fsanitize=fuzzer, too (OPTUNE_LIBFUZZER).
 */
#include <math.h>
#include <time.h>

#include "strategy/dispatch.h"
#include "support/check.h"
#include "support/readers.h"

enum { TEXTS = 20000, LONGEST = 1 << 16, MOST_SAMPLES = 4096 };

/* ---- samples ----------------------------------------------------------------------------- */

typedef struct samples {
    int n;
    char *text[MOST_SAMPLES];
} samples;

static samples sample[READERS];

static void add(int kind, const char *text)
{
    if (sample[kind].n < MOST_SAMPLES)
        sample[kind].text[sample[kind].n++] = ot_strdup(text);
}

static void add_dispatch(const char *call, const char *impl)
{
    static const char *const when[] = {"m <= 2", "m > 2 && m < 17 || m % 64 == 0", NULL};
    ot_dispatch *d = NULL;
    optune_call *parsed = ot_alloc(sizeof *parsed);
    optune_err err = {0};
    check_ok(ot_call_parse(call, parsed, &err));
    check_ok(ot_dispatch_new(parsed, &d, &err));
    d->target = "cpu";
    d->device = "x";
    d->depends = "compiler=gcc";
    for (int i = 0; i < OT_COUNT(when); i++) {
        ot_dispatch_row *row = ot_alloc(sizeof *row);
        *row = (ot_dispatch_row){.when = when[i],
                                 .range = d->dims,
                                 .impl = ot_impl_find(impl),
                                 .digest = "d",
                                 .tier = "tuned"};
        check_ok(ot_config_parse("[[\"tile_m\",\"ot\",4]]", &row->config, &err));
        ot_dispatch_add(d, row);
        free(row);
    }
    check_ok(ot_dispatch_compile(d, &err));
    json_t *json = ot_dispatch_json(d);
    char *text = json_dumps(json, JSON_COMPACT);
    add(READ_DISPATCH, text);
    free(text);
    json_decref(json);
    ot_dispatch_free(d);
    free(parsed);
}

static void collect(void)
{
    static const struct {
        int kind;
        const char *name;
    } files[] = {{READ_GRAPH, "mlp.graph"},         {READ_GRAPH, "resnet50.graph"},
                 {READ_GRAPH, "transformer.graph"}, {READ_KERNEL, "tune/matmul.c"},
                 {READ_KERNEL, "tune/row_sums.cl"}, {READ_KERNEL, "tune/stencil.cu"}};
    static const char *const more[] = {
        "x = var f32[?m:1..64,8]\nt : (f32[?,3], i64[?,3]) = topk(x, k=3, dtype=i64)\n"
        "u = tuple(t.0, tuple(x, t))\noutput u.1.0, u\n",
        "c = const f32[2,3] {1, -2.5e3, inf, nan, 0x10, .5}\ny : f32[2,3] = relu(c)\n"
        "output y, add(c, const f32[] {1})\n",
        "x = var ?\nw = const f32[10,?k]\noutput dense(relu(x), w) # a comment\n",
    };
    int n;
    const optune_op *const *ops = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        for (const char *const *text = ops[i]->samples; *text; text++)
            add(READ_WORKLOAD, *text);
        for (const optune_preset *p = ops[i]->presets; p && p->name; p++)
            add(READ_WORKLOAD, p->workloads[0]);
    }
    add(READ_WORKLOAD,
        "dense(f32[?m:1..4096,768], const f32[64,?]) -> add(_, f32[64]) -> relu()");
    add(READ_WORKLOAD, "add(f32[?a,1], f32[?b:2..,?:3..7]) -> where(u1[4,4], _, f32[4,4])");
    for (int i = 0; i < OT_COUNT(files); i++) {
        char path[1024];
        ot_text text = {0};
        optune_err err = {0};
        snprintf(path, sizeof path, "%s/examples/%s", OT_SOURCE_DIR, files[i].name);
        check_ok(ot_read_file(path, &text, 1 << 20, &err));
        ot_text_add(&text, "");
        if (text.n > 4000) /* a piece of it is mutated faster, and ends as well in an error */
            text.s[4000] = '\0';
        add(files[i].kind, ot_text_str(&text));
        ot_text_release(&text);
    }
    for (int i = 0; i < OT_COUNT(more); i++)
        for (int k = 0; k < 20; k++)
            add(READ_GRAPH, more[i]);
    add(READ_TARGET, "cpu -threads=2 -libs=cblas,dnnl -mcpu=skylake-avx512 -cflags='-O3 -g'");
    add(READ_TARGET, "cuda -arch=sm_90 -libs=cublas,cudnn -device=\"H100 PCIe\" -model=h100");
    add(READ_TARGET, "llvm -keys=arm_cpu,cpu -mcpu=native");
    add(READ_CONFIG,
        "[[\"tile_x\",\"sp\",[-1,8,2]],[\"order\",\"re\",[0,2,1]],[\"unroll\",\"ot\",true]]");
    add(READ_CONFIG,
        "[[\"ann\",\"an\",[\"none\",\"vec\",\"blockIdx.x\"]],[\"w\",\"ot\",\"word\"],"
        "[\"f\",\"ot\",1.5e-3],[\"i\",\"ot\",-7]]");
    const optune_strategy *const *strategy = ot_strategies(&n);
    for (int i = 0; i < n; i++)
        for (const optune_strategy_row *row = strategy[i]->rows; row->impl; row++)
            if (row->when)
                add(READ_CONDITION, row->when);
    add(READ_CONDITION,
        "!(m % 8 == 0 || -n * 3 / 2 >= 7 - k) && (a + b < 9223372036854775807)");
    add_dispatch("dense(f32[?m:1..4096,64], const f32[48,64])", "dense_gemm.cpu");
    add(READ_TYPE, "f32x4[?m:1..64,768,?,0]");
    add(READ_TYPE, "bfloat16[...]");
}

/* ---- mutations --------------------------------------------------------------------------- */

static uint64_t rng;

static size_t draw(size_t n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return n ? (size_t)(rng >> 33) % n : 0;
}

static const char *const token[] = {
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1099511627776",
    "1099511627777",
    "4294967296",
    "2147483647",
    "1e308",
    "1e-400",
    "nan",
    "-inf",
    "0x7f",
    "1,5",
    "?",
    "?m",
    "?m:1..64",
    "?m:64..1",
    "?m:0..",
    "...",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "\"",
    "'",
    "\\",
    "\\u0000",
    ",",
    ";",
    ":",
    "=",
    "_",
    " -> ",
    " -> relu()",
    "->",
    "const ",
    "var ",
    "f32",
    "bf16",
    "i8",
    "u1",
    "bool",
    "f64x65535",
    "i4x3",
    "none",
    "true",
    "axis=",
    "k=",
    "axis=-1",
    "newshape=[0,-1]",
    "\n",
    "\t",
    "#",
    "output ",
    "tuple(",
    ".0",
    ".1048577",
    "relu(",
    "conv2d(",
    "&&",
    "||",
    "!",
    "%",
    "/",
    "*",
    "-",
    "null",
    "{}",
    "[]",
    "\xff",
    "\xc3\xa9",
    "\x01",
    "-libs=",
    "-threads=",
    "math=tf32",
    "padding=[",
    "strides=[1048576]",
    "dilation=1048576",
    "groups=0",
    "data_layout=NCHW16777217c",
};

static size_t mutate(char *text, size_t n, int kind)
{
    const size_t at = draw(n + 1), rest = n - at;
    switch (draw(9)) {
    case 0: /* one byte */
        if (rest)
            text[at] = (char)(1 + draw(255));
        return n;
    case 1: { /* gone */
        const size_t k = draw(rest < 40 ? rest + 1 : 40);
        memmove(text + at, text + at + k, rest - k);
        return n - k;
    }
    case 2: /* cut */
        return draw(4) ? n : at;
    case 3: { /* again, maybe often */
        const size_t k = draw(rest < 30 ? rest + 1 : 30), times = draw(8) ? 1 : draw(400);
        if (n + k * times >= LONGEST)
            return n;
        memmove(text + at + k * (times + 1), text + at + k, rest - k);
        for (size_t i = 1; i <= times; i++)
            memcpy(text + at + k * i, text + at, k);
        return n + k * times;
    }
    case 4: { /* a piece of another sample */
        const char *other = sample[kind].text[draw((size_t)sample[kind].n)];
        const size_t all = strlen(other), from = draw(all + 1);
        size_t k = draw(all - from + 1);
        k = k > 200 ? 200 : k;
        if (n + k >= LONGEST)
            return n;
        memmove(text + at + k, text + at, rest);
        memcpy(text + at, other + from, k);
        return n + k;
    }
    case 5: { /* another number */
        size_t from = at;
        while (from < n && (text[from] < '0' || text[from] > '9'))
            from++;
        size_t k = 0;
        while (from + k < n && text[from + k] >= '0' && text[from + k] <= '9')
            k++;
        const char *word = token[draw(16)];
        const size_t length = strlen(word);
        if (!k || n + length >= LONGEST)
            return n;
        memmove(text + from + length, text + from + k, n - from - k);
        memcpy(text + from, word, length);
        return n + length - k;
    }
    default: { /* a word of the languages */
        const char *word = token[draw(OT_COUNT(token))];
        const size_t k = strlen(word);
        if (n + k >= LONGEST)
            return n;
        memmove(text + at + k, text + at, rest);
        memcpy(text + at, word, k);
        return n + k;
    }
    }
}

/* What was being read is shown when it ends the process. */
static void read_one(int kind)
{
    static char text[LONGEST + 1];
    const char *from = sample[kind].text[draw((size_t)sample[kind].n)];
    size_t n = strlen(from);
    memcpy(text, from, n + 1);
    for (size_t i = draw(6); i > 0; i--)
        n = mutate(text, n, kind);
    text[n] = '\0';
    char *exact = ot_strdup(text); /* so that reading behind it shows */
    const double start = ot_now();
    readers[kind].read(exact);
    if (ot_now() - start > 20) {
        fprintf(stderr, "%s takes %.0f s:\n%s\n", readers[kind].name, ot_now() - start, exact);
        abort();
    }
    free(exact);
}

static void spoilt_texts(void **state)
{
    (void)state;
    const char *seconds = getenv("OPTUNE_TEST_SECONDS");
    const double end = seconds ? ot_now() + strtod(seconds, NULL) : 0;
    collect();
    for (int k = 0; k < READERS; k++)
        assert_true(sample[k].n > 0);
    for (int k = 0; k < READERS; k++)
        for (int i = 0; i < sample[k].n; i++)
            readers[k].read(sample[k].text[i]);
    for (long i = 0; end > 0 ? ot_now() < end : i < TEXTS; i++) {
        const uint64_t seed = rng;
        const int kind = (int)draw(10);
        if (getenv("OPTUNE_TEST_TRACE"))
            fprintf(stderr, "%llu\n", (unsigned long long)seed);
        read_one(kind < READERS ? kind : kind % 2);
    }
    for (int k = 0; k < READERS; k++)
        while (sample[k].n)
            free(sample[k].text[--sample[k].n]);
}

/* The same piece, often: what is read one inside another, or one behind another, by a function that
 * calls itself would run out of stack. */
static void long_texts(void **state)
{
    (void)state;
    static const struct {
        const char *before, *piece, *middle, *closing, *after;
    } shape[] = {
        {"", "(", "m", ")", " > 0"},
        {"", "(", "m > 0", ")", ""},
        {"", "!", "m", "", ""},
        {"", "-", "m", "", " > 0"},
        {"", "m + ", "m", "", " > 0"},
        {"", "m * 1 - ", "m", "", " > 0"},
        {"", "m > 0 && ", "m > 0", "", ""},
        {"", "m > 0 || ", "m > 0", "", ""},
        {"", "m == 0 || m > 1 && ", "m > 0", "", ""},
        {"", "!(m > 0 && ", "m > 0", ")", ""},
        {"", "[", "", "]", ""},
        {"", "{\"a\":", "1", "}", ""},
        {"", "[[\"a\",\"sp\",", "1", "]]", ""},
        {"[", "[\"a\",\"ot\",1],", "1", "", "]"},
        {"x = var f32[4]\noutput ", "relu(", "x", ")", ""},
        {"x = var f32[4]\noutput ", "tuple(x, ", "x", ")", ""},
        {"x = var f32[4]\noutput ", "tuple(", "x", ")", ".0"},
        {"x = var f32[4]\noutput x", ".0", "", "", ""},
        {"x = var f32[4]\noutput ", "x, ", "x", "", ""},
        {"x = var f32[4]\ny = tuple(x)\noutput y", ".0", "", "", ""},
        {"x = const f32[4] {", "1, ", "1", "", "}\noutput x"},
        {"relu(f32[4])", " -> relu()", "", "", ""},
        {"relu(", "relu(", "f32[4]", ")", ")"},
        {"relu(f32[", "1,", "1", "", "])"},
        {"sum(f32[4], axis=", "[", "0", "]", ")"},
        {"sum(f32[4], axis=[", "0,", "0", "", "])"},
        {"add(", "f32[4], ", "f32[4]", "", ")"},
        {"cpu", " -libs=a,b", "", "", ""},
        {"cpu -libs=", "a,", "b", "", ""},
        {"cpu -cflags='", "-O3 ", "", "", "'"},
        {"", " ", "", "", ""},
        {"", "a", "", "", ""},
        {"", "9", "", "", ""},
    };
    for (int i = 0; i < OT_COUNT(shape); i++)
        for (int n = 10; n <= 16000; n *= 40) {
            ot_text text = {0};
            ot_text_add(&text, shape[i].before);
            for (int k = 0; k < n; k++)
                ot_text_add(&text, shape[i].piece);
            ot_text_add(&text, shape[i].middle);
            for (int k = 0; k < n; k++)
                ot_text_add(&text, shape[i].closing);
            ot_text_add(&text, shape[i].after);
            for (int k = 0; k < READERS; k++)
                readers[k].read(ot_text_str(&text));
            ot_text_release(&text);
        }
}

int main(void)
{
    const char *seed = getenv("OPTUNE_TEST_SEED");
    rng = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("OPTUNE_TEST_SEED=%llu\n", (unsigned long long)rng);
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_texts),
                                       cmocka_unit_test(spoilt_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
