/* SPDX-License-Identifier: Apache-2.0 */
/* Trials in a process of their own: good ones, and every planted bad one as its outcome. */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/worker/worker_process.h"
#include "tests/tuner/planted.h"

/* Under AddressSanitizer the leaks of whoever exits become its status. */
#ifdef __SANITIZE_ADDRESS__
#define EXIT_OF_EXIT "1"
#else
#define EXIT_OF_EXIT "0"
#endif

static ot_builder *builder;
static ot_worker *worker;
static atomic_bool stop;
static double until;
static int waited;
static char *plugins[2];

static void waiting(void *arg, double seconds)
{
    (void)arg;
    waited += seconds > 0;
    atomic_store(&stop, true);
}

static int seen_before, seen_behind; /* threads of the candidate's process, of its samples */

static int threads_of_runner(void)
{
    pid_t pid = 0;
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task",
             ot_worker_pids(worker, &pid, 1) ? (int)pid : 0);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        n += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

/* A thread that ended is told of for a moment more. */
static void alone(void *arg, bool begins)
{
    (void)arg;
    if (!begins)
        return;
    seen_before = threads_of_runner();
    for (int i = 0; i < 2000 && seen_before != 1; i++) {
        usleep(1000);
        seen_before = threads_of_runner();
    }
}

static void measured(void *arg)
{
    (void)arg;
    seen_behind = threads_of_runner();
}

static ot_worker_options worker_options(void)
{
    plugins[0] = planted_plugin;
    return (ot_worker_options){
        .target_text = "cpu",
        .target = &planted_target,
        .device = &planted_device,
        .plugins = plugins,
        .stop = &stop,
        .until = &until,
        .waiting = waiting,
        .alone = alone,
        .measured = measured,
    };
}

static int setup(void **state)
{
    static char cache[1100];
    optune_err err = {0};
    planted_setup(state);
    setenv("XDG_RUNTIME_DIR", planted_dir, 1); /* a lock of our own */
    snprintf(cache, sizeof cache, "%s/cache", planted_dir);
    const ot_build_options build = {
        .target = &planted_target,
        .device = &planted_device,
        .row = ot_target_find("cpu"),
        .cache_dir = cache,
    };
    const ot_worker_options options = worker_options();
    check_ok(ot_builder_open(&build, &builder, &err));
    check_ok(ot_worker_open(&options, &worker, &err));
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
    return 0;
}

static int teardown(void **state)
{
    ot_worker_close(worker);
    ot_builder_close(builder);
    return planted_teardown(state);
}

typedef struct candidate {
    optune_config config;
    ot_job job;
    ot_trial trial;
} candidate;

static void make(const char *impl, candidate *c)
{
    optune_err err = {0};
    static optune_plan plan;
    c->trial = (ot_trial){.impl = planted_plan(impl, &c->config, &plan), .best = INFINITY};
    check_ok(ot_builder_submit(builder, &planted_task, &plan, &c->job, &err));
    ot_builder_wait(builder, &c->job, 60);
    assert_int_equal(c->job.outcome, OPTUNE_OUTCOME_OK);
    c->trial.config = &c->config;
    c->trial.job = &c->job;
}

/* Runs one and checks how it ended; `part` of its message, when it is bad. */
static void expect(const char *impl, double limit_s, int outcome, const char *part)
{
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r;
    make(impl, &c);
    c.trial.limit_s = limit_s;
    check_ok(ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err));
    if (r.outcome != outcome)
        print_error("%s: %s\n", impl, r.message ? r.message : "no message");
    assert_int_equal(r.outcome, outcome);
    assert_int_equal(r.seed, 7);
    if (outcome == OPTUNE_OUTCOME_OK) {
        assert_true(r.cost > 0 && r.low <= r.cost && r.cost <= r.high);
        assert_true(r.n_samples > 0 && r.inner > 0 && r.sample[0] > 0);
        assert_true(r.error >= 0 && r.error <= 1);
        check_contains(r.counters, "pace="); /* of the core, meanwhile */
    } else {
        assert_true(isinf(r.cost));
        check_contains(r.message, part);
    }
    ot_arena_release(&arena);
}

static void test_good(void **state)
{
    (void)state;
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    expect("dense_nopack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
}

/* Verified, a candidate has no idle threads that spin; they are there when it is timed. */
static void test_threads_rest(void **state)
{
    (void)state;
    if (planted_device.threads < 2)
        skip();
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    assert_int_equal(seen_before, 1);
    assert_in_range(seen_behind, 2, planted_device.threads);
}

static void test_crash(void **state)
{
    (void)state;
    expect("bad_crash.cpu", 0, OPTUNE_OUTCOME_CRASH, "SIGSEGV at address 16 while verifying");
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL); /* in a new process */
}

