/* SPDX-License-Identifier: Apache-2.0 */
/* Logs: our line in both directions, AutoTVM's lines of both versions, and all that is bad. */
#include "support/check.h"

#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db.h"
#include "db/kv.h"
#include "support/records.h"

static char dir[4096], path[4200];

static int setup(void **state)
{
    (void)state;
    if (ot_temp_dir(dir, sizeof dir, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/a.log", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

typedef struct seen {
    int lines, problems, ours, devices;
    int64_t numbers[64];
    char problem[64][256];
    optune_record record; /* the last good one; copied into the arena */
    optune_device device;
    char target[256], task[64], template_key[64], args[512];
    ot_arena arena;
} seen;

static int note(void *arg, const ot_log_line *line)
{
    seen *s = arg;
    if (s->lines < 64) {
        s->numbers[s->lines] = line->number;
        snprintf(s->problem[s->lines], 256, "%s", line->problem ? line->problem : "");
    }
    s->lines++;
    s->problems += line->problem != NULL;
    s->ours += line->ours;
    if (line->problem)
        return 0;
    if (line->device) {
        s->devices++;
        s->device = *line->device;
        return 0;
    }
    ot_text bytes = {0};
    optune_record record = line->record;
    if (!line->ours) {
        /* The codec wants an identity, which others' lines do not have yet. */
        record.call = record.target = record.device = "";
        snprintf(s->target, sizeof s->target, "%s", line->target_text);
        snprintf(s->task, sizeof s->task, "%s", line->task_name);
        snprintf(s->template_key, sizeof s->template_key, "%s",
                 line->template_key ? line->template_key : "");
        char *args = json_dumps(line->args, JSON_COMPACT);
        snprintf(s->args, sizeof s->args, "%s", args);
        free(args);
    } else {
        assert_null(line->args);
    }
    assert_int_equal(ot_record_encode(&record, &bytes, NULL), OPTUNE_OK);
    assert_int_equal(ot_record_decode(bytes.s, bytes.n, &s->arena, &s->record, NULL),
                     OPTUNE_OK);
    ot_text_release(&bytes);
    return 0;
}

static seen read_text(const char *text, size_t n)
{
    optune_err err;
    seen s = {0};
    check_ok(ot_write_file(path, text, n, &err));
    check_ok(ot_log_read(path, note, &s, &err));
    return s;
}

static void our_line_round_trip(void **state)
{
    (void)state;
    optune_record record = some_record(3);
    ot_text line = {0};
    ot_record_line(&record, &line);
    assert_int_equal(line.s[line.n - 1], '\n');
    assert_ptr_equal(strchr(line.s, '\n'), line.s + line.n - 1);
    seen s = read_text(line.s, line.n);
    assert_int_equal(s.lines, 1);
    assert_int_equal(s.ours, 1);
    check_same_record(&record, &s.record);
    assert_string_equal(s.record.source, "a.log");
    /* And the line of what was read is the same line. */
    ot_text again = {0};
    ot_record_line(&s.record, &again);
    assert_string_equal(line.s, again.s);
    ot_digest a = ot_record_digest(&record), b = ot_record_digest(&s.record);
    assert_memory_equal(a.byte, b.byte, 16);
    ot_text_release(&line);
    ot_text_release(&again);
    ot_arena_release(&s.arena);
}

static void failed_trial_round_trip(void **state)
{
    (void)state;
    optune_record record = some_record(3);
    record.outcome = OPTUNE_OUTCOME_CRASH;
    record.message = "signal 11 in \"body\"\nsecond line";
    record.cost = record.low = record.high = record.error = INFINITY;
    record.n_samples = 0;
    record.sample = NULL;
    record.final = false;
    record.depends = record.counters = record.op = record.digest = record.policy = NULL;
    ot_text line = {0};
    ot_record_line(&record, &line);
    check_contains(line.s, "\"result\":[[1000000000.0],9,");
    seen s = read_text(line.s, line.n);
    assert_int_equal(s.ours, 1);
    check_same_record(&record, &s.record);
    ot_text_release(&line);
    ot_arena_release(&s.arena);
}

static void autotvm_reads_our_line(void **state)
{
    (void)state;
    /* The fields it looks at, in its own order, at the places it looks. */
    optune_record record = some_record(3);
    ot_text line = {0};
    ot_record_line(&record, &line);
    json_t *root = json_loads(line.s, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    static const char *const keys[] = {"input",   "config",      "result",
                                       "version", "tvm_version", "optune"};
    int i = 0;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) assert_string_equal(key, keys[i++]);
    assert_int_equal(i, OT_COUNT(keys));
    json_t *input = json_object_get(root, "input"), *result = json_object_get(root, "result");
    assert_int_equal(json_array_size(input), 4);
    assert_string_equal(json_string_value(json_array_get(input, 1)), "dense_pack.x86");
    assert_int_equal(json_array_size(result), 4);
    assert_int_equal(json_array_size(json_array_get(result, 0)), 3);
    assert_true(json_real_value(json_object_get(root, "version")) == 0.2);
    json_t *config = json_object_get(root, "config");
    assert_int_equal(json_integer_value(json_object_get(config, "index")), 1003);
    assert_true(json_is_null(json_object_get(config, "code_hash")));
    assert_int_equal(json_array_size(json_object_get(config, "entity")), 6);
    json_decref(root);
    ot_text_release(&line);
}

static void version_02_line(void **state)
{
    (void)state;
    static const char text[] =
        "{\"input\": [\"cuda -model=v100\", \"batch_matmul.cuda\", [[\"TENSOR\", [1, 2], "
        "\"float32\"], null, 2.5], {}], \"config\": {\"index\": 77, \"code_hash\": null, "
        "\"entity\": [[\"tile_y\", \"sp\", [-1, 8]], [\"u\", \"ot\", 1]]}, "
        "\"result\": [[4e-05, 2e-05, 3e-05], 0, 14.1, 1535423916.7], \"version\": 0.2, "
        "\"tvm_version\": \"0.7.dev0\"}\n";
    seen s = read_text(text, sizeof text - 1);
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.problem[0], "");
    assert_int_equal(s.ours, 0);
    assert_string_equal(s.target, "cuda -model=v100");
    assert_string_equal(s.task, "batch_matmul.cuda");
    assert_string_equal(s.template_key, "");
    assert_string_equal(s.args, "[[\"TENSOR\",[1,2],\"float32\"],null,2.5]");
    assert_int_equal(s.record.config.index, 77);
    assert_int_equal(s.record.config.n, 2);
    assert_int_equal(s.record.n_samples, 3);
    assert_true(s.record.sample[0] == 4e-05);
    assert_true(s.record.cost == 3e-05);
    assert_true(s.record.low == 2e-05 && s.record.high == 4e-05);
    assert_true(s.record.time == 1535423916.7);
    assert_string_equal(s.record.tool, "0.7.dev0");
    ot_arena_release(&s.arena);
}

static void version_01_line(void **state)
{
    (void)state;
    static const char text[] =
        "{\"i\": [\"llvm -device=arm_cpu\", \"topi_nn_conv2d\", [1], {}, [\"conv2d\"], {\"i\": "
        "5, "
        "\"t\": \"winograd\", \"c\": null, \"e\": [[\"a\", \"an\", [\"none\"]]]}], "
        "\"r\": [[1000000000.0], 4, 1.5, 9.5], \"v\": 0.1}";
    seen s = read_text(text, sizeof text - 1); /* its newline is missing, the line is whole */
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.problem[0], "");
    assert_string_equal(s.template_key, "winograd");
    assert_int_equal(s.record.outcome, OPTUNE_OUTCOME_RUNTIME);
    assert_true(isinf(s.record.cost));
    assert_int_equal(s.record.n_samples, 0);
    assert_int_equal(s.record.config.index, 5);
    assert_string_equal(s.record.task, "[\"llvm -device=arm_cpu\",\"topi_nn_conv2d\",[1],{}]");
    ot_arena_release(&s.arena);
}

#define HEAD "{\"input\":[\"llvm\",\"t\",[],{}],\"config\":{\"index\":0,\"entity\":[]},"
#define TAIL ",\"version\":0.2,\"tvm_version\":\"x\"}\n"
#define GOOD HEAD "\"result\":[[1e-3],0,1.0,2.0]" TAIL

static void bad_lines_do_not_stop_reading(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"rubbish\n", "no JSON"},
        {"{\"input\":[1,2\n", "no JSON"},
        {"[]\n", "no JSON object"},
        {"{}\n", "no tuning record"},
        {"{\"input\":1,\"input\":2}\n", "duplicate"},
        {HEAD "\"result\":[[1e999],0,1.0,2.0]" TAIL, "overflow"},
        {HEAD "\"result\":[[-1.0],0,1.0,2.0]" TAIL, "no positive number"},
        {HEAD "\"result\":[[\"x\"],0,1.0,2.0]" TAIL, "no positive number"},
        {HEAD "\"result\":[[],0,1.0,2.0]" TAIL, "no costs"},
        {HEAD "\"result\":[[NaN],0,1.0,2.0]" TAIL, "no JSON"},
        {HEAD "\"result\":[[1e-3],0,1.0]" TAIL, "its result"},
        {HEAD "\"result\":[[1e-3],0.5,1.0,2.0]" TAIL, "its result"},
        {HEAD "\"result\":[[1e-3],99999999999999999999,1.0,2.0]" TAIL, "no JSON"},
        {"{\"input\":[\"llvm\",\"t\",[]],\"config\":{},\"version\":0.2}\n", "its input"},
        {"{\"input\":[\"llvm\",\"t\",{},{}],\"config\":{},\"version\":0.2}\n", "its input"},
        {"{\"input\":[\"llvm\",\"t\",[],{}],\"config\":{},\"version\":0.2}\n", "entities"},
        {"{\"input\":[\"llvm\",\"t\",[],{}],\"version\":0.3}\n", "version is not 0.2"},
        {"{\"i\":[],\"v\":0.2}\n", "version is not 0.1"},
        {"{\"i\":[[\"[\\\"f\\\",64]\",\"llvm\"],[[],[]]],\"r\":[[1],0,1,1],\"v\":\"v0.6\"}\n",
         "of TVM's auto_scheduler"},
        {"[6,[[[],[]],[0.1],{\"kind\":\"llvm\"},[[\"TENSOR\",\"float32\",[4]]]]]\n",
         "of TVM's MetaSchedule"},
        {"{\"i\":[],\"v\":0.1}\n", "its input"},
        {HEAD "\"result\":[[1e-3],0,1.0,2.0],\"version\":0.2,\"optune\":{\"v\":9}}\n",
         "format 9"},
        {HEAD "\"result\":[[1e-3],0,1.0,2.0],\"version\":0.2,\"optune\":{\"v\":1}}\n",
         "is missing"},
        {"{\"input\":[\"llvm\",\"t\",[],{}],\"config\":{\"entity\":[[\"a\",\"zz\",1]]},"
         "\"version\":0.2}\n",
         "unknown kind 'zz'"},
        {"# optune device {\"name\":\"x\"}\n", "no key"},
        {"# optune device {\"key\":\"x\",\"cores\":-1}\n", "out of range"},
        {"# optune device {\n", "no JSON"},
        {"{\"a\":\"\\u0000\"}\n", "no JSON"},
        {"\xff\xfe\n", "no JSON"},
    };
    ot_text text = {0};
    for (int i = 0; i < OT_COUNT(rows); i++) {
        ot_text_add(&text, rows[i][0]);
        ot_text_add(&text, "# a comment\n\n");
    }
    ot_text_add(&text, GOOD);
    seen s = read_text(text.s, text.n);
    assert_int_equal(s.lines, OT_COUNT(rows) + 1);
    assert_int_equal(s.problems, OT_COUNT(rows));
    for (int i = 0; i < OT_COUNT(rows); i++) {
        check_contains(s.problem[i], rows[i][1]);
        assert_int_equal(s.numbers[i], 1 + 3 * i);
    }
    assert_true(s.record.cost == 1e-3);
    ot_text_release(&text);
    ot_arena_release(&s.arena);
}

