/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's version from a note: of a gcc that is a program itself, as long as it is that
 * very file. Every question is asked in a process of its own, as answers are kept in one.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/notes.h"
#include "target/target.h"

static char dir[4096], bin[4200], was_path[8192];

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    snprintf(was_path, sizeof was_path, "%s", getenv("PATH"));
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(bin, sizeof bin, "%s/bin", dir);
    check_ok(ot_make_dirs(bin, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    setenv("PATH", was_path, 1);
    unsetenv("OPTUNE_CACHE");
    ot_remove_tree(dir);
    return 0;
}

static const char *version(void)
{
    static char said[128];
    int pipe_of[2], how;
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t child = fork();
    if (child == 0) {
        optune_err err = {0};
        char text[sizeof said] = "";
        if (ot_cpu_compiler_version(text, sizeof text, &err) < 0)
            snprintf(text, sizeof text, "!%.100s", err.text);
        _exit(write(pipe_of[1], text, strlen(text)) < 0);
    }
    close(pipe_of[1]);
    memset(said, 0, sizeof said);
    assert_true(read(pipe_of[0], said, sizeof said - 1) > 0);
    close(pipe_of[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    return said;
}

#define FSF "\\nCopyright (C) 2022 Free Software Foundation, Inc."

/* A program under this name that says what a compiler would. */
static void make_program(const char *name, const char *says)
{
    char path[4300], source[4300];
    ot_text text = {0}, said = {0};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", bin, name);
    snprintf(source, sizeof source, "%s/program.c", dir);
    ot_text_printf(&text, "#include <stdio.h>\nint main(void) { puts(\"%s\"); return 0; }\n",
                   says);
    check_ok(ot_write_file(source, text.s, text.n, &err));
    unlink(path);
    setenv("PATH", was_path, 1);
    char *argv[] = {"cc", "-o", path, source, NULL};
    check_ok(ot_run_program(argv, 60, &said, &err));
    setenv("PATH", bin, 1);
    ot_text_release(&text);
    ot_text_release(&said);
}

static void link_cc(const char *to)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/cc", bin);
    unlink(path);
    assert_int_equal(symlink(to, path), 0);
}

static void of_this_file(void **state)
{
    (void)state;
    notes_begin(dir);
    make_program("x86_64-gcc-12", "cc (Debian 12.2.0-14) 12.2.0" FSF);
    link_cc("x86_64-gcc-12");
    assert_string_equal(version(), "gcc 12.2.0");
    assert_int_equal(notes_count(), 1);
    char first[4600];
    snprintf(first, sizeof first, "%s", notes_one("compiler-"));
    notes_change(first, "gcc 12.2.0", "gcc 99.9.9");
    assert_string_equal(version(), "gcc 99.9.9"); /* nobody was asked */
    setenv("LD_LIBRARY_PATH", "/nowhere", 1);
    assert_string_equal(version(), "gcc 12.2.0");
    unsetenv("LD_LIBRARY_PATH");
    assert_string_equal(version(), "gcc 99.9.9");
    notes_change(first, "gcc 99.9.9", "icc 1.2.3");
    assert_string_equal(version(), "gcc 12.2.0");

    make_program("x86_64-gcc-12", "cc (Debian 12.3.0-1) 12.3.0" FSF); /* an update */
    assert_string_equal(version(), "gcc 12.3.0");
    make_program("x86_64-gcc-13", "cc (Debian 13.1.0-1) 13.1.0" FSF);
    link_cc("x86_64-gcc-13"); /* another one is chosen */
    assert_string_equal(version(), "gcc 13.1.0");
    assert_string_equal(version(), "gcc 13.1.0");
}

/* Neither says more than what it is today. */
static void of_wrappers(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[4300];
    static const char script[] = "#!/bin/sh\necho 'gcc (GCC) 4.5.6'\n"
                                 "echo 'Copyright (C) 2010 Free Software Foundation, Inc.'\n";
    notes_begin(dir);
    snprintf(path, sizeof path, "%s/my-gcc", bin);
    check_ok(ot_write_file(path, script, sizeof script - 1, &err));
    assert_int_equal(chmod(path, 0755), 0);
    link_cc("my-gcc");
    assert_string_equal(version(), "gcc 4.5.6");
    make_program("ccache", "cc (Debian 12.2.0-14) 12.2.0" FSF);
    link_cc("ccache");
    assert_string_equal(version(), "gcc 12.2.0");
    make_program("clang-14", "Debian clang version 14.0.6");
    link_cc("clang-14");
    assert_string_equal(version(), "clang 14.0.6");
    assert_int_equal(notes_count(), 0);
    /* Nor is it taken for a gcc, what it compiles for OpenMP needs another library. */
    make_program("vendor-gcc", "Vendor(R) C Compiler 2023.2.0 (build 7)");
    link_cc("vendor-gcc");
    assert_string_equal(version(), "Vendor(R) C Compiler 2023.2.0 (build 7)");
    make_program("nvc", "\\nnvc 23.1-0 64-bit target");
    link_cc("nvc");
    assert_string_equal(version(), "nvc 23.1-0 64-bit target");
    assert_int_equal(notes_count(), 0);
    link_cc("nothing");
    check_contains(version(), "!no C compiler");
}

/* Bodies are GNU C: where `cc` is another compiler, a gcc beside it is taken, and told of. */
static void another_beside_gcc(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[4300], gcc[4300];
    notes_begin(dir);
    make_program("clang-14", "Debian clang version 14.0.6");
    link_cc("clang-14");
    make_program("gcc", "gcc (Debian 12.2.0-14) 12.2.0" FSF);
    snprintf(gcc, sizeof gcc, "%s/gcc", bin);
    assert_string_equal(version(), "gcc 12.2.0");
    check_ok(ot_cpu_compiler(path, sizeof path, &err));
    assert_string_equal(path, gcc);
    make_program("gcc", "Apple clang version 15.0.0"); /* under that name */
    assert_string_equal(version(), "clang 14.0.6");
    make_program("gcc", "gcc (Debian 12.3.0-1) 12.3.0" FSF);
    link_cc("gcc");
    check_ok(ot_cpu_compiler(path, sizeof path, &err));
    check_contains(path, "/cc");
    link_cc("nothing"); /* no cc at all */
    assert_string_equal(version(), "gcc 12.3.0");
    check_ok(ot_cpu_compiler(path, sizeof path, &err));
    assert_string_equal(path, gcc);
    unlink(gcc);
}

/* A process that lives on while its compiler is updated, or another one is put in its place. */
static void in_one_process(void **state)
{
    (void)state;
    enum { LATELY_US = 25000 };
    optune_err err = {0};
    char text[128];
    notes_begin(dir);
    make_program("x86_64-gcc-12", "cc (Debian 12.2.0-14) 12.2.0" FSF);
    link_cc("x86_64-gcc-12");
    check_ok(ot_cpu_compiler_version(text, sizeof text, &err));
    assert_string_equal(text, "gcc 12.2.0");
    make_program("x86_64-gcc-12", "cc (Debian 12.3.0-1) 12.3.0" FSF);
    usleep(LATELY_US);
    check_ok(ot_cpu_compiler_version(text, sizeof text, &err));
    assert_string_equal(text, "gcc 12.3.0");
    make_program("clang-14", "Debian clang version 14.0.6");
    link_cc("clang-14");
    usleep(LATELY_US);
    check_ok(ot_cpu_compiler_version(text, sizeof text, &err));
    assert_string_equal(text, "clang 14.0.6");
}

/* What the compiler at hand makes of instructions, asked so often in a process of its own. */
static int makes_with(const char *flag, int times, int dots)
{
    int how;
    const pid_t child = fork();
    if (child == 0) {
        optune_err err = {0};
        optune_argv argv = {0};
        char path[4300];
        if (ot_cpu_compiler(path, sizeof path, &err) < 0)
            _exit(99);
        optune_argv_add(&argv, path);
        optune_argv_add(&argv, flag);
        int made = dots;
        while (times-- > 0)
            made = ot_cpu_makes(&argv, dots);
        optune_argv_release(&argv);
        _exit(made);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static int makes(int dots)
{
    return makes_with("-O1", 1, dots);
}

/* The compiler at hand looks for its assembler on PATH. */
static bool assembles_by_path(void)
{
    char path[4300];
    optune_err err = {0};
    optune_argv argv = {0};
    ot_text said = {0};
    check_ok(ot_cpu_compiler(path, sizeof path, &err));
    optune_argv_add(&argv, path);
    optune_argv_add(&argv, "-print-prog-name=as");
    const bool by_path = ot_run_program(argv.word, 20, &said, &err) >= 0 &&
                         strcmp(ot_text_str(&said), "as\n") == 0;
    optune_argv_release(&argv);
    ot_text_release(&said);
    return by_path;
}

/* An assembler that fails where a source has this word, and says so; it counts its runs. */
static void make_assembler_in(const char *folder, const char *word, const char *said)
{
    ot_text text = {0};
    optune_err err = {0};
    char path[4300];
    snprintf(path, sizeof path, "%s/as", folder);
    ot_text_printf(&text,
                   "#!/bin/sh\necho >> \"$0.runs\"\nfor last in \"$@\"; do :; done\n"
                   "if grep -q '%s' \"$last\"; then echo '%s' >&2; exit 1; fi\n",
                   word, said);
    unlink(path);
    check_ok(ot_write_file(path, text.s, text.n, &err));
    assert_int_equal(chmod(path, 0755), 0);
    ot_text_release(&text);
}

static void make_assembler(const char *word, const char *said)
{
    make_assembler_in(bin, word, said);
}

static int64_t assembler_runs(void)
{
    char path[4300];
    struct stat st;
    snprintf(path, sizeof path, "%s/as.runs", bin);
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* An assembler that is older than the processor, then an update. */
static void older_assembler(void **state)
{
    (void)state;
#ifdef __x86_64__
    enum { ALL = 31, TILES = OPTUNE_DOT_TILE_BF16 | OPTUNE_DOT_TILE_I8 };
    char path[sizeof bin + sizeof was_path], refused[64];
    ot_cpu_features here;
    ot_text words = {0};
    notes_begin(dir);
    snprintf(path, sizeof path, "%s", bin);
    ot_remove_tree(path);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s:%s", bin, was_path);
    setenv("PATH", path, 1);
    if (!assembles_by_path())
        skip();
    make_assembler("tmm", "Error: no such instruction: tdpbf16ps, tdpbssd");
    assert_int_equal(makes(ALL), ALL & ~TILES);
    const int notes = notes_count();
    assert_int_equal(makes(0), 0);
    assert_int_equal(makes(OPTUNE_DOT_I8), OPTUNE_DOT_I8);
    assert_int_equal(notes_count(), notes + 1);
    assert_int_equal(makes(ALL), ALL & ~TILES);
    assert_int_equal(notes_count(), notes + 1); /* was read */
    assert_int_equal(makes_with("-flto", 1, ALL), ALL & ~TILES);
    make_assembler("vdpbf16ps", "Error: no such instruction: vdpbf16ps");
    assert_int_equal(makes(ALL), ALL & ~(OPTUNE_DOT_BF16 | OPTUNE_DOT_BF16_SLOW));
    make_assembler("nothing", "");
    assert_int_equal(makes(ALL), ALL);
    /* Why it failed is not known: that is not kept, and what the processor has is believed. */
    const int told = notes_count();
    make_assembler("instructions", "as: cannot allocate memory");
    assert_int_equal(makes(ALL), ALL);
    assert_int_equal(notes_count(), told);
    const int64_t before = assembler_runs();
    assert_int_equal(makes(ALL), ALL);
    const int64_t once = assembler_runs() - before;
    assert_int_equal(makes_with("-O1", 3, ALL), ALL); /* but within a process */
    assert_int_equal(assembler_runs() - before, 2 * once);
    /* One of the compiler's own, whatever is on PATH. */
    snprintf(path, sizeof path, "%s/own", dir);
    assert_int_equal(mkdir(path, 0755), 0);
    make_assembler_in(path, "tmm", "Error: no such instruction: tdpbf16ps, tdpbssd");
    setenv("COMPILER_PATH", path, 1);
    assert_int_equal(makes(ALL), ALL & ~TILES);
    make_assembler_in(path, "nothing", "");
    assert_int_equal(makes(ALL), ALL);
    unsetenv("COMPILER_PATH");
    /* The target leaves it out, and says what. */
    optune_err err = {0};
    optune_target target;
    optune_device device;
    ot_cpu_features_here(&here);
    make_assembler("mm[0-9]", "vdpbf16ps vpdpbusd tdpbf16ps tdpbssd: no such instruction");
    check_ok(ot_target_parse("cpu", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    assert_int_equal(device.dots, 0);
    assert_int_equal(ot_cpu_unmade(&device, &words), here.dots != 0);
    snprintf(refused, sizeof refused, "%s", here.dots & OPTUNE_DOT_I8 ? "AVX-512 VNNI" : "");
    check_contains(ot_text_str(&words), refused);
    ot_text_release(&words);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_this_file),       cmocka_unit_test(of_wrappers),
        cmocka_unit_test(another_beside_gcc), cmocka_unit_test(in_one_process),
        cmocka_unit_test(older_assembler),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
