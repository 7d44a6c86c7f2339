/* SPDX-License-Identifier: Apache-2.0 */
/* Asks rows what the strategy and the search would ask them. */
#include "support/assumed.h"

#include "strategy/strategy.h"
#include "support/check.h"
#include "target/cuda.h"

assumption assumed = {.task = {&assumed.call, &assumed.target, &assumed.device}};

void assume(const char *target, const char *call)
{
    optune_err err = {0};
    if (target) {
        check_ok(ot_target_parse(target, &assumed.target, &err));
        check_ok(ot_cuda_assume(&assumed.target, &assumed.device, &err));
    }
    if (call)
        check_ok(ot_call_parse(call, &assumed.call, &err));
}

int assume_sm_80(void **state)
{
    (void)state;
    assume("cuda -arch=sm_80", NULL);
    return 0;
}

bool assumed_takes(const char *impl, const char *call, const char *knob, int64_t value,
                   char *why)
{
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    const optune_impl *row = ot_impl_find(impl);
    why[0] = '\0';
    assert_non_null(row);
    assume(NULL, call);
    if (!ot_impl_applies(row, &assumed.task, why))
        return false;
    check_ok(ot_space_open(&assumed.task, row, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    assert_true(ot_space_valid(space, &config, why));
    if (knob) {
        optune_config_choose_int(&config, space, knob, value);
        assert_int_equal(optune_config_int(&config, knob), value);
        check_ok(ot_space_index_of(space, &config, &err));
    }
    const bool fits = ot_space_valid(space, &config, why);
    ot_space_close(space);
    return fits;
}

void check_takes(const char *impl, const char *call, const char *knob, int64_t value)
{
    char why[OPTUNE_WHY_SIZE];
    if (!assumed_takes(impl, call, knob, value, why))
        fail_msg("%s refuses %s: %s", impl, call, why);
}

void check_refuses(const char *impl, const char *call, const char *knob, int64_t value,
                   const char *reason)
{
    char why[OPTUNE_WHY_SIZE];
    assert_false(assumed_takes(impl, call, knob, value, why));
    check_contains(why, reason);
}

int64_t untuned(const char *name, const char *text, const char *knob)
{
    optune_err err = {0};
    optune_config config;
    optune_space *space;
    const optune_impl *impl = ot_impl_find(name);
    assume(NULL, text);
    check_ok(ot_space_open(&assumed.task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    const int64_t value = optune_config_int(&config, knob);
    ot_space_close(space);
    return value;
}