/* A driver's compiler takes the worker's handlers away; the phase is known all the same. */
static void test_crash_without_handlers(void **state)
{
    (void)state;
    expect("bad_mute.cpu", 0, OPTUNE_OUTCOME_CRASH, "ended by signal 11");
    expect("bad_mute.cpu", 0, OPTUNE_OUTCOME_CRASH, "while verifying");
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
}

static void test_hang(void **state)
{
    (void)state;
    expect("bad_hang.cpu", 1, OPTUNE_OUTCOME_RUN_TIMEOUT,
           "did not end within 1 s while verifying");
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
}

static void test_wrong(void **state)
{
    (void)state;
    expect("bad_lie.cpu", 0, OPTUNE_OUTCOME_WRONG, "output 0[32,47]: got ");
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
}

static void test_bounds(void **state)
{
    (void)state;
    expect("bad_bounds.cpu", 0, OPTUNE_OUTCOME_CRASH,
           "wrote outside a buffer: output 0, 0 bytes past its end");
}

static void test_input_changed(void **state)
{
    (void)state;
    expect("bad_input.cpu", 0, OPTUNE_OUTCOME_WRONG, "wrote to input 0");
    expect("dense_nopack.x86", 0, OPTUNE_OUTCOME_OK, NULL); /* the input is as it was */
}

static void test_exit(void **state)
{
    (void)state;
    expect("bad_exit.cpu", 0, OPTUNE_OUTCOME_CRASH,
           "ended its process with exit status " EXIT_OF_EXIT " while verifying");
}

/* Of a user with no right to more processes than there are then. */
static int without_threads(void)
{
    enum { SOMEBODY = 54321, PROCESSES = 3 }; /* this one, the worker, and the candidate's */
    const struct rlimit few = {PROCESSES, PROCESSES};
    const ot_worker_options options = worker_options();
    static candidate c;
    static char cache[1100];
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r;
    snprintf(cache, sizeof cache, "%s/somebody", planted_dir);
    const ot_build_options build = {.target = &planted_target,
                                    .device = &planted_device,
                                    .row = ot_target_find("cpu"),
                                    .cache_dir = cache};
    if (chmod(planted_dir, 0777) < 0 || setgid(SOMEBODY) < 0 || setuid(SOMEBODY) < 0)
        return 2;
    check_ok(ot_builder_open(&build, &builder, &err));
    make("dense_pack.x86", &c);
    ot_builder_close(builder);
    if (setrlimit(RLIMIT_NPROC, &few) < 0)
        return 2;
    check_ok(ot_worker_open(&options, &worker, &err));
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
    const int status = ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err);
    if (status >= 0)
        print_error("outcome %d: %s\n", r.outcome, r.message ? r.message : "");
    else
        check_contains(err.text, "may not start the");
    ot_worker_close(worker);
    return status < 0 ? 0 : 1;
}

static void test_no_threads_are_no_crash(void **state)
{
    (void)state;
    int how;
    if (geteuid() != 0 || planted_device.threads < 2)
        skip();
    const pid_t pid = fork();
    if (pid == 0)
        _exit(without_threads());
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* Each ends as itself, and the next one finds everything as it was. */
static void test_left_behind(void **state)
{
    (void)state;
    static const struct {
        const char *impl;
        int outcome;
        const char *part;
    } bad[] = {
        {"bad_forks.cpu", OPTUNE_OUTCOME_RUNTIME, "left 1 process behind"},
        {"bad_stops.cpu", OPTUNE_OUTCOME_CRASH, "stopped its process while verifying"},
        {"bad_writes.cpu", OPTUNE_OUTCOME_RUNTIME, "wrote on the connection"},
        {"bad_closes.cpu", OPTUNE_OUTCOME_RUNTIME, "closed the connection"},
        {"bad_spoils.cpu", OPTUNE_OUTCOME_WRONG, "wrote to input 0"},
        {"bad_lazy.cpu", OPTUNE_OUTCOME_WRONG, "output 0["},
        {"bad_keeps.cpu", OPTUNE_OUTCOME_WRONG, "output 0[0,0]: got "},
    };
    for (int i = 0; i < OT_COUNT(bad); i++) {
        expect(bad[i].impl, 0, bad[i].outcome, bad[i].part);
        expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    }
}

static void test_killed_once_is_repeated(void **state)
{
    (void)state;
    char mark[1100];
    snprintf(mark, sizeof mark, "%s/mark", planted_dir);
    setenv("OPTUNE_PLANTED_MARK", mark, 1);
    ot_worker_close(worker); /* the next one inherits the variable */
    optune_err err = {0};
    const ot_worker_options options = worker_options();
    check_ok(ot_worker_open(&options, &worker, &err));
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
    expect("bad_killed.cpu", 0, OPTUNE_OUTCOME_OK, NULL);
    assert_true(ot_exists(mark));
    unsetenv("OPTUNE_PLANTED_MARK");
}

static void test_killed_twice(void **state)
{
    (void)state;
    ot_worker_close(worker);
    optune_err err = {0};
    const ot_worker_options options = worker_options();
    check_ok(ot_worker_open(&options, &worker, &err));
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
    expect("bad_killed.cpu", 0, OPTUNE_OUTCOME_CRASH, "killed from outside twice");
}

static void test_missing_module(void **state)
{
    (void)state;
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r;
    make("dense_pack.x86", &c);
    snprintf(c.job.module[0], sizeof c.job.module[0], "%s/none.so", planted_dir);
    check_ok(ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err));
    assert_int_equal(r.outcome, OPTUNE_OUTCOME_RUNTIME);
    check_contains(r.message, "cannot load module");
    ot_arena_release(&arena);
}

