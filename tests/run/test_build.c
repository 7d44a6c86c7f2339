/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: equal sources once, the cache, bad sources, time limits, pauses, no compiler. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/cache.h"
#include "tests/tuner/planted.h"

/* One in each test: a cache of its own unless a test wants the same again. */
static ot_builder *open_builder(const char *cache, const optune_target_row *row, double limit_s)
{
    static char dir[2048];
    optune_err err = {0};
    ot_builder *b = NULL;
    snprintf(dir, sizeof dir, "%s/%s", planted_dir, cache);
    const ot_build_options options = {
        .target = &planted_target,
        .device = &planted_device,
        .row = row ? row : ot_target_find("cpu"),
        .cache_dir = dir,
        .jobs = 2,
        .limit_s = limit_s,
    };
    check_ok(ot_builder_open(&options, &b, &err));
    return b;
}

static void submit(ot_builder *b, const char *impl, ot_job *job)
{
    optune_err err = {0};
    optune_config config;
    static optune_plan plan;
    planted_plan(impl, &config, &plan);
    check_ok(ot_builder_submit(b, &planted_task, &plan, job, &err));
}

static void test_builds_and_shares(void **state)
{
    (void)state;
    static ot_job first, second, third, again;
    ot_builder *b = open_builder("shared", NULL, 0);
    submit(b, "dense_pack.x86", &first);
    submit(b, "dense_pack.x86", &second);
    submit(b, "dense_nopack.x86", &third);
    ot_builder_wait(b, &first, 60);
    ot_builder_wait(b, &second, 60);
    ot_builder_wait(b, &third, 60);
    assert_true(first.done && second.done && third.done);
    assert_int_equal(first.outcome, OPTUNE_OUTCOME_OK);
    assert_int_equal(second.outcome, OPTUNE_OUTCOME_OK);
    assert_false(first.cached);
    assert_true(first.seconds > 0);
    assert_true(second.cached);
    assert_string_equal(first.module[0], second.module[0]);
    assert_string_not_equal(first.module[0], third.module[0]);
    assert_true(ot_exists(first.module[0]));
    assert_int_equal(ot_builder_compiles(b), 2);
    ot_builder_close(b);

    b = open_builder("shared", NULL, 0);
    submit(b, "dense_pack.x86", &again);
    assert_true(again.done && again.cached);
    assert_int_equal(again.outcome, OPTUNE_OUTCOME_OK);
    assert_string_equal(again.module[0], first.module[0]);
    assert_int_equal(ot_builder_compiles(b), 0);
    ot_builder_close(b);
}

static void test_does_not_compile(void **state)
{
    (void)state;
    static ot_job job, same;
    ot_builder *b = open_builder("bad", NULL, 0);
    submit(b, "bad_compile.cpu", &job);
    ot_builder_wait(b, &job, 60);
    assert_true(job.done);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_COMPILE);
    check_contains(job.message, "planted: this candidate does not compile");
    check_contains(job.message, "body.c:");
    submit(b, "bad_compile.cpu", &same);
    assert_true(same.done);
    assert_int_equal(same.outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(ot_builder_compiles(b), 1);
    ot_builder_close(b);
}

static int endless(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err)
{
    (void)target, (void)device, (void)flags, (void)n_flags, (void)source, (void)module,
        (void)err;
    optune_argv_add(argv, "sleep");
    optune_argv_add(argv, "1000");
    return OPTUNE_OK;
}

static int silent(const optune_target *target, const optune_device *device,
                  const char *const *flags, int n_flags, const char *source, const char *module,
                  optune_argv *argv, optune_err *err)
{
    (void)target, (void)device, (void)flags, (void)n_flags, (void)source, (void)module,
        (void)err;
    optune_argv_add(argv, "false");
    return OPTUNE_OK;
}

static void test_time_limit(void **state)
{
    (void)state;
    static ot_job job;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = endless;
    ot_builder *b = open_builder("slow", &row, 0.2);
    submit(b, "dense_pack.x86", &job);
    assert_false(job.done);
    ot_builder_wait(b, &job, 60);
    assert_true(job.done);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_BUILD_TIMEOUT);
    check_contains(job.message, "0.2 s");
    ot_builder_close(b);
}

