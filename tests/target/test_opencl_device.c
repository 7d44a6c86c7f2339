/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which OpenCL device is meant, over a stand-in for the loader: platforms that one process sees and
 * the next does not, or in another order, never make another device of the one that was chosen. And
 * how much of its memory a flush of its caches takes.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "target/opencl.h"

typedef struct entry {
    const char *word;
} entry;

static char dir[1024];
static entry **used;
static const size_t *read_last;

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    /* Opened by its path here, it is what its name means from then on. */
    void *fake = dlopen(
        stand_in_build(dir, "fake_opencl.c", "libOpenCL.so.1", "-Wl,-soname,libOpenCL.so.1"),
        RTLD_NOW);
    assert_non_null(fake);
    used = dlsym(fake, "fake_opencl_used");
    read_last = dlsym(fake, "fake_opencl_read");
    return used && read_last ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

/* What `text` names where these platforms are seen. */
static void probe(const char *platforms, const char *text, optune_target *target,
                  optune_device *device)
{
    optune_err err = {0};
    setenv("FAKE_OPENCL", platforms, 1);
    check_ok(ot_target_parse(text, target, &err));
    check_ok(ot_opencl_probe(target, device, &err));
}

/* Which device the worker opens where these are seen; NULL: none, and why. */
static const char *opened(const char *platforms, const optune_target *target,
                          const optune_device *device, optune_err *err)
{
    const optune_target_row *row = ot_target_find("opencl");
    void *state = ot_alloc(row->worker.state_size);
    setenv("FAKE_OPENCL", platforms, 1);
    const int status = row->worker.open(state, target, device, err);
    row->worker.close(state);
    free(state);
    return status < 0 ? NULL : (*used)->word;
}

static void test_worker_opens_what_was_probed(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    static const char *const same[] = {"cpu,gpu", "gpu,cpu", "wrap,cpu,gpu", "gpu"};
    probe("cpu,gpu", "opencl", &target, &device);
    assert_string_equal(device.name, "Vendor 100");
    for (int i = 0; i < OT_COUNT(same); i++)
        assert_string_equal(opened(same[i], &target, &device, &err), "gpu");
    probe("cpu,gpu", "opencl -device=1", &target, &device);
    for (int i = 0; i < OT_COUNT(same); i++)
        assert_string_equal(opened(same[i], &target, &device, &err), "gpu");
    probe("cpu,gpu", "opencl -device=0", &target, &device);
    assert_string_equal(opened("gpu,cpu", &target, &device, &err), "cpu");
    /* Of two alike the number still tells. */
    probe("cpu,gpu,twin", "opencl -device=2", &target, &device);
    assert_string_equal(opened("cpu,gpu,twin", &target, &device, &err), "twin");
}

/* Of two alike the first is taken, as it was probed, also where another is preferred. */
static void test_worker_opens_the_first_alike(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    static const char *const same[] = {"wrap,cpu,gpu,twin", "wrap,gpu,twin", "cpu,gpu,twin"};
    probe("cpu,gpu,twin", "opencl", &target, &device);
    for (int i = 0; i < OT_COUNT(same); i++)
        assert_string_equal(opened(same[i], &target, &device, &err), "gpu");
}

/* Nothing is measured on the next best. */
static void test_worker_without_it(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    probe("cpu,gpu", "opencl", &target, &device);
    assert_null(opened("cpu", &target, &device, &err));
    check_contains(err.text, "no OpenCL device 'Vendor 100' in this process");
    check_contains(err.text, "0: 'Common Platform: some CPU'");
    assert_null(opened("wrap", &target, &device, &err)); /* by its platform, another */
}

/* A target that is `like` this one has keys of its own. */
static void test_another_target(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    probe("cpu,gpu", "opencl", &target, &device);
    snprintf(device.key, sizeof device.key, "mine-1");
    assert_string_equal(opened("cpu,gpu", &target, &device, &err), "gpu");
    assert_null(opened("cpu", &target, &device, &err));
}