static void test_finals(void **state)
{
    (void)state;
    static candidate c[4];
    static const char *const names[] = {"dense_pack.x86", "bad_crash.cpu", "dense_nopack.x86",
                                        "bad_lie.cpu"};
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial trial[4];
    ot_trial_result r[4];
    for (int i = 0; i < 4; i++) {
        make(names[i], &c[i]);
        trial[i] = c[i].trial;
    }
    check_ok(ot_worker_finals(worker, trial, 4, &ot_policy_warm, 0.2, &arena, r, &err));
    assert_int_equal(r[0].outcome, OPTUNE_OUTCOME_OK);
    assert_int_equal(r[1].outcome, OPTUNE_OUTCOME_CRASH);
    assert_int_equal(r[2].outcome, OPTUNE_OUTCOME_OK);
    assert_int_equal(r[3].outcome, OPTUNE_OUTCOME_WRONG);
    assert_int_equal(r[0].n_samples, r[2].n_samples); /* in turns */
    assert_true(r[0].n_samples >= 3);
    assert_int_not_equal(r[0].seed, 7);
    check_contains(r[1].message, "SIGSEGV");
    /* Either counters, or the reason why there are none. */
    const bool counted = r[0].counters && *r[0].counters != 'r'; /* rounds_left_out */
    assert_true(counted == (ot_worker_counters_why(worker)[0] == '\0'));
    assert_true(!r[0].counters || !strstr(r[0].counters, "pace=")); /* rounds say it */
    ot_arena_release(&arena);
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL); /* with the first seed again */
}

static void test_no_finalists(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_worker_finals(worker, NULL, 0, &ot_policy_warm, 1, NULL, NULL, &err));
}

static void test_takes_turns(void **state)
{
    (void)state;
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r;
    int lock;
    const ot_worker_options other = {.device = &planted_device};
    make("dense_pack.x86", &c);
    check_ok(ot_device_lock(&other, &lock, &err));
    assert_true(lock >= 0);
    waited = 0; /* `waiting` is told, and stops the run */
    assert_int_equal(ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err),
                     OPTUNE_EINTERRUPTED);
    assert_int_equal(waited, 1);
    ot_device_unlock(lock);
    atomic_store(&stop, false);
    check_ok(ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err));
    assert_int_equal(r.outcome, OPTUNE_OUTCOME_OK);
    ot_arena_release(&arena);
}

static void test_interrupted(void **state)
{
    (void)state;
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r;
    make("bad_hang.cpu", &c);
    atomic_store(&stop, true);
    assert_int_equal(ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err),
                     OPTUNE_EINTERRUPTED);
    atomic_store(&stop, false);
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    ot_arena_release(&arena);
}

/* A request that its time ends says nothing of the candidate, and the next one is answered. */
static void test_time_is_over(void **state)
{
    (void)state;
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r[1];
    make("bad_hang.cpu", &c);
    for (int finals = 0; finals < 2; finals++) {
        until = ot_now() + 0.3;
        const int status =
            finals ? ot_worker_finals(worker, &c.trial, 1, &ot_policy_warm, 1, &arena, r, &err)
                   : ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, r, &err);
        assert_int_equal(status, OPTUNE_EINTERRUPTED);
        check_contains(err.text, "time is over");
        assert_true(ot_now() >= until);
    }
    until = 0;
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    ot_arena_release(&arena);
}