static void test_says_nothing(void **state)
{
    (void)state;
    static ot_job job;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = silent;
    ot_builder *b = open_builder("silent", &row, 5);
    submit(b, "dense_pack.x86", &job);
    ot_builder_wait(b, &job, 60);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_COMPILE);
    check_contains(job.message, "said nothing");
    ot_builder_close(b);
}

static int full(const optune_target *target, const optune_device *device,
                const char *const *flags, int n_flags, const char *source, const char *module,
                optune_argv *argv, optune_err *err)
{
    (void)target, (void)device, (void)flags, (void)n_flags, (void)source, (void)module,
        (void)err;
    optune_argv_add(argv, "sh");
    optune_argv_add(argv, "-c");
    optune_argv_add(argv, getenv("OPTUNE_TEST_COMPILER"));
    return OPTUNE_OK;
}

/* What the system refuses to a compiler is no candidate's fault, and is tried anew. */
static void test_a_refused_compiler(void **state)
{
    (void)state;
    static ot_job job, again;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = full;
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("OPTUNE_TEST_COMPILER",
           "[ $LC_ALL = C ] && cat /proc/self/status >/dev/full", 1);
    ot_builder *b = open_builder("full", &row, 5);
    submit(b, "dense_pack.x86", &job);
    ot_builder_wait(b, &job, 60);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(job.status, OPTUNE_ETOOL);
    check_contains(job.message, "No space left on device");
    submit(b, "dense_pack.x86", &again);
    ot_builder_wait(b, &again, 60);
    assert_int_equal(ot_builder_compiles(b), 2);
    unsetenv("LC_ALL");
    ot_builder_close(b);
}

/* A compiler that makes its module, in a cache where that cannot be kept the first time. */
static int made(const optune_target *target, const optune_device *device,
                const char *const *flags, int n_flags, const char *source, const char *module,
                optune_argv *argv, optune_err *err)
{
    (void)target, (void)device, (void)flags, (void)n_flags, (void)source, (void)err;
    optune_argv_add(argv, "sh");
    optune_argv_add(argv, "-c");
    optune_argv_add(argv, "d=$(dirname $0)\nk=$(basename $0)\necho module >$0\n"
                          "[ -e $d/once ] || { : >$d/once && mkdir $d/${k%%.*}.so.sum; }");
    optune_argv_add(argv, module);
    return OPTUNE_OK;
}

/* So is what the system refuses to the module that a compiler made: it is made again. */
static void test_a_module_not_kept(void **state)
{
    (void)state;
    static ot_job job, alike, again;
    static optune_plan plan;
    optune_err err = {0};
    optune_config config;
    char sum[sizeof job.module[0] + sizeof OT_CACHE_SUM];
    optune_target_row row = *ot_target_find("cpu");
    row.compile = made;
    ot_builder *b = open_builder("not-kept", &row, 60);
    submit(b, "dense_pack.x86", &job);
    submit(b, "dense_pack.x86", &alike);
    ot_builder_wait(b, &job, 60);
    ot_builder_wait(b, &alike, 60);
    snprintf(sum, sizeof sum, "%s" OT_CACHE_SUM, job.module[0]);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(job.status, OPTUNE_EIO);
    assert_true(ot_builder_refused(b));
    check_contains(job.message, "cannot write '");
    check_contains(job.message, sum);
    assert_int_equal(rmdir(sum), 0);
    submit(b, "dense_pack.x86", &again);
    ot_builder_wait(b, &again, 60);
    assert_int_equal(again.outcome, OPTUNE_OUTCOME_OK);
    assert_false(ot_builder_refused(b));
    /* Whoever shared it has it, too. */
    planted_plan("dense_pack.x86", &config, &plan);
    check_ok(ot_builder_renew(b, &planted_task, &plan, &alike, &err));
    check_ok(alike.status);
    assert_int_equal(alike.outcome, OPTUNE_OUTCOME_OK);
    assert_int_equal(ot_builder_compiles(b), 2);
    ot_builder_close(b);
}

/* A compiler that ends well and leaves nothing is at fault itself. */
static void test_no_module(void **state)
{
    (void)state;
    static ot_job job;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = full;
    setenv("OPTUNE_TEST_COMPILER", "true", 1);
    ot_builder *b = open_builder("no-module", &row, 60);
    submit(b, "dense_pack.x86", &job);
    ot_builder_wait(b, &job, 60);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(job.status, OPTUNE_OK);
    check_contains(job.message, "the compiler left no module");
    ot_builder_close(b);
}

