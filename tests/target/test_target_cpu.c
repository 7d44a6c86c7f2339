/* SPDX-License-Identifier: Apache-2.0 */
/* The row `cpu`: probing, compiling, guards, running modules, libraries. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "target/process.h"
#include "target/target.h"

static const optune_target_row *row;
static optune_target target;
static optune_device device;
static char dir[1024];

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_process_claim(); /* as a worker's */
    row = ot_target_find("cpu");
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    check_ok(ot_target_parse("cpu -threads=1", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

static void test_probe(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_target t;
    optune_device d;
    check_ok(ot_target_parse("cpu", &t, &err));
    check_ok(ot_target_probe(&t, &d, &err));
    assert_int_equal(t.threads, d.cores); /* 0 became all of them */
    assert_int_equal(d.threads, d.cores);
    assert_string_equal(d.kind, "cpu");
    assert_int_equal(device.threads, 1);
    assert_string_equal(device.key, d.key); /* threads are the target's, not the device's */

    check_ok(ot_target_parse("cpu -threads=4096", &t, &err));
    assert_int_equal(ot_target_probe(&t, &d, &err), OPTUNE_ENODEV);
    check_contains(err.text, "-threads=4096");
    check_ok(ot_target_parse("cpu -device=no-such-thing", &t, &err));
    assert_int_equal(ot_target_probe(&t, &d, &err), OPTUNE_ENODEV);
    check_contains(err.text, "no-such-thing");
}

static void test_arch_decides_widths(void **state)
{
    (void)state;
#if defined(__x86_64__)
    optune_err err = {0};
    optune_target t;
    optune_device d;
    check_ok(ot_target_parse("cpu -threads=1 -mcpu=haswell", &t, &err));
    check_ok(ot_target_probe(&t, &d, &err));
    assert_int_equal(d.vector_bytes, 32);
    assert_int_equal(d.vector_registers, 16);
    assert_string_equal(d.arch, "haswell");
    check_ok(ot_target_parse("cpu -threads=1 -cflags='-O2 -march=skylake-avx512'", &t, &err));
    check_ok(ot_target_probe(&t, &d, &err));
    assert_int_equal(d.vector_bytes, 64);
    check_ok(ot_target_parse("cpu -threads=1 -mcpu=nosuch", &t, &err));
    assert_true(ot_target_probe(&t, &d, &err) < 0);
#else
    skip();
#endif
}

static bool has_word(const optune_argv *argv, const char *word)
{
    for (int i = 0; i < argv->n; i++)
        if (strcmp(argv->word[i], word) == 0)
            return true;
    return false;
}

static void test_command(void **state)
{
    (void)state;
    static const char *const flags[] = {"-fno-tree-vectorize", "-fsanitize=undefined"};
    char text[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    optune_argv argv = {0};
    optune_target t = target;
    check_ok(row->compile(&t, &device, flags, 2, "in.c", "out.so", &argv, &err));
    assert_true(has_word(&argv, "-march=native"));
    assert_true(has_word(&argv, "-fno-tree-vectorize"));
    assert_true(has_word(&argv, "out.so"));
    assert_true(has_word(&argv, "in.c"));
    assert_false(has_word(&argv, "-fopenmp"));
    assert_false(has_word(&argv, "-nodefaultlibs")); /* a flag may need a library */
    optune_argv_release(&argv);

    check_ok(row->dependencies(&target, NULL, text, sizeof text, &err));
    for (int n = 0; n < 2; n++) { /* without flags, and with one that no library is behind */
        check_ok(row->compile(&t, &device, flags, n, "in.c", "out.so", &argv, &err));
        assert_int_equal(has_word(&argv, "-nodefaultlibs"),
                         strncmp(text, "compiler=gcc ", 13) == 0);
        optune_argv_release(&argv);
    }

    t.threads = 2;
    ot_copy(t.cflags, sizeof t.cflags, "-O1  -g");
    check_ok(row->compile(&t, &device, NULL, 0, "in.c", "out.so", &argv, &err));
    assert_true(has_word(&argv, "-fopenmp"));
    assert_true(has_word(&argv, "-O1"));
    assert_true(has_word(&argv, "-g"));
    assert_false(has_word(&argv, "-O3"));
    assert_false(has_word(&argv, "-march=native"));
    assert_false(has_word(&argv, "-nodefaultlibs"));
    optune_argv_release(&argv);
}

/* A number of looks for a time, whatever a look takes. */
static void test_spins(void **state)
{
    (void)state;
    assert_int_equal(ot_cpu_spins_of(1e-3, 10e-9), 100000);
    assert_int_equal(ot_cpu_spins_of(1e-3, 50e-9), 20000);
    assert_int_equal(ot_cpu_spins_of(1e-3, 0), 1000000);
    assert_int_equal(ot_cpu_spins_of(1e-3, 1), 1000);
    const int64_t one = ot_cpu_spins(1e-3), two = ot_cpu_spins(2e-3);
    assert_in_range(one, 1000, 1000000); /* whoever asks again is told of the same look */
    assert_true(two / 2 - one <= 1 && one - two / 2 <= 1);

    /* The worker's, unless somebody knows better. */
    optune_err err = {0};
    void *state_of = calloc(1, row->worker.state_size + 16);
    char told[32];
    unsetenv("GOMP_SPINCOUNT");
    check_ok(row->worker.open(state_of, &target, &device, &err));
    snprintf(told, sizeof told, "%lld", (long long)one);
    assert_string_equal(getenv("GOMP_SPINCOUNT"), told);
    row->worker.close(state_of);
    setenv("GOMP_SPINCOUNT", "7", 1);
    check_ok(row->worker.open(state_of, &target, &device, &err));
    assert_string_equal(getenv("GOMP_SPINCOUNT"), "7");
    row->worker.close(state_of);
    unsetenv("GOMP_SPINCOUNT");
    free(state_of);
}

static void test_dependencies(void **state)
{
    (void)state;
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE], value[128], again[OPTUNE_TEXT_SIZE];
    check_ok(row->dependencies(&target, NULL, text, sizeof text, &err));
    check_ok(row->dependencies(&target, NULL, again, sizeof again, &err));
    assert_string_equal(text, again);
    assert_true(ot_lines_get(text, "compiler", value, sizeof value));
    assert_true(strncmp(value, "gcc ", 4) == 0 || strncmp(value, "clang ", 6) == 0);
    assert_null(strstr(value, "unknown"));
    const optune_impl none = {.name = "x", .library = "nosuchlib"};
    assert_int_equal(row->dependencies(&target, &none, text, sizeof text, &err), OPTUNE_ENOENT);
    check_contains(err.text, "nosuchlib");
}

/* Asked of the worker program, so that this process loads no such library itself. */
static void test_library_dependencies(void **state)
{
    (void)state;
    static const char *const libs[] = {"cblas", "dnnl"};
    for (int i = 0; i < 2; i++) {
        optune_err err = {0};
        char text[OPTUNE_TEXT_SIZE], value[128];
        const optune_impl impl = {.name = "x", .library = libs[i]};
        const int status = row->dependencies(&target, &impl, text, sizeof text, &err);
        if (status == OPTUNE_ENODEV) {
            check_contains(err.text, "install ");
            continue;
        }
        check_ok(status);
        assert_true(ot_lines_get(text, "library", value, sizeof value));
        print_message("%s", text);
    }
    ot_text maps = {0};
    optune_err err = {0};
    check_ok(ot_read_file("/proc/self/maps", &maps, 16 << 20, &err));
    assert_null(strstr(maps.s, "libopenblas"));
    assert_null(strstr(maps.s, "libdnnl"));
    ot_text_release(&maps);
}

/* What the worker program says of OpenBLAS's core when a variable has this value. */
static bool core_of(const char *variable, const char *value, char *core, size_t size)
{
    optune_err err = {0};
    ot_text text = {0};
    char *was = getenv(variable) ? ot_strdup(getenv(variable)) : NULL;
    char *argv[] = {(char *)OT_WORKER, (char *)"--library", (char *)"cblas", NULL};
    setenv(variable, value, 1);
    const int status = ot_run_program(argv, 20, &text, &err);
    if (was)
        setenv(variable, was, 1);
    else
        unsetenv(variable);
    free(was);
    const bool found =
        status >= 0 && ot_lines_get(ot_text_str(&text), "library_core", core, size);
    ot_text_release(&text);
    return found;
}

/* An environment that asks for an older core does not weaken the baseline, unless it insists. */
static void test_blas_core(void **state)
{
    (void)state;
    char core[64];
    ot_cpu_features features;
    ot_cpu_features_here(&features);
    if (!features.avx512 || !core_of("OPENBLAS_CORETYPE", "Haswell", core, sizeof core))
        skip();
    assert_true(strncmp(core, "SkylakeX", 8) == 0 || strncmp(core, "Cooperlake", 10) == 0 ||
                strncmp(core, "SapphireRapids", 14) == 0 || strncmp(core, "Zen", 3) == 0);
    assert_true(core_of("OPTUNE_OPENBLAS_CORETYPE", "Haswell", core, sizeof core));
    assert_string_equal(core, "Haswell, which leaves this CPU unused: AVX-512");
}

/* ---- buffers ----------------------------------------------------------------------------- */

/* How a child that touches one byte ends: the signal, or 0. */
static int touch_in_child(char *at)
{
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)at = 1;
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_guarded_buffer(void **state)
{
    (void)state;
    static const int64_t sizes[] = {4, 60, 4096, 4100, 1 << 20};
    for (int i = 0; i < OT_COUNT(sizes); i++) {
        optune_err err = {0};
        ot_cpu_buffer *b = ot_cpu_buffer_open(sizes[i], true, &err);
        assert_non_null(b);
        char *p = ot_cpu_buffer_address(b);
        for (int64_t k = 0; k < sizes[i]; k++)
            assert_int_equal(p[k], 0);
        memset(p, 7, (size_t)sizes[i]);
        assert_true(ot_cpu_buffer_intact(b));
        assert_int_equal(touch_in_child(p + sizes[i] - 1), 0);
        assert_int_equal(touch_in_child(p + sizes[i]), SIGSEGV);
        assert_int_equal(touch_in_child(p + sizes[i] + OT_GUARD_BYTES - 1), SIGSEGV);
        assert_int_equal(touch_in_child(p - 4096 - 64), SIGSEGV);
        if (sizes[i] % 4096) { /* in front of it, on its page, a canary, which is no number */
            float one;
            double two;
            memcpy(&one, p - sizeof one, sizeof one);
            memcpy(&two, p - sizeof two, sizeof two);
            assert_true(isnan(one) && isnan(two));
            p[-1]++;
            assert_false(ot_cpu_buffer_intact(b));
        }
        ot_cpu_buffer_close(b);
    }
}

static void test_plain_buffer(void **state)
{
    (void)state;
    optune_err err = {0};
    static const int64_t sizes[] = {0, 1, 100, 3 << 20};
    for (int i = 0; i < OT_COUNT(sizes); i++) {
        ot_cpu_buffer *b = ot_cpu_buffer_open(sizes[i], false, &err);
        assert_non_null(b);
        char *p = ot_cpu_buffer_address(b);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, (size_t)sizes[i]);
        assert_true(ot_cpu_buffer_intact(b));
        ot_cpu_buffer_close(b);
    }
    assert_null(ot_cpu_buffer_open(INT64_MAX / 2, false, &err));
    assert_int_equal(err.status, OPTUNE_ENOMEM);
    assert_null(ot_cpu_buffer_open(-1, true, &err));
}

/* ---- a module, from source to numbers ---------------------------------------------------- */

static const char source[] = "void add(void *const *arg) {\n"
                             "    const float *a = arg[0]; float *b = arg[1];\n"
                             "    const __INT64_TYPE__ n = *(const __INT64_TYPE__ *)arg[2];\n"
                             "    for (__INT64_TYPE__ i = 0; i < n; i++) b[i] += a[i];\n"
                             "}\n";

static void test_runs_a_module(void **state)
{
    (void)state;
    optune_err err = {0};
    char from[1100], to[1100];
    void *s = calloc(1, row->worker.state_size), *module = NULL, *buffer[2];
    optune_argv argv = {0};
    snprintf(from, sizeof from, "%s/a.c", dir);
    snprintf(to, sizeof to, "%s/a.so", dir);
    check_ok(ot_write_file(from, source, strlen(source), &err));
    check_ok(row->compile(&target, &device, NULL, 0, from, to, &argv, &err));
    check_ok(ot_run_program(argv.word, 30, NULL, &err));
    optune_argv_release(&argv);
    check_ok(row->worker.open(s, &target, &device, &err));
    assert_true(row->worker.load(s, "/nowhere.so", &module, &err) < 0);
    check_contains(err.text, "/nowhere.so");
    check_ok(row->worker.load(s, to, &module, &err));
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8] = {0};
    float got[8];
    for (int i = 0; i < 2; i++)
        check_ok(row->worker.alloc(s, sizeof ones, i == 0, &buffer[i], &err));
    check_ok(row->worker.write(s, buffer[0], ones, sizeof ones));
    check_ok(row->worker.write(s, buffer[1], zeros, sizeof zeros));
    int64_t n = 8;
    const optune_stage stage = {
        .n_args = 3,
        .arg = {optune_input_arg(0), optune_output_arg(0), optune_int_arg(8)},
    };
    const optune_launch launch = {.function = row->worker.symbol(s, module, "add"),
                                  .stage = &stage,
                                  .arg = {buffer[0], buffer[1], &n}};
    assert_non_null(launch.function);
    assert_null(row->worker.symbol(s, module, "no_such_function"));
    check_ok(row->worker.run(s, &launch, 1, &err));
    assert_true(row->worker.time(s, &launch, 1, 9, &err) > 0);
    check_ok(row->worker.read(s, buffer[1], got, sizeof got));
    for (int i = 0; i < 8; i++)
        assert_true(got[i] == 10); /* once, and nine times */
    char text[OPTUNE_TEXT_SIZE], why[OPTUNE_WHY_SIZE];
    row->worker.counters(s, &launch, 1, text, sizeof text, why);
    assert_true((text[0] == '\0') != (why[0] == '\0'));
    optune_stage odd = stage;
    odd.arg[2].kind = OPTUNE_ARG_TENSOR_MAP;
    const optune_launch bad = {.function = launch.function, .stage = &odd};
    assert_int_equal(row->worker.run(s, &bad, 1, &err), OPTUNE_EUNSUPPORTED);
    for (int i = 0; i < 2; i++)
        row->worker.free(s, buffer[i]);
    row->worker.unload(s, module);
    row->worker.close(s);
    free(s);
}

