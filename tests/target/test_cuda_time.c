/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a time of the target `cuda`, over the stand-in for its driver, whose clock counts
 * launches: the runs asked for and nothing else, whichever number of graphs replays them, and none
 * of what a library does on the host. That any thread may use the target. That modules which call
 * libraries are not taken for one another, and may measure. And the device's key, which must not
 * tell one driver from another.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "target/cuda.h"

static char dir[1024];
static const optune_target_row *row;
static optune_device device;
static void *s, *module;
static optune_launch launch;

static const optune_stage stage = {
    .phase = OPTUNE_TIMED,
    .function = "dense",
    .n_args = 3,
    .block = {32},
    .arg = {optune_scratch_arg(0), optune_scratch_arg(0), optune_scratch_arg(0)},
};

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_target target;
    static char module_file[1100];
    static const char elf[] = "\177ELF";
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(module_file, sizeof module_file, "%s/m.cubin", dir);
    setenv("OPTUNE_CUDA_DRIVER", stand_in_build(dir, "fake_cuda.c", "libfake_cuda.so", NULL),
           1);
    check_ok(ot_target_parse("cuda", &target, &err));
    check_ok(ot_cuda_probe(&target, &device, &err));
    row = ot_target_find("cuda");
    s = ot_alloc(row->worker.state_size);
    check_ok(row->worker.open(s, &target, &device, &err));
    check_ok(ot_gpu_module_write(module_file, "", elf, sizeof elf, &err));
    check_ok(row->worker.load(s, module_file, &module, &err));
    launch =
        (optune_launch){.function = row->worker.symbol(s, module, "dense"), .stage = &stage};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    row->worker.unload(s, module);
    row->worker.close(s);
    free(s);
    ot_remove_tree(dir);
    return 0;
}

/* In microseconds, one a run. */
static double take(int64_t count)
{
    optune_err err = {0};
    return row->worker.time(s, &launch, 1, count, &err) * 1e6;
}

static void test_runs_only(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 15, 16, 17, 33, 40, 1000, 12345};
    for (int i = 0; i < OT_COUNT(counts); i++)
        assert_true(fabs(take(counts[i]) - (double)counts[i]) < 1e-3 * (double)counts[i]);
}

