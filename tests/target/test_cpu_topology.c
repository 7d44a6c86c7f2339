/* SPDX-License-Identifier: Apache-2.0 */
/* The device behind `cpu`: features, made-up machines through hwloc's own inputs, this one. */
#include <sched.h>
#include <unistd.h>

#include "support/check.h"
#include "target/target.h"

static void test_features(void **state)
{
    (void)state;
    ot_cpu_features f, g;
    ot_cpu_features_of("fpu sse sse2 sse4_2 avx avx2 fma avx512f avx512dq avx512bw avx512vl\n",
                       "x86_64", &f);
    assert_int_equal(f.vector_bytes, 64);
    assert_int_equal(f.vector_registers, 32);
    assert_true(f.avx512);
    assert_string_equal(f.word, "avx512");
    assert_string_equal(f.level, "x86-64-v4");
    ot_cpu_features_of("sse sse2 sse4_2 avx avx2 fma", "x86_64", &f);
    assert_int_equal(f.vector_bytes, 32);
    assert_int_equal(f.vector_registers, 16);
    assert_string_equal(f.level, "x86-64-v3");
    /* Half of AVX-512 (as on Knights Landing) is not what bodies want. */
    ot_cpu_features_of("sse2 sse4_2 avx avx2 fma avx512f avx512er", "x86_64", &f);
    assert_false(f.avx512);
    assert_int_equal(f.vector_bytes, 32);
    ot_cpu_features_of("sse sse2", "x86_64", &f);
    assert_int_equal(f.vector_bytes, 16);
    assert_string_equal(f.word, "sse2");
    ot_cpu_features_of("fp asimd", "aarch64", &f);
    assert_int_equal(f.vector_bytes, 16);
    assert_int_equal(f.vector_registers, 32);
    assert_string_equal(f.word, "neon");
    ot_cpu_features_of("", "x86_64", &f);
    assert_int_equal(f.vector_bytes, 16);

    /* Sums of narrow products; without AVX-512 none of them. */
    ot_cpu_features_of("avx2 fma avx512f avx512dq avx512bw avx512vl avx512_bf16 avx512_vnni "
                       "amx_bf16 amx_tile",
                       "x86_64", &f);
    assert_int_equal(f.dots, OPTUNE_DOT_BF16 | OPTUNE_DOT_I8 | OPTUNE_DOT_TILE_BF16);
    ot_cpu_features_of("avx2 fma avx512_bf16 avx512_vnni amx_int8", "x86_64", &f);
    assert_int_equal(f.dots, 0);

    /* How long one takes is measured; who has it not, has no slow one. */
    const double slow[] = {3.4, 4.0, 0.2, 3.8, 3.6}, fast[] = {1.0, 1.1, 40, 0.9, 2.0};
    assert_true(ot_cpu_sums_slow(slow, OT_COUNT(slow))); /* whichever turn was interrupted */
    assert_false(ot_cpu_sums_slow(fast, OT_COUNT(fast)));
    ot_cpu_features_here(&f);
    assert_true(f.dots & OPTUNE_DOT_BF16 || !(f.dots & OPTUNE_DOT_BF16_SLOW));

    /* Order and what no compiler uses do not change the digest; an instruction set does. */
    ot_cpu_features_of("avx sse2 nopl md_clear", "x86_64", &f);
    ot_cpu_features_of("sse2 avx ibrs", "x86_64", &g);
    assert_true(f.digest == g.digest);
    ot_cpu_features_of("sse2 avx vaes", "x86_64", &g);
    assert_true(f.digest != g.digest);
}

static void test_made_up_machine(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_device d = {0}, again = {0}, other = {0};
    setenv("HWLOC_SYNTHETIC",
           "pack:1 l3:1(size=33554432) l2:4(size=1048576) l1:1(size=49152) "
           "core:1 pu:2",
           1);
    check_ok(ot_cpu_topology(&d, &err));
    check_ok(ot_cpu_topology(&again, &err));
    setenv("HWLOC_SYNTHETIC",
           "pack:1 l3:1(size=33554432) l2:8(size=1048576) l1:1(size=49152) "
           "core:1 pu:1",
           1);
    check_ok(ot_cpu_topology(&other, &err));
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(d.cores, 4); /* not 8: threads of one core share it */
    assert_int_equal(d.l1, 49152);
    assert_int_equal(d.l2, 1 << 20);
    assert_int_equal(d.l3, 32 << 20);
    check_contains(d.key, "-l1.48k-l2.1m-l3.32m-c4-");
    assert_string_equal(d.key, again.key);
    assert_int_equal(other.cores, 8);
    assert_string_not_equal(d.key, other.key);
}

static void test_no_caches_known(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_device d = {0};
    setenv("HWLOC_SYNTHETIC", "pack:1 core:1 pu:1", 1);
    check_ok(ot_cpu_topology(&d, &err));
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(d.cores, 1);
    assert_int_equal(d.l3, 0);
    assert_null(strstr(d.key, "-l3"));
    check_contains(d.key, "-c1-");
    check_contains(d.name, "1 core,");
}

static void test_this_machine(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_device d = {0}, again = {0};
    check_ok(ot_cpu_topology(&d, &err));
    check_ok(ot_cpu_topology(&again, &err));
    assert_memory_equal(&d, &again, sizeof d);
    assert_true(strncmp(d.key, "cpu-", 4) == 0);
    for (const char *p = d.key; *p; p++)
        assert_true((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' ||
                    *p == '.');
    assert_true(d.cores >= 1);
    assert_true(d.cores <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(d.memory > 1 << 20);
    assert_true(d.vector_bytes >= 16);
    print_message("%s (%s)\n", d.key, d.name);
}

/* Bound to one core, a process still knows which cores it had, and has one in its key. */
static void test_binding(void **state)
{
    (void)state;
    optune_err err = {0};
    cpu_set_t was, now;
    assert_int_equal(sched_getaffinity(0, sizeof was, &was), 0);
    const int first = ot_cpu_place(0);
    assert_true(first >= 0 && CPU_ISSET(first, &was));
    assert_int_equal(ot_cpu_place(-1), -1);
    assert_int_equal(ot_cpu_place(CPU_COUNT(&was)), -1);
    check_ok(ot_cpu_bind(0, 1, &err));
    sched_getaffinity(0, sizeof now, &now);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET(first, &now));
    optune_device d = {0};
    check_ok(ot_cpu_topology(&d, &err));
    assert_int_equal(d.cores, 1);
    check_ok(ot_cpu_bind_thread(getpid(), 0, &err));
    check_ok(ot_cpu_bind(0, CPU_COUNT(&was), &err));
    sched_getaffinity(0, sizeof now, &now);
    assert_int_equal(CPU_COUNT(&now), CPU_COUNT(&was));
    assert_true(ot_cpu_bind(100000, 1, &err) < 0);
    check_contains(err.text, "no core 100000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),        cmocka_unit_test(test_made_up_machine),
        cmocka_unit_test(test_no_caches_known), cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
