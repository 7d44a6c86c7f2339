/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which library a file really is, over stand-ins that export what tells one from another
 * (tests/data/fake_blas.c): its name never comes from its file's, kernels that are older than the
 * CPU are corrected or told, and a file that cannot be called is refused with its reason.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "target/library.h"

static char dir[2048];
static const optune_target target = {.threads = 1};

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    setenv("OPTUNE_WORKER", OT_WORKER, 0);
    unsetenv("OPTUNE_OPENBLAS_CORETYPE");
    return ot_temp_dir(dir, sizeof dir, &err);
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPTUNE_CBLAS");
    ot_remove_tree(dir);
    return 0;
}

/* What a run would write into a record with this file as its BLAS; the status. */
static int describe(const char *file, char *text, size_t size)
{
    const optune_impl impl = {.name = "x", .library = "cblas"};
    optune_err err = {0};
    setenv("OPTUNE_CBLAS", file, 1);
    const int status = ot_target_find("cpu")->dependencies(&target, &impl, text, size, &err);
    if (status < 0)
        snprintf(text, size, "%s", err.text);
    return status;
}

static void expect_library(const char *name, const char *define, const char *what)
{
    char text[OPTUNE_TEXT_SIZE], value[256];
    assert_true(0 <=
                describe(stand_in_build(dir, "fake_blas.c", name, define), text, sizeof text));
    assert_true(ot_lines_get(text, "library", value, sizeof value));
    assert_string_equal(value, what);
    assert_true(ot_lines_get(text, "library_build", value, sizeof value));
    assert_true(*value);
}

/* All under names that are not theirs. */
static void test_names(void **state)
{
    (void)state;
    setenv("FAKE_CORE", "SapphireRapids", 1);
    expect_library("libcblas.so.3", "-DOPENBLAS", "OpenBLAS 9.8.7 SapphireRapids");
    expect_library("prefixed.so", "-DPREFIXED", "OpenBLAS 9.8.7 SapphireRapids");
    expect_library("libopenblas.so.1", "-DMKL", "MKL 2031.4 AVX2");
    expect_library("libopenblas.so.2", "-DBLIS", "BLIS 3.2.1 zen9");
    expect_library("libopenblas.so.3.10", "-DATLAS", "ATLAS 3.10");
    expect_library("libmkl_rt.so.3.11.0", "-DREFERENCE", "reference BLAS 3.11.0");
    expect_library("libopenblas.so.0", "-DREFERENCE", "reference BLAS");
    expect_library("libopenblas.so.5", NULL, "unidentified library libopenblas.so.5");
    unsetenv("FAKE_CORE");
}

/* Another file under the same name is another library, even where neither says a version. */
static void test_digest(void **state)
{
    (void)state;
    char text[OPTUNE_TEXT_SIZE], one[256], two[256], three[256];
    assert_true(
        0 <= describe(stand_in_build(dir, "fake_blas.c", "one.so", NULL), text, sizeof text));
    assert_true(ot_lines_get(text, "library_build", one, sizeof one));
    assert_true(
        0 <= describe(stand_in_build(dir, "fake_blas.c", "two.so", NULL), text, sizeof text));
    assert_true(ot_lines_get(text, "library_build", two, sizeof two));
    assert_true(0 <= describe(stand_in_build(dir, "fake_blas.c", "three.so", "-DATLAS"), text,
                              sizeof text));
    assert_true(ot_lines_get(text, "library_build", three, sizeof three));
    assert_string_equal(one, two);
    assert_string_not_equal(one, three);
}

static void test_refused(void **state)
{
    (void)state;
    char text[OPTUNE_TEXT_SIZE];
    assert_int_equal(describe("/nosuch/libmkl_rt.so", text, sizeof text), OPTUNE_ENODEV);
    check_contains(text, "OPTUNE_CBLAS");
    check_contains(text, "/nosuch/libmkl_rt.so");
    assert_int_equal(
        describe(stand_in_build(dir, "fake_blas.c", "empty.so", "-DEMPTY"), text, sizeof text),
        OPTUNE_ENODEV);
    check_contains(text, "has no cblas_sgemm");
    assert_int_equal(
        describe(stand_in_build(dir, "fake_blas.c", "wide.so", "-DWIDE"), text, sizeof text),
        OPTUNE_ENODEV);
    check_contains(text, "64-bit");
}

/* What the worker says of oneDNN, and whether it has one. */
static bool ask_onednn(ot_text *said)
{
    optune_err err = {0};
    char *argv[] = {(char *)OT_WORKER, (char *)"--library", (char *)"dnnl", NULL};
    ot_text_clear(said);
    return ot_run_program(argv, 20, said, &err) >= 0;
}

