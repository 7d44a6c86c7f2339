/* SPDX-License-Identifier: Apache-2.0 */
/* Files, directories, programs. */
#include "base/remedy.h"
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[4096];

static const char *in_dir(const char *name)
{
    static char path[2][4200];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static int setup(void **state)
{
    (void)state;
    return ot_temp_dir(dir, sizeof dir, NULL);
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return ot_exists(dir) ? -1 : 0;
}

static void directories(void **state)
{
    (void)state;
    optune_err err;
    check_ok(ot_make_dirs(in_dir("a/b//c/"), &err));
    assert_true(ot_exists(in_dir("a/b/c")));
    check_ok(ot_make_dirs(in_dir("a/b/c"), &err)); /* again is no error */
    check_ok(ot_write_file(in_dir("a/file"), "x", 1, &err));
    assert_int_equal(ot_make_dirs(in_dir("a/file/d"), &err), OPTUNE_EIO);
    check_contains(err.text, "a/file");
}

static void remove_does_not_follow_links(void **state)
{
    (void)state;
    optune_err err;
    check_ok(ot_make_dirs(in_dir("kept"), &err));
    check_ok(ot_make_dirs(in_dir("gone/deep"), &err));
    check_ok(ot_write_file(in_dir("kept/file"), "x", 1, &err));
    assert_int_equal(symlink(in_dir("kept"), in_dir("gone/link")), 0);
    ot_remove_tree(in_dir("gone"));
    assert_false(ot_exists(in_dir("gone")));
    assert_true(ot_exists(in_dir("kept/file")));
    ot_remove_tree(in_dir("never was"));
}

static void whole_files(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    char *large = ot_alloc(100000);
    memset(large, 'l', 100000);
    check_ok(ot_write_file(in_dir("f"), large, 100000, &err));
    check_ok(ot_read_file(in_dir("f"), &text, 100000, &err));
    assert_int_equal(text.n, 100000);
    assert_memory_equal(text.s, large, 100000);
    check_ok(ot_write_file(in_dir("f"), "short", 5, &err));
    check_ok(ot_read_file(in_dir("f"), &text, 100000, &err));
    assert_string_equal(text.s, "short");
    assert_int_equal(ot_read_file(in_dir("f"), &text, 4, &err), OPTUNE_ELIMIT);
    assert_int_equal(ot_read_file(in_dir("none"), &text, 4, &err), OPTUNE_ENOENT);
    check_contains(err.text, "none");
    assert_int_equal(ot_write_file(in_dir("no/such/place"), "x", 1, &err), OPTUNE_EIO);
    /* Of a full disk for temporary files one can name another, of any other not. */
    char *before = getenv("TMPDIR") ? ot_strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/dev", 1);
    check_contains(ot_write_remedy("/dev/optune-1-x/f", ENOSPC), "TMPDIR");
    assert_string_equal(ot_write_remedy("/dev/optune-1-x/f", EACCES), "");
    assert_string_equal(ot_write_remedy("/devoptune-1-x/f", ENOSPC), "");
    assert_int_equal(ot_write_file("/dev/full", "x", 1, &err), OPTUNE_EIO);
    check_contains(err.text, "No space left on device");
    assert_null(strstr(err.text, "TMPDIR"));
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
    check_ok(ot_write_cached(in_dir("f"), "again", 5, &err));
    check_ok(ot_read_file(in_dir("f"), &text, 100000, &err));
    assert_string_equal(text.s, "again");
    assert_int_equal(ot_write_cached(in_dir("no/such/place"), "x", 1, &err), OPTUNE_EIO);
    check_contains(err.text, "no/such/place");
    free(large);
    ot_text_release(&text);
}

static void failed_write_leaves_nothing(void **state)
{
    (void)state;
    optune_err err;
    check_ok(ot_make_dirs(in_dir("w/target"), &err));
    /* A directory cannot be replaced by a file: the last step fails. */
    assert_int_equal(ot_write_file(in_dir("w/target"), "x", 1, &err), OPTUNE_EIO);
    assert_int_equal(rmdir(in_dir("w/target")), 0);
    assert_int_equal(rmdir(in_dir("w")), 0); /* and is empty */
}

static void temporary_directory_is_fresh(void **state)
{
    (void)state;
    optune_err err;
    char other[4096], small[4];
    check_ok(ot_temp_dir(other, sizeof other, &err));
    assert_string_not_equal(other, dir);
    assert_true(ot_exists(other));
    ot_remove_tree(other);
    assert_int_equal(ot_temp_dir(small, sizeof small, &err), OPTUNE_ELIMIT);
    assert_int_equal(setenv("TMPDIR", in_dir("nowhere"), 1), 0);
    assert_int_equal(ot_temp_dir(other, sizeof other, &err), OPTUNE_EIO);
    check_contains(err.text, "TMPDIR");
    unsetenv("TMPDIR");
}

static void leftovers_of_the_dead_go(void **state)
{
    (void)state;
    optune_err err;
    char name[64], other[4096];
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    const struct {
        pid_t pid;
        bool old, stays;
    } left[] = {{dead, true, false}, {dead, false, true}, {getpid(), true, true}};
    check_ok(ot_make_dirs(in_dir("left"), &err));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "left/optune-%ld-%d", (long)left[i].pid, i);
        check_ok(ot_make_dirs(in_dir(name), &err));
        if (left[i].old)
            assert_int_equal(utimensat(AT_FDCWD, in_dir(name), old, 0), 0);
    }
    setenv("TMPDIR", in_dir("left"), 1);
    check_ok(ot_temp_dir(other, sizeof other, &err));
    unsetenv("TMPDIR");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "left/optune-%ld-%d", (long)left[i].pid, i);
        assert_int_equal(ot_exists(in_dir(name)), left[i].stays);
    }
}

