/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU trials in a process of their own, on each GPU target of this machine (PoCL makes opencl
 * one anywhere): a good candidate, and every planted bad one as its outcome. Where there is no
 * CUDA driver they run over a stand-in for it (tests/data/fake_cuda.c), which needs NVRTC.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/worker.h"
#include "support/check.h"
#include "support/plugin.h"
#include "support/stand_in.h"
#include "target/cuda.h"

static const char text[] = "dense(f32[24,12],f32[33,12])";
static char dir[1024], plugin[1100];

typedef struct bench {
    optune_target target;
    optune_device device;
    optune_call call;
    optune_task task;
    ot_builder *builder;
    ot_worker *worker;
} bench;

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    setenv("XDG_RUNTIME_DIR", dir, 1);
    if (getenv("OPTUNE_TEST_PLUGIN")) { /* built before, on another machine */
        snprintf(plugin, sizeof plugin, "%s", getenv("OPTUNE_TEST_PLUGIN"));
        check_ok(ot_plugin_load(plugin, ot_target_add, &err));
        return 0;
    }
    snprintf(plugin, sizeof plugin, "%s/plugin_bad_gpu.so", dir);
    plugin_load("plugin_bad_gpu.c", plugin);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

/* False, and the reason on the screen: no such device here. */
static bool open_bench(bench *b, const char *target)
{
    static char *plugins[2] = {plugin};
    static char cache[1100];
    optune_err err = {0};
    *b = (bench){0};
    check_ok(ot_target_parse(target, &b->target, &err));
    const int status = ot_target_probe(&b->target, &b->device, &err);
    if (status == OPTUNE_ENODEV) {
        print_message("%s\n", err.text);
        return false;
    }
    check_ok(status);
    check_ok(ot_call_parse(text, &b->call, &err));
    b->task = (optune_task){&b->call, &b->target, &b->device};
    snprintf(cache, sizeof cache, "%s/cache", dir);
    const ot_build_options build = {.target = &b->target,
                                    .device = &b->device,
                                    .row = ot_target_find(target),
                                    .cache_dir = cache};
    const ot_worker_options worker = {
        .target_text = target, .target = &b->target, .device = &b->device, .plugins = plugins};
    check_ok(ot_builder_open(&build, &b->builder, &err));
    check_ok(ot_worker_open(&worker, &b->worker, &err));
    check_ok(ot_worker_workload(b->worker, text, 7, &err));
    return true;
}

static void close_bench(bench *b)
{
    ot_worker_close(b->worker);
    ot_builder_close(b->builder);
}

