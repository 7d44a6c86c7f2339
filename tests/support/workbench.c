/* SPDX-License-Identifier: Apache-2.0 */
/* Modules are cached in the folder, too, so every test builds what it runs. */
#include "support/workbench.h"

#include <stdlib.h>

#include "strategy/inside.h"
#include "support/check.h"
#include "support/emulated.h"

const ot_measure_policy workbench_quick = {.name = "warm",
                                           .sample_s = 1e-7,
                                           .min_samples = 1,
                                           .max_samples = 1,
                                           .width = 1,
                                           .budget_s = 0.001,
                                           .give_up = 1};

/* Which architecture a target of the emulation is to have; 0: it is no such target. */
static int emulated_arch(const char *target)
{
    const char *arch = strstr(target, "sm_");
    return strncmp(target, "emulated", 8) ? 0 : arch ? atoi(arch + 3) : 90;
}

/* Whether a device runs what was to be emulated: warpgroups are of 9.0 alone. */
static bool has_words_of(const optune_device *device, int arch)
{
    const int have = 10 * device->cc_major + device->cc_minor;
    return arch == 90 ? have == 90 : have >= arch;
}

bool workbench_find(workbench *b, const char *target)
{
    optune_err err = {0};
    const int arch = emulated_arch(target);
    const char *instead = getenv("OPTUNE_TEST_EMULATED");
    *b = (workbench){.emulated = arch && !instead};
    snprintf(b->text, sizeof b->text, "%s", arch && instead ? instead : target);
    check_ok(ot_temp_dir(b->dir, sizeof b->dir, &err));
    if (b->emulated)
        b->plugins[0] = emulated_plugin(b->dir);
    check_ok(ot_target_parse(b->text, &b->target, &err));
    const int status = ot_target_probe(&b->target, &b->device, &err);
    if (status == OPTUNE_ENODEV) {
        print_message("%s: %s\n", b->text, err.text);
        ot_remove_tree(b->dir);
        return false;
    }
    check_ok(status);
    if (arch && instead && !has_words_of(&b->device, arch)) {
        print_message("%s: %s has not what it asks for\n", target, b->device.name);
        ot_remove_tree(b->dir);
        return false;
    }
    b->row = ot_target_find(b->target.kind);
    return true;
}

void workbench_start(workbench *b)
{
    optune_err err = {0};
    const ot_build_options build = {.target = &b->target,
                                    .device = &b->device,
                                    .row = b->row,
                                    .cache_dir = b->dir,
                                    .limit_s = 300};
    const ot_worker_options worker = {.target_text = b->text,
                                      .target = &b->target,
                                      .device = &b->device,
                                      .plugins = b->emulated ? b->plugins : NULL};
    check_ok(ot_builder_open(&build, &b->builder, &err));
    check_ok(ot_worker_open(&worker, &b->worker, &err));
}

void workbench_close(workbench *b)
{
    ot_worker_close(b->worker);
    ot_builder_close(b->builder);
    ot_remove_tree(b->dir);
    assert_int_equal(b->failed, 0);
}

int workbench_contract_run(int argc, char **argv, const workbench_contract *contracts, int n,
                           void (*test)(void **state))
{
    for (int i = 0; argc > 1 && i < n; i++) {
        const struct CMUnitTest one[] = {{argv[1], test, NULL, NULL, (void *)&contracts[i]}};
        if (strcmp(argv[1], contracts[i].word) == 0)
            return cmocka_run_group_tests_name(argv[1], one, NULL, NULL);
    }
    return argc > 1 ? 2 : -1;
}

int workbench_thin(int thin)
{
    const int least = getenv("OPTUNE_RACES") ? 2 : 1; /* it takes twice the time */
    const int asked = workbench_asked("OPTUNE_TEST_THIN", 1);
    const int thinner = asked > least ? asked : least;
    return getenv("OPTUNE_TEST_IMPL") ? 1 : thin * thinner;
}

bool workbench_shares(void)
{
    return !getenv("OPTUNE_TEST_IMPL") && workbench_asked("OPTUNE_TEST_THIN", 1) > 1;
}

bool workbench_brief(const optune_impl *const *impl, int i)
{
    const int thin = getenv("OPTUNE_TEST_IMPL") ? 1 : workbench_asked("OPTUNE_TEST_THIN", 1);
    const optune_impl *row = ot_pattern_row(impl[i]);
    uint64_t turn = workbench_seed(0);
    if (row == impl[i] || thin < 2)
        return false;
    for (int k = 0; k < i; k++)
        turn += ot_pattern_row(impl[k]) == row;
    return turn % (uint64_t)thin != 0;
}

bool workbench_wants(const char *impl)
{
    const char *only = getenv("OPTUNE_TEST_IMPL"), *without = getenv("OPTUNE_TEST_WITHOUT");
    const size_t n = strlen(impl);
    for (const char *at = without; at && (at = strstr(at, impl)); at += n)
        if ((at == without || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return false;
    return !only || !strcmp(only, impl);
}

int workbench_asked(const char *name, int otherwise)
{
    int64_t n;
    const char *s = getenv(name);
    return s && ot_parse_int(s, &n) && n >= 0 && n < 60 ? (int)n : otherwise;
}

uint64_t workbench_seed(uint64_t otherwise)
{
    int64_t n;
    const char *s = getenv("OPTUNE_TEST_SEED");
    return s && ot_parse_int(s, &n) ? (uint64_t)n : otherwise;
}
