/* SPDX-License-Identifier: Apache-2.0 */
/* The growing string, strict numbers, dtypes, nearest words and lines. */
#include "support/check.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void grows_and_clears(void **state)
{
    (void)state;
    ot_text t = {0};
    assert_string_equal(ot_text_str(&t), "");
    ot_text_clear(&t);
    for (int i = 0; i < 1000; i++)
        ot_text_printf(&t, "%d,", i % 10);
    assert_int_equal(t.n, 2000);
    assert_int_equal(strlen(t.s), 2000);
    assert_memory_equal(t.s + 1980, "0,1,2,3,4,5,6,7,8,9,", 20);
    ot_text_clear(&t);
    assert_string_equal(ot_text_str(&t), "");
    ot_text_add_n(&t, "a\0b", 3);
    assert_int_equal(t.n, 3);
    assert_memory_equal(t.s, "a\0b", 4);
    ot_text_release(&t);
    assert_null(t.s);
}

static void copy_never_truncates(void **state)
{
    (void)state;
    char to[4];
    assert_true(ot_copy(to, sizeof to, "abc"));
    assert_string_equal(to, "abc");
    assert_false(ot_copy(to, sizeof to, "abcd"));
    assert_string_equal(to, "");
    assert_true(ot_copy(to, sizeof to, NULL));
    assert_string_equal(to, "");
}

static void json_strings_are_escaped(void **state)
{
    (void)state;
    ot_text t = {0};
    ot_text_add_json(&t, "a\"b\\c\n\x01\xc3\xa9\xff\xed\xa0\x80.");
    assert_string_equal(t.s, "\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\xef\xbf\xbd"
                             "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.\"");
    ot_text_release(&t);
}

static void reals_round_trip(void **state)
{
    (void)state;
    const double values[] = {0.1,
                             1.0 / 3,
                             5.69732536806342e-05,
                             1e9,
                             DBL_MIN,
                             DBL_MAX,
                             -2.5,
                             5e-324,
                             1535423916.7184713,
                             0.0,
                             123456789012345680.0};
    ot_text t = {0};
    for (int i = 0; i < OT_COUNT(values); i++) {
        ot_text_clear(&t);
        ot_text_add_real(&t, values[i]);
        double back = -1;
        assert_true(ot_parse_real(t.s, &back));
        assert_true(back == values[i]);
    }
    ot_text_clear(&t);
    ot_text_add_real(&t, 0.1);
    ot_text_add(&t, " ");
    ot_text_add_real(&t, 3);
    ot_text_add(&t, " ");
    ot_text_add_real(&t, INFINITY);
    assert_string_equal(t.s, "0.1 3.0 null");
    ot_text_release(&t);
}

/* The fewest digits from 15 on that read back as the same, as "%.*g" has them. */
static void reals_are_as_the_library_prints_them(void **state)
{
    (void)state;
    uint64_t rng = 20261125;
    ot_text t = {0};
    for (int i = 0; i < 200000; i++) {
        static const double starts[] = {1e-5, 1e-4, 1e-3,  0.1,  1,   10,
                                        1e3,  1e9,  1.7e9, 1e14, 1e15};
        const double start = starts[optune_random_below(&rng, OT_COUNT(starts))];
        double value = start * (i % 5 ? 1 + 9 * optune_random_unit(&rng) : 1), back;
        char s[40];
        for (int k = i % 7; k > 3; k--)
            value = nextafter(value, i % 2 ? 0 : INFINITY);
        if (i % 3 == 0) {
            snprintf(s, sizeof s, "%.*g", 1 + i % 16, value);
            value = strtod(s, NULL);
        }
        value = i % 11 ? value : -value;
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(s, sizeof s, "%.*g", digits, value);
            if (ot_parse_real(s, &back) && back == value)
                break;
        }
        ot_text_clear(&t);
        ot_text_add_real(&t, value);
        if (strncmp(t.s, s, strlen(s)) != 0 ||
            (t.s[strlen(s)] && strcmp(t.s + strlen(s), ".0")))
            fail_msg("'%s' and '%s'", t.s, s);
    }
    ot_text_release(&t);
}