static void half_and_endless_lines(void **state)
{
    (void)state;
    ot_text text = {0};
    ot_text_add(&text, "\xef\xbb\xbf" GOOD); /* a byte order mark */
    ot_text_add(&text, "\r\n");
    ot_text_add_n(&text, "{\"input\":\0\"x\"}\n", 15);
    for (int i = 0; i < (3 << 20) / 16; i++)
        ot_text_add(&text, "0123456789abcdef");
    ot_text_add(&text, "\n" GOOD "{\"input\":[\"llvm\",\"t\",[],{}],\"con");
    seen s = read_text(text.s, text.n);
    assert_int_equal(s.lines, 5);
    assert_string_equal(s.problem[0], "");
    check_contains(s.problem[1], "a NUL");
    check_contains(s.problem[2], "too long");
    assert_string_equal(s.problem[3], "");
    check_contains(s.problem[4], "ends in the middle");
    assert_int_equal(s.numbers[4], 6);
    ot_text_release(&text);
    ot_arena_release(&s.arena);
}

static int stop_at_two(void *arg, const ot_log_line *line)
{
    (void)arg;
    return line->number == 2 ? 42 : 0;
}

static void callback_stops(void **state)
{
    (void)state;
    optune_err err;
    check_ok(ot_write_file(path, GOOD GOOD GOOD, strlen(GOOD GOOD GOOD), &err));
    assert_int_equal(ot_log_read(path, stop_at_two, NULL, &err), 42);
    assert_int_equal(ot_log_read("/nowhere/x.log", stop_at_two, NULL, &err), OPTUNE_ENOENT);
    check_contains(err.text, "/nowhere/x.log");
    assert_int_equal(ot_log_read(dir, stop_at_two, NULL, &err), OPTUNE_EIO);
}

