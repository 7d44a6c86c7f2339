/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of the row `cpu` as its command links them: what they find, and what they do not. */
#include <unistd.h>

#include "support/check.h"
#include "target/target.h"

static const optune_target_row *row;
static optune_target target;
static optune_device device;
static optune_err err;
static char dir[1024];

static int setup(void **state)
{
    (void)state;
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

typedef struct linked {
    void *state, *module;
    char from[1100], to[1100];
} linked;

static int link_module(linked *l, const char *text, const char *const *flags, int n)
{
    optune_argv argv = {0};
    *l = (linked){.state = calloc(1, row->worker.state_size + 16)};
    snprintf(l->from, sizeof l->from, "%s/linked.c", dir);
    snprintf(l->to, sizeof l->to, "%s/linked.so", dir);
    unlink(l->to);
    check_ok(ot_write_file(l->from, text, strlen(text), &err));
    check_ok(row->compile(&target, &device, flags, n, l->from, l->to, &argv, &err));
    check_ok(ot_run_program(argv.word, 20, NULL, &err));
    check_ok(row->worker.open(l->state, &target, &device, &err));
    optune_argv_release(&argv);
    return row->worker.load(l->state, l->to, &l->module, &err);
}

static void unlink_module(linked *l)
{
    if (l->module)
        row->worker.unload(l->state, l->module);
    row->worker.close(l->state);
    free(l->state);
}

/* Without the system's libraries: the compiler's own is there, the rest is in this process. */
static void without_libraries(void **state)
{
    (void)state;
    static const char text[] =
        "typedef unsigned __int128 u128;\n"
        "void work(void *const *arg) {\n"
        "    unsigned char *to = arg[0];\n"
        "    const unsigned long n = *(const long *)arg[1];\n"
        "    const u128 all = (u128)n << 70, part = (u128)n << 66;\n"
        "    __builtin_memset(to, (int)(all / part), n);\n"
        "}\n";
    linked l;
    void *buffer = NULL;
    unsigned char back[100] = {0};
    int64_t n = sizeof back;
    check_ok(link_module(&l, text, NULL, 0));
    check_ok(row->worker.alloc(l.state, n, false, &buffer, &err));
    const optune_stage stage = {.n_args = 2,
                                .arg = {{.kind = OPTUNE_ARG_OUTPUT}, {.kind = OPTUNE_ARG_INT}}};
    const optune_launch launch = {.stage = &stage,
                                  .function = row->worker.symbol(l.state, l.module, "work"),
                                  .arg = {buffer, &n}};
    assert_non_null(launch.function);
    check_ok(row->worker.run(l.state, &launch, 1, &err));
    check_ok(row->worker.read(l.state, buffer, back, n));
    for (int i = 0; i < n; i++)
        assert_int_equal(back[i], 16);
    row->worker.free(l.state, buffer);
    unlink_module(&l);
}

/* What the system's libraries give each module a copy of, with what a module does when it is loaded
 * and unloaded; the marks are in the caller's memory. */
static void of_its_own(void **state)
{
    (void)state;
    static const char text[] =
        "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/stat.h>\n"
        "static int *marks, made;\n"
        "static _Thread_local int own = 5;\n"
        "static void bye(void) { marks[0]++; }\n"
        "static void quick(void) { }\n"
        "__attribute__((constructor)) static void begin(void) { made = 7; }\n"
        "__attribute__((destructor)) static void end(void) { marks[1]++; }\n"
        "int work(int *to) {\n"
        "    struct stat s;\n"
        "    marks = to;\n"
        "    to[2] = made + own++;\n"
        "    return atexit(bye) | at_quick_exit(quick) | pthread_atfork(quick, quick, quick) |\n"
        "           stat(\"/\", &s) | lstat(\"/\", &s) | fstatat(-100, \"/\", &s, 0);\n"
        "}\n";
    linked l;
    int marks[3] = {0};
    check_ok(link_module(&l, text, NULL, 0));
    int (*work)(int *) = (int (*)(int *))row->worker.symbol(l.state, l.module, "work");
    assert_non_null(work);
    assert_int_equal(work(marks), 0);
    assert_int_equal(marks[2], 12);
    assert_int_equal(marks[0] + marks[1], 0);
    unlink_module(&l);
    assert_int_equal(marks[0], 1);
    assert_int_equal(marks[1], 1);
}

/* What is nowhere is told with its name and what to do; flags come where a linker needs them. */
static void to_others(void **state)
{
    (void)state;
    static const char text[] = "int nobody_has_this(void);\n"
                               "int work(void) { return nobody_has_this(); }\n";
    static const char with[] = "typedef __int128 wide;\n"
                               "static _Alignas(16) wide all = 1;\n"
                               "int work(void) { return (int)__atomic_fetch_add(&all, 2, 5); }\n";
    static const char *const flags[] = {"-Wl,--as-needed", "-latomic"};
    linked l;
    assert_int_equal(link_module(&l, text, NULL, 0), OPTUNE_EIO);
    check_contains(err.text, "undefined symbol: nobody_has_this");
    check_contains(err.text, "-lNAME");
    unlink_module(&l);
    check_ok(link_module(&l, with, flags, OT_COUNT(flags)));
    int (*work)(void) = (int (*)(void))row->worker.symbol(l.state, l.module, "work");
    assert_int_equal(work(), 1);
    assert_int_equal(work(), 3);
    unlink_module(&l);
}

/* Who opens the library for itself alone, and has no libm: modules find theirs all the same. */
static void in_a_bare_program(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* which has to be in the program itself */
#endif
    static const char text[] =
        "#include <dlfcn.h>\n#include <stdio.h>\n#include \"optune/graph.h\"\n"
        "#include \"optune/optune.h\"\n"
        "#define GET(f) __typeof__(f) *const f##_ = (__typeof__(f) *)dlsym(library, #f)\n"
        "int main(int n, char **word) {\n"
        "    static float in[64] = {0, 1}, out[64] = {5};\n"
        "    const void *ins[] = {in};\n"
        "    void *outs[] = {out}, *library = dlopen(word[n - 1], RTLD_NOW | RTLD_LOCAL);\n"
        "    if (!library) return puts(dlerror()), 1;\n"
        "    GET(optune_open); GET(optune_function_open_text); GET(optune_function_run);\n"
        "    optune_options options = {.size = sizeof options, .target = \"cpu -threads=1\"};\n"
        "    optune_err err = {0};\n"
        "    optune *o;\n"
        "    optune_function *f;\n"
        "    if (optune_open_(&options, &o, &err) < 0 ||\n"
        "        optune_function_open_text_(o, \"tan(f32[64])\", NULL, &f, &err) < 0 ||\n"
        "        optune_function_run_(f, ins, outs, &err) < 0) return puts(err.text), 1;\n"
        "    return printf(\"%.4f %.4f\\n\", out[0], out[1]) < 0;\n"
        "}\n";
    char from[1100], program[1100], cache[1100];
    ot_text said = {0};
    snprintf(from, sizeof from, "%s/bare.c", dir);
    snprintf(program, sizeof program, "%s/bare", dir);
    snprintf(cache, sizeof cache, "%s/cache", dir);
    check_ok(ot_write_file(from, text, sizeof text - 1, &err));
    char include[] = "-I" OT_SOURCE_DIR "/include", library[] = OT_BUILD_DIR "/liboptune.so";
    char *build[] = {"cc", include, "-o", program, from, "-ldl", NULL}, *run[] = {program, library,
                                                                                NULL};
    check_ok(ot_run_program(build, 60, &said, &err));
    setenv("OPTUNE_CACHE", cache, 1);
    setenv("OPTUNE_DB", cache, 1);
    ot_text_clear(&said);
    const int status = ot_run_program(run, 60, &said, &err);
    unsetenv("OPTUNE_CACHE");
    unsetenv("OPTUNE_DB");
    assert_string_equal(ot_text_str(&said), "0.0000 1.5574\n");
    check_ok(status);
    ot_text_release(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_libraries),
        cmocka_unit_test(of_its_own),
        cmocka_unit_test(to_others),
        cmocka_unit_test(in_a_bare_program),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