/* Builds and runs one and checks how it ended; `part` of its message, when it is bad. */
static void expect(bench *b, const char *name, double limit_s, int outcome, const char *part)
{
    static optune_plan plan;
    static ot_job job;
    optune_config config;
    optune_space *space;
    optune_err err = {0};
    ot_arena arena = {0};
    const optune_impl *impl = ot_impl_find(name);
    assert_non_null(impl);
    check_ok(ot_space_open(&b->task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    check_ok(ot_plan_make(&b->task, impl, &config, &plan, &err));
    check_ok(ot_builder_submit(b->builder, &b->task, &plan, &job, &err));
    ot_builder_wait(b->builder, &job, 60);
    ot_trial_result r = {.outcome = job.outcome, .message = job.message, .cost = INFINITY};
    const ot_trial trial = {
        .impl = impl, .config = &config, .job = &job, .best = INFINITY, .limit_s = limit_s};
    if (job.outcome == OPTUNE_OUTCOME_OK)
        check_ok(ot_worker_trial(b->worker, &trial, &ot_policy_warm, &arena, &r, &err));
    if (r.outcome != outcome)
        print_error("%s: %s: %s\n", name, ot_outcome_name(r.outcome),
                    r.message ? r.message : "no message");
    assert_int_equal(r.outcome, outcome);
    if (outcome == OPTUNE_OUTCOME_OK) {
        assert_true(r.cost > 0 && r.low <= r.cost && r.cost <= r.high && r.error <= 1);
    } else {
        assert_true(isinf(r.cost));
        check_contains(r.message, part);
    }
    ot_arena_release(&arena);
    ot_space_close(space);
}

static void all(const char *target)
{
    bench b;
    if (!open_bench(&b, target))
        skip();
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    expect(&b, "bad_bounds.gpu", 0, OPTUNE_OUTCOME_WRONG, "wrote outside output 0");
    expect(&b, "bad_before.gpu", 0, OPTUNE_OUTCOME_WRONG, "wrote outside output 0");
    expect(&b, "bad_input.gpu", 0, OPTUNE_OUTCOME_WRONG, "wrote to input 0");
    expect(&b, "bad_read.gpu", 0, OPTUNE_OUTCOME_WRONG, "nan, want");
    expect(&b, "bad_lie.gpu", 0, OPTUNE_OUTCOME_WRONG, "output 0[0,0]: got");
    expect(&b, "bad_half.gpu", 0, OPTUNE_OUTCOME_WRONG, "output 0[1,0]");
    expect(&b, "bad_compile.gpu", 0, OPTUNE_OUTCOME_COMPILE, "planted");
    expect(&b, "bad_block.gpu", 0, OPTUNE_OUTCOME_RUNTIME, "threads in");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    /* These two cost the worker its process, and nothing else. */
    expect(&b, "bad_crash.gpu", 0, OPTUNE_OUTCOME_CRASH,
           strcmp(target, "cuda") == 0 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : b.device.threads > 0      ? "while verifying" /* a CPU: the process itself dies */
                                       : "'dense_crash' failed");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    expect(&b, "bad_hang.gpu", 4, OPTUNE_OUTCOME_RUN_TIMEOUT, "4 s");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    close_bench(&b);
}

static void test_opencl(void **state)
{
    (void)state;
    all("opencl");
}

/* A driver of our own, where there is none: CUDA opens it in this process and in the worker's. */
static void stand_in(void)
{
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (getenv("OPTUNE_CUDA_DRIVER") || getenv("OPTUNE_TEST_PLUGIN") ||
        dlopen("libcuda.so.1", RTLD_LAZY))
        return; /* in a bundle, the driver may lie off the library path */
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        return;
    }
    setenv("OPTUNE_CUDA_DRIVER", stand_in_build(dir, "fake_cuda.c", "libfake_cuda.so", NULL),
           1);
    setenv("FAKE_CUDA_DENSE", "24,33,12", 1); /* of `text` */
}

static void test_cuda(void **state)
{
    (void)state;
    stand_in();
    all("cuda");
}

/* Its kernels compile and run; what they say of a CPU is of no use, but it is something. `device`
 * holds what it is to be taken for. */
static ot_peaks check_peak(const char *named, const optune_device *as, bool tensor)
{
    optune_err err = {0};
    optune_target target;
    optune_device device;
    ot_session session;
    ot_peaks peak;
    check_ok(ot_target_parse(named, &target, &err));
    const int status = ot_target_probe(&target, &device, &err);
    if (status == OPTUNE_ENODEV) {
        print_message("%s\n", err.text);
        skip();
    }
    check_ok(status);
    if (as->cc_major) {
        device.cc_major = as->cc_major;
        device.cc_minor = as->cc_minor;
        memcpy(device.arch, as->arch, sizeof device.arch);
    }
    device.memory = (int64_t)256 << 20; /* a sixteenth of it is copied */
    check_ok(ot_session_open(&session, &target, &device, &err));
    check_ok(ot_peak_gpu(&session, &peak, &err));
    ot_session_close(&session);
    assert_true(peak.flops > 1e6 && isfinite(peak.flops));
    assert_true(peak.bandwidth > 1e6 && isfinite(peak.bandwidth));
    assert_int_equal(peak.tensor > 1e6 && isfinite(peak.tensor), tensor);
    return peak;
}

static void test_peak(void **state)
{
    (void)state;
    check_peak("opencl", &(optune_device){0}, false);
}

static void test_peak_cuda(void **state)
{
    (void)state;
    stand_in();
    if (!getenv("OPTUNE_CUDA_DRIVER")) {
        check_peak("cuda", &(optune_device){0}, true); /* as of a device with tensor cores */
        return;
    }
    /* The stand-in loads what is compiled for any. */
    check_peak("cuda", &(optune_device){.arch = "sm_75", .cc_major = 7, .cc_minor = 5}, false);
    check_peak("cuda", &(optune_device){.arch = "sm_80", .cc_major = 8}, true);
    check_peak("cuda", &(optune_device){.arch = "sm_90", .cc_major = 9}, true);
    /* What is compiled for less than the device has gets what that has. */
    check_peak("cuda -arch=sm_80", &(optune_device){.arch = "sm_90", .cc_major = 9}, true);
    setenv("FAKE_CUDA_WITHOUT", "peak_tensor", 1); /* the rest is measured */
    const ot_peaks rest =
        check_peak("cuda", &(optune_device){.arch = "sm_80", .cc_major = 8}, false);
    unsetenv("FAKE_CUDA_WITHOUT");
    check_contains(rest.tensor_why, "finds no 'peak_tensor'");
}

/* A library that is there and cannot start is told as that, and costs nothing else. */
static void test_library_cannot_start(void **state)
{
    (void)state;
    bench b;
    char before[4096];
    if (getenv("OPTUNE_TEST_PLUGIN"))
        skip(); /* on another machine, without our sources */
    stand_in();
    stand_in_build(dir, "fake_cublas.c", "libcublas.so", NULL);
    ot_copy(before, sizeof before, getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "");
    setenv("LD_LIBRARY_PATH", dir, 1); /* the worker inherits it */
    if (!open_bench(&b, "cuda"))
        skip();
    expect(&b, "dense_cublas.cuda", 0, OPTUNE_OUTCOME_RUNTIME,
           "cublasCreate: not initialized (status 1); the library cannot start here");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    close_bench(&b);
    setenv("LD_LIBRARY_PATH", before, 1);
}

/* A workload for which the device has no room is refused; it costs neither worker nor run. */
static void test_no_memory(void **state)
{
    (void)state;
    bench b;
    optune_err err = {0};
    static const char room[] = "dense(f32[1,1],f32[1,1])";
    stand_in();
    if (!getenv("OPTUNE_CUDA_DRIVER"))
        skip(); /* a real device has room for what this test could make */
    assert_true(open_bench(&b, "cuda"));
    ot_worker_close(b.worker);               /* the next one inherits the limit */
    setenv("FAKE_CUDA_MEMORY", "132000", 1); /* two canaries and a little */
    char *plugins[2] = {plugin, NULL};
    const ot_worker_options options = {
        .target_text = "cuda", .target = &b.target, .device = &b.device, .plugins = plugins};
    check_ok(ot_worker_open(&options, &b.worker, &err));
    assert_int_equal(ot_worker_workload(b.worker, text, 7, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "no device memory for a buffer of 1152 bytes");
    check_contains(err.text, "CUDA_ERROR_OUT_OF_MEMORY");
    check_ok(ot_worker_workload(b.worker, room, 7, &err));
    close_bench(&b);
    unsetenv("FAKE_CUDA_MEMORY");
}

/* What a device holds of inputs goes where a candidate needs the room. */
static void test_room_is_made(void **state)
{
    (void)state;
    bench b;
    stand_in();
    if (!getenv("OPTUNE_CUDA_DRIVER"))
        skip();
    setenv("FAKE_CUDA_ROOM", "8", 1); /* six are the workload's; the worker inherits it */
    assert_true(open_bench(&b, "cuda"));
    for (int i = 0; i < 2; i++) {
        expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
        expect(&b, "bad_scratch.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    }
    close_bench(&b);
    unsetenv("FAKE_CUDA_ROOM");
}

/* Who writes to what the device holds may pass; who gets a copy of that next is not to blame. */
static void test_stray(void **state)
{
    (void)state;
    bench b;
    stand_in();
    if (!getenv("OPTUNE_CUDA_DRIVER"))
        skip();
    assert_true(open_bench(&b, "cuda"));
    expect(&b, "bad_stray.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    expect(&b, "bad_stray.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    expect(&b, "bad_lie.gpu", 0, OPTUNE_OUTCOME_WRONG, "output 0[0,0]: got");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    close_bench(&b);
}

/* Large inputs are compared by the device, with what the worker built before any trial. */
static void test_large_input(void **state)
{
    (void)state;
    static const char large[] = "dense(f32[1024,4096],f32[2,4096])"; /* 16 MiB */
    bench b;
    optune_err err = {0};
    if (!open_bench(&b, "opencl"))
        skip();
    ot_worker_close(b.worker);
    b.device.threads = 0; /* as of a device with memory of its own */
    char *plugins[2] = {plugin, NULL};
    const ot_worker_options options = {
        .target_text = "opencl", .target = &b.target, .device = &b.device, .plugins = plugins};
    check_ok(ot_worker_open(&options, &b.worker, &err));
    check_ok(ot_call_parse(large, &b.call, &err));
    check_ok(ot_worker_workload(b.worker, large, 7, &err));
    expect(&b, "bad_input.gpu", 0, OPTUNE_OUTCOME_WRONG, "wrote to input 0");
    expect(&b, "dense_tile.gpu", 0, OPTUNE_OUTCOME_OK, NULL);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opencl),       cmocka_unit_test(test_peak),
        cmocka_unit_test(test_cuda),         cmocka_unit_test(test_peak_cuda),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_library_cannot_start),
        cmocka_unit_test(test_room_is_made), cmocka_unit_test(test_stray),
        cmocka_unit_test(test_large_input),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