static void appending(void **state)
{
    (void)state;
    optune_err err;
    seen s = {0};
    optune_device device = some_device("cpu:y");
    /* A crash has left half a line. */
    check_ok(ot_write_file(path, "{\"input\":[", 10, &err));
    for (int i = 0; i < 3; i++) {
        ot_log *log;
        optune_record record = some_record(i);
        check_ok(ot_log_open(path, OT_LOG_FULL, &log, &err));
        if (i == 1)
            ot_log_device(log, &device);
        check_ok(ot_log_append(log, &record, &err));
        check_ok(ot_log_sync(log, &err));
        ot_log_close(log);
    }
    check_ok(ot_log_read(path, note, &s, &err));
    assert_int_equal(s.lines, 5);
    assert_int_equal(s.problems, 1);
    assert_int_equal(s.numbers[4], 5);
    assert_int_equal(s.ours, 3);
    assert_int_equal(s.devices, 1);
    assert_memory_equal(&s.device, &device, sizeof device);
    ot_log_close(NULL);
    ot_arena_release(&s.arena);
}

static void log_that_cannot_be_written(void **state)
{
    (void)state;
    optune_err err;
    ot_log *log;
    optune_record record = some_record(1);
    assert_int_equal(ot_log_open("/nowhere/x.log", OT_LOG_FULL, &log, &err), OPTUNE_EIO);
    assert_null(log);
    if (!ot_exists("/dev/full"))
        skip();
    check_ok(ot_log_open("/dev/full", OT_LOG_FULL, &log, &err));
    assert_int_equal(ot_log_append(log, &record, &err), OPTUNE_EIO);
    check_contains(err.text, "No space left");
    ot_log_close(log);
}