/* On a machine with a cache of 480 MB, too, it takes what there is of buffers, and no memory. */
static void test_flush_is_of_what_kernels_get(void **state)
{
    (void)state;
    optune_err err = {0};
    enum { BYTES = 1 << 20, BUFFERS = 3 };
    optune_device large = device;
    void *s = calloc(1, row->worker.state_size), *buffer[BUFFERS];
    char *is = malloc(BYTES), *was = malloc(BYTES);
    struct rusage before, after;
    large.l3 = (int64_t)480 << 20;
    check_ok(row->worker.open(s, &target, &large, &err));
    for (int i = 0; i < BYTES; i++)
        was[i] = (char)(i * 7 + i / 251);
    for (int i = 0; i < BUFFERS; i++) {
        check_ok(row->worker.alloc(s, BYTES, i == 0, &buffer[i], &err));
        check_ok(row->worker.write(s, buffer[i], was, BYTES));
    }
    row->worker.free(s, buffer[1]);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 20; i++)
        assert_int_equal(row->worker.flush(s), OPTUNE_OK);
    getrusage(RUSAGE_SELF, &after);
#if defined __x86_64__ || defined __aarch64__
    assert_true(after.ru_maxrss - before.ru_maxrss < 100 << 10); /* KiB */
#endif
    for (int i = 0; i < BUFFERS; i += 2) {
        check_ok(row->worker.read(s, buffer[i], is, BYTES));
        assert_memory_equal(is, was, BYTES);
        assert_true(row->worker.intact(s, buffer[i]));
    }
    row->worker.free(s, buffer[0]);
    row->worker.close(s);
    row->worker.free(s, buffer[2]); /* a buffer may outlive its session */
    free(s);
    free(is);
    free(was);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_arch_decides_widths),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_spins),
        cmocka_unit_test(test_dependencies),
        cmocka_unit_test(test_library_dependencies),
        cmocka_unit_test(test_blas_core),
        cmocka_unit_test(test_guarded_buffer),
        cmocka_unit_test(test_plain_buffer),
        cmocka_unit_test(test_runs_a_module),
        cmocka_unit_test(test_flush_is_of_what_kernels_get),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
