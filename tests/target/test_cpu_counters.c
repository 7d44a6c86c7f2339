/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware counters, and a real PAPI event set driven through libsde's software events, which
 * exist on machines that have no hardware ones. */
#include <dlfcn.h>

#include <sde_lib.h>

#include "support/check.h"
#include "target/target.h"

static long long work;
static void *sde;

/* libsde must be there before PAPI starts; opened by hand so that nothing is linked for a
 * test. */
static int setup(void **state)
{
    (void)state;
    papi_handle_t (*init)(const char *);
    int (*add)(papi_handle_t, const char *, int, int, void *);
    sde = dlopen("libsde.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!sde)
        return 0;
    *(void **)&init = dlsym(sde, "papi_sde_init");
    *(void **)&add = dlsym(sde, "papi_sde_register_counter");
    papi_handle_t handle = init("optune_test");
    return add(handle, "work", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
}

static void test_software_events(void **state)
{
    (void)state;
    static const char *const events[] = {"sde:::optune_test::work"};
    char why[OPTUNE_WHY_SIZE] = "", text[OPTUNE_TEXT_SIZE], value[64];
    optune_err err = {0};
    if (!sde) {
        print_message("no libsde: %s\n", dlerror());
        skip();
    }
    work = 5;
    ot_counters *c = ot_counters_open(events, 1, why);
    if (!c)
        print_error("%s\n", why);
    assert_non_null(c);
    check_ok(ot_counters_start(c, &err));
    work += 42;
    check_ok(ot_counters_stop(c, &err));
    work += 1000; /* after the end: not counted */
    check_ok(ot_counters_read(c, 2, text, sizeof text));
    assert_true(ot_lines_get(text, events[0], value, sizeof value));
    assert_string_equal(value, "21"); /* of one of the two runs */
    check_ok(ot_counters_start(c, &err));
    work += 7;
    check_ok(ot_counters_stop(c, &err));
    check_ok(ot_counters_read(c, 1, text, sizeof text));
    assert_true(ot_lines_get(text, events[0], value, sizeof value));
    assert_string_equal(value, "7"); /* counted anew */
    char small[4];
    assert_int_equal(ot_counters_read(c, 1, small, sizeof small), OPTUNE_ELIMIT);
    assert_int_equal(ot_counters_stop(c, &err), OPTUNE_EIO); /* not running */
    check_contains(err.text, "cannot be stopped");
    ot_counters_close(c);
}

static void test_unknown_event(void **state)
{
    (void)state;
    static const char *const events[] = {"no:::such::event"};
    char why[OPTUNE_WHY_SIZE] = "";
    assert_null(ot_counters_open(events, 1, why));
    check_contains(why, "'no:::such::event'");
    ot_counters_close(NULL);
}

/* Whatever this machine has: counters with values, or one sentence saying why not. */
static void test_hardware_events(void **state)
{
    (void)state;
    char why[OPTUNE_WHY_SIZE] = "", text[OPTUNE_TEXT_SIZE], value[64];
    optune_err err = {0};
    ot_counters *c = ot_counters_open(NULL, 0, why);
    if (!c) {
        assert_true(strncmp(why, "no hardware counters: ", 22) == 0);
        assert_true(strlen(why) > 30);
        print_message("%s\n", why);
        return;
    }
    assert_int_equal(why[0], '\0');
    check_ok(ot_counters_start(c, &err));
    check_ok(ot_counters_stop(c, &err));
    check_ok(ot_counters_read(c, 1, text, sizeof text));
    assert_true(ot_lines_get(text, "threads_counted", value, sizeof value));
    ot_counters_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_software_events),
        cmocka_unit_test(test_unknown_event),
        cmocka_unit_test(test_hardware_events),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