/* While the compilers are stopped nothing ends and no limit passes. */
static void test_pause(void **state)
{
    (void)state;
    static ot_job job, queued;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = endless;
    const double limit = 0.05;
    ot_builder *b = open_builder("pause", &row, limit);
    submit(b, "dense_pack.x86", &job);
    assert_int_equal(ot_builder_compiles(b), 1);
    ot_builder_allow(b, 0);
    submit(b, "dense_nopack.x86", &queued);
    const double start = ot_now();
    while (ot_now() < start + 3 * limit)
        ot_builder_wait(b, &job, limit);
    assert_false(job.done);
    assert_int_equal(ot_builder_compiles(b), 1);
    ot_builder_allow(b, 2);
    ot_builder_wait(b, &job, 60);
    ot_builder_wait(b, &queued, 60);
    assert_int_equal(job.outcome, OPTUNE_OUTCOME_BUILD_TIMEOUT);
    assert_int_equal(queued.outcome, OPTUNE_OUTCOME_BUILD_TIMEOUT);
    assert_int_equal(ot_builder_compiles(b), 2);
    ot_builder_close(b);
}

static void test_forget(void **state)
{
    (void)state;
    static ot_job job, sharing, later;
    optune_target_row row = *ot_target_find("cpu");
    row.compile = endless;
    ot_builder *b = open_builder("forget", &row, 30);
    submit(b, "dense_pack.x86", &job);
    submit(b, "dense_pack.x86", &sharing);
    ot_builder_forget(b, &job);
    submit(b, "dense_pack.x86", &later); /* still the same compiler */
    assert_int_equal(ot_builder_compiles(b), 1);
    ot_builder_forget(b, &sharing);
    ot_builder_forget(b, &later);
    ot_builder_forget(b, &later); /* twice is fine */
    submit(b, "dense_pack.x86", &job);
    assert_int_equal(ot_builder_compiles(b), 2);
    ot_builder_close(b);
    assert_false(job.done);
}

static void test_no_compiler(void **state)
{
    (void)state;
    optune_err err = {0};
    char *path = ot_strdup(getenv("PATH"));
    ot_builder *b = NULL;
    const ot_build_options options = {
        .target = &planted_target,
        .device = &planted_device,
        .row = ot_target_find("cpu"),
        .cache_dir = planted_dir,
    };
    setenv("PATH", planted_dir, 1);
    assert_int_equal(ot_builder_open(&options, &b, &err), OPTUNE_ETOOL);
    check_contains(err.text, "apt-get install gcc");
    setenv("PATH", path, 1);
    free(path);
}

static void test_unwritable_cache(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_builder *b = NULL;
    const ot_build_options options = {
        .target = &planted_target,
        .device = &planted_device,
        .row = ot_target_find("cpu"),
        .cache_dir = "/proc/optune",
    };
    assert_int_equal(ot_builder_open(&options, &b, &err), OPTUNE_EIO);
    check_contains(err.text, "/proc/optune");
}

static void make_file(const char *dir, const char *name, int64_t bytes, int64_t age_s)
{
    char path[2048], data[1000] = {1};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    check_ok(ot_write_file(path, data, (size_t)bytes, &err));
    const time_t then = time(NULL) - age_s;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool has_file(const char *dir, const char *name)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return ot_exists(path);
}

/* As the builder leaves a module. */
static void keep(const char *path)
{
    char made[2100];
    optune_err err = {0};
    snprintf(made, sizeof made, "%s.tmp", path);
    assert_int_equal(rename(path, made), 0);
    check_ok(ot_cache_keep(made, path, &err));
}

static void make_old(const char *path, time_t age)
{
    const struct timespec then = {.tv_sec = time(NULL) - age};
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){then, then}, 0), 0);
}