/* Short decimals are read without the C library; they are the same doubles, to the bit. */
static void reals_are_as_the_library_reads_them(void **state)
{
    (void)state;
    uint64_t rng = 20261124;
    for (int i = 0; i < 20000; i++) {
        char text[80];
        const int digits = 1 + (int)optune_random_below(&rng, 22);
        int n = snprintf(text, sizeof text, "%s", optune_random_below(&rng, 4) ? "" : "-");
        const int point = (int)optune_random_below(&rng, digits + 2);
        for (int k = 0; k < digits; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", k == point ? "." : "",
                          (int)optune_random_below(&rng, 10));
        if (optune_random_below(&rng, 2))
            n += snprintf(text + n, sizeof text - (size_t)n, "e%s%d",
                          optune_random_below(&rng, 2) ? "-" : "",
                          (int)optune_random_below(&rng, 40));
        snprintf(text + n, sizeof text - (size_t)n, "%s",
                 (const char *const[]){"", ",", "x", "e", ".", "]", " 1"}[i % 7]);
        char *end;
        double mine = 0;
        const double right = strtod(text, &end);
        const size_t length = ot_read_real(text, &mine);
        const bool hexadecimal = strstr(text, "0x") == text + strspn(text, "-"); /* not ours */
        if (!hexadecimal &&
            (length != (size_t)(end - text) || memcmp(&mine, &right, sizeof mine) != 0))
            fail_msg("'%s': %zu bytes, %.17g, not %zu, %.17g", text, length, mine,
                     (size_t)(end - text), right);
    }
}

static void same_as_strtod(const char *text)
{
    double mine = 0;
    const double right = strtod(text, NULL);
    assert_int_equal(ot_read_real(text, &mine), strlen(text));
    if (memcmp(&mine, &right, sizeof mine) != 0)
        fail_msg("'%s': %.17g, not %.17g", text, mine, right);
}

/* Numbers of as many digits as name a double, and those in the middle between two. */
static void long_numbers_are_read_as_strtod_does(void **state)
{
    (void)state;
    uint64_t rng = 15;
    for (int i = 0; i < 50000; i++) {
        char text[80];
        double value = optune_random_unit(&rng) + 1e-9;
        for (int k = (int)optune_random_below(&rng, 24); k > 8; k--)
            value *= optune_random_below(&rng, 3) ? 0.1 : 10;
        snprintf(text, sizeof text, "%.*g", 14 + i % 6, value);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.*f", 12 + i % 8, value);
        same_as_strtod(text);
        const int64_t odd = 2 * optune_random_below(&rng, (int64_t)1 << 51) + 1;
        snprintf(text, sizeof text, "%lld.%s", (long long)(((int64_t)1 << 53) + odd),
                 i % 2 ? "0" : "00");
        same_as_strtod(text);
        snprintf(text, sizeof text, "%lld.5", (long long)(((int64_t)1 << 52) + odd));
        same_as_strtod(text);
        snprintf(text, sizeof text, "%lld.25", (long long)(((int64_t)1 << 51) + odd));
        same_as_strtod(text);
    }
}

static void locale_changes_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;
    for (int i = 0; i < OT_COUNT(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set)
        skip(); /* no locale with a decimal comma is installed */
    double value;
    ot_text t = {0};
    assert_true(ot_parse_real("1.5", &value));
    assert_true(value == 1.5);
    ot_text_printf(&t, "%.1f ", 2.5);
    ot_text_add_real(&t, 0.25);
    setlocale(LC_ALL, "C");
    assert_string_equal(t.s, "2.5 0.25");
    ot_text_release(&t);
}

static void integers_are_strict(void **state)
{
    (void)state;
    int64_t value = 7;
    assert_true(ot_parse_int("-9223372036854775808", &value));
    assert_true(value == INT64_MIN);
    static const struct {
        const char *text;
        int64_t value;
    } sound[] = {{"-0", 0},
                 {"-12", -12},
                 {"999999999999999999", 999999999999999999},
                 {"-999999999999999999", -999999999999999999},
                 {"1000000000000000000", 1000000000000000000},
                 {"00000000000000000000000001", 1},
                 {"9223372036854775807", INT64_MAX}};
    for (int i = 0; i < OT_COUNT(sound); i++) {
        assert_true(ot_parse_int(sound[i].text, &value));
        assert_true(value == sound[i].value);
    }
    assert_true(ot_parse_int("007", &value));
    assert_int_equal(value, 7);
    const char *const bad[] = {"99999999999999999999",
                               "-",
                               "-a",
                               "1-",
                               "",
                               " 1",
                               "1 ",
                               "+1",
                               "-",
                               "1.0",
                               "0x1",
                               "1e3",
                               "--1",
                               "9223372036854775808",
                               "a"};
    for (int i = 0; i < OT_COUNT(bad); i++)
        assert_false(ot_parse_int(bad[i], &value));
    assert_int_equal(value, 7);
}

static void reals_are_strict(void **state)
{
    (void)state;
    double value = 7;
    assert_true(ot_parse_real("-1.5e-3", &value));
    assert_true(value == -1.5e-3);
    assert_true(ot_parse_real("1e9", &value));
    const char *const bad[] = {"",      " 1",    "1 ", "nan", "inf",
                               "0x1p3", "1e999", ".",  "1,5", "+1"};
    for (int i = 0; i < OT_COUNT(bad); i++)
        assert_false(ot_parse_real(bad[i], &value));
    assert_true(value == 1e9);
}

