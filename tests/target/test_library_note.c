/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library is, from a note: as long as no file, folder or word that decided it is another.
 * Every question is asked in a process of its own, as answers are kept in one.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/notes.h"
#include "support/stand_in.h"
#include "target/target.h"

static char dir[2048];
static const char planted[] = "library=planted";

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    setenv("OPTUNE_WORKER", OT_WORKER, 1);
    setenv("FAKE_CORE", "SapphireRapids", 1);
    unsetenv("OPTUNE_OPENBLAS_CORETYPE");
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPTUNE_CBLAS");
    unsetenv("OPTUNE_CACHE");
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("FAKE_CORE");
    ot_remove_tree(dir);
    return 0;
}

/* '!' in front of why it is not there. */
static const char *ask(void)
{
    static char said[OPTUNE_TEXT_SIZE];
    int pipe_of[2], how;
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t child = fork();
    if (child == 0) {
        optune_err err = {0};
        char text[sizeof said] = "";
        const int status = ot_cpu_library_ask("cblas", text, sizeof text, &err);
        if (status < 0)
            snprintf(text, sizeof text, "%c%.900s", status == OPTUNE_ENODEV ? '!' : '?',
                     err.text);
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

/* From now on its only note says something else. */
static void plant(void)
{
    ot_text note = {0};
    optune_err err = {0};
    char path[4600];
    snprintf(path, sizeof path, "%s", notes_one("library-"));
    check_ok(ot_read_file(path, &note, 1 << 20, &err));
    const char *line = strstr(note.s, "\nlibrary=");
    line = strstr(line + 1, "\nlibrary="); /* the first is a circumstance */
    line = line ? line + 1 : strstr(note.s, "library 'cblas'");
    assert_non_null(line);
    char *was = ot_strdup(line);
    notes_change(path, was, planted);
    free(was);
    ot_text_release(&note);
}

static void expect_planted(void)
{
    const char *said = ask();
    assert_string_equal(said + (*said == '!'), planted);
}

static void expect(const char *part)
{
    const char *said = ask();
    check_contains(said, part);
    assert_null(strstr(said, "planted"));
}

/* One that is there, and that the environment names. */
static void of_a_file(void **state)
{
    (void)state;
    char copy[2100];
    notes_begin(dir);
    setenv("OPTUNE_CBLAS", stand_in_build(dir, "fake_blas.c", "one.so", "-DOPENBLAS"), 1);
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");
    assert_int_equal(notes_count(), 1);
    plant();
    expect_planted(); /* nobody was asked */
    assert_int_equal(notes_count(), 1);

    static const char *const read_by_them[] = {"OPENBLAS_VERBOSE", "OMP_NUM_THREADS",
                                               "LD_BIND_NOW", "OPTUNE_OPENBLAS_CORETYPE"};
    for (int i = 0; i < OT_COUNT(read_by_them); i++) {
        setenv(read_by_them[i], "1", 1);
        expect("library=OpenBLAS 9.8.7");
        unsetenv(read_by_them[i]);
    }
    expect_planted();

    snprintf(copy, sizeof copy, "%s/worker", dir);
    char *argv[] = {"cp", (char[]){OT_WORKER}, copy, NULL};
    optune_err err = {0};
    check_ok(ot_run_program(argv, 60, NULL, &err));
    setenv("OPTUNE_WORKER", copy, 1);
    expect("library=OpenBLAS 9.8.7");
    setenv("OPTUNE_WORKER", OT_WORKER, 1);
    expect_planted();

    stand_in_build(dir, "fake_blas.c", "one.so", "-DBLIS"); /* an update */
    expect("library=BLIS 3.2.1 zen9\n");
    expect("library=BLIS 3.2.1 zen9\n");
}

/* One that is not there, until it is. */
static void of_none(void **state)
{
    (void)state;
    char path[2100];
    snprintf(path, sizeof path, "%s/later.so", dir);
    notes_begin(dir);
    setenv("OPTUNE_CBLAS", path, 1);
    expect("!library 'cblas' is not what OPTUNE_CBLAS names");
    assert_int_equal(notes_count(), 1);
    plant();
    expect_planted();
    stand_in_build(dir, "fake_blas.c", "later.so", "-DOPENBLAS");
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");
    assert_int_equal(unlink(path), 0);
    expect("!library 'cblas' is not what OPTUNE_CBLAS names");
}

/* Whichever the loader finds: another one is put in front of it, in each place where it looks. */
static void of_places(void **state)
{
    (void)state;
    char first[2100], levels[2200], level[2300];
    optune_err err = {0};
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(levels, sizeof levels, "%s/glibc-hwcaps", first);
    snprintf(level, sizeof level, "%s/x86-64-v2", levels);
    check_ok(ot_make_dirs(first, &err));
    unsetenv("OPTUNE_CBLAS");
    setenv("LD_LIBRARY_PATH", first, 1);

    notes_begin(dir);
    const bool is_here = *ask() != '!'; /* of the system */
    plant();
    expect_planted();
    stand_in_build(first, "fake_blas.c", "libopenblas.so.0", "-DOPENBLAS");
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");

    notes_begin(dir);
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");
    plant();
    expect_planted();
    check_ok(ot_make_dirs(level, &err));
    assert_false(strstr(ask(), "planted"));
    plant();
    expect_planted();
    stand_in_build(level, "fake_blas.c", "libopenblas.so.0", "-DOPENBLAS");
    assert_false(strstr(ask(), "planted"));

    notes_begin(dir);
    ask();
    plant();
    ot_remove_tree(first);
    const char *said = ask();
    assert_false(strstr(said, "planted"));
    assert_int_equal(*said != '!', is_here);
    unsetenv("LD_LIBRARY_PATH");
}

/* What reads files of its own, what could not be opened for another reason, and what a worker says
 * that is not the program by this name, say nothing about tomorrow. */
static void of_others(void **state)
{
    (void)state;
    char path[2100], script[4200];
    optune_err err = {0};
    notes_begin(dir);
    setenv("OPTUNE_CBLAS", stand_in_build(dir, "fake_blas.c", "any.so", NULL), 1);
    expect("library=unidentified library any.so");
    snprintf(path, sizeof path, "%s/broken.so", dir);
    check_ok(ot_write_file(path, "no library", 10, &err));
    setenv("OPTUNE_CBLAS", path, 1);
    expect("!library 'cblas' is not what OPTUNE_CBLAS names");
    assert_int_equal(notes_count(), 0);

    stand_in_build(dir, "fake_blas.c", "broken.so", "-DOPENBLAS");
    snprintf(script, sizeof script, "#!/bin/sh\nexec '%s' \"$@\"\n", OT_WORKER);
    snprintf(path, sizeof path, "%s/script", dir);
    check_ok(ot_write_file(path, script, strlen(script), &err));
    assert_int_equal(chmod(path, 0755), 0);
    setenv("OPTUNE_WORKER", path, 1);
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");
    plant(); /* of the program behind it */
    expect("library=OpenBLAS 9.8.7 SapphireRapids\n");
    setenv("OPTUNE_WORKER", OT_WORKER, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_file),
        cmocka_unit_test(of_none),
        cmocka_unit_test(of_places),
        cmocka_unit_test(of_others),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