/* A build that cannot start, and one of a version that nobody calls, hide none that serves. */
static void test_passed_over(void **state)
{
    (void)state;
    char value[256];
    ot_text said = {0};
    const char *const before = getenv("LD_LIBRARY_PATH");
    char *const path = before ? ot_strdup(before) : NULL;
    const char *const gpu = stand_in_build(dir, "fake_dnnl.c", "libdnnl.so.3", "-DNO_CPU");
    const char *const old = stand_in_build(dir, "fake_dnnl.c", "libdnnl.so", "-DVERSION=1");
    stand_in_build(dir, "fake_dnnl.c", "libdnnl.so.2", "-DVERSION=2");
    setenv("LD_LIBRARY_PATH", dir, 1);
    setenv("ONEDNN_VERBOSE", "1", 1);
    assert_true(ask_onednn(&said));
    assert_true(ot_lines_get(said.s, "library", value, sizeof value));
    assert_string_equal(value, "oneDNN 2.91.7");
    assert_null(strstr(said.s, "verbose")); /* what a library prints */

    stand_in_build(dir, "fake_dnnl.c", "libdnnl.so.2", "-DNO_CPU");
    assert_false(ask_onednn(&said));
    check_contains(said.s, "libdnnl.so.3 (");
    check_contains(said.s, "cannot start: its engine for the CPU has status 2");
    check_contains(said.s, "libdnnl.so is oneDNN 1.91.7; versions 2 to 3 are called");

    setenv("OPTUNE_DNNL", gpu, 1);
    assert_false(ask_onednn(&said));
    check_contains(said.s, "OPTUNE_DNNL");
    check_contains(said.s, "cannot start");
    setenv("OPTUNE_DNNL", old, 1);
    assert_false(ask_onednn(&said));
    check_contains(said.s, "versions 2 to 3");
    unsetenv("OPTUNE_DNNL");
    unsetenv("ONEDNN_VERBOSE");
    if (path)
        setenv("LD_LIBRARY_PATH", path, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    free(path);
    ot_text_release(&said);
}

/* ---- kernels ----------------------------------------------------------------------------- */

static void test_cores(void **state)
{
    (void)state;
    ot_cpu_features old, avx2, avx512, arm;
    ot_cpu_features_of("sse sse2", "x86_64", &old);
    ot_cpu_features_of("avx avx2 fma bmi1 bmi2 f16c movbe abm", "x86_64", &avx2);
    ot_cpu_features_of("avx avx2 fma bmi1 bmi2 f16c movbe abm avx512f avx512dq avx512bw "
                       "avx512vl avx512cd",
                       "x86_64", &avx512);
    ot_cpu_features_of("asimd sve", "aarch64", &arm);
    assert_string_equal(ot_library_newer_core("Prescott", &avx512), "SkylakeX");
    assert_string_equal(ot_library_newer_core("Haswell", &avx512), "SkylakeX");
    assert_string_equal(ot_library_newer_core("Zen", &avx512), "SkylakeX");
    assert_string_equal(ot_library_newer_core("Prescott", &avx2), "Haswell");
    assert_string_equal(ot_library_newer_core("Sandybridge", &avx2), "Haswell");
    static const char *const new[] = {"SkylakeX", "Cooperlake", "SapphireRapids",
                                      "Zen4",     "Zen5",       "NobodyKnowsIt"};
    for (int i = 0; i < OT_COUNT(new); i++) {
        assert_null(ot_library_newer_core(new[i], &avx512));
        assert_null(ot_library_unused(new[i], &avx512));
    }
    assert_null(ot_library_newer_core("Haswell", &avx2));
    assert_null(ot_library_newer_core("Zen", &avx2));
    assert_null(ot_library_newer_core("Prescott", &old));
    assert_null(ot_library_newer_core("NEOVERSEN1", &arm));
    assert_string_equal(ot_library_unused("Zen3", &avx512), "AVX-512");
    assert_string_equal(ot_library_unused("Prescott", &avx2), "AVX2");
}

/* Its own choice stands where it is new enough; an older one is corrected, and both are told. */
static void test_corrected(void **state)
{
    (void)state;
    const char *file = stand_in_build(dir, "fake_blas.c", "again.so", "-DOPENBLAS");
    char core[256], expected[256];
    ot_cpu_features features;
    ot_cpu_features_here(&features);
    const char *better = ot_library_newer_core("Prescott", &features);
    if (!better)
        skip();
    optune_err err = {0};
    ot_text said = {0};
    char *argv[] = {(char *)OT_WORKER, (char *)"--library", (char *)"cblas", NULL};
    setenv("OPTUNE_CBLAS", file, 1);
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1); /* no one's word on what is best */
    check_ok(ot_run_program(argv, 20, &said, &err));
    snprintf(expected, sizeof expected, "%s instead of Prescott", better);
    assert_true(ot_lines_get(said.s, "library_core", core, sizeof core));
    assert_string_equal(core, expected);
    unsetenv("OPENBLAS_CORETYPE");

    setenv("FAKE_CORE", "SapphireRapids", 1);
    ot_text_clear(&said);
    check_ok(ot_run_program(argv, 20, &said, &err));
    assert_true(ot_lines_get(said.s, "library_core", core, sizeof core));
    assert_string_equal(core, "SapphireRapids");
    unsetenv("FAKE_CORE");

    setenv("OPTUNE_OPENBLAS_CORETYPE", "Nehalem", 1);
    ot_text_clear(&said);
    check_ok(ot_run_program(argv, 20, &said, &err));
    assert_true(ot_lines_get(said.s, "library_core", core, sizeof core));
    check_contains(core, "Nehalem");
    check_contains(core, "unused");
    unsetenv("OPTUNE_OPENBLAS_CORETYPE");
    ot_text_release(&said);
}

