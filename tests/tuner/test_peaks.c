/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peak: remembered in the database's folder and used as it stands there, measured again when a
 * kernel beats it, so that no share passes 1 but an effective one, which has a name of its own.
 */
#include <dirent.h>

#include "answer/figures.h"
#include "support/check.h"
#include "support/tuning.h"

#define DENSE "dense(f32[64,64], const f32[64,64])"
#define CONV "conv2d(f32[1,16,16,16], const f32[16,16,3,3], padding=[1])"

static json_t *run(optune *o, const char *op, const char *workload, const char *impl)
{
    return tuning_run_one(o, op, workload, impl, 2);
}

/* The one file of peaks of a database. */
static void peak_file(const char *db, char *path, size_t size)
{
    char dir[1200];
    snprintf(dir, sizeof dir, "%s/peaks", tuning_path(db));
    DIR *folder = opendir(dir);
    assert_non_null(folder);
    path[0] = '\0';
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            assert_string_equal(path, "");
            snprintf(path, size, "%s/%s", dir, entry->d_name);
        }
    closedir(folder);
    assert_true(*path);
}

static void plant(const char *path, double flops)
{
    char text[200];
    optune_err err = {0};
    snprintf(text, sizeof text,
             "{\"optune_peak\": 2, \"flops\": %g, \"bandwidth\": 1e9, \"disturbed\": false}",
             flops);
    check_ok(ot_write_file(path, text, strlen(text), &err));
}

static double real(const json_t *json, const char *name)
{
    return json_number_value(json_object_get(json, name));
}

/* What somebody says it is is neither measured nor remembered; what is no peak is as if nobody said
 * anything. */
static void test_told(void **state)
{
    (void)state;
    optune *o = tuning_open("told");
    setenv("OPTUNE_PEAK", "2e15,3e12", 1);
    json_t *json = run(o, "dense", DENSE, "dense_gemm.cpu");
    assert_float_equal(real(json, "peak_flops"), 2e15, 1);
    assert_float_equal(real(json, "peak_bandwidth"), 3e12, 1);
    assert_true(!ot_exists(tuning_path("told/peaks")) && ot_peak_told() && !ot_peak_untold());
    json_decref(json);
    static const char *const none[] = {"2e15",    "2e15,-1",    "2e15,nan",
                                       "1,2,3,4", "2e15,3e12 ", "fast,3e12"};
    for (int i = 0; i < OT_COUNT(none); i++) {
        setenv("OPTUNE_PEAK", none[i], 1);
        check_contains(ot_peak_untold(), "FLOPS,BYTES");
        assert_false(ot_peak_told());
    }
    unsetenv("OPTUNE_PEAK");
    optune_close(o);
}

static void test_remembered(void **state)
{
    (void)state;
    char path[2400];
    optune *o = tuning_open("peaks");
    json_t *json = run(o, "dense", DENSE, "dense_gemm.cpu");
    assert_true(real(json, "peak_flops") > 1e8 && real(json, "peak_bandwidth") > 1e7);
    const double share = real(tuning_workload(json, 0), "share_of_peak");
    assert_true(share > 0 && share <= 1);
    json_decref(json);

    /* What stands there is what counts, and nothing is measured anew. */
    peak_file("peaks", path, sizeof path);
    plant(path, 1e15);
    json = run(o, "dense", DENSE, "dense_gemm.cpu");
    assert_float_equal(real(json, "peak_flops"), 1e15, 1);
    json_decref(json);

    /* A kernel beats it: it was measured at a bad moment. */
    plant(path, 1e6);
    json = run(o, "dense", DENSE, "dense_gemm.cpu");
    assert_true(real(json, "peak_flops") > 1e8);
    assert_true(real(tuning_workload(json, 0), "share_of_peak") <= 1);
    json_decref(json);
    json = run(o, "dense", DENSE, "dense_gemm.cpu"); /* and that is remembered */
    assert_true(real(json, "peak_flops") > 1e8);
    json_decref(json);

    /* No peak at all: another one is made. */
    optune_err err = {0};
    check_ok(ot_write_file(path, "half a", 6, &err));
    json = run(o, "dense", DENSE, "dense_gemm.cpu");
    assert_true(real(json, "peak_flops") > 1e8);
    json_decref(json);
    optune_close(o);
}

static void test_effective(void **state)
{
    (void)state;
    char path[2400];
    optune *o = tuning_open("effective");
    json_decref(run(o, "conv2d", CONV, "conv2d_winograd.cpu"));
    peak_file("effective", path, sizeof path);
    plant(path, 1e6);
    json_t *json = run(o, "conv2d", CONV, "conv2d_winograd.cpu");
    const json_t *w = tuning_workload(json, 0);
    assert_true(json_is_true(json_object_get(w, "effective")));
    assert_true(json_is_null(json_object_get(w, "share_of_peak")));
    assert_true(real(w, "effective_share") > 1); /* no reason to doubt the peak */
    assert_float_equal(real(json, "peak_flops"), 1e6, 1);
    json_decref(json);
    optune_close(o);
}

static void test_cached(void **state)
{
    (void)state;
    char path[2400];
    optune *o = tuning_open("cached");
    json_decref(run(o, "relu", "relu(f32[64,64])", NULL));
    peak_file("cached", path, sizeof path);
    plant(path, 1e15); /* and one GB/s */
    json_t *json = run(o, "relu", "relu(f32[64,64])", NULL);
    const json_t *w = tuning_workload(json, 0);
    assert_true(json_is_true(json_object_get(w, "cached")));
    assert_true(json_is_null(json_object_get(w, "share_of_peak")));
    json_decref(json);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_remembered),
        cmocka_unit_test(test_effective),
        cmocka_unit_test(test_cached),
    };
    unsetenv("OPTUNE_PEAK"); /* of whoever runs all tests */
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