static void dtypes_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *text, *brief, *full;
    } rows[] = {
        {"f32", "f32", "float32"},
        {"float64", "f64", "float64"},
        {"bf16", "bf16", "bfloat16"},
        {"bfloat16", "bf16", "bfloat16"},
        {"int8", "i8", "int8"},
        {"u8", "u8", "uint8"},
        {"bool", "u1", "bool"},
        {"u1", "u1", "bool"},
        {"float32x4", "f32x4", "float32x4"},
        {"i8x16", "i8x16", "int8x16"},
        {"f16x1", "f16", "float16"},
        {"i4", "i4", "int4"},
    };
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_dtype dtype;
        char text[OPTUNE_WORD_SIZE];
        assert_true(ot_parse_dtype(rows[i].text, &dtype));
        ot_print_dtype(dtype, text, sizeof text);
        assert_string_equal(text, rows[i].brief);
        ot_print_dtype_long(dtype, text, sizeof text);
        assert_string_equal(text, rows[i].full);
    }
    optune_dtype kept = {.code = OPTUNE_DTYPE_INT, .bits = 8, .lanes = 1};
    const char *const bad[] = {"",        "f",         "f33",  "f8x",  "bf32",
                               "f32x0",   "f32x-1",    "F32",  "i128", "u1y",
                               "boolean", "f32x65536", "f32 ", "32",   "f032"};
    for (int i = 0; i < OT_COUNT(bad); i++)
        assert_false(ot_parse_dtype(bad[i], &kept));
    assert_int_equal(kept.bits, 8);
}

static void nearest_word(void **state)
{
    (void)state;
    const char *const names[] = {"conv2d", "dense", "batch_matmul", "conv1d"};
    assert_string_equal(ot_nearest("conv2", names, 4), "conv2d");
    assert_string_equal(ot_nearest("desne", names, 4), "dense");
    assert_string_equal(ot_nearest("CONV1D", names, 4), "conv1d");
    assert_string_equal(ot_nearest("batchmatmul", names, 4), "batch_matmul");
    assert_null(ot_nearest("softmax", names, 4));
    assert_null(ot_nearest("", names, 4));
    assert_null(ot_nearest("x", names, 4));
    assert_string_equal(ot_nearest("matmul", names, 4), "batch_matmul");
    assert_string_equal(ot_nearest("dense_nopack", names, 4), "dense");
}

static void no_such_word(void **state)
{
    (void)state;
    const char *const names[] = {"cpu", "cuda", "opencl", "less", "conv2d", "conv2d_grad"};
    const char *const about[] = {"cpu x86", "cuda gpu", "opencl gpu", NULL, NULL, NULL};
    static const char *const said[][2] = {
        {"gpu", "no thing 'gpu'; did you mean 'cuda' or 'opencl'?"},
        {"conv", "no thing 'conv'; did you mean 'conv2d' or 'conv2d_grad'?"},
        {"cpuu", "no thing 'cpuu'; did you mean 'cpu'?"},
        {"lstm", "no thing 'lstm'; there are cpu, cuda, opencl, less, conv2d, conv2d_grad"},
    };
    for (int i = 0; i < OT_COUNT(said); i++) {
        optune_err err = {0};
        assert_int_equal(ot_no_such_about(&err, "thing", said[i][0], names, about, 6),
                         OPTUNE_ENOENT);
        assert_string_equal(err.text, said[i][1]);
    }
}

static void lines(void **state)
{
    (void)state;
    char value[8];
    const char *text = "compiler=gcc 12\nempty=\ncompile=no\nlast=1";
    assert_true(ot_lines_get(text, "compiler", value, sizeof(value)));
    assert_string_equal(value, "gcc 12");
    assert_true(ot_lines_get(text, "compile", value, sizeof(value)));
    assert_string_equal(value, "no");
    assert_true(ot_lines_get(text, "empty", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(ot_lines_get(text, "last", value, sizeof(value)));
    assert_false(ot_lines_get(text, "comp", value, sizeof(value)));
    assert_false(ot_lines_get(text, "compiler", value, 6)); /* does not fit */
    assert_false(ot_lines_get(NULL, "a", value, sizeof(value)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_clears),
        cmocka_unit_test(copy_never_truncates),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(reals_round_trip),
        cmocka_unit_test(reals_are_as_the_library_prints_them),
        cmocka_unit_test(reals_are_as_the_library_reads_them),
        cmocka_unit_test(long_numbers_are_read_as_strtod_does),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(integers_are_strict),
        cmocka_unit_test(reals_are_strict),
        cmocka_unit_test(dtypes_both_ways),
        cmocka_unit_test(nearest_word),
        cmocka_unit_test(no_such_word),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