static void two_writers_never_mix(void **state)
{
    (void)state;
    optune_err err;
    seen s = {0};
    ot_log *one, *two;
    unlink(path);
    check_ok(ot_log_open(path, OT_LOG_FULL, &one, &err));
    check_ok(ot_log_open(path, OT_LOG_FULL, &two, &err));
    for (int i = 0; i < 50; i++) {
        optune_record record = some_record(i);
        check_ok(ot_log_append(i % 3 ? one : two, &record, &err));
    }
    ot_log_close(one);
    ot_log_close(two);
    check_ok(ot_log_read(path, note, &s, &err));
    assert_int_equal(s.ours, 50);
    assert_int_equal(s.problems, 0);
    ot_arena_release(&s.arena);
}

/* ---- real logs --------------------------------------------------------------------------- */

typedef struct census {
    int good, problems, limits;
    bool template_keys;
} census;

static int count(void *arg, const ot_log_line *line)
{
    census *c = arg;
    if (line->problem) {
        c->problems++;
        /* Nothing in these logs is wrong; our limit on a knob's values may refuse. */
        c->limits += strstr(line->problem, "values, at most") != NULL;
        return 0;
    }
    c->good++;
    assert_false(line->ours);
    assert_non_null(line->target_text);
    assert_non_null(line->task_name);
    assert_true(json_is_array(line->args));
    assert_true(line->record.config.n > 0);
    assert_int_equal(line->record.outcome, OPTUNE_OUTCOME_OK);
    assert_int_equal(line->record.n_samples, 1);
    assert_true(line->record.cost == line->record.sample[0]);
    c->template_keys |= line->template_key != NULL;
    return 0;
}