static void test_behind_a_flush(void **state)
{
    (void)state;
    void *driver = dlopen(getenv("OPTUNE_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
    const int *flushes = dlsym(driver, "fake_cuda_flushes"),
              *dirty = dlsym(driver, "fake_cuda_dirty");
    void *buffer = NULL;
    optune_err err = {0};
    check_ok(row->worker.alloc(s, 1, false, &buffer, &err));
    for (int i = 0; i < 3; i++) {
        const int before = *flushes;
        assert_int_equal(row->worker.write(s, buffer, "", 1), OPTUNE_OK);
        assert_true(*dirty);
        assert_int_equal(row->worker.flush(s), OPTUNE_OK);
        assert_true(*flushes > before && !*dirty);
        assert_true(fabs(take(1) - 1) < 1e-3);
    }
    row->worker.free(s, buffer);
    dlclose(driver);
    assert_int_equal(row->worker.flush(s), OPTUNE_OK);
    assert_true(fabs(take(1) - 1) < 1e-3);
    assert_true(fabs(take(1) - 1) < 1e-3);
}

/* A function may be used by one thread at a time, whichever opened it; CUDA's context is a thread's
 * own. */
static void *use(void *arg)
{
    int *ended = arg;
    optune_err err = {0};
    void *buffer = NULL;
    char byte = 1;
    *ended = row->worker.alloc(s, 1, true, &buffer, &err);
    if (*ended >= 0)
        *ended = row->worker.write(s, buffer, &byte, 1);
    byte = 0;
    if (*ended >= 0)
        *ended = row->worker.read(s, buffer, &byte, 1);
    if (*ended >= 0)
        *ended = row->worker.run(s, &launch, 1, &err);
    if (*ended >= 0 && (byte != 1 || !row->worker.intact(s, buffer) || take(3) < 0))
        *ended = OPTUNE_EIO;
    if (buffer)
        row->worker.free(s, buffer);
    return NULL;
}

static void test_other_thread(void **state)
{
    (void)state;
    pthread_t thread;
    int ended = OPTUNE_EIO;
    assert_int_equal(pthread_create(&thread, NULL, use, &ended), 0);
    pthread_join(thread, NULL);
    assert_int_equal(ended, OPTUNE_OK);
    assert_true(row->worker.alive(s));
}

/* ---- bodies that call libraries ---------------------------------------------------------- */

/* Loaded by a descriptor that is closed again, as modules come to a runner. */
static void *load_body(const char *file, int at)
{
    optune_err err = {0};
    char name[32];
    void *handle = NULL;
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && (fd == at || dup2(fd, at) == at));
    snprintf(name, sizeof name, "/proc/self/fd/%d", at);
    check_ok(row->worker.load(s, name, &handle, &err));
    close(at);
    if (fd != at)
        close(fd);
    return handle;
}

static const optune_stage answering = {
    .phase = OPTUNE_TIMED, .function = "answer", .n_args = 1, .arg = {optune_scratch_arg(0)}};

static int answer_of(void *body, void *buffer)
{
    optune_err err = {0};
    int answer = 0;
    const optune_launch run = {.function = row->worker.symbol(s, body, "answer"),
                               .stage = &answering,
                               .arg = {buffer}};
    assert_non_null(run.function);
    check_ok(row->worker.run(s, &run, 1, &err));
    assert_int_equal(row->worker.read(s, buffer, &answer, sizeof answer), OPTUNE_OK);
    return answer;
}

static void test_bodies_apart(void **state)
{
    (void)state;
    enum { AT = 200 };
    optune_err err = {0};
    const char *const file[] = {
        stand_in_build(dir, "fake_body.c", "one.so", "-DANSWER=1"),
        stand_in_build(dir, "fake_body.c", "two.so", "-DANSWER=2"),
    };
    void *buffer = NULL, *body[2] = {load_body(file[0], AT), load_body(file[1], AT)};
    check_ok(row->worker.alloc(s, sizeof(int), true, &buffer, &err));
    assert_int_equal(answer_of(body[0], buffer), 1);
    assert_int_equal(answer_of(body[1], buffer), 2);
    row->worker.unload(s, body[0]);
    assert_int_equal(answer_of(body[1], buffer), 2);
    body[0] = load_body(file[0], AT);
    assert_int_equal(answer_of(body[0], buffer), 1);
    assert_int_equal(answer_of(body[1], buffer), 2);
    row->worker.free(s, buffer);
    row->worker.unload(s, body[0]);
    row->worker.unload(s, body[1]);
}

/* One that stays loaded when it is closed keeps its name. */
static void test_body_that_stays(void **state)
{
    (void)state;
    optune_err err = {0};
    void *buffer = NULL, *body;
    check_ok(row->worker.alloc(s, sizeof(int), true, &buffer, &err));
    body = load_body(stand_in_build(dir, "fake_body.c", "stays.so", "-Wl,-z,nodelete"), 200);
    assert_int_equal(answer_of(body, buffer), 0);
    row->worker.unload(s, body);
    body = load_body(stand_in_build(dir, "fake_body.c", "next.so", "-DANSWER=3"), 200);
    assert_int_equal(answer_of(body, buffer), 3);
    row->worker.unload(s, body);
    row->worker.free(s, buffer);
}

static void test_body_loaded_twice(void **state)
{
    (void)state;
    const char *const file = stand_in_build(dir, "fake_body.c", "twice.so", NULL);
    const int before = dup(0);
    close(before);
    void *body[2] = {load_body(file, 200), load_body(file, 200)};
    row->worker.unload(s, body[0]);
    row->worker.unload(s, body[1]);
    const int after = dup(0);
    close(after);
    assert_int_equal(after, before); /* no file stays open */
}

static void test_body_behind_a_flush(void **state)
{
    (void)state;
    static const optune_stage calling = {
        .phase = OPTUNE_TIMED, .function = "slow", .n_args = 1, .arg = {optune_symbol_arg("")}};
    optune_err err = {0};
    void *driver = dlopen(getenv("OPTUNE_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
    void *body = load_body(stand_in_build(dir, "fake_body.c", "slow.so", NULL), 200);
    const optune_launch run[] = {{.function = row->worker.symbol(s, body, "slow"),
                                  .stage = &calling,
                                  .arg = {dlsym(driver, "fake_cuda_pass")}},
                                 launch};
    assert_non_null(run[0].arg[0]);
    assert_int_equal(row->worker.flush(s), OPTUNE_OK);
    assert_true(fabs(row->worker.time(s, run, 2, 1, &err) * 1e6 - 1) < 1e-3);
    assert_true(fabs(row->worker.time(s, run, 2, 40, &err) * 1e6 - 40) < 1e-3);
    row->worker.unload(s, body);
    dlclose(driver);
}

/* A body that chooses by trying measures where it is run, and cannot where it is captured; one that
 * says so is run first, outside what is timed. What is measured cold is so each time. */
static void try_clock(bool cold)
{
    static const optune_stage choosing = {.phase = OPTUNE_TIMED,
                                          .function = "choose",
                                          .n_args = 5,
                                          .arg = {optune_symbol_arg(""), optune_scratch_arg(0),
                                                  optune_symbol_arg(""), optune_symbol_arg(""),
                                                  optune_symbol_arg("")}};
    static char image[16] = "\177ELF";
    optune_err err = {0};
    void *driver = dlopen(getenv("OPTUNE_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
    const int *flushes = dlsym(driver, "fake_cuda_flushes");
    void *body = load_body(stand_in_build(dir, "fake_body.c", cold ? "cold.so" : "warm.so",
                                          cold ? "-DCOLD=1" : NULL),
                           200);
    void *buffer = NULL, *module_of = NULL, *kernel = NULL;
    int (*load_data)(void **, const void *), (*get)(void **, void *, const char *);
    int (*unload_data)(void *);
    double found = 0;
    *(void **)&load_data = dlsym(driver, "cuModuleLoadData");
    *(void **)&get = dlsym(driver, "cuModuleGetFunction");
    *(void **)&unload_data = dlsym(driver, "cuModuleUnload");
    assert_int_equal(load_data(&module_of, image), 0);
    assert_int_equal(get(&kernel, module_of, "peak_launch"), 0);
    check_ok(row->worker.alloc(s, sizeof found, true, &buffer, &err));
    const optune_launch run = {.function = row->worker.symbol(s, body, "choose"),
                               .stage = &choosing,
                               .arg = {row->worker.library(s, "", "ot_clock", &err), buffer,
                                       dlsym(driver, "cuLaunchKernel"), kernel,
                                       row->worker.library(s, "", "ot_stream", &err)}};
    const int before = *flushes;
    check_ok(row->worker.run(s, &run, 1, &err));
    assert_int_equal(row->worker.read(s, buffer, &found, sizeof found), OPTUNE_OK);
    assert_true(fabs(found * 1e6 - 1) < 1e-3);
    assert_true(cold ? *flushes >= before + 3 : *flushes == before);
    assert_true(fabs(row->worker.time(s, &run, 1, 1, &err) * 1e6 - 1) < 1e-3);
    assert_int_equal(row->worker.read(s, buffer, &found, sizeof found), OPTUNE_OK);
    assert_true(found < 0);
    /* Nor where it is timed without that: the time around it is the run's. */
    setenv("FAKE_CUDA_NO_CAPTURE", "1", 1);
    assert_true(fabs(row->worker.time(s, &run, 1, 1, &err) * 1e6 - 1) < 1e-3);
    unsetenv("FAKE_CUDA_NO_CAPTURE");
    assert_int_equal(row->worker.read(s, buffer, &found, sizeof found), OPTUNE_OK);
    assert_true(found < 0);
    check_ok(row->worker.run(s, &run, 1, &err));
    assert_int_equal(row->worker.read(s, buffer, &found, sizeof found), OPTUNE_OK);
    assert_true(fabs(found * 1e6 - 1) < 1e-3);
    optune_launch learning = run;
    learning.function = row->worker.symbol(s, body, "learn");
    assert_non_null(learning.function);
    if (cold)
        assert_int_equal(row->worker.flush(s), OPTUNE_OK);
    assert_true(fabs(row->worker.time(s, &learning, 1, 1, &err) * 1e6 - 1) < 1e-3);
    assert_true(fabs(row->worker.time(s, &learning, 1, 40, &err) * 1e6 - 40) < 1e-3);
    assert_int_equal(unload_data(module_of), 0);
    row->worker.free(s, buffer);
    row->worker.unload(s, body);
    dlclose(driver);
}

static void test_clock(void **state)
{
    (void)state;
    try_clock(false);
    try_clock(true);
}

static void test_key(void **state)
{
    (void)state;
    assert_string_equal(device.key, "cuda-stand-in-gpu-sm_90-4mp-1g-ecc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_only),
        cmocka_unit_test(test_behind_a_flush),
        cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_bodies_apart),
        cmocka_unit_test(test_body_that_stays),
        cmocka_unit_test(test_body_loaded_twice),
        cmocka_unit_test(test_body_behind_a_flush),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_key),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
