/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory is left, from files planted here: the system's, both kinds of limits. */
#include "support/planted_files.h"
#include "target/target.h"

#define MIB ((int64_t)1 << 20)

static int64_t available(void)
{
    return ot_memory_available(planted_root);
}

static void test_system(void **state)
{
    (void)state;
    assert_int_equal(available(), -1); /* nobody tells */
    planted_write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1024 kB\n"
                                  "MemAvailable:    2097152 kB\nSwapFree: 0 kB\n");
    assert_int_equal(available(), 2048 * MIB);
}

static void test_unified(void **state)
{
    (void)state;
    planted_write("proc/meminfo", "MemAvailable: 2097152 kB\n");
    planted_write("proc/self/cgroup", "0::/job/part\n");
    planted_write("sys/fs/cgroup/job/part/memory.max", "max\n");
    planted_write("sys/fs/cgroup/job/part/memory.current", "1048576\n");
    assert_int_equal(available(), 2048 * MIB);
    /* The parent's limit, without the pages that can be dropped. */
    planted_write("sys/fs/cgroup/job/memory.max", "536870912\n");
    planted_write("sys/fs/cgroup/job/memory.current", "209715200\n");
    planted_write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 104857600\n");
    assert_int_equal(available(), (512 - 100) * MIB);
    planted_write("sys/fs/cgroup/job/memory.max", "1048576\n"); /* less than is used */
    assert_int_equal(available(), 0);
}

static void test_version_1(void **state)
{
    (void)state;
    planted_write("proc/meminfo", "MemAvailable: 2097152 kB\n");
    planted_write("proc/self/cgroup", "5:memory:/box\n4:cpu,cpuacct:/other\n");
    planted_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(available(), 2048 * MIB);
    planted_write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1073741824\n");
    planted_write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "73400320\n");
    assert_int_equal(available(), (1024 - 70) * MIB);
}

static void test_here(void **state)
{
    (void)state;
    assert_true(ot_memory_available("") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_system, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_unified, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_version_1, planted_setup, planted_teardown),
        cmocka_unit_test(test_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