static void real_logs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int lines;
        bool template_keys;
    } logs[] = {
        {"arm_cpu_v0.05.log", 1164, true},
        {"arm_cpu_v0.08.log", 1164, false},
        {"cuda_v0.10.log", 825, false},
        {"llvm_v0.04.log", 35, false},
    };
    const char *shared = getenv("OPTUNE_SHARED");
    int found = 0;
    for (int i = 0; i < OT_COUNT(logs); i++) {
        optune_err err;
        census c = {0};
        char name[4200];
        snprintf(name, sizeof name, "%s/data/tophub/%s",
                 shared ? shared : OT_SOURCE_DIR "/../shared", logs[i].name);
        if (!ot_exists(name))
            continue;
        found++;
        check_ok(ot_log_read(name, count, &c, &err));
        assert_int_equal(c.good + c.problems, logs[i].lines);
        assert_int_equal(c.problems, c.limits);
        assert_int_equal(c.template_keys, logs[i].template_keys);
        assert_true(OPTUNE_MAX_LIST < 10 || c.problems == 0);
    }
    if (!found)
        skip();
}

typedef struct pruner {
    int claim;
    bool replaces;
} pruner;

/* As `db prune` does it: what stays takes the log's place, then the claim ends. */
static void *prune_slowly(void *arg)
{
    const pruner *p = arg;
    usleep(100000);
    if (p->replaces && ot_write_file(path, "# stays\n", 8, NULL) < 0)
        return NULL;
    close(p->claim);
    return arg;
}

/* Who was not waited for would put the log in another's place, and the lines out of the world. */
static void a_claimed_log_is_waited_for(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_log *log;
    ot_text text = {0};
    const double patience = ot_log_patience_s;
    snprintf(path, sizeof path, "%s/claimed.log", dir);
    for (int replaces = 0; replaces < 2; replaces++) {
        check_ok(ot_write_file(path, "# goes\n", 7, &err));
        pruner p = {ot_log_claim(path), replaces};
        assert_true(p.claim >= 0);
        ot_log_patience_s = 0.05;
        assert_int_equal(ot_log_open(path, OT_LOG_FULL, &log, &err), OPTUNE_ETIMEOUT);
        check_contains(err.text, "claimed.log' is being read or pruned by another process");
        ot_log_patience_s = patience;
        pthread_t thread;
        void *good;
        assert_int_equal(pthread_create(&thread, NULL, prune_slowly, &p), 0);
        const int status = ot_log_open(path, OT_LOG_FULL, &log, &err);
        pthread_join(thread, &good);
        assert_non_null(good);
        assert_int_equal(status, OPTUNE_OK);
        assert_int_equal(ot_log_claim(path), -1); /* the writer has what is there now */
        const ot_digest digest = {0};
        check_ok(ot_log_forget(log, &digest, &err));
        ot_log_close(log);
        check_ok(ot_read_file(path, &text, 1000, &err));
        check_contains(text.s, replaces ? "# stays" : "# goes");
        check_contains(text.s, "00000000");
    }
    ot_text_release(&text);
    snprintf(path, sizeof path, "%s/a.log", dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_line_round_trip),
        cmocka_unit_test(failed_trial_round_trip),
        cmocka_unit_test(autotvm_reads_our_line),
        cmocka_unit_test(version_02_line),
        cmocka_unit_test(version_01_line),
        cmocka_unit_test(bad_lines_do_not_stop_reading),
        cmocka_unit_test(half_and_endless_lines),
        cmocka_unit_test(callback_stops),
        cmocka_unit_test(appending),
        cmocka_unit_test(log_that_cannot_be_written),
        cmocka_unit_test(two_writers_never_mix),
        cmocka_unit_test(a_claimed_log_is_waited_for),
        cmocka_unit_test(real_logs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
