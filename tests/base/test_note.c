/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what is read is what was written, by whom and under which circumstances it may be. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/home.h"
#include "base/note.h"
#include "support/check.h"
#include "support/notes.h"

static char dir[4096];
static const char as[] = "boot=1\nprocessors=3";
enum { NOBODY = 54321 }; /* whom no list of users has */

static int setup(void **state)
{
    (void)state;
    return ot_temp_dir(dir, sizeof dir, NULL);
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPTUNE_CACHE");
    ot_remove_tree(dir);
    return 0;
}

static bool says(const char *name, const char *circumstances, const char *expected)
{
    ot_text text = {0};
    const bool there = ot_note_read(name, circumstances, &text);
    if (there)
        assert_string_equal(ot_text_str(&text), expected);
    else
        assert_int_equal(text.n, 0);
    ot_text_release(&text);
    return there;
}

static void what_was_written(void **state)
{
    (void)state;
    struct stat info;
    notes_begin(dir);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", as, "cores=2\nname=x\n");
    assert_true(says("cpu", as, "cores=2\nname=x\n"));
    assert_false(says("cpu", "boot=2\nprocessors=3", ""));
    assert_false(says("cpu", "boot=1\nprocessors=33", ""));
    assert_false(says("cpu", "boot=1", ""));
    assert_false(says("compiler", as, ""));
    ot_note_write("cpu", "boot=2", "cores=1\n");
    assert_true(says("cpu", "boot=2", "cores=1\n"));
    assert_true(says("cpu", as, "cores=2\nname=x\n"));
    ot_note_write("cpu", as, "");
    assert_true(says("cpu", as, ""));
    assert_int_equal(notes_count(), 2);
    assert_int_equal(stat(notes_path(), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(notes_one("cpu-"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* Under the name of another one's circumstances, too: names are digests and prove nothing. */
static void moved(void **state)
{
    (void)state;
    char kept[4200];
    notes_begin(dir);
    snprintf(kept, sizeof kept, "%s/kept", dir);
    ot_note_write("cpu", as, "cores=2\n");
    assert_int_equal(rename(notes_one("cpu-"), kept), 0);
    ot_note_write("cpu", "boot=2", "cores=1\n");
    assert_int_equal(rename(kept, notes_one("cpu-")), 0);
    assert_false(says("cpu", "boot=2", ""));
}

static void damaged(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text was = {0};
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    const char *path = notes_one("cpu-");
    check_ok(ot_read_file(path, &was, 1 << 20, &err));
    for (size_t i = 0; i < was.n; i++) {
        was.s[i] ^= 1;
        check_ok(ot_write_file(path, was.s, was.n, &err));
        assert_int_equal(chmod(path, 0600), 0);
        assert_false(says("cpu", as, ""));
        was.s[i] ^= 1;
        check_ok(ot_write_file(path, was.s, i, &err)); /* cut off here */
        assert_int_equal(chmod(path, 0600), 0);
        assert_false(says("cpu", as, ""));
    }
    ot_note_write("cpu", as, "cores=2\n"); /* made anew */
    assert_true(says("cpu", as, "cores=2\n"));
    ot_text_release(&was);
}

static void of_a_newer_version(void **state)
{
    (void)state;
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    notes_change(notes_one("cpu-"), "cores=2", "cores=3");
    assert_true(says("cpu", as, "cores=3\n")); /* so this is how one is changed */
    notes_change(notes_one("cpu-"), "optune note 1", "optune note 2");
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", as, "cores=2\n");
    assert_true(says("cpu", as, "cores=2\n"));
}

static void others_may_write(void **state)
{
    (void)state;
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    char path[4600];
    snprintf(path, sizeof path, "%s", notes_one("cpu-"));
    assert_int_equal(chmod(path, 0620), 0);
    assert_false(says("cpu", as, ""));
    assert_int_equal(chmod(path, 0602), 0);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", as, "cores=2\n"); /* another file in its place */
    assert_true(says("cpu", as, "cores=2\n"));
    assert_int_equal(chmod(notes_path(), 0777), 0);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", "boot=2", "cores=2\n");
    assert_int_equal(notes_count(), 1);
    assert_int_equal(chmod(notes_path(), 0700), 0);
    assert_true(says("cpu", as, "cores=2\n"));
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
    assert_false(says("cpu", as, ""));
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    assert_int_equal(chown(notes_path(), 12345, (gid_t)-1), 0);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", "boot=2", "cores=2\n");
    assert_int_equal(notes_count(), 1);
}

/* Neither the note nor the folder is a link: what it leads to is somebody else's choice. */
static void links(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text text = {0};
    struct stat info;
    char path[4600], victim[4200];
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    snprintf(path, sizeof path, "%s", notes_one("cpu-"));
    snprintf(victim, sizeof victim, "%s/victim", dir);
    assert_int_equal(rename(path, victim), 0);
    assert_int_equal(symlink(victim, path), 0);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", as, "cores=5\n");
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode)); /* in the link's place */
    check_ok(ot_read_file(victim, &text, 1 << 20, &err));
    check_contains(text.s, "cores=2");

    char moved_to[4200];
    snprintf(moved_to, sizeof moved_to, "%s/elsewhere", dir);
    assert_int_equal(rename(notes_path(), moved_to), 0);
    assert_int_equal(symlink(moved_to, notes_path()), 0);
    assert_false(says("cpu", as, ""));
    ot_note_write("cpu", "boot=2", "cores=2\n");
    assert_int_equal(notes_count(), 1);
    ot_text_release(&text);
}

/* No folder, or one in which nothing can be made, or a pipe under the note's name. */
static void nowhere(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[4600];
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    snprintf(path, sizeof path, "%s", notes_one("cpu-"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(says("cpu", as, ""));

    snprintf(path, sizeof path, "%s/file", dir);
    check_ok(ot_write_file(path, "x", 1, &err));
    setenv("OPTUNE_CACHE", path, 1);
    ot_note_write("cpu", as, "cores=2\n");
    assert_false(says("cpu", as, ""));
    assert_true(ot_exists(path));

    char *home = getenv("HOME") ? ot_strdup(getenv("HOME")) : NULL;
    char *cache = getenv("XDG_CACHE_HOME") ? ot_strdup(getenv("XDG_CACHE_HOME")) : NULL;
    unsetenv("OPTUNE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    char own[4096], wanted[4200] = "";
    const bool listed = ot_own_home(own, sizeof own);
    for (int i = 0; i < 3; i++) { /* unset, empty, relative: the list of users knows */
        assert_int_equal(ot_cache_home(path, sizeof path), listed);
        snprintf(wanted, sizeof wanted, "%s/.cache/optune", own);
        if (listed)
            assert_string_equal(path, wanted);
        setenv("HOME", i ? "some/where" : "", 1);
    }
    unsetenv("HOME");
    if (geteuid() == 0) { /* and who is not in it has no place */
        assert_int_equal(seteuid(NOBODY), 0);
        const bool found = ot_cache_home(path, sizeof path);
        ot_note_write("cpu", as, "cores=2\n");
        const bool noted = says("cpu", as, "");
        assert_int_equal(seteuid(0), 0);
        assert_false(found || noted);
    }
    setenv("HOME", "/home/x", 1);
    assert_true(ot_cache_home(path, sizeof path));
    assert_string_equal(path, "/home/x/.cache/optune");
    setenv("XDG_CACHE_HOME", "/y", 1);
    assert_true(ot_cache_home(path, sizeof path));
    assert_string_equal(path, "/y/optune");
    assert_false(ot_cache_home(path, 5));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    if (home)
        setenv("HOME", home, 1);
    if (cache)
        setenv("XDG_CACHE_HOME", cache, 1);
    free(home);
    free(cache);
}

/* A folder of HOME, and whether it lies in there. */
static bool in_home(const char *home, const char *folder, bool any)
{
    char path[4600];
    setenv("HOME", home, 1);
    assert_true(ot_home_folder(folder, any, path, sizeof path));
    check_contains(path, folder);
    return strncmp(path, home, strlen(home)) == 0;
}

/* root with another's HOME leaves that user's folders as they are, and uses its own. */
static void of_another_user(void **state)
{
    (void)state;
    char home[4200], there[4300], *kept = getenv("HOME") ? ot_strdup(getenv("HOME")) : NULL;
    if (geteuid() != 0)
        skip();
    snprintf(home, sizeof home, "%s/theirs", dir);
    assert_int_equal(mkdir(home, 0755), 0);
    assert_int_equal(chown(home, 12345, (gid_t)-1), 0);
    notes_begin(home);
    ot_note_write("cpu", as, "cores=2\n");
    snprintf(there, sizeof there, "%s/cache", home);
    assert_false(ot_exists(there));
    assert_false(in_home(home, "cache", false));
    assert_false(in_home(home, "db", true));
    assert_int_equal(mkdir(there, 0755), 0);
    assert_true(in_home(home, "cache", false)); /* its own */
    assert_int_equal(chown(there, 12345, (gid_t)-1), 0);
    assert_false(in_home(home, "cache", false));
    assert_true(in_home(home, "cache", true));
    unsetenv("HOME");
    if (kept)
        setenv("HOME", kept, 1);
    free(kept);
}

static void not_too_many(void **state)
{
    (void)state;
    char one[40], text[40];
    notes_begin(dir);
    for (int i = 0; i < 50; i++) {
        snprintf(one, sizeof one, "boot=%d", i);
        snprintf(text, sizeof text, "cores=%d\n", i);
        ot_note_write("cpu", one, text);
        assert_true(says("cpu", one, text));
    }
    assert_int_equal(notes_count(), 32);
    assert_false(says("cpu", "boot=0", ""));
    char *large = ot_alloc(100000);
    memset(large, 'x', 99999);
    ot_note_write("cpu", as, large);
    assert_false(says("cpu", as, ""));
    free(large);
}

/* All notes are of a later day, as after a clock that went wrong; there is a folder among them. */
static void clock_backwards(void **state)
{
    (void)state;
    char one[40], path[4600];
    notes_begin(dir);
    ot_note_write("cpu", as, "cores=2\n");
    snprintf(path, sizeof path, "%s/old", notes_path());
    assert_int_equal(mkdir(path, 0700), 0);
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    for (int i = 0; i < 40; i++) {
        const time_t day = (time_t)4000000000 + i;
        const struct timespec times[2] = {{.tv_sec = day}, {.tv_sec = day}};
        snprintf(one, sizeof one, "boot=%d", i);
        ot_note_write("gone", one, "x");
        snprintf(path, sizeof path, "%s", notes_one("gone-"));
        char later[4700];
        snprintf(later, sizeof later, "%s/later-%d", notes_path(), i);
        assert_int_equal(rename(path, later), 0);
        assert_int_equal(utimensat(AT_FDCWD, later, times, 0), 0);
    }
    assert_in_range(notes_count(), 32, 34); /* the last one was renamed */
    ot_note_write("cpu", as, "cores=4\n");
    assert_true(says("cpu", as, "cores=4\n"));
    assert_in_range(notes_count(), 32, 33);
    snprintf(path, sizeof path, "%s/old", notes_path());
    assert_int_equal(rmdir(path), 0);
}

static void identity(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[4200];
    ot_text was = {0}, same = {0}, now = {0};
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    snprintf(path, sizeof path, "%s/program", dir);
    assert_false(ot_file_identity(path, &was));
    check_ok(ot_write_file(path, "one", 3, &err));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_true(ot_file_identity(path, &was));
    assert_true(ot_file_identity(path, &same));
    assert_string_equal(was.s, same.s);
    usleep(20000); /* a tick of the file system's clock */
    check_ok(ot_write_file(path, "two", 3, &err));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0); /* of the same time */
    assert_true(ot_file_identity(path, &now));
    assert_string_not_equal(was.s, now.s);
    ot_text_release(&was);
    ot_text_release(&same);
    ot_text_release(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written), cmocka_unit_test(moved),
        cmocka_unit_test(damaged),          cmocka_unit_test(of_a_newer_version),
        cmocka_unit_test(others_may_write), cmocka_unit_test(links),
        cmocka_unit_test(nowhere),          cmocka_unit_test(of_another_user),
        cmocka_unit_test(not_too_many),     cmocka_unit_test(clock_backwards),
        cmocka_unit_test(identity),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
