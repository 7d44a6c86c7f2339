/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of strangers: a genuine line in which one figure was changed is refused with its number and
 * reason, whichever figure it is; what is no log is told from one; nothing ends import in a
 * crash, without a bound, or never; and the genuine line is taken after its forged twin.
 */
#include "support/forged.h"
#include "support/records.h"

#include "support/check.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A good record of the run, as a line's JSON. */
static json_t *genuine(void)
{
    for (int i = 0; i < forged_run.n; i++) {
        const optune_record *r = &forged_run.record[i];
        if (r->outcome != OPTUNE_OUTCOME_OK || r->n_samples < 6 ||
            !(r->low < r->cost * (1 - 1e-6) && r->cost * (1 + 1e-6) < r->high))
            continue;
        ot_text line = {0};
        ot_record_line(r, &line);
        json_t *json = tuning_parse(line.s);
        ot_text_release(&line);
        return json;
    }
    fail_msg("no good record");
    return NULL;
}

static void write_lines(const char *name, const json_t *const *line, int n)
{
    ot_text text = {0};
    optune_err err = {0};
    for (int i = 0; i < n; i++) {
        char *one = json_dumps(line[i], JSON_COMPACT);
        ot_text_printf(&text, "%s\n", one);
        free(one);
    }
    check_ok(ot_write_file(tuning_path(name), text.s, text.n, &err));
    ot_text_release(&text);
}

static json_t *import_ending(const char *db, const char *path, int status)
{
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    assert_int_equal(optune_import(o, path, &result, &err), status);
    if (status < 0)
        check_contains(err.text, "no line was taken");
    json_t *json = tuning_parse(optune_result_json(result));
    optune_result_free(result);
    optune_close(o);
    return json;
}

static json_t *import_into(const char *db, const char *path)
{
    return import_ending(db, path, OPTUNE_OK);
}

static int status_of(const char *path, optune_err *err)
{
    optune *o = tuning_open("strange");
    optune_result *result = NULL;
    const int status = optune_import(o, path, &result, err);
    optune_result_free(result);
    optune_close(o);
    return status;
}

/* ---- forged figures ---------------------------------------------------------------------- */

static json_t *ours(json_t *line)
{
    return json_object_get(line, "optune");
}

static json_t *costs(json_t *line)
{
    return json_array_get(json_object_get(line, "result"), 0);
}

static double number(json_t *line, const char *name)
{
    return json_number_value(json_object_get(ours(line), name));
}

static void set(json_t *line, const char *name, double value)
{
    json_object_set_new(ours(line), name, json_real(value));
}

static void set_sample(json_t *line, double value)
{
    json_array_set_new(costs(line), 0, json_real(value));
}

static void cost_of_a_ns(json_t *line)
{
    set(line, "cost", 1e-9);
}
static void no_clock(json_t *line)
{
    set(line, "cost", 1e-300);
}
static void all_tiny(json_t *line)
{
    for (size_t i = 0; i < json_array_size(costs(line)); i++)
        json_array_set_new(costs(line), i, json_real(1e-300));
    set(line, "cost", 1e-300);
    set(line, "low", 1e-300);
    set(line, "high", 1e-300);
}
static void upside_down(json_t *line)
{
    const double low = number(line, "low");
    set(line, "low", number(line, "high") * 1.5);
    set(line, "high", low);
}
static void outside(json_t *line)
{
    set(line, "low", number(line, "cost") * 2);
    set(line, "high", number(line, "cost") * 3);
}
static void narrowed(json_t *line)
{
    set(line, "low", number(line, "cost"));
    set(line, "high", number(line, "cost"));
}
static void widened(json_t *line)
{
    set(line, "high", number(line, "high") * 100);
}
static void wrong_result(json_t *line)
{
    set(line, "error", 5);
}
static void negative_error(json_t *line)
{
    set(line, "error", -1);
}
static void no_error(json_t *line)
{
    json_object_set_new(ours(line), "error", json_null());
}
static void negative(json_t *line)
{
    set_sample(line, -1e-6);
}
static void subnormal(json_t *line)
{
    set_sample(line, 5e-324);
}
static void no_samples(json_t *line)
{
    json_array_clear(costs(line));
}
static void negative_runs(json_t *line)
{
    json_object_set_new(ours(line), "inner", json_integer(-5));
}
static void from_the_future(json_t *line)
{
    json_array_set_new(json_object_get(line, "result"), 3, json_real(9e9));
}
static void before_time(json_t *line)
{
    json_array_set_new(json_object_get(line, "result"), 3, json_real(-9e9));
}
static void failed_fast(json_t *line)
{
    json_array_set_new(json_object_get(line, "result"), 1, json_integer(OPTUNE_OUTCOME_CRASH));
    json_object_set_new(ours(line), "outcome", json_string("crash"));
}
static void split_key(json_t *line)
{
    json_object_set_new(ours(line), "device", json_string("a\nb"));
}
static void long_tool(json_t *line)
{
    char *text = malloc(1 << 20);
    memset(text, 'x', 1 << 20);
    text[(1 << 20) - 1] = 0;
    json_object_set_new(ours(line), "tool", json_string(text));
    free(text);
}
static void no_seed(json_t *line)
{
    json_object_set_new(ours(line), "seed", json_string("-1"));
}
static void twice_named(json_t *line)
{
    json_object_set_new(ours(line), "depends",
                        json_pack("{s:s}", "compiler", "gcc\ncompiler=clang"));
}