static void test_cache_limit(void **state)
{
    (void)state;
    char dir[1100];
    optune_err err = {0};
    snprintf(dir, sizeof dir, "%s/trim", planted_dir);
    check_ok(ot_cache_open(dir, &err));
    make_file(dir, "aa.so", 400, 3 * OT_CACHE_KEEP_S);
    make_file(dir, "bb.so", 400, 2 * OT_CACHE_KEEP_S);
    make_file(dir, "cc.so", 400, 10);
    make_file(dir, "dd.12.0.c", 10, 2 * OT_CACHE_KEEP_S); /* left by a build that died */
    make_file(dir, "ee.13.0.tmp", 10, 10);
    assert_int_equal(ot_cache_trim(dir, ".so", 1000), 800);
    assert_false(has_file(dir, "aa.so"));
    assert_true(has_file(dir, "bb.so"));
    assert_false(has_file(dir, "dd.12.0.c"));
    assert_true(has_file(dir, "ee.13.0.tmp"));

    char path[2048];
    snprintf(path, sizeof path, "%s/bb.so", dir);
    assert_false(ot_cache_hit(path)); /* nobody knows what it should be */
    keep(path);
    make_old(path, 2 * OT_CACHE_KEEP_S);
    assert_true(ot_cache_hit(path)); /* and now it is in use */
    assert_int_equal(ot_cache_trim(dir, ".so", 0), 800);
    assert_true(has_file(dir, "bb.so") && has_file(dir, "cc.so"));
    assert_true(has_file(dir, "bb.so.sum"));
}

/* Cut short, changed, put there by somebody, or not a plain file: none of them is loaded. */
static void test_cache_damaged(void **state)
{
    (void)state;
    char dir[1100], path[2048], other[2048];
    optune_err err = {0};
    snprintf(dir, sizeof dir, "%s/damaged", planted_dir);
    check_ok(ot_cache_open(dir, &err));
    make_file(dir, "aa.so", 400, 0);
    snprintf(path, sizeof path, "%s/aa.so", dir);
    keep(path);
    assert_true(ot_cache_hit(path));
    assert_int_equal(truncate(path, 399), 0);
    assert_false(ot_cache_hit(path));
    assert_int_equal(truncate(path, 400), 0); /* its end is now zeros */
    keep(path);
    assert_true(ot_cache_hit(path));
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(ot_cache_hit(path));
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_false(ot_cache_hit(path));
}

static void test_cache_is_its_owners(void **state)
{
    (void)state;
    char dir[1100];
    struct stat info;
    optune_err err = {0};
    snprintf(dir, sizeof dir, "%s/open", planted_dir);
    check_ok(ot_make_dirs(dir, &err));
    assert_int_equal(chmod(dir, 0777), 0);
    check_ok(ot_cache_open(dir, &err));
    assert_int_equal(stat(dir, &info), 0);
    assert_int_equal(info.st_mode & 022, 0);
    assert_int_equal(ot_cache_open("/dev/null/optune", &err), OPTUNE_EIO);
    check_contains(err.text, "cannot make directory '/dev/null': Not a directory");
    check_contains(err.text, "OPTUNE_CACHE");
    if (geteuid() != 0 || chown(dir, 12345, 12345) < 0)
        return; /* only root can give a folder away */
    err = (optune_err){0};
    assert_int_equal(ot_cache_open(dir, &err), OPTUNE_EIO);
    check_contains(err.text, "OPTUNE_CACHE");
}

static void test_cache_hit(void **state)
{
    (void)state;
    char path[2048];
    make_file(planted_dir, "empty.so", 0, 0);
    snprintf(path, sizeof path, "%s/empty.so", planted_dir);
    assert_false(ot_cache_hit(path)); /* what a power cut leaves */
    assert_false(ot_cache_hit("/nowhere/at/all.so"));
    assert_false(ot_cache_hit(planted_dir));
}

/* Where files are their group's, or everybody's, a module is its owner's nevertheless. */
static int open_to_all(void **state)
{
    umask(0);
    return planted_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builds_and_shares),
        cmocka_unit_test(test_does_not_compile),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_says_nothing),
        cmocka_unit_test(test_a_refused_compiler),
        cmocka_unit_test(test_a_module_not_kept),
        cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_unwritable_cache),
        cmocka_unit_test(test_cache_limit),
        cmocka_unit_test(test_cache_hit),
        cmocka_unit_test(test_cache_damaged),
        cmocka_unit_test(test_cache_is_its_owners),
    };
    return cmocka_run_group_tests(tests, open_to_all, planted_teardown);
}
