/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs with planted vandals (tests/data/plants), from the command line: each run ends well
 * and within its time, says nothing but JSON on its stdout, and every honest candidate is measured;
 * whatever was done to the processes that run the candidates, to the cache or to the streams.
 */
#include <jansson.h>
#include <unistd.h>

#include "support/check.h"
#include "support/plants.h"

#define CALL "dense(f32[96,256], f32[120,256])"
static const char *const honest[] = {"plant_honest.cpu", "dense_nopack.x86"};

static json_t *json_in(const char *text)
{
    json_error_t problem;
    json_t *json = json_loads(text, 0, &problem);
    if (!json)
        print_error("not JSON: %s\n%.2000s\n", problem.text, text);
    assert_non_null(json);
    return json;
}

static void read_all(const char *name, ot_text *to)
{
    char path[1200];
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", plants_dir, name);
    check_ok(ot_read_file(path, to, 1 << 22, &err));
}

/* How many records the log has of an implementation, and how many of them are not ok. */
static void count(char *log, const char *impl, int *n, int *bad)
{
    char *rest = NULL;
    *n = *bad = 0;
    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *json = json_loads(line, 0, NULL), *own = json_object_get(json, "optune");
        const char *name = json_string_value(json_object_get(own, "impl"));
        if (name && strcmp(name, impl) == 0) {
            const char *outcome = json_string_value(json_object_get(own, "outcome"));
            const bool ok = outcome && strcmp(outcome, "ok") == 0;
            ++*n;
            *bad += !ok;
            if (!ok)
                print_error("%s: %s: %s\n", impl, outcome ? outcome : "",
                            json_string_value(json_object_get(own, "message")));
        }
        json_decref(json);
    }
}

/* One run of the vandals and the honest ones on the database `db`; `unharmed`: these are ok. */
static void run(const char *db, const char *const *vandal, double limit_s, bool unharmed)
{
    char names[32][64], path[1200], trials[16];
    const char *argv[100] = {"sh",          "-c",       "cd \"$0\" && exec \"$@\" >out 2>err",
                             plants_dir,    OT_CLI,     "run",
                             "dense",       CALL,       "--plugin",
                             plants_plugin, "--json",   "--threads",
                             "1",           "--time",   "200",
                             "--log",       "log",      "--db",
                             path,          "--trials", trials};
    int n = 21, plants = 0;
    ot_text text = {0};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", plants_dir, db);
    for (; vandal[plants]; plants++) {
        snprintf(names[plants], sizeof names[plants], "plant_%s.cpu", vandal[plants]);
        argv[n++] = "--impl";
        argv[n++] = names[plants];
    }
    for (int i = 0; i < 2; i++) {
        argv[n++] = "--impl";
        argv[n++] = honest[i];
    }
    snprintf(trials, sizeof trials, "%d", plants + 4);
    snprintf(path, sizeof path, "%s/log", plants_dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", plants_dir, db);
    const int status = ot_run_program((char *const *)argv, limit_s, &text, &err);
    ot_text_release(&text);
    if (status < 0) {
        read_all("err", &text);
        print_error("%s\n%s\n", err.text, ot_text_str(&text));
        plants_left();
        fail();
    }
    read_all("out", &text);
    json_t *json = json_in(ot_text_str(&text));
    const json_t *one = json_array_get(json_object_get(json, "workloads"), 0);
    assert_true(!unharmed || json_is_object(json_object_get(one, "winner")));
    json_decref(json);
    for (int i = 0; i < 2 && unharmed; i++) {
        int records, bad;
        ot_text_release(&text);
        read_all("log", &text);
        count(text.s, honest[i], &records, &bad);
        assert_true(records > 0);
        assert_int_equal(bad, 0);
    }
    ot_text_release(&text);
    assert_int_equal(plants_left(), 0);
}

#define after(db, limit_s, ...) run(db, (const char *const[]){__VA_ARGS__, NULL}, limit_s, true)

static void their_processes_are_attacked(void **state)
{
    (void)state;
    after("killed", 120, "kill_parent", "kill_group", "kill_self", "term_ancestors");
    after("limited", 120, "limit_parent", "starve_parent");
}

static void their_processes_are_stopped(void **state)
{
    (void)state;
    after("stopped", 200, "stop_parent", "trace_parent", "stop_self");
}

static void the_conversation_is_disturbed(void **state)
{
    (void)state;
    after("noise", 120, "garbage", "huge_length", "chatter", "close_all", "replace_all");
}

static void processes_are_left(void **state)
{
    (void)state;
    after("left", 120, "forks", "daemon", "daemon_lock");
}

static void a_spoilt_cache_is_made_again(void **state)
{
    (void)state;
    static const char *const vandal[] = {"cut_cache", "flip_cache", "remove_cache",
                                         "swap_cache"};
    for (int i = 0; i < 4; i++) {
        char next[64];
        snprintf(next, sizeof next, "next-%s", vandal[i]);
        run(vandal[i], (const char *const[]){vandal[i], NULL}, 120, true);
        run(next, (const char *const[]){NULL}, 120, true);
    }
}

static int setup(void **state)
{
    (void)state;
    return plants_setup("WRECKS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_processes_are_attacked),
        cmocka_unit_test(their_processes_are_stopped),
        cmocka_unit_test(the_conversation_is_disturbed),
        cmocka_unit_test(processes_are_left),
        cmocka_unit_test(a_spoilt_cache_is_made_again),
    };
    return cmocka_run_group_tests(tests, setup, plants_teardown);
}
