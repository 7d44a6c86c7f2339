/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipe that nobody holds in the place of each file of a database and of a hub's: whoever comes
 * across it says so, or does without, and never waits for its other end.
 */
#include "support/check.h"
#include "support/forged.h"

#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer/answer.h"

enum { MOST_FILES = 64, MOST_S = 100 };

static char key_file[1200], log_file[1200];

static int hub(optune *o, const char *what, const char *const *words, const char *const *keys,
               optune_err *err)
{
    const optune_hub_options options = {.size = sizeof options,
                                        .what = what,
                                        .words = words,
                                        .keys = keys,
                                        .key_file = key_file};
    optune_result *result = NULL;
    const int status = optune_hub(o, &options, &result, err);
    optune_result_free(result);
    return status;
}

static int database(optune *o, const char *what, optune_err *err)
{
    const optune_database_options options = {.size = sizeof options, .what = what};
    optune_result *result = NULL;
    const int status = optune_database(o, &options, &result, err);
    optune_result_free(result);
    return status;
}

static const char *const H[] = {"h", NULL};

/* A database with records of its own, and of a hub to which it has pushed. */
static void make(const char *name)
{
    char url[1200], key[65];
    optune_err err = {0};
    optune_result *result = NULL;
    ot_remove_tree(tuning_path(name));
    snprintf(url, sizeof url, "file://%s/hub", tuning_dir);
    forged_put(name, forged_run.record, forged_run.n, NULL);
    optune *o = tuning_open(name);
    const optune_hub_options options = {
        .size = sizeof options, .what = "key", .key_file = key_file};
    check_ok(optune_hub(o, &options, &result, &err));
    snprintf(key, sizeof key, "%.64s", optune_result_text(result));
    optune_result_free(result);
    const char *const add[] = {"h", url, NULL}, *const keys[] = {key, NULL};
    check_ok(hub(o, "add", add, keys, &err));
    check_ok(optune_import(o, log_file, &result, &err));
    optune_result_free(result);
    check_ok(hub(o, "push", H, NULL, &err));
    check_ok(hub(o, "pull", H, NULL, &err));
    optune_close(o);
}

static int setup(void **state)
{
    const int status = forged_setup(state);
    optune_err err = {0};
    ot_log *log;
    snprintf(key_file, sizeof key_file, "%s/key", tuning_dir);
    snprintf(log_file, sizeof log_file, "%s/some.log", tuning_dir);
    check_ok(ot_log_open(log_file, OT_LOG_FULL, &log, &err));
    check_ok(ot_log_append(log, &forged_run.record[0], &err));
    ot_log_close(log);
    return status;
}

static void put_pipe(const char *path)
{
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_hub_says_so(void **state)
{
    (void)state;
    optune_err err = {0};
    make("says");
    put_pipe(tuning_path("says/hubs/h/hub.json"));
    optune *o = tuning_open("says");
    assert_int_equal(hub(o, "pull", H, NULL, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "hubs/h/hub.json': it is a pipe, not a file: `optune hub remove h`");
    assert_int_equal(hub(o, "push", H, NULL, &err), OPTUNE_EDAMAGED);
    check_ok(hub(o, "remove", H, NULL, &err));
    assert_false(ot_exists(tuning_path("says/hubs/h")));
    optune_close(o);
}

static void test_store_says_so(void **state)
{
    (void)state;
    optune_err err = {0};
    make("store");
    put_pipe(tuning_path("store/store/data.mdb"));
    optune *o = tuning_open("store");
    assert_int_equal(database(o, "stat", &err), OPTUNE_ESTORE);
    check_contains(err.text, "data.mdb': it is a pipe, not a file");

    optune_close(o);
}

static void test_plugins_say_so(void **state)
{
    (void)state;
    char file[1200];
    optune_err err = {0};
    optune *o = NULL;
    snprintf(file, sizeof file, "%s", tuning_path("plugin.so"));
    put_pipe(file);
    const char *const plugins[] = {file, NULL};
    const optune_options options = {.size = sizeof options, .plugins = plugins};
    assert_int_equal(optune_open(&options, &o, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "plugin.so': it is a pipe, not a file");
    assert_null(o);
    snprintf(file, sizeof file, "%s", tuning_path("own.kernel.c"));
    put_pipe(file);
    assert_int_equal(optune_open(&options, &o, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "it is a pipe, not a file");
    assert_null(o);
}

/* ---- each of them ------------------------------------------------------------------------ */

static char found[MOST_FILES][1200];
static int n_found;

static int note_file(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)place;
    if (type == FTW_F && S_ISREG(info->st_mode)) {
        assert_true(n_found < MOST_FILES);
        snprintf(found[n_found++], sizeof *found, "%s", path);
    }
    return 0;
}

static void do_all(const char *name)
{
    optune *o = tuning_open(name);
    optune_err err;
    optune_result *result = NULL;
    optune_selection *selection = NULL;
    optune_select(o, FORGED_WORKLOAD, &selection, &err);
    optune_selection_free(selection);
    hub(o, "pull", H, NULL, &err);
    hub(o, "push", H, NULL, &err);
    optune_import(o, log_file, &result, &err);
    optune_result_free(result);
    static const char *const deeds[] = {"stat", "check", "prune", "compact"};
    for (int i = 0; i < OT_COUNT(deeds); i++)
        database(o, deeds[i], &err);
    hub(o, "remove", H, NULL, &err);
    optune_close(o);
}

static void test_each_file(void **state)
{
    (void)state;
    make("each");
    n_found = 0;
    assert_int_equal(nftw(tuning_path("each"), note_file, 8, FTW_PHYS), 0);
    assert_true(n_found >= 6);
    const int n = n_found;
    for (int i = 0; i < n; i++) {
        int status;
        make("each");
        put_pipe(found[i]);
        const pid_t child = fork();
        if (child == 0) {
            alarm(MOST_S);
            do_all("each");
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status))
            fail_msg("with a pipe as '%s': signal %d", found[i], WTERMSIG(status));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_says_so),
        cmocka_unit_test(test_store_says_so),
        cmocka_unit_test(test_plugins_say_so),
        cmocka_unit_test(test_each_file),
    };
    return cmocka_run_group_tests(tests, setup, forged_teardown);
}
