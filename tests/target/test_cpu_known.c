/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine from a note: what is said is always what a look says. That a note is read is seen by
 * one that was changed to say something else; whatever changes makes a look necessary.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/note.h"
#include "support/check.h"
#include "support/notes.h"
#include "target/target.h"

static char dir[4096];

static int setup(void **state)
{
    (void)state;
    unsetenv("HWLOC_SYNTHETIC");
    return ot_temp_dir(dir, sizeof dir, NULL);
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPTUNE_CACHE");
    ot_remove_tree(dir);
    return 0;
}

static optune_device looked(void)
{
    optune_err err = {0};
    optune_device d = {0};
    check_ok(ot_cpu_topology(&d, &err));
    return d;
}

static optune_device known(void)
{
    optune_err err = {0};
    optune_device d = {0};
    check_ok(ot_cpu_known(&d, &err));
    return d;
}

static void check_same(void)
{
    const optune_device is = looked(), said = known();
    assert_memory_equal(&is, &said, sizeof is);
}

/* A cache with a note about this very situation, of another machine. */
static void plant(void)
{
    notes_begin(dir);
    check_same();
    assert_int_equal(notes_count(), 1);
    notes_change(notes_one("cpu-"), "\nname=", "\nname=planted ");
    check_contains(known().name, "planted ");
}

static void noted(void **state)
{
    (void)state;
    notes_begin(dir);
    check_same();
    assert_int_equal(notes_count(), 1);
    check_same(); /* every field as it was */
    plant();
    assert_true(strlen(looked().name) + strlen("planted ") == strlen(known().name));
}

static void damaged(void **state)
{
    (void)state;
    plant();
    assert_int_equal(truncate(notes_one("cpu-"), 200), 0);
    check_same();
    check_same();
    static const char *const wrong[][2] = {
        {"\ncores=", "\ncores=-"}, {"\ncores=", "\ncore="}, {"\nkey=", "\nkey=\n"},
        {"\nl1=", "\nl1=1e"},      {"\nname=", "\nname=\t"}, {"\nmemory=", "\nmemory=x"},
    };
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        plant();
        notes_change(notes_one("cpu-"), wrong[i][0], wrong[i][1]);
        check_same();
    }
    plant(); /* of another boot, though it stands under this one's name */
    notes_change(notes_one("cpu-"), "boot=", "boot=0");
    check_same();
}

/* In a child, whose processors are its own. */
static void in_child(void (*check)(void))
{
    int how;
    const pid_t child = fork();
    if (child == 0) {
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

#define insist(condition)                                                                      \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                    \
            _exit(1);                                                                          \
        }                                                                                      \
    } while (0)

static void on_one_processor(void)
{
    cpu_set_t all, one;
    optune_err err = {0};
    optune_device is = {0}, said = {0};
    insist(sched_getaffinity(0, sizeof all, &all) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    insist(sched_setaffinity(0, sizeof one, &one) == 0);
    for (int i = 0; i < 2; i++) { /* looked at, then noted */
        insist(ot_cpu_topology(&is, &err) >= 0 && ot_cpu_known(&said, &err) >= 0);
        insist(memcmp(&is, &said, sizeof is) == 0 && said.cores == 1);
        insist(notes_count() == 1 + (CPU_COUNT(&all) > 1));
    }
}

static void *bound_elsewhere(void *arg)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_barrier_wait(arg);
    pthread_barrier_wait(arg);
    return NULL;
}

/* hwloc has no rule for this: neither is anything noted. */
static void threads_apart(void)
{
    pthread_barrier_t turn;
    pthread_t thread;
    cpu_set_t all;
    optune_err err = {0};
    optune_device is = {0}, said = {0};
    const int notes = notes_count();
    insist(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2 || !CPU_ISSET(0, &all))
        return;
    pthread_barrier_init(&turn, NULL, 2);
    insist(pthread_create(&thread, NULL, bound_elsewhere, &turn) == 0);
    pthread_barrier_wait(&turn);
    insist(ot_cpu_topology(&is, &err) >= 0 && ot_cpu_known(&said, &err) >= 0);
    insist(memcmp(&is, &said, sizeof is) == 0 && !strstr(said.name, "planted "));
    insist(notes_count() == notes);
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
}

static void another_machine(void **state)
{
    (void)state;
    plant();
    in_child(on_one_processor);
    check_contains(known().name, "planted "); /* this one's note is still there */
    in_child(threads_apart);
    setenv("HWLOC_SYNTHETIC", "pack:1 core:3 pu:1", 1);
    check_same();
    assert_int_equal(known().cores, 3);
    unsetenv("HWLOC_SYNTHETIC");
    check_contains(known().name, "planted ");
}

/* Which file the program is does not depend on what its caller calls it, or where. */
static void under_another_name(void **state)
{
    (void)state;
    int how;
    optune_err err = {0};
    ot_text note = {0};
    char file[256], wanted[300];
    notes_begin(dir);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "nobody", "known", (char *)NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    ot_text is = {0};
    assert_true(ot_file_identity("/proc/self/exe", &is));
    assert_true(ot_copy(file, sizeof file, is.s));
    snprintf(wanted, sizeof wanted, "\nlibrary=%s ", file);
    check_ok(ot_read_file(notes_one("cpu-"), &note, 1 << 20, &err));
    check_contains(note.s, wanted);
    ot_text_release(&is);
    ot_text_release(&note);
}

/* A container whose /sys/devices/system/cpu is a folder of its maker. */
static void another_tree(void)
{
    optune_err err = {0};
    optune_device said = {0}, is = {0};
    static const char cpu[] = "/sys/devices/system/cpu";
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", cpu, "tmpfs", 0, NULL) < 0)
        _exit(0); /* nor can anybody else here */
    insist(ot_cpu_topology(&is, &err) >= 0 && ot_cpu_known(&said, &err) >= 0);
    insist(memcmp(&is, &said, sizeof is) == 0);
}

static void in_a_container(void **state)
{
    (void)state;
    plant();
    in_child(another_tree);
    check_contains(known().name, "planted ");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "known") == 0) {
        optune_err err;
        optune_device d = {0};
        return ot_cpu_known(&d, &err) < 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted),
        cmocka_unit_test(damaged),
        cmocka_unit_test(another_machine),
        cmocka_unit_test(under_another_name),
        cmocka_unit_test(in_a_container),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
