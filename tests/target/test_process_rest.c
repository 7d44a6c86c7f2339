/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of OpenMP of a worker's process end when it rests, and the next run has others; any other
 * process keeps its own. In children, each of which says whose it is before anything else.
 */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "target/process.h"
#include "target/target.h"

static char dir[1024];

static int threads(void)
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

/* A thread that ended is told of for a moment more. */
static void check_threads(int n)
{
    for (int i = 0; i < 5000 && threads() != n; i++)
        usleep(1000);
    assert_int_equal(threads(), n);
}

/* A team of two, each of whom writes who it is. */
static const char source[] = "#include <omp.h>\n"
                             "void team(void *const *arg)\n"
                             "{\n"
                             "    int *is = arg[0];\n"
                             "    #pragma omp parallel num_threads(2)\n"
                             "    is[omp_get_thread_num()] = omp_get_num_threads();\n"
                             "}\n";

static void runs(const optune_target_worker *worker, void *s, void *module)
{
    optune_err err = {0};
    int64_t is[2] = {0};
    static const optune_stage stage = {.n_args = 1, .arg = {{.kind = OPTUNE_ARG_INT}}};
    const optune_launch launch = {
        .function = worker->symbol(s, module, "team"), .stage = &stage, .arg = {is}};
    check_ok(worker->run(s, &launch, 1, &err));
    const int *seen = (const int *)is;
    assert_int_equal(seen[0], 2);
    assert_int_equal(seen[1], 2);
}

static void in_process(bool claimed)
{
    static optune_target target;
    static optune_device device;
    optune_err err = {0};
    char from[1100], to[1100];
    void *module = NULL;
    optune_argv argv = {0};
    const optune_target_row *row = ot_target_find("cpu");
    if (claimed)
        ot_process_claim();
    ot_process_rest(); /* nothing is there yet */
    snprintf(from, sizeof from, "%s/team.c", dir);
    snprintf(to, sizeof to, "%s/team.so", dir);
    check_ok(ot_target_parse("cpu -threads=2", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    void *s = calloc(1, row->worker.state_size + 16);
    check_ok(ot_write_file(from, source, strlen(source), &err));
    check_ok(row->compile(&target, &device, NULL, 0, from, to, &argv, &err));
    check_ok(ot_run_program(argv.word, 30, NULL, &err));
    optune_argv_release(&argv);
    check_ok(row->worker.open(s, &target, &device, &err));
    check_ok(row->worker.load(s, to, &module, &err));
    const int alone = threads();
    for (int i = 0; i < 3; i++) {
        runs(&row->worker, s, module);
        check_threads(alone + 1);
        ot_process_rest();
        check_threads(alone + !claimed);
    }
    row->worker.unload(s, module);
    row->worker.close(s);
    free(s);
}

static void in_child(bool claimed)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        in_process(claimed);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_rest(void **state)
{
    (void)state;
    optune_err err = {0};
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    in_child(true);
    in_child(false);
    ot_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
