/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups, read from a tree made here: both versions, parents, no limit. */
#include "support/check.h"
#include "target/target.h"

static char dir[4096];

static void write_at(const char *name, const char *text)
{
    optune_err err;
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    check_ok(ot_make_dirs(path, &err));
    *slash = '/';
    check_ok(ot_write_file(path, text, strlen(text), &err));
}

static double quota(const char *groups)
{
    char list[4200], mount[4200];
    write_at("groups", groups);
    snprintf(list, sizeof list, "%s/groups", dir);
    snprintf(mount, sizeof mount, "%s/cgroup", dir);
    return ot_cpu_quota(list, mount);
}

static int setup(void **state)
{
    (void)state;
    return ot_temp_dir(dir, sizeof dir, NULL);
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

static void test_unified(void **state)
{
    (void)state;
    write_at("cgroup/job/part/cpu.max", "max 100000\n");
    write_at("cgroup/job/cpu.max", "250000 100000\n");
    assert_float_equal(quota("0::/job/part\n"), 2.5, 1e-9); /* its parent's */
    write_at("cgroup/job/part/cpu.max", "50000 100000\n");
    assert_float_equal(quota("0::/job/part\n"), 0.5, 1e-9); /* the smaller */
    assert_float_equal(quota("0::/elsewhere\n"), 0, 0);
    write_at("cgroup/cpu.max", "400000 100000\n");
    assert_float_equal(quota("0::/\n"), 4, 1e-9);
}

static void test_version_1(void **state)
{
    (void)state;
    write_at("cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "300000\n");
    write_at("cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_float_equal(quota("5:memory:/box\n4:cpu,cpuacct:/box\n"), 3, 1e-9);
    assert_float_equal(quota("4:cpuset:/box\n"), 0, 0);
    write_at("cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    assert_float_equal(quota("4:cpu,cpuacct:/box\n"), 0, 0);
}

static void test_nonsense(void **state)
{
    (void)state;
    assert_float_equal(ot_cpu_quota("/nowhere/at/all", "/nowhere"), 0, 0);
    assert_float_equal(quota("half a line"), 0, 0);
    write_at("cgroup/odd/cpu.max", "");
    write_at("cgroup/cpu.max", "x y\n");
    assert_float_equal(quota("0::/odd\n"), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unified),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
