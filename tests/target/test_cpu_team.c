/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that share parallel loops: each part once, whoever comes; nobody is waited for who
 * has not begun. What needs a process of its own has one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "target/target.h"

static const ot_cpu_team *team;

/* As a module gets it. */
static int open_team(void **state)
{
    (void)state;
    static const char source[] = "const void *ot_team;\n";
    static optune_target target;
    static optune_device device;
    char dir[1024], from[1100], to[1100];
    optune_err err = {0};
    optune_argv argv = {0};
    const optune_target_row *row = ot_target_find("cpu");
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(from, sizeof from, "%s/team.c", dir);
    snprintf(to, sizeof to, "%s/team.so", dir);
    check_ok(ot_target_parse("cpu -threads=1", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    check_ok(ot_write_file(from, source, strlen(source), &err));
    check_ok(row->compile(&target, &device, NULL, 0, from, to, &argv, &err));
    check_ok(ot_run_program(argv.word, 30, NULL, &err));
    optune_argv_release(&argv);
    void *module = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    ot_cpu_team_give(module);
    team = *(const ot_cpu_team **)dlsym(module, "ot_team");
    ot_remove_tree(dir);
    return team ? 0 : -1;
}

enum { MOST = 8 };

typedef struct job {
    atomic_int seen[MOST * OT_TEAM_PARTS], busy[MOST];
    int n;
    atomic_int wrong;
} job;

static void part(void *arg)
{
    job *j = arg;
    const int i = team->number(), parts = j->n * OT_TEAM_PARTS, thread = team->thread();
    if (i < 0 || i >= parts || team->count() != parts || thread < 0 || thread >= j->n) {
        atomic_fetch_add(&j->wrong, 1);
        return;
    }
    atomic_fetch_add(&j->wrong, atomic_fetch_add(&j->busy[thread], 1));
    atomic_fetch_add(&j->seen[i], 1);
    atomic_fetch_sub(&j->busy[thread], 1);
}

/* Returns whether each part was computed once, by threads that have a number each. */
static bool jobs(int n, int count)
{
    bool right = team->number() == 0 && team->count() == 1;
    for (int k = 0; k < count; k++) {
        job j = {.n = n};
        team->run(part, &j, (unsigned)n);
        for (int i = 0; i < n * OT_TEAM_PARTS; i++)
            right = right && j.seen[i] == 1;
        right = right && j.wrong == 0;
        if (k % 64 == 63)
            usleep(k % 512); /* helpers may fall asleep */
    }
    return right && team->number() == 0 && team->count() == 1;
}

static int threads_here(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        n += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

/* One that ended is told of for a moment more; ThreadSanitizer has a thread of its own. */
static void check_threads(int n)
{
#ifndef __SANITIZE_THREAD__
    for (int i = 0; i < 5000 && threads_here() != n; i++)
        usleep(1000);
    assert_int_equal(threads_here(), n);
#else
    (void)n;
#endif
}

static void test_each_part_once(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 2, 1, MOST};
    const int before = threads_here();
    for (size_t i = 0; i < OT_COUNT(threads); i++)
        assert_true(jobs(threads[i], 1000));
    check_threads(before + MOST - 1);
    ot_cpu_team_rest();
    check_threads(before);
    assert_true(jobs(2, 100));
}

typedef struct delayed {
    atomic_int done;
    atomic_bool alone; /* who waited for the others waited for ever */
} delayed;

/* The first part takes until all others are done. */
static void delays(void *arg)
{
    delayed *d = arg;
    const int others = team->count() - 1;
    for (int i = 0; team->number() == 0 && atomic_load(&d->done) < others; i++) {
        if (i == 10000) {
            atomic_store(&d->alone, true);
            break;
        }
        usleep(1000);
    }
    atomic_fetch_add(&d->done, 1);
}

static void test_who_is_slow_does_less(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        delayed d = {0};
        team->run(delays, &d, 2);
        assert_int_equal(d.done, 2 * OT_TEAM_PARTS);
        assert_false(d.alone);
    }
}

static void *caller(void *arg)
{
    return jobs(2 + (int)(intptr_t)arg % 2, 1000) ? arg : NULL;
}

static void test_callers_have_their_own(void **state)
{
    (void)state;
    pthread_t thread[4];
    const int before = threads_here();
    for (size_t i = 0; i < OT_COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, caller, (void *)(i + 1)), 0);
    for (size_t i = 0; i < OT_COUNT(thread); i++) {
        void *right = NULL;
        pthread_join(thread[i], &right);
        assert_ptr_equal(right, (void *)(i + 1));
    }
    check_threads(before);
}

static void inner(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, team->number() == 0 && team->count() == 1 ? 1 : 100);
}

static void outer(void *arg)
{
    const int number = team->number(), count = team->count();
    team->run(inner, arg, 2);
    if (team->number() != number || team->count() != count)
        atomic_fetch_add((atomic_int *)arg, 100);
}

static void test_a_loop_within_a_part(void **state)
{
    (void)state;
    atomic_int sum = 0;
    for (int i = 0; i < 100; i++)
        team->run(outer, &sum, 2);
    assert_int_equal(sum, 100 * 2 * OT_TEAM_PARTS);
}

/* ---- in a child --------------------------------------------------------------------------- */

static void in_child(bool (*does)(void))
{
#ifdef __SANITIZE_THREAD__
    skip(); /* it ends a child of several threads that makes one */
#endif
    int status = 0;
    assert_true(jobs(2, 10)); /* a team that the child does not have */
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(does() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool just_runs(void)
{
    return jobs(2, 1000) && jobs(3, 100);
}

static void test_behind_a_fork(void **state)
{
    (void)state;
    in_child(just_runs);
}

static bool without_threads(void)
{
    const struct rlimit none = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &none); /* stacks of threads that were are all there is */
    return jobs(MOST, 100);
}

static void test_no_thread_can_be_made(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it ends a process that has no memory for a thread */
#endif
    in_child(without_threads);
}

static int in[2], out[2];

/* A helper that the system does not run. */
static void stuck(int signal)
{
    char c = 0;
    (void)signal;
    if (write(in[1], &c, 1) != 1 || read(out[0], &c, 1) != 1)
        _exit(2);
}

static bool beside_one_that_does_not_run(void)
{
    char c = 0;
    bool right = jobs(2, 10) && pipe(in) == 0 && pipe(out) == 0;
    signal(SIGTRAP, stuck);
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    int n = 0;
    while (tasks && (entry = readdir(tasks)))
        if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
            n += syscall(SYS_tgkill, getpid(), atoi(entry->d_name), SIGTRAP) == 0;
    closedir(tasks);
    right = right && n == 1 && read(in[0], &c, 1) == 1;
    right = right && jobs(2, 1000);
    return write(out[1], &c, 1) == 1 && right && jobs(2, 1000);
}

static void test_nobody_waits_for_who_has_not_begun(void **state)
{
    (void)state;
    in_child(beside_one_that_does_not_run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_once),
        cmocka_unit_test(test_who_is_slow_does_less),
        cmocka_unit_test(test_callers_have_their_own),
        cmocka_unit_test(test_a_loop_within_a_part),
        cmocka_unit_test(test_behind_a_fork),
        cmocka_unit_test(test_no_thread_can_be_made),
        cmocka_unit_test(test_nobody_waits_for_who_has_not_begun),
    };
    return cmocka_run_group_tests(tests, open_team, NULL);
}