static void test_bad_workload(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_int_equal(ot_worker_workload(worker, "dense(f32[?m,64], f32[48,64])", 1, &err),
                     OPTUNE_ETYPE);
    check_contains(err.text, "constant shapes");
    assert_true(ot_worker_workload(worker, "no_such_op()", 1, &err) < 0);
    check_contains(err.text, "no_such_op");
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
}

static void test_peak(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_peaks peak, again;
    check_ok(ot_worker_peak(worker, &peak, &err));
    assert_true(peak.flops > 1e8);
    assert_true(peak.bandwidth > 1e7);
    assert_true(peak.tensor == 0);                  /* a CPU's are not measured */
    check_ok(ot_worker_peak(worker, &again, &err)); /* whenever it is asked */
    assert_true(again.flops > 1e8 && again.bandwidth > 1e7);
    print_message("peak %.1f GFLOP/s, %.1f GB/s\n", peak.flops * 1e-9, peak.bandwidth * 1e-9);
}

static void test_no_program(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_worker *none = NULL;
    char *was = getenv("OPTUNE_WORKER") ? ot_strdup(getenv("OPTUNE_WORKER")) : NULL;
    const ot_worker_options options = worker_options();
    setenv("OPTUNE_WORKER", "/nowhere/optune-worker", 1);
    assert_int_equal(ot_worker_open(&options, &none, &err), OPTUNE_ETOOL);
    check_contains(err.text, "/nowhere/optune-worker");
    unsetenv("OPTUNE_WORKER");
    check_ok(ot_worker_open(&options, &none, &err)); /* found in the build tree */
    ot_worker_close(none);
    if (was)
        setenv("OPTUNE_WORKER", was, 1);
    free(was);
}

/* As in a chroot that nobody mounted it in: said before anything fails for reasons of its own. */
static void test_no_proc(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        optune_err err = {0};
        ot_worker *none = NULL;
        const ot_worker_options options = worker_options();
        if (unshare(CLONE_NEWNS) < 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) < 0)
            _exit(77);
        unsetenv("OPTUNE_WORKER"); /* it is found all the same */
        _exit(ot_worker_open(&options, &none, &err) == OPTUNE_EUNSUPPORTED &&
                      strstr(err.text, "mount -t proc")
                  ? 0
                  : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* it takes the right to mount */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What offers to fuse and does not is as wrong as anything else. */
static void test_forgotten(void **state)
{
    (void)state;
    static const char fused[] = "dense(f32[33,64], const f32[48,64]) -> relu() -> add(f32[48])";
    static optune_call plain;
    optune_err err = {0};
    plain = planted_call;
    check_ok(ot_call_parse(fused, &planted_call, &err));
    check_ok(ot_worker_workload(worker, fused, 7, &err));
    expect("bad_forgets.cpu", 0, OPTUNE_OUTCOME_WRONG, "output 0[0,");
    expect("dense_pack.x86", 0, OPTUNE_OUTCOME_OK, NULL);
    planted_call = plain;
    check_ok(ot_worker_workload(worker, planted_text, 7, &err));
}

/* Half of an installation was replaced: what it does not know would be a candidate's failure. */
static void test_other_sources(void **state)
{
    (void)state;
    char program[4096];
    optune_err err = {0};
    ot_process other;
    json_t *answer = NULL;
    check_ok(ot_worker_program(program, sizeof program, &err));
    check_ok(ot_process_start(&other, program, "/tmp", &err));
    check_ok(ot_wire_send(other.fd,
                          json_pack("{s:s, s:s, s:i, s:s}", "do", "hello", "version",
                                    optune_version(), "abi", OPTUNE_ABI, "sources",
                                    "0123456789abcdef"),
                          &err));
    check_ok(ot_wire_receive(other.fd, 60, &answer, &err));
    assert_int_equal(json_integer_value(json_object_get(answer, "error")), OPTUNE_EVERSION);
    assert_non_null(strstr(ot_wire_text(answer, "text"), "other sources"));
    json_decref(answer);
    ot_process_stop(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_threads_rest),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_crash_without_handlers),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_input_changed),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_no_threads_are_no_crash),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_killed_once_is_repeated),
        cmocka_unit_test(test_killed_twice),
        cmocka_unit_test(test_missing_module),
        cmocka_unit_test(test_finals),
        cmocka_unit_test(test_no_finalists),
        cmocka_unit_test(test_takes_turns),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_time_is_over),
        cmocka_unit_test(test_bad_workload),
        cmocka_unit_test(test_peak),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_other_sources),
        cmocka_unit_test(test_no_proc),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
