/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that end in the middle for what is no workload's fault: whatever it is, the table of what
 * was measured is there.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tuning.h"

#define FIRST "dense(f32[16,64], const f32[32,64])"
#define SECOND "dense(f32[8,64], const f32[32,64])"

static const char *const both[] = {FIRST, SECOND, NULL};

/* The run ends with `status`, or with `other`, and a message that has `part`; its document is
 * returned. */
static json_t *ended(optune *o, optune_run_options options, int status, int other,
                     const char *part)
{
    optune_err err = {0};
    optune_result *result = NULL;
    options.size = sizeof options;
    options.op = "dense";
    options.workloads = both;
    options.trials = 3;
    options.seconds = 240;
    const int code = optune_run(o, &options, &result, &err);
    if (code != status && code != other)
        print_error("ended with %d: %s\n", code, err.text);
    assert_true(code == status || code == other);
    check_contains(err.text, part);
    assert_non_null(result);
    json_t *json = tuning_parse(optune_result_json(result));
    optune_result_free(result);
    return json;
}

/* ---- no more can be written -------------------------------------------------------------- */

/* From here on nothing can be: neither the log, nor a source, nor a module, whether the compiler
 * meets it (ETOOL) or we. Which is met first depends on how far the last compiler is. */

static void fill_disk(void *arg, const optune_progress *p)
{
    (void)arg;
    if (p->workload == 2 && !strcmp(p->phase, "searching") && p->trial == 2) {
        const struct rlimit nothing = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &nothing), 0);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    optune *o = tuning_open("full");
    json_t *json =
        ended(o, (optune_run_options){.progress = fill_disk}, OPTUNE_EIO, OPTUNE_ETOOL,
              strerror(EFBIG));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_true(json_is_object(json_object_get(tuning_workload(json, 0), "winner")));
    assert_true(json_is_object(json_object_get(tuning_workload(json, 1), "winner")));
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    json_decref(json);
    optune_close(o);
}

/* ---- the worker cannot be started again -------------------------------------------------- */

static char worker[1200];

static void kill_workers(void)
{
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (const struct dirent *entry; (entry = readdir(all));) {
        const int pid = atoi(entry->d_name);
        char path[64], target[1400] = "";
        snprintf(path, sizeof path, "/proc/%d/exe", pid);
        if (pid > 0 && readlink(path, target, sizeof target - 1) > 0 &&
            !strncmp(target, worker, strlen(worker)))
            kill(pid, SIGKILL);
    }
    closedir(all);
}

static void remove_worker(void *arg, const optune_progress *p)
{
    (void)arg;
    if (p->workload == 2 && !strcmp(p->phase, "preparing")) {
        unlink(worker);
        kill_workers();
    }
}

static void test_no_worker(void **state)
{
    (void)state;
    char original[4096];
    optune_err err = {0};
    ot_text program = {0};
    check_ok(ot_worker_program(original, sizeof original, &err));
    check_ok(ot_read_file(original, &program, 1 << 26, &err));
    snprintf(worker, sizeof worker, "%s", tuning_path("a-worker"));
    check_ok(ot_write_file(worker, program.s, program.n, &err));
    assert_int_equal(chmod(worker, 0700), 0);
    ot_text_release(&program);
    const char *set = getenv("OPTUNE_WORKER");
    char *kept = set ? ot_strdup(set) : NULL;
    setenv("OPTUNE_WORKER", worker, 1);
    optune *o = tuning_open("no-worker");
    json_t *json =
        ended(o, (optune_run_options){.progress = remove_worker}, OPTUNE_ETOOL, OPTUNE_ETOOL,
              "a-worker");
    if (kept)
        setenv("OPTUNE_WORKER", kept, 1);
    else
        unsetenv("OPTUNE_WORKER");
    free(kept);
    assert_true(json_is_object(json_object_get(tuning_workload(json, 0), "winner")));
    assert_true(json_is_null(json_object_get(tuning_workload(json, 1), "winner")));
    json_decref(json);
    optune_close(o);
}

/* A library that may not be selected is a baseline: what it takes is told, not "nothing". */
static void test_baseline_alone(void **state)
{
    (void)state;
    optune *o = tuning_open("baseline");
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_run_options options = {
        .size = sizeof options,
        .op = "dense",
        .workloads = (const char *const[]){FIRST, NULL},
        .impls = (const char *const[]){"dense_cblas.x86", NULL},
        .trials = 1,
        .seconds = 240,
    };
    const int status = optune_run(o, &options, &result, &err);
    if (status == OPTUNE_EPARTIAL && strstr(err.text, "no implementation")) {
        optune_result_free(result);
        optune_close(o);
        skip(); /* no BLAS here */
    }
    assert_int_equal(status, OPTUNE_OK);
    check_contains(optune_result_text(result), "dense_cblas.x86 (");
    assert_null(strstr(optune_result_text(result), "nothing measured"));
    optune_result_free(result);
    /* Whoever asked for more than libraries has no winner yet. */
    optune_run_options all = options;
    all.impls = NULL;
    all.seconds = 1e-6;
    all.trials = 1;
    assert_int_equal(optune_run(o, &all, &result, &err), OPTUNE_EPARTIAL);
    check_contains(err.text, "of what may be selected nothing was measured");
    optune_result_free(result);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_worker),
        cmocka_unit_test(test_baseline_alone),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