static void own_directory(void **state)
{
    (void)state;
    char self[4096], program[4096];
    optune_err err;
    check_ok(ot_self_dir(self, sizeof self));
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(n > 0);
    program[n] = 0;
    *strrchr(program, '/') = 0;
    assert_string_equal(self, program);
    assert_int_equal(ot_self_dir(self, 2), OPTUNE_ELIMIT);
}

/* As in a chroot that nobody mounted it in. */
static void own_directory_without_proc(void **state)
{
    (void)state;
    char with[4096], without[4096] = "";
    optune_err err;
    check_ok(ot_self_dir(with, sizeof with));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) < 0)
            _exit(77);
        const bool same = ot_self_dir(without, sizeof without) == OPTUNE_OK &&
                          !strcmp(without, with) && ot_self_dir(without, 2) == OPTUNE_ELIMIT;
        _exit(same ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* it takes the right to mount */
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void programs(void **state)
{
    (void)state;
    optune_err err;
    char path[4096];
    assert_true(ot_find_program("sh", path, sizeof path));
    assert_int_equal(path[0], '/');
    assert_true(ot_find_program("/bin/sh", path, sizeof path));
    assert_string_equal(path, "/bin/sh");
    assert_false(ot_find_program("no-such-program-here", path, sizeof path));
    assert_false(ot_find_program("", path, sizeof path));
    assert_false(ot_find_program("/etc", path, sizeof path));
    /* Neither a plain file nor the working directory counts. */
    check_ok(ot_write_file(in_dir("tool"), "#!/bin/sh\n", 10, &err));
    char *kept = ot_strdup(getenv("PATH"));
    setenv("PATH", dir, 1);
    assert_false(ot_find_program("tool", path, sizeof path));
    chmod(in_dir("tool"), 0755);
    assert_true(ot_find_program("tool", path, sizeof path));
    setenv("PATH", ":", 1);
    assert_int_equal(chdir(dir), 0);
    assert_false(ot_find_program("tool", path, sizeof path));
    setenv("PATH", kept, 1);
    free(kept);
}

/* As root, a file put in the place of /dev/null would be everybody's loss. */
static void a_device_or_a_link_stays_what_it_is(void **state)
{
    (void)state;
    optune_err err = {0};
    struct stat info;
    ot_text text = {0};
    char pipe[2048], link[2048], file[2048];
    snprintf(pipe, sizeof pipe, "%s", in_dir("pipe"));
    snprintf(link, sizeof link, "%s", in_dir("link"));
    snprintf(file, sizeof file, "%s", in_dir("named"));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const int fd = open(pipe, O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    check_ok(ot_write_file(pipe, "word", 4, &err));
    char got[8] = {0};
    assert_int_equal(read(fd, got, sizeof got), 4);
    assert_string_equal(got, "word");
    close(fd);
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));

    check_ok(ot_write_file(file, "old", 3, &err));
    assert_int_equal(symlink("named", link), 0);
    check_ok(ot_write_file(link, "new", 3, &err));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    check_ok(ot_read_file(file, &text, 100, &err));
    assert_string_equal(text.s, "new");
    ot_text_release(&text);
}

