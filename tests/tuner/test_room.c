/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload takes, and that one that is too large is refused before anything is allocated,
 * alone, with how much it needs. */
#include "support/planted_files.h"
#include "support/tuning.h"
#include "tuner/tune.h"

static const double GIB = 1 << 30;

static double needed(const char *text, int threads, double *on_device)
{
    optune_call call;
    optune_err err = {0};
    const optune_device device = {.threads = threads};
    check_ok(ot_call_parse(text, &call, &err));
    return ot_room_needed(&call, &device, on_device);
}

static void test_needed(void **state)
{
    (void)state;
    double on_device;
    /* Two copies of three tensors of 4 MiB, one on the host, and their reference. */
    const double small = needed("dense(f32[1024,1024], const f32[1024,1024])", 2, &on_device);
    assert_true(small > 28 * 1024 * 1024 && small < 64 * 1024 * 1024);
    assert_float_equal(on_device, 0, 0);
    const double host = needed("dense(f32[1024,1024], const f32[1024,1024])", 0, &on_device);
    assert_true(host < small);
    assert_float_equal(on_device, 24.0 * 1024 * 1024, 1);
    const double large =
        needed("dense(f32[100000,100000], const f32[100000,100000])", 2, &on_device);
    assert_true(large > 6 * 4e10 && large < 10 * 4e10);
}

static void test_check(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    optune *o = ot_alloc(sizeof *o);
    o->device.threads = 1;
    ot_run run = {.o = o, .memory_root = planted_root};
    check_ok(ot_call_parse("dense(f32[4096,4096], const f32[4096,4096])", &call, &err));
    check_ok(ot_room_check(&run, &call, &err)); /* nobody tells: it is tried */
    planted_write("proc/meminfo", "MemAvailable: 262144 kB\n");
    assert_int_equal(ot_room_check(&run, &call, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "need");
    check_contains(err.text, "256.0 MiB are available");
    run.held = 2 * GIB; /* of the workload before, which goes first */
    check_ok(ot_room_check(&run, &call, &err));
    run.held = 0;
    planted_write("proc/meminfo", "MemAvailable: 2621440 kB\n");
    check_ok(ot_room_check(&run, &call, &err));
    planted_write("proc/self/cgroup", "0::/job\n");
    planted_write("sys/fs/cgroup/job/memory.max", "134217728\n");
    planted_write("sys/fs/cgroup/job/memory.current", "33554432\n");
    assert_int_equal(ot_room_check(&run, &call, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "96.0 MiB are available");

    optune_plan *plan = ot_alloc(sizeof *plan);
    plan->n_scratch = 2;
    plan->scratch[0].bytes = plan->scratch[1].bytes = 60 << 20;
    assert_int_equal(ot_room_scratch(&run, plan, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "scratch buffers need 120.0 MiB");
    plan->n_scratch = 1;
    check_ok(ot_room_scratch(&run, plan, &err));
    o->device.threads = 0; /* a GPU's */
    o->device.memory = 100 << 20;
    plan->n_scratch = 2;
    assert_int_equal(ot_room_scratch(&run, plan, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "on the device");
    free(plan);
    free(o);
}

/* The first, the middle and the last of a run cannot be: the others are tuned. */
static void test_alone(void **state)
{
    (void)state;
    const char *const workloads[] = {"dense(f32[200000,200000], const f32[200000,200000])",
                                     "dense(f32[4,24], const f32[8,24])",
                                     "dense(f32[300000,200000], const f32[200000,200000])",
                                     "dense(f32[4,32], const f32[8,32])",
                                     "dense(f32[400000,200000], const f32[200000,200000])",
                                     NULL};
    optune *o = tuning_open("alone");
    json_t *json =
        tuning_run(o, (optune_run_options){.op = "dense", .workloads = workloads, .trials = 2},
                   OPTUNE_EPARTIAL);
    for (size_t i = 0; i < 5; i++) {
        const json_t *w = tuning_workload(json, i);
        if (i % 2) {
            assert_true(json_is_object(json_object_get(w, "winner")));
        } else {
            assert_true(json_is_null(json_object_get(w, "winner")));
            check_contains(tuning_text(w, "problem"), "of memory");
        }
    }
    json_decref(json);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needed),
        cmocka_unit_test_setup_teardown(test_check, planted_setup, planted_teardown),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
