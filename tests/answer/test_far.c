/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for another device by its key: answered from what is stored, labelled unverified, and
 * without a look at this machine, its compiler or its libraries.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#include <math.h>

static int must_not_probe(const optune_target *target, optune_device *device, optune_err *err)
{
    (void)target;
    (void)device;
    return optune_fail(err, OPTUNE_ENODEV, "this machine was looked at");
}

static int must_not_ask(const optune_target *target, const optune_impl *impl, char *text,
                        size_t size, optune_err *err)
{
    (void)target;
    (void)impl;
    (void)text;
    (void)size;
    return optune_fail(err, OPTUNE_ETOOL, "the compiler was asked");
}

static int must_not_compile(const optune_target *target, const optune_device *device,
                            const char *const *flags, int n_flags, const char *source,
                            const char *module, optune_argv *argv, optune_err *err)
{
    (void)device;
    (void)flags;
    (void)n_flags;
    (void)source;
    (void)module;
    (void)argv;
    return must_not_ask(target, NULL, NULL, 0, err);
}

static const char *const far_keys[] = {"cpu", NULL};
static const optune_target_row far_row = {.name = "far",
                                          .keys = far_keys,
                                          .probe = must_not_probe,
                                          .compile = must_not_compile,
                                          .dependencies = must_not_ask};

static void far_away(optune_record *r)
{
    r->device = "far:away";
    r->target = "far -threads=4";
}

static void test_other_device(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_target_add(&far_row, &err));
    optune_device device = some_device("far:away"); /* of 4 threads */
    forged_db("far", far_away, &device);
    optune *o =
        tuning_open_with("far", (optune_options){.target = "far", .device = "far:away"});
    optune_selection *s = NULL;
    optune_result *result = NULL;
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    assert_string_equal(optune_selection_tier(s), "unverified");
    assert_true(isfinite(optune_selection_cost(s)));
    optune_found *found = NULL;
    check_ok(optune_query(o, FORGED_WORKLOAD, &found, &err));
    assert_string_equal(found->tier, "unverified");
    assert_true(found->doubt && *found->doubt);
    optune_found_free(found);
    optune_selection_free(s);
    /* What nobody measured there is answered by plevel, for that device. */
    check_ok(optune_select(o, "dense(f32[2,64], f32[64,64])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    optune_selection_free(s);
    /* It cannot be measured from here. */
    const optune_run_options run = {.size = sizeof run, .op = "dense"};
    assert_int_equal(optune_run(o, &run, &result, &err), OPTUNE_EUSAGE);
    optune_close(o);

    o = tuning_open_with("far", (optune_options){.target = "far", .device = "far:off"});
    assert_int_equal(optune_select(o, FORGED_WORKLOAD, &s, &err), OPTUNE_ENODEV);
    check_contains(err.text, "far:away"); /* the ones that are known */
    optune_close(o);
    o = tuning_open_with("nowhere", (optune_options){.target = "far", .device = "far:away"});
    assert_int_equal(optune_select(o, FORGED_WORKLOAD, &s, &err), OPTUNE_ENODEV);
    check_contains(err.text, "far:away");
    optune_close(o);
    /* Without a key the machine is looked at, and that is what fails here. */
    o = tuning_open_with("far", (optune_options){.target = "far"});
    assert_int_equal(optune_select(o, FORGED_WORKLOAD, &s, &err), OPTUNE_ENODEV);
    check_contains(err.text, "this machine was looked at");
    optune_close(o);
}

/* A changed implementation is stale on every device. */
static void far_and_changed(optune_record *r)
{
    far_away(r);
    r->digest = "00000000000000000000000000000000";
}

static void test_other_device_stale(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_device device = some_device("far:away");
    forged_db("far-stale", far_and_changed, &device);
    optune *o =
        tuning_open_with("far-stale", (optune_options){.target = "far", .device = "far:away"});
    optune_selection *s = NULL;
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    optune_selection_free(s);
    optune_close(o);
}

/* Where an architecture is named and no such device is here: a stored one of it, else what is true
 * of all of these. Only asking goes on with that. */
static int any_of(const optune_target *target, optune_device *device, optune_err *err)
{
    if (!target->arch[0])
        return optune_fail(err, OPTUNE_ENODEV, "no architecture is named");
    *device = (optune_device){.cores = 2, .vector_bytes = 32};
    snprintf(device->arch, sizeof device->arch, "%s", target->arch);
    snprintf(device->key, sizeof device->key, "any-%s", target->arch);
    return OPTUNE_OK;
}

static const optune_target_row vague_row = {.name = "vague",
                                            .keys = far_keys,
                                            .probe = must_not_probe,
                                            .assume = any_of,
                                            .compile = must_not_compile,
                                            .dependencies = must_not_ask};

static void vaguely(optune_record *r)
{
    r->device = "vague:one";
    r->target = "vague -threads=4 -arch=a1";
}

static void check_vague(const char *target, const char *tier, const char *key)
{
    optune_err err = {0};
    optune_selection *s = NULL;
    optune *o = tuning_open_with("vague", (optune_options){.target = target});
    for (int i = 0; i < 2; i++) { /* the second time nothing is looked for */
        check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
        assert_string_equal(optune_selection_tier(s), tier);
        check_contains(optune_selection_json(s), key);
        optune_selection_free(s);
    }
    optune_result *result = NULL;
    const optune_run_options run = {.size = sizeof run, .op = "dense"};
    assert_int_equal(optune_run(o, &run, &result, &err), OPTUNE_ENODEV);
    check_contains(err.text, "this machine was looked at");
    optune_close(o);
}

static void test_no_device_at_all(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_target_add(&vague_row, &err));
    optune_device device = some_device("vague:one");
    snprintf(device.kind, sizeof device.kind, "vague");
    snprintf(device.arch, sizeof device.arch, "a1");
    forged_db("vague", vaguely, &device);
    check_vague("vague -threads=4 -arch=a1", "unverified", "\"vague:one\"");
    check_vague("vague -threads=4 -arch=b2", "plevel", "\"any-b2\"");
    optune_selection *s = NULL;
    optune *o = tuning_open_with("vague", (optune_options){.target = "vague"});
    assert_int_equal(optune_select(o, FORGED_WORKLOAD, &s, &err), OPTUNE_ENODEV);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_device),
        cmocka_unit_test(test_other_device_stale),
        cmocka_unit_test(test_no_device_at_all),
    };
    return cmocka_run_group_tests(tests, forged_setup, forged_teardown);
}