static const struct forgery {
    void (*forge)(json_t *line);
    const char *why;
} forgeries[] = {
    {cost_of_a_ns, "is not the median of its"},
    {no_clock, "is not the median of its"},
    {all_tiny, "shorter than a clock tells"},
    {upside_down, "upside down"},
    {outside, "lies outside its interval"},
    {narrowed, "is not that of its"},
    {widened, "is not that of its"},
    {wrong_result, "5 times its bound"},
    {negative_error, "times its bound"},
    {no_error, "times its bound"},
    {negative, "no positive number"},
    {subnormal, "shorter than a clock tells"},
    {no_samples, "no costs"},
    {negative_runs, "of -5 runs"},
    {from_the_future, "days from now"},
    {before_time, "no time"},
    {failed_fast, "and has a cost"},
    {split_key, "control character"},
    {long_tool, "longer than"},
    {no_seed, "seed"},
    {twice_named, "twice"},
};

static void test_forged_figures(void **state)
{
    (void)state;
    json_t *line[OT_COUNT(forgeries) + 1];
    for (int i = 0; i <= OT_COUNT(forgeries); i++) {
        line[i] = genuine();
        if (i < OT_COUNT(forgeries))
            forgeries[i].forge(line[i]);
    }
    write_lines("forged.log", (const json_t *const *)line, OT_COUNT(line));
    json_t *json = import_into("forged", tuning_path("forged.log"));
    const json_t *problems = json_object_get(json, "problems");
    for (int i = 0; i < OT_COUNT(forgeries); i++) {
        const json_t *problem = json_array_get(problems, (size_t)i);
        assert_int_equal(tuning_int(problem, "line"), i + 1);
        check_contains(tuning_text(problem, "problem"), forgeries[i].why);
    }
    /* Its genuine twin is taken after all of them. */
    assert_int_equal(tuning_int(json, "taken"), 1);
    assert_int_equal(tuning_int(json, "new"), 1);
    assert_int_equal(tuning_int(json, "refused"), OT_COUNT(forgeries));
    json_decref(json);
    for (int i = 0; i < OT_COUNT(line); i++)
        json_decref(line[i]);
}

/* Every record that the run made is sound, and its line says the same record. */
static void test_genuine_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < forged_run.n; i++) {
        char why[OPTUNE_WHY_SIZE] = "";
        if (!ot_record_sound(&forged_run.record[i], why))
            fail_msg("%s", why);
    }
    char log[4096];
    snprintf(log, sizeof log, "%s", tuning_path("tuned.log"));
    ot_text text = {0};
    optune_err err = {0};
    for (int i = 0; i < forged_run.n; i++)
        ot_record_line(&forged_run.record[i], &text);
    check_ok(ot_write_file(log, text.s, text.n, &err));
    json_t *json = import_into("tuned", log); /* all of it is there */
    assert_int_equal(tuning_int(json, "taken"), forged_run.n);
    assert_int_equal(tuning_int(json, "new"), 0);
    json_decref(json);
    ot_text_release(&text);
}

/* A log of this database is believed whatever this machine's clock says. */
static void test_own_log_of_another_time(void **state)
{
    (void)state;
    json_t *line = genuine();
    from_the_future(line);
    optune_err err = {0};
    check_ok(ot_make_dirs(tuning_path("later/logs"), &err));
    write_lines("later/logs/run.log", (const json_t *const[]){line}, 1);
    json_t *json = import_into("later", tuning_path("later/logs/run.log"));
    assert_int_equal(tuning_int(json, "taken"), 1);
    json_decref(json);
    json_decref(line);
}

/* ---- what is no log ---------------------------------------------------------------------- */

static void refused(const char *path, int status, const char *why)
{
    optune_err err = {0};
    assert_int_equal(status_of(path, &err), status);
    check_contains(err.text, why);
}

