/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of somebody else's that computes on a team of threads: where its threads may run, and
 * what children inherit, is its own; a team may run where the thread that it computes for may.
 */
#include "support/tuning.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "answer/graph.h"
#include "support/check.h"

enum { TEAM = 2, MOST_THREADS = 64, OUTPUTS = 64 * 512 };

static const char text[] = "x = var f32[64,512]\n"
                           "output dense(x, const f32[512,512])\n";

static cpu_set_t all;
static int core[TEAM]; /* two that this process may use */

static float in[64 * 512], out[TEAM][OUTPUTS];

static cpu_set_t only(int one)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(one, &set);
    return set;
}

static bool may(pid_t thread, const cpu_set_t *what)
{
    cpu_set_t now;
    return sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, what);
}

static int threads_of_process(pid_t *thread)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    int n = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir)) && n < MOST_THREADS)
        if (entry->d_name[0] != '.')
            thread[n++] = (pid_t)atoi(entry->d_name);
    closedir(dir);
    return n;
}

static void run(optune_program *program, int which)
{
    optune_err err = {0};
    check_ok(optune_program_run(program, (const void *const[]){in}, (void *const[]){out[which]},
                                &err));
}

/* ---- a thread beside, with cores of its own ---------------------------------------------- */

typedef struct beside {
    optune_program *program;
    cpu_set_t set;
    bool kept, team_kept;
    int made; /* threads */
} beside;

static void *run_beside(void *arg)
{
    beside *b = arg;
    pid_t before[MOST_THREADS], after[MOST_THREADS];
    b->kept = sched_setaffinity(0, sizeof b->set, &b->set) == 0;
    const int n = threads_of_process(before);
    run(b->program, 1);
    const int m = threads_of_process(after);
    b->kept = b->kept && may(0, &b->set);
    b->team_kept = true;
    for (int i = 0; i < m; i++) {
        bool old = false;
        for (int k = 0; k < n; k++)
            old = old || before[k] == after[i];
        b->made += !old;
        b->team_kept = b->team_kept && (old || may(after[i], &b->set));
    }
    return NULL;
}

static void compute_beside(optune_program *program, cpu_set_t set)
{
    beside b = {.program = program, .set = set};
    pthread_t thread;
    memset(out[1], 0, sizeof out[1]);
    assert_int_equal(pthread_create(&thread, NULL, run_beside, &b), 0);
    pthread_join(thread, NULL);
    assert_true(b.kept);
    assert_int_equal(b.made, TEAM - 1);
    assert_true(b.team_kept);
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

/* ---- tests --------------------------------------------------------------------------------- */

static int setup(void **state)
{
    int n = 0;
    if (sched_getaffinity(0, sizeof all, &all) == 0)
        for (int i = 0; i < CPU_SETSIZE && n < TEAM; i++)
            if (CPU_ISSET(i, &all))
                core[n++] = i;
    if (n < TEAM)
        core[0] = -1;
    for (int i = 0; i < OT_COUNT(in); i++)
        in[i] = (float)(i % 7);
    return tuning_setup(state);
}

static void test_affinity(void **state)
{
    (void)state;
    if (core[0] < 0)
        skip();
    static const char *const name[] = {"OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND",
                                       "OMP_DYNAMIC", "GOMP_SPINCOUNT"};
    optune_err err = {0};
    optune_graph *g = NULL;
    optune_partition *partition = NULL;
    optune_program *program = NULL;
    pid_t thread[MOST_THREADS];
    for (int i = 0; i < OT_COUNT(name); i++)
        unsetenv(name[i]);
    const int before = threads_of_process(thread);
    optune *o = tuning_open_with("host", (optune_options){.target = "cpu -threads=2"});
    check_ok(optune_graph_parse(text, "test", &g, &err));
    assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
    check_ok(optune_graph_fill(g, 7, &err));
    check_ok(optune_partition_open(o, g, &partition, &err));
    check_ok(optune_program_open(partition, &program, &err));
    assert_true(may(0, &all));
    run(program, 0);
    run(program, 0);
    const int n = threads_of_process(thread);
    assert_true(n > before); /* a team was made */
    for (int i = 0; i < n; i++)
        assert_true(may(thread[i], &all));
    for (int i = 0; i < OT_COUNT(name); i++)
        assert_null(getenv(name[i]));

    compute_beside(program, all);
    compute_beside(program, only(core[0]));
    compute_beside(program, only(core[1]));
    optune_program_close(program);
    optune_partition_close(partition);
    assert_true(may(0, &all));
    optune_graph_close(g);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_affinity)};
    return cmocka_run_group_tests(tests, setup, tuning_teardown);
}