/* ---- what it needs ----------------------------------------------------------------------- */

/* A library whose own need lies beside it, where no search path leads. */
static void test_beside(void **state)
{
    (void)state;
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE], value[256], needed[2100], from[2100], to[2100];
    snprintf(needed, sizeof needed, "%s/libneeded.so.7", dir);
    snprintf(from, sizeof from, "%s/nothing.c", dir);
    snprintf(to, sizeof to, "%s/libouter.so", dir);
    char *const cc = (char *)OT_CC, *const shared = (char *)"-shared", *const o = (char *)"-o";
    char *inner[] = {cc,
                     shared,
                     (char *)"-fPIC",
                     (char *)"-DMKL",
                     (char *)"-Wl,-soname,libneeded.so.7",
                     o,
                     needed,
                     (char *)OT_SOURCE_DIR "/tests/data/fake_blas.c",
                     NULL};
    char *outer[] = {cc, shared, o, to, from, (char *)"-Wl,--no-as-needed", needed, NULL};
    check_ok(ot_write_file(from, "", 0, &err));
    check_ok(ot_run_program(inner, 60, NULL, &err));
    check_ok(ot_run_program(outer, 60, NULL, &err));
    assert_true(0 <= describe(to, text, sizeof text));
    assert_true(ot_lines_get(text, "library", value, sizeof value));
    assert_string_equal(value, "MKL 2031.4 AVX2");
}

/* Through one number again and again, which is free once the object is there. */
static void *load_by(int number, const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(file, number);
    void *object = ot_library_of_file(file);
    close(file);
    return object;
}

static int answer_of(void *object)
{
    int said = -1;
    void (*answer)(void *const *arg) = NULL;
    assert_true(object && ot_library_bind(object, "answer", &answer));
    answer((void *const[]){&said});
    return said;
}

static void test_of_files(void **state)
{
    (void)state;
    const char *const stays = stand_in_build(dir, "fake_body.c", "stays.so", "-Wl,-z,nodelete");
    const char *const next = stand_in_build(dir, "fake_body.c", "next.so", "-DANSWER=3");
    const char *const other = stand_in_build(dir, "fake_body.c", "other.so", "-DANSWER=4");
    const int number = dup(0);
    close(number);
    void *object[2] = {load_by(number, stays)};
    assert_int_equal(answer_of(object[0]), 0);
    dlclose(object[0]); /* in vain */
    object[0] = load_by(number, next);
    object[1] = load_by(number, other);
    assert_int_equal(answer_of(object[0]), 3);
    assert_int_equal(answer_of(object[1]), 4);
    assert_ptr_equal(load_by(number, next), object[0]); /* a file is one object */
    dlclose(object[0]);
    dlclose(object[0]);
    dlclose(object[1]);
    assert_null(load_by(number, OT_SOURCE_DIR "/LICENSE"));
    assert_string_equal(ot_library_why(), "invalid ELF header");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),     cmocka_unit_test(test_digest),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_cores),
        cmocka_unit_test(test_corrected), cmocka_unit_test(test_beside),
        cmocka_unit_test(test_of_files),  cmocka_unit_test(test_passed_over),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