static void test_no_logs(void **state)
{
    (void)state;
    optune_err err = {0};
    refused("/dev/zero", OPTUNE_EUSAGE, "is a device");
    refused(tuning_dir, OPTUNE_EIO, "is a directory");
    check_ok(ot_write_file(tuning_path("a.gz"), "\x1f\x8b\x08\0\0\0", 6, &err));
    refused(tuning_path("a.gz"), OPTUNE_EUSAGE, "zcat");
    check_ok(ot_write_file(tuning_path("a.utf16"), "\xff\xfe{\0}\0", 6, &err));
    refused(tuning_path("a.utf16"), OPTUNE_EUSAGE, "iconv");
    const int fd = open(tuning_path("sparse.log"), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)10 << 30), 0);
    close(fd);
    refused(tuning_path("sparse.log"), OPTUNE_EUSAGE, "does not end within 64 MiB");
    assert_int_equal(mkfifo(tuning_path("mute"), 0600), 0);
    ot_log_source mute = {.path = tuning_path("mute"), .patience_s = 0.3};
    assert_int_equal(ot_log_read_from(&mute, NULL, NULL, &err), OPTUNE_EIO);
    check_contains(err.text, "nobody wrote");
    const atomic_bool stop = true;
    mute.stop = &stop;
    assert_int_equal(ot_log_read_from(&mute, NULL, NULL, &err), OPTUNE_EINTERRUPTED);
}

/* Of somebody who goes on writing, but slowly; what came by then is kept. */
static void test_a_pipe_that_is_interrupted(void **state)
{
    (void)state;
    enum { TRIES = 10000 };
    int in[2], left = 1, status;
    ot_text log = {0};
    json_t *line = genuine();
    write_lines("slow.log", (const json_t *const[]){line}, 1);
    json_decref(line);
    assert_int_equal(ot_read_file(tuning_path("slow.log"), &log, 1 << 20, NULL), OPTUNE_OK);
    ot_text_add(&log, "{\"half"); /* a line */
    assert_int_equal(pipe(in), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        close(in[1]);
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execl(OT_CLI, "optune", "import", "-", "--db", tuning_path("slow"), NULL);
        _exit(99);
    }
    assert_int_equal(write(in[1], log.s, log.n), log.n);
    for (int i = 0; i < TRIES && left; i++) {
        usleep(2000);
        assert_int_equal(ioctl(in[0], FIONREAD, &left), 0);
    }
    kill(child, SIGINT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    close(in[0]);
    close(in[1]);
    tuning_records all;
    tuning_read("slow", &all);
    assert_int_equal(all.n, 1);
    ot_arena_release(&all.arena);
    ot_text_release(&log);
}

/* Standard input may be what has no name: a socket. */
static void test_a_socket(void **state)
{
    (void)state;
    int ends[2], status;
    ot_text log = {0};
    assert_int_equal(ot_read_file(tuning_path("slow.log"), &log, 1 << 20, NULL), OPTUNE_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], log.s, log.n), log.n);
    close(ends[1]);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        if (freopen("/dev/null", "w", stdout))
            execl(OT_CLI, "optune", "import", "-", "--db", tuning_path("socket"), NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(ends[0]);
    ot_text_release(&log);
}

/* What was taken before is taken, and a pipe that babbles is left. */
static void test_babbling_pipe(void **state)
{
    (void)state;
    json_t *line = genuine();
    write_lines("start.log", (const json_t *const[]){line}, 1);
    json_decref(line);
    char command[4096];
    snprintf(command, sizeof command,
             "(cat %s; yes) 2>/dev/null | %s import /dev/stdin --db %s 2>&1",
             tuning_path("start.log"), OT_CLI, tuning_path("babble"));
    char sh[] = "sh", c[] = "-c";
    char *argv[] = {sh, c, command, NULL};
    ot_text said = {0};
    optune_err err = {0};
    ot_run_program(argv, 120, &said, &err);
    check_contains(ot_text_str(&said), "1000000 lines");
    tuning_records all;
    tuning_read("babble", &all);
    assert_int_equal(all.n, 1);
    ot_arena_release(&all.arena);
    ot_text_release(&said);
}

static void test_a_nul(void **state)
{
    (void)state;
    static const char line[] =
        "{\"input\":[\"cpu\",\"x\",[[4\0,16]],{}],\"config\":{\"index\":0,\"entity\":[]},"
        "\"result\":[[1e-3],0,1.0,2.0],\"version\":0.2}\n";
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path("nul.log"), line, sizeof line - 1, &err));
    json_t *json = import_ending("strange", tuning_path("nul.log"), OPTUNE_EPARTIAL);
    assert_int_equal(tuning_int(json, "refused"), 1);
    check_contains(tuning_text(json_array_get(json_object_get(json, "problems"), 0), "problem"),
                   "a NUL");
    json_decref(json);
}