/* The compiler's process is told a name that holds there. */
static void test_compile_names_it(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    optune_argv argv = {0};
    cl_device_id id;
    optune_err err = {0};
    probe("cpu,gpu,twin", "opencl -device=1", &target, &device);
    check_ok(ot_opencl_compile(&target, &device, NULL, 0, "a.cl", "a.bin", &argv, &err));
    assert_string_equal(argv.word[5], "Vendor GPU: Vendor 100");
    setenv("FAKE_OPENCL", "gpu,cpu", 1);
    check_ok(ot_opencl_find(argv.word[5], NULL, &id, NULL, &err));
    assert_string_equal(((const entry *)id)->word, "gpu");
    setenv("FAKE_OPENCL", "cpu", 1);
    assert_int_equal(ot_opencl_find(argv.word[5], NULL, &id, NULL, &err), OPTUNE_ENODEV);
    check_contains(err.text, "no OpenCL device 'Vendor GPU: Vendor 100' here; there is 0: "
                             "'Common Platform: some CPU'");
    optune_argv_release(&argv);
    probe("cpu,gpu,twin", "opencl -device=2", &target, &device);
    check_ok(ot_opencl_compile(&target, &device, NULL, 0, "a.cl", "a.bin", &argv, &err));
    assert_string_equal(argv.word[5], "Vendor GPU: Vendor 100 (2)");
    check_ok(ot_opencl_find(argv.word[5], NULL, &id, NULL, &err));
    assert_string_equal(((const entry *)id)->word, "twin");
    optune_argv_release(&argv);
}

/* What a process that is started later inherits is what the user said. */
static void test_environment_stays(void **state)
{
    (void)state;
    optune_target target;
    optune_device device;
    setenv("OCL_ICD_FILENAMES", "libone.so.2:libother.so.1", 1);
    probe("cpu,gpu", "opencl", &target, &device);
    assert_string_equal(getenv("OCL_ICD_FILENAMES"), "libone.so.2:libother.so.1");
    unsetenv("OCL_ICD_FILENAMES");
    probe("cpu,gpu", "opencl", &target, &device);
    assert_null(getenv("OCL_ICD_FILENAMES"));
}

/* How many bytes a flush of the caches reads on a device that gives buffers of that. */
static size_t flushed(const char *largest, const char *room)
{
    optune_target target;
    optune_device device;
    optune_err err = {0};
    const optune_target_row *row = ot_target_find("opencl");
    void *state = ot_alloc(row->worker.state_size);
    setenv("FAKE_OPENCL_LARGEST", largest, 1);
    setenv("FAKE_OPENCL_ROOM", room, 1);
    probe("gpu", "opencl", &target, &device);
    device.l2 = (int64_t)8 << 20;
    check_ok(row->worker.open(state, &target, &device, &err));
    for (int i = 0; i < 2; i++)
        assert_int_equal(row->worker.flush(state), OPTUNE_OK);
    row->worker.close(state);
    free(state);
    unsetenv("FAKE_OPENCL_LARGEST");
    unsetenv("FAKE_OPENCL_ROOM");
    return *read_last;
}

static void test_flush(void **state)
{
    (void)state;
    assert_int_equal(flushed("4294967296", "4294967296"), 256 << 20);
    assert_int_equal(flushed("134217728", "4294967296"), 128 << 20); /* the device says so */
    assert_int_equal(flushed("4294967296", "100000000"), 64 << 20);  /* it finds no more */
    assert_int_equal(flushed("4294967296", "20000000"), 16 << 20);   /* twice its cache */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_opens_what_was_probed),
        cmocka_unit_test(test_worker_opens_the_first_alike),
        cmocka_unit_test(test_worker_without_it),
        cmocka_unit_test(test_another_target),
        cmocka_unit_test(test_compile_names_it),
        cmocka_unit_test(test_environment_stays),
        cmocka_unit_test(test_flush),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
