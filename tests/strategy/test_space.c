/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs, the codec, moves and fallbacks, on spaces made by hand. */
#include "strategy/fake.h"

static optune_space *made;

static int begin(void **state)
{
    (void)state;
    made = ot_space_blank();
    return 0;
}

static int end(void **state)
{
    (void)state;
    ot_space_close(made);
    return 0;
}

static void check_entity(int knob, int64_t digit, int n, const int64_t *expected)
{
    optune_entity entity;
    ot_space_entity(made, knob, digit, &entity);
    assert_int_equal(entity.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(entity.v[i], expected[i]);
}

#define LIST(...)                                                                              \
    (int64_t[])                                                                                \
    {                                                                                          \
        __VA_ARGS__                                                                            \
    }

static void test_factors(void **state)
{
    (void)state;
    optune_space_split(made, "a", 12, 3, NULL);
    optune_err err = {0};
    check_ok(ot_space_check(made, &err));
    assert_int_equal(optune_space_radix(made, 0), 18);
    check_entity(0, 0, 3, LIST(12, 1, 1)); /* the last size is the slowest */
    check_entity(0, 1, 3, LIST(6, 2, 1));
    check_entity(0, 6, 3, LIST(6, 1, 2));
    check_entity(0, 17, 3, LIST(1, 1, 12));
}

static bool even(const int64_t *sizes, int parts, const void *arg)
{
    return sizes[parts - 1] % *(const int64_t *)arg == 0;
}

static void test_policies(void **state)
{
    (void)state;
    static const int64_t two = 2;
    static const int64_t list[][OPTUNE_MAX_LIST] = {{3, 4}, {-1, 8}, {5, 2}};
    optune_space_split(made, "power2", 12, 2, &(optune_split){.policy = OPTUNE_SPLIT_POWER2});
    optune_space_split(made, "verbose", 12, 2, &(optune_split){.policy = OPTUNE_SPLIT_VERBOSE});
    optune_space_split(made, "limited", 12, 2, &(optune_split){.max_factor = 4});
    optune_space_split(made, "even", 12, 2,
                       &(optune_split){.filter = even, .filter_arg = &two});
    optune_space_split(made, "list", 10, 2,
                       &(optune_split){.policy = OPTUNE_SPLIT_CANDIDATE,
                                       .candidate = list,
                                       .n_candidates = 3});
    optune_space_split(made, "one", 9, 1, NULL);
    optune_err err = {0};
    check_ok(ot_space_check(made, &err));
    const int64_t radix[] = {4, 7, 4, 4, 3, 1};
    for (int i = 0; i < OT_COUNT(radix); i++)
        assert_int_equal(optune_space_radix(made, i), radix[i]);
    check_entity(0, 3, 2, LIST(2, 8)); /* a tail: 2 * 8 covers 12 */
    check_entity(1, 4, 2, LIST(2, 6));
    check_entity(2, 3, 2, LIST(3, 4));
    check_entity(3, 3, 2, LIST(1, 12));
    check_entity(4, 1, 2, LIST(2, 8)); /* -1 is what is left */
    check_entity(5, 0, 1, LIST(9));
}

/* What Python says of list(set(divisors) | set(powers of two)), in which AutoTVM counts. */
static void test_verbose_in_autotvms_order(void **state)
{
    (void)state;
    static const struct {
        int64_t extent;
        int n;
        int64_t inner[16];
    } row[] = {
        {8, 4, {1, 2, 4, 8}},
        {56, 10, {32, 1, 2, 4, 7, 8, 14, 16, 56, 28}},
        {97, 8, {32, 1, 97, 2, 64, 4, 8, 16}},
        {112, 12, {32, 1, 2, 64, 4, 7, 8, 14, 16, 112, 56, 28}},
        {224, 14, {64, 1, 2, 128, 4, 7, 8, 14, 16, 28, 32, 224, 112, 56}},
    };
    for (int k = 0; k < OT_COUNT(row); k++) {
        const int64_t extent = row[k].extent;
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        optune_space_split(made, name, extent, 2,
                           &(optune_split){.policy = OPTUNE_SPLIT_VERBOSE});
        assert_int_equal(optune_space_radix(made, k), row[k].n);
        for (int i = 0; i < row[k].n; i++) {
            const int64_t inner = row[k].inner[i];
            check_entity(k, i, 2, LIST((extent + inner - 1) / inner, inner));
        }
    }
    optune_space_split(made, "most", 56, 2,
                       &(optune_split){.policy = OPTUNE_SPLIT_VERBOSE, .max_factor = 28});
    check_entity(OT_COUNT(row), 0, 2, LIST(56, 1));
    check_entity(OT_COUNT(row), 7, 2, LIST(2, 28));
    optune_err err = {0};
    check_ok(ot_space_check(made, &err));
    for (int64_t index = 0; index < optune_space_size(made); index += 37) {
        optune_config config;
        ot_space_nth(made, index, &config);
        config.index = -1;
        check_ok(ot_space_index_of(made, &config, &err));
        assert_int_equal(config.index, index);
    }
}

static void test_reorder_and_annotate(void **state)
{
    (void)state;
    optune_space_reorder(made, "all", 3, OPTUNE_REORDER_ALL, 0, 0, NULL, 0);
    optune_space_reorder(made, "some", 4, OPTUNE_REORDER_INTERVAL_ALL, 1, 3, NULL, 0);
    optune_space_reorder(made, "same", 4, OPTUNE_REORDER_IDENTITY, 0, 0, NULL, 0);
    optune_space_annotate(made, "unroll", 2, "try_unroll");
    optune_space_annotate(made, "vec", 2, "try_unroll_vec");
    optune_space_annotate(made, "bind", 3, "bind_gpu");
    optune_space_annotate(made, "virtual", 6, "bind_gpu_virtual");
    optune_err err = {0};
    check_ok(ot_space_check(made, &err));
    assert_int_equal(optune_space_radix(made, 0), 6);
    check_entity(0, 3, 3, LIST(1, 2, 0));
    assert_int_equal(optune_space_radix(made, 1), 2);
    check_entity(1, 1, 4, LIST(0, 2, 1, 3));
    check_entity(2, 0, 4, LIST(0, 1, 2, 3));
    assert_int_equal(optune_space_radix(made, 3), 4);
    check_entity(3, 1, 2, LIST(OPTUNE_ANN_NONE, OPTUNE_ANN_UNROLL));
    assert_int_equal(optune_space_radix(made, 4), 8); /* 9 without vec twice */
    check_entity(5, 0, 3, LIST(OPTUNE_ANN_FUSE, OPTUNE_ANN_BLOCK_X, OPTUNE_ANN_THREAD_X));
    check_entity(6, 0, 6,
                 LIST(OPTUNE_ANN_BLOCK_Y, OPTUNE_ANN_BLOCK_X, OPTUNE_ANN_VTHREAD,
                      OPTUNE_ANN_VTHREAD, OPTUNE_ANN_THREAD_Y, OPTUNE_ANN_THREAD_X));
}

static void test_choosing_a_list(void **state)
{
    (void)state;
    static const int64_t orders[2][OPTUNE_MAX_LIST] = {{0, 1, 2}, {2, 0, 1}};
    optune_space_reorder(made, "order", 3, OPTUNE_REORDER_CANDIDATE, 0, 0, orders, 2);
    optune_space_annotate(made, "ann", 2, "try_unroll_vec");
    optune_config config;
    optune_err err = {0};
    ot_space_nth(made, 0, &config);
    optune_config_choose_list(&config, made, "order", LIST(2, 0, 1));
    optune_config_choose_list(&config, made, "ann", LIST(OPTUNE_ANN_UNROLL, OPTUNE_ANN_VEC));
    check_ok(ot_space_index_of(made, &config, &err));
    const int64_t *order = optune_config_split(&config, "order");
    const int64_t *ann = optune_config_split(&config, "ann");
    assert_true(order[0] == 2 && order[1] == 0 && order[2] == 1);
    assert_true(ann[0] == OPTUNE_ANN_UNROLL && ann[1] == OPTUNE_ANN_VEC);
    /* As AutoTVM writes them, and back. */
    ot_text text = {0};
    ot_config_print(&config, &text);
    assert_string_equal(ot_text_str(&text),
                        "[[\"order\",\"re\",[2,0,1]],[\"ann\",\"an\",[\"unroll\",\"vec\"]]]");
    optune_config back;
    check_ok(ot_config_parse(ot_text_str(&text), &back, &err));
    ot_text_release(&text);
    check_ok(ot_space_index_of(made, &back, &err));
    assert_int_equal(back.index, config.index);
}

static void fill(void)
{
    optune_space_split(made, "tile", 24, 3, NULL);
    optune_space_ints(made, "step", 4, LIST(0, 16, 64, 512));
    optune_space_bools(made, "unroll", 2, (bool[]){true, false});
    optune_space_words(made, "order", 3, (const char *[]){"ijk", "ikj", "kij"});
}

static void test_codec(void **state)
{
    (void)state;
    fill();
    optune_err err = {0};
    const int64_t size = optune_space_size(made);
    assert_int_equal(size, optune_space_radix(made, 0) * 4 * 2 * 3);
    for (int64_t i = 0; i < size; i++) {
        optune_config config, text_config;
        ot_space_nth(made, i, &config);
        assert_int_equal(config.index, i);
        ot_text text = {0};
        ot_config_print(&config, &text);
        check_ok(ot_config_parse(ot_text_str(&text), &text_config, &err));
        ot_text_release(&text);
        check_ok(ot_space_index_of(made, &text_config, &err));
        assert_int_equal(text_config.index, i);
    }
    /* the first knob is the least significant digit */
    optune_config first;
    ot_space_nth(made, 1, &first);
    assert_int_equal(optune_config_split(&first, "tile")[1], 2);
    assert_int_equal(optune_config_int(&first, "step"), 0);
    assert_true(optune_config_bool(&first, "unroll"));
    assert_string_equal(optune_config_word(&first, "order"), "ijk");
}

static void check_index_of(const char *text, int64_t index, const char *reason)
{
    optune_err err = {0};
    optune_config config;
    check_ok(ot_config_parse(text, &config, &err));
    const int status = ot_space_index_of(made, &config, &err);
    if (reason) {
        assert_int_equal(status, OPTUNE_ENOENT);
        check_contains(err.text, reason);
        return;
    }
    check_ok(status);
    assert_int_equal(config.index, index);
    assert_string_equal(config.entity[0].name, "tile"); /* back in the space's order */
    assert_int_equal(config.entity[0].v[0], 24);
}

static void test_index_of(void **state)
{
    (void)state;
    fill();
    check_index_of("[[\"order\",\"ot\",\"ijk\"],[\"unroll\",\"ot\",1],[\"step\",\"ot\",0.0],"
                   "[\"tile\",\"sp\",[-1,1,1]]]",
                   0, NULL);
    check_index_of("[[\"tile\",\"sp\",[5,1,1]],[\"step\",\"ot\",0],[\"unroll\",\"ot\",true],"
                   "[\"order\",\"ot\",\"ijk\"]]",
                   0, "knob 'tile' has no entity tile=[5,1,1]");
    check_index_of("[[\"tile\",\"sp\",[24,1]],[\"step\",\"ot\",0],[\"unroll\",\"ot\",true],"
                   "[\"order\",\"ot\",\"ijk\"]]",
                   0, "knob 'tile'");
    check_index_of(
        "[[\"tile\",\"sp\",[24,1,1]],[\"step\",\"ot\",\"x\"],[\"unroll\",\"ot\",true],"
        "[\"order\",\"ot\",\"ijk\"]]",
        0, "knob 'step'");
    check_index_of("[[\"tile\",\"sp\",[24,1,1]],[\"step\",\"ot\",0],[\"unroll\",\"ot\",true]]",
                   0, "the config has no knob 'order'");
    check_index_of("[[\"tile\",\"sp\",[24,1,1]],[\"stp\",\"ot\",0]]", 0,
                   "the space has no knob 'stp'");
}

/* A space far too large to enumerate: 700 million points and more. */
static void test_large(void **state)
{
    (void)state;
    optune_space_split(made, "f", 2880, 4, NULL);
    optune_space_split(made, "y", 5040, 4, NULL);
    optune_space_split(made, "x", 224, 4, NULL);
    optune_space_ints(made, "u", 3, LIST(0, 512, 1500));
    optune_err err = {0};
    check_ok(ot_space_check(made, &err));
    assert_true(optune_space_size(made) > 700000000);
    uint64_t rng = 7;
    int64_t out[512];
    for (int i = 0; i < 200; i++) {
        const int64_t index = ot_space_random(made, &rng);
        optune_config config;
        ot_space_nth(made, index, &config);
        config.index = -1;
        check_ok(ot_space_index_of(made, &config, &err));
        assert_int_equal(config.index, index);
        const int n = optune_space_neighbours(made, index, out, OT_COUNT(out));
        assert_in_range(n, 1, OT_COUNT(out) - 1);
    }
}

static int digits_that_differ(int64_t a, int64_t b)
{
    int64_t x[OPTUNE_MAX_KNOBS], y[OPTUNE_MAX_KNOBS];
    int n = 0;
    optune_space_digits(made, a, x);
    optune_space_digits(made, b, y);
    for (int i = 0; i < optune_space_knobs(made); i++)
        n += x[i] != y[i];
    return n;
}

static bool listed(const int64_t *list, int n, int64_t index)
{
    for (int i = 0; i < n; i++)
        if (list[i] == index)
            return true;
    return false;
}

/* Exact steps of one split: [6,2,2] of 24. */
static void test_split_neighbours(void **state)
{
    (void)state;
    optune_space_split(made, "tile", 24, 3, NULL);
    optune_config config = {.n = 1};
    config.entity[0] = (optune_entity){.name = "tile", .n = 3, .v = {6, 2, 2}};
    optune_err err = {0};
    check_ok(ot_space_index_of(made, &config, &err));
    int64_t out[64];
    const int n = optune_space_neighbours(made, config.index, out, OT_COUNT(out));
    const int64_t expected[][3] = {{3, 4, 2},  {3, 2, 4}, {2, 6, 2},  {2, 2, 6},
                                   {12, 1, 2}, {6, 1, 4}, {12, 2, 1}, {6, 4, 1}};
    assert_int_equal(n, OT_COUNT(expected));
    for (int i = 0; i < OT_COUNT(expected); i++) {
        memcpy(config.entity[0].v, expected[i], sizeof expected[i]);
        check_ok(ot_space_index_of(made, &config, &err));
        assert_true(listed(out, n, config.index));
    }
}

static void test_neighbours(void **state)
{
    (void)state;
    fill();
    int64_t out[64];
    for (int64_t i = 0; i < optune_space_size(made); i++) {
        const int n = optune_space_neighbours(made, i, out, OT_COUNT(out));
        for (int j = 0; j < n; j++) {
            assert_int_equal(digits_that_differ(i, out[j]), 1);
            assert_false(listed(out, j, out[j]));
            /* a step can be taken back */
            int64_t back[64];
            assert_true(listed(back, optune_space_neighbours(made, out[j], back, 64), i));
        }
        assert_int_equal(optune_space_neighbours(made, i, out, 2), 2);
    }
    /* the first step has one neighbour in the list, the bool one, the words two */
    assert_int_equal(optune_space_neighbours(made, 0, out, OT_COUNT(out)), 4 + 1 + 1 + 2);
}

static void test_neighbours_of_a_list_with_gaps(void **state)
{
    (void)state;
    static const int64_t list[][OPTUNE_MAX_LIST] = {{100, 1}, {10, 10}, {1, 100}};
    optune_space_split(made, "gaps", 100, 2,
                       &(optune_split){.policy = OPTUNE_SPLIT_CANDIDATE,
                                       .candidate = list,
                                       .n_candidates = 3});
    int64_t out[8];
    assert_int_equal(optune_space_neighbours(made, 1, out, 8), 2);
}

static void test_mutate_and_cross(void **state)
{
    (void)state;
    fill();
    uint64_t rng = 3, again = 3;
    const int64_t size = optune_space_size(made);
    for (int i = 0; i < 300; i++) {
        const int64_t a = ot_space_random(made, &rng), b = ot_space_random(made, &rng);
        const int64_t mutant = ot_space_mutate(made, a, 0.1, &rng);
        assert_in_range(mutant, 0, size - 1);
        assert_true(mutant != a);
        assert_int_equal(digits_that_differ(a, ot_space_mutate(made, a, 1.0, &rng)), 4);
        assert_int_equal(digits_that_differ(a, ot_space_mutate(made, a, 0.0, &rng)), 1);
        const int64_t child = ot_space_cross(made, a, b, &rng);
        assert_true(digits_that_differ(child, a) + digits_that_differ(child, b) ==
                    digits_that_differ(a, b));
    }
    assert_int_equal(ot_space_random(made, &again), ot_space_random(made, &(uint64_t){3}));
}

static void test_no_knobs(void **state)
{
    (void)state;
    uint64_t rng = 1;
    int64_t out[4];
    optune_config config;
    optune_err err = {0};
    assert_int_equal(optune_space_size(made), 1);
    assert_int_equal(ot_space_random(made, &rng), 0);
    assert_int_equal(ot_space_mutate(made, 0, 1.0, &rng), 0);
    assert_int_equal(optune_space_neighbours(made, 0, out, 4), 0);
    ot_space_nth(made, 0, &config);
    assert_int_equal(config.n, 0);
    check_ok(ot_space_index_of(made, &config, &err));
    assert_true(ot_space_valid(made, &config, NULL));
}

static void test_choose(void **state)
{
    (void)state;
    fill();
    optune_config config;
    assert_true(ot_space_fallback(made, &config, NULL));
    optune_config_choose_split(&config, made, "tile", LIST(0, 4, 3));
    assert_int_equal(optune_config_split(&config, "tile")[2], 3);
    assert_int_equal(optune_config_split(&config, "tile")[1], 4);
    assert_int_equal(optune_config_split(&config, "tile")[0], 2);
    optune_config_choose_split(&config, made, "tile", LIST(0, 0, 0)); /* none: the smallest */
    assert_int_equal(optune_config_split(&config, "tile")[0], 24);
    optune_config_choose_int(&config, made, "step", 100);
    assert_int_equal(optune_config_int(&config, "step"), 64);
    optune_config_choose_int(&config, made, "step", -1);
    assert_int_equal(optune_config_int(&config, "step"), 0);
    optune_config_choose_word(&config, made, "order", "kij");
    assert_string_equal(optune_config_word(&config, "order"), "kij");
    optune_err err = {0};
    check_ok(ot_space_index_of(made, &config, &err));
}

static void check_misuse(int status, const char *reason)
{
    optune_err err = {0};
    assert_int_equal(ot_space_check(made, &err), status);
    check_contains(err.text, reason);
    ot_space_close(made);
    made = ot_space_blank();
}

static bool never(const int64_t *sizes, int parts, const void *arg)
{
    (void)sizes, (void)parts, (void)arg;
    return false;
}

static void test_misuse_is_kept(void **state)
{
    (void)state;
    optune_space_split(made, "none", 8, 2, &(optune_split){.filter = never});
    optune_space_split(made, "later", 0, 2, NULL); /* only the first is told */
    check_misuse(OPTUNE_EUSAGE, "'none' has no entity");
    optune_space_split(made, "empty", 0, 2, NULL);
    check_misuse(OPTUNE_EUSAGE, "'empty' splits an empty axis");
    optune_space_ints(made, "twice", 1, LIST(1));
    optune_space_ints(made, "twice", 1, LIST(1));
    check_misuse(OPTUNE_EUSAGE, "declared twice");
    optune_space_split(made, "parts", 8, 99, NULL);
    check_misuse(OPTUNE_ELIMIT, "too many values");
    optune_space_split(made, "entities", 1LL << 39, 8, NULL);
    check_misuse(OPTUNE_ELIMIT, "too many entities");
    optune_space_annotate(made, "cache", 2, "locate_cache");
    check_misuse(OPTUNE_EUNSUPPORTED, "policy");
    optune_space_reorder(made, "order", 2, OPTUNE_REORDER_CANDIDATE, 0, 0,
                         (const int64_t[][OPTUNE_MAX_LIST]){{0, 0}}, 1);
    check_misuse(OPTUNE_EUSAGE, "no permutation");
    optune_space_split(made, "list", 10, 2,
                       &(optune_split){.policy = OPTUNE_SPLIT_CANDIDATE,
                                       .candidate = (const int64_t[][OPTUNE_MAX_LIST]){{2, 4}},
                                       .n_candidates = 1});
    check_misuse(OPTUNE_EUSAGE, "does not cover");
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%d", i);
        optune_space_split(made, name, 5040, 3, NULL);
    }
    check_misuse(OPTUNE_ELIMIT, "too large to number");
    for (int i = 0; i <= OPTUNE_MAX_KNOBS; i++) {
        snprintf(name, sizeof name, "k%d", i);
        optune_space_ints(made, name, 1, LIST(1));
    }
    check_misuse(OPTUNE_ELIMIT, "one too many");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* ---- the nearest valid config ------------------------------------------------------------ */

static void two_knobs(const optune_task *task, optune_space *to)
{
    (void)task;
    optune_space_ints(to, "a", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
    optune_space_ints(to, "b", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

static int64_t least, most; /* of the product of both */

static bool product_fits(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    const int64_t n = optune_config_int(config, "a") * optune_config_int(config, "b");
    return (n >= least && n <= most) || optune_refuse(why, "%d", (int)n);
}

static void prefers_16_8(const optune_task *task, const optune_space *from,
                         optune_config *config)
{
    (void)task;
    optune_config_choose_int(config, from, "a", 16);
    optune_config_choose_int(config, from, "b", 8);
    optune_config_nearest(config, from);
}

static void test_nearest(void **state)
{
    (void)state;
    static const optune_impl impl = {
        .name = "nearest", .space = two_knobs, .valid = product_fits, .fallback = prefers_16_8};
    static const struct {
        int64_t least, most, a, b;
    } want[] = {
        {1, 1024, 16, 8}, /* as it was */
        {1, 64, 8, 8},    /* one knob, one step */
        {1, 16, 2, 8},    /* still one knob */
        {1, 2, 2, 1},     /* both */
        {1024, 1024, 32, 32},
    };
    for (int i = 0; i < OT_COUNT(want); i++) {
        optune_err err = {0};
        optune_space *opened;
        optune_config config;
        least = want[i].least;
        most = want[i].most;
        check_ok(ot_space_open(NULL, &impl, &opened, &err));
        assert_true(ot_space_fallback(opened, &config, NULL));
        assert_int_equal(optune_config_int(&config, "a"), want[i].a);
        assert_int_equal(optune_config_int(&config, "b"), want[i].b);
        ot_space_close(opened);
    }
    optune_err err = {0};
    optune_space *opened;
    optune_config config;
    char why[OPTUNE_WHY_SIZE] = "";
    least = most = 3; /* nothing is: what was chosen stays, and is refused */
    check_ok(ot_space_open(NULL, &impl, &opened, &err));
    assert_false(ot_space_fallback(opened, &config, why));
    assert_string_equal(why, "128");
    ot_space_close(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_factors),
        TEST(test_policies),
        TEST(test_verbose_in_autotvms_order),
        TEST(test_reorder_and_annotate),
        TEST(test_choosing_a_list),
        TEST(test_codec),
        TEST(test_index_of),
        TEST(test_large),
        TEST(test_split_neighbours),
        TEST(test_neighbours),
        TEST(test_neighbours_of_a_list_with_gaps),
        TEST(test_mutate_and_cross),
        TEST(test_no_knobs),
        TEST(test_choose),
        TEST(test_misuse_is_kept),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