static int64_t peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Bad lines cost nothing to keep: they are counted, and the first thousand listed. */
static void test_many_bad_lines(void **state)
{
    (void)state;
    enum { LINES = 200000 };
    ot_text text = {0};
    optune_err err = {0};
    for (int i = 0; i < LINES; i++)
        ot_text_add(&text, "{\"no\":\"log\"}\n");
    check_ok(ot_write_file(tuning_path("bad.log"), text.s, text.n, &err));
    ot_text_release(&text);
    const int64_t before = peak_kib();
    json_t *json = import_ending("strange", tuning_path("bad.log"), OPTUNE_EPARTIAL);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed */
    assert_true(peak_kib() - before < 30 << 10);
#endif
    assert_true(before > 0);
    assert_int_equal(tuning_int(json, "refused"), LINES);
    assert_int_equal(tuning_int(json, "problems_not_listed"), LINES - 1000);
    assert_int_equal(json_array_size(json_object_get(json, "problems")), 1000);
    json_decref(json);
}

/* Many devices are many lines, not a transaction each; the last line of one counts. */
static void test_many_devices(void **state)
{
    (void)state;
    enum { DEVICES = 3000 };
    ot_text text = {0};
    optune_err err = {0};
    for (int i = 0; i < DEVICES + 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "d%d", i % DEVICES);
        optune_device device = some_device(key);
        device.cores = i < DEVICES ? 1 : 7;
        ot_device_line(&device, &text);
    }
    check_ok(ot_write_file(tuning_path("devices.log"), text.s, text.n, &err));
    ot_text_release(&text);
    json_t *json = import_into("devices", tuning_path("devices.log"));
    assert_int_equal(tuning_int(json, "devices"), DEVICES + 3);
    json_decref(json);
    ot_store *store;
    optune_device device;
    check_ok(ot_store_open(tuning_path("devices"), OT_STORE_READ, &store, &err));
    check_ok(ot_store_device(store, "d2", &device, &err));
    assert_int_equal(device.cores, 7);
    check_ok(ot_store_device(store, "d2999", &device, &err));
    assert_int_equal(device.cores, 1);
    ot_store_close(store);
}

/* Neither a record nor a word holds what an address hides. */
static void test_secret_address(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_true(status_of("https://user:se@cret@127.0.0.1:1/a.log?token=hidden", &err) < 0);
    assert_null(strstr(err.text, "cret"));
    assert_null(strstr(err.text, "hidden"));
}

/* A store of an older version may hold a forged record: it answers nothing, and its twin mends
 * it. */
static void test_forged_in_the_store(void **state)
{
    (void)state;
    optune_record r = {0};
    for (int i = 0; i < forged_run.n; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK)
            r = forged_run.record[i];
    optune_record forged = r, back;
    optune_err err = {0};
    forged.cost = forged.low = forged.high = 1e-9;
    ot_text bytes = {0};
    ot_arena arena = {0};
    check_ok(ot_record_encode(&forged, &bytes, &err));
    assert_int_equal(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "contradicts itself");
    ot_store *store;
    check_ok(ot_make_dirs(tuning_path("older"), &err));
    check_ok(ot_store_open(tuning_path("older"), OT_STORE_WRITE, &store, &err));
    assert_int_equal(ot_store_put(store, &forged, 1, NULL, &err), OPTUNE_EUSAGE);
    ot_store_close(store);
    ot_log *log;
    check_ok(ot_log_open(tuning_path("own.log"), OT_LOG_FULL, &log, &err));
    assert_int_equal(ot_log_append(log, &forged, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "cannot be written");
    ot_log_close(log);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged_figures),
        cmocka_unit_test(test_genuine_is_sound),
        cmocka_unit_test(test_own_log_of_another_time),
        cmocka_unit_test(test_no_logs),
        cmocka_unit_test(test_a_pipe_that_is_interrupted),
        cmocka_unit_test(test_a_socket),
        cmocka_unit_test(test_babbling_pipe),
        cmocka_unit_test(test_a_nul),
        cmocka_unit_test(test_many_bad_lines),
        cmocka_unit_test(test_many_devices),
        cmocka_unit_test(test_secret_address),
        cmocka_unit_test(test_forged_in_the_store),
    };
    return cmocka_run_group_tests_name("tuner/hostile", tests, forged_setup, forged_teardown);
}