/* The other end of a pipe is not waited for where a file is meant. */
static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text text = {0};
    char pipe[4200];
    snprintf(pipe, sizeof pipe, "%s", in_dir("no file"));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(ot_read_file(pipe, &text, 100, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "no file': it is a pipe, not a file");
    assert_int_equal(ot_open_file(pipe, O_WRONLY | O_APPEND | O_CREAT, &err), OPTUNE_EIO);
    check_contains(err.text, "it is a pipe, not a file");
    assert_int_equal(ot_read_file(dir, &text, 100, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "it is a directory, not a file");
    assert_int_equal(ot_read_file("/dev/zero", &text, 100, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "it is a device, not a file");
    ot_sync_path(pipe);
    check_ok(ot_read_file("/proc/self/status", &text, 1 << 20, &err));
    assert_true(text.n > 0);

    check_ok(ot_write_file(in_dir("file"), "long enough", 11, &err));
    const int fd = ot_open_file(in_dir("file"), O_WRONLY | O_CREAT | O_TRUNC, &err);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    check_ok(ot_read_file(in_dir("file"), &text, 100, &err));
    assert_string_equal(text.s, "x");
    ot_text_release(&text);
}

/* What a user names may be a pipe: with a name, or as a shell's <(...) has it. */
static void an_input_may_be_a_pipe(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text text = {0};
    char named[4200], path[64];
    int end[2];
    assert_int_equal(pipe(end), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(end[0]);
        usleep(50000); /* the reader waits */
        _exit(write(end[1], "two ", 4) == 4 && usleep(50000) == 0 &&
                      write(end[1], "words", 5) == 5
                  ? 0
                  : 1);
    }
    close(end[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
    check_ok(ot_read_input(path, &text, 100, &err));
    assert_string_equal(text.s, "two words");
    close(end[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);

    snprintf(named, sizeof named, "%s", in_dir("input"));
    assert_int_equal(mkfifo(named, 0600), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        usleep(50000);
        _exit(ot_write_file(named, "named", 5, NULL) < 0);
    }
    check_ok(ot_read_input(named, &text, 100, &err));
    assert_string_equal(text.s, "named");
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    check_ok(ot_read_input("/dev/null", &text, 100, &err));
    assert_int_equal(text.n, 0);
    assert_int_equal(ot_read_input("/dev/zero", &text, 100, &err), OPTUNE_ELIMIT);
    assert_int_equal(ot_read_input(in_dir("nothing"), &text, 100, &err), OPTUNE_ENOENT);
    ot_text_release(&text);
}

static void too_many_files(void **state)
{
    (void)state;
    struct rlimit was, none;
    ot_text text = {0};
    optune_err err;
    check_ok(ot_write_file(in_dir("one"), "1", 1, &err));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int status = ot_read_file(in_dir("one"), &text, 100, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(status, OPTUNE_EIO);
    check_contains(err.text, "raise `ulimit -n`");
    ot_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories),
        cmocka_unit_test(remove_does_not_follow_links),
        cmocka_unit_test(whole_files),
        cmocka_unit_test(failed_write_leaves_nothing),
        cmocka_unit_test(temporary_directory_is_fresh),
        cmocka_unit_test(leftovers_of_the_dead_go),
        cmocka_unit_test(own_directory),
        cmocka_unit_test(own_directory_without_proc),
        cmocka_unit_test(programs),
        cmocka_unit_test(a_device_or_a_link_stays_what_it_is),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(an_input_may_be_a_pipe),
        cmocka_unit_test(too_many_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
