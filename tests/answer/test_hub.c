/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hubs, as files: what one database pushes another pulls, and answers the same from it. Then all
 * that a hub may hold instead of what it should: packs of others, cut, changed, forged, bombs;
 * indexes that are none; and several who push at once.
 */
#include "support/tuning.h"

#include "support/check.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer/hub/hub.h"
#include "support/records.h"

/* What has to work. */
#define WORKS(expression) assert_int_equal(expression, OPTUNE_OK)

#define WORKLOAD "dense(f32[16,64], const f32[32,64])"

static char key[OT_HEX_KEY], other_key[OT_HEX_KEY];
static char own_file[1200], other_file[1200];

/* ---- asking ------------------------------------------------------------------------------ */

static json_t *deed(const char *db, optune_hub_options options, int expected, char *text)
{
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    options.size = sizeof options;
    if (!options.key_file)
        options.key_file = own_file;
    const int status = optune_hub(o, &options, &result, &err);
    if (status != expected)
        print_error("%s: %s\n", options.what, err.text);
    assert_int_equal(status, expected);
    json_t *json = result ? tuning_parse(optune_result_json(result)) : json_array();
    if (text)
        snprintf(text, 4096, "%s%s", result ? optune_result_text(result) : "", err.text);
    optune_result_free(result);
    optune_close(o);
    return json;
}

#define WORDS(...)                                                                             \
    (const char *const[])                                                                      \
    {                                                                                          \
        __VA_ARGS__, NULL                                                                      \
    }

static const char *hub_url(const char *hub)
{
    static char url[1200];
    snprintf(url, sizeof url, "file://%s", tuning_path(hub));
    return url;
}

static void add(const char *db, const char *hub, const char *of)
{
    const optune_hub_options options = {.what = "add",
                                        .words = WORDS("h", hub_url(hub)),
                                        .keys = of ? WORDS(of) : NULL,
                                        .anybody = !of};
    json_decref(deed(db, options, OPTUNE_OK, NULL));
}

/* The one object of a pull. */
static json_t *pull(const char *db, int expected, char *text)
{
    json_t *all =
        deed(db, (optune_hub_options){.what = "pull", .words = WORDS("h")}, expected, text);
    json_t *one = json_incref(json_array_get(all, 0));
    json_decref(all);
    return one;
}

static json_int_t push(const char *db)
{
    json_t *all =
        deed(db, (optune_hub_options){.what = "push", .words = WORDS("h")}, OPTUNE_OK, NULL);
    const json_int_t n = tuning_int(json_array_get(all, 0), "records");
    json_decref(all);
    return n;
}

static void write_text(const char *path, const char *text)
{
    char folder[1300];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    WORKS(ot_make_dirs(folder, NULL));
    WORKS(ot_write_file(path, text, strlen(text), NULL));
}

static char *answer_of(const char *db)
{
    optune *o = tuning_open(db);
    char *answer = tuning_answer(o, WORKLOAD);
    optune_close(o);
    return answer;
}

static void fresh(const char *name)
{
    ot_remove_tree(tuning_path(name));
}

static json_int_t first;

static int setup(void **state)
{
    tuning_setup(state);
    snprintf(own_file, sizeof own_file, "%s", tuning_path("own.key"));
    snprintf(other_file, sizeof other_file, "%s", tuning_path("other.key"));
    ot_signer signer;
    WORKS(ot_signer_open(own_file, &signer, NULL));
    memcpy(key, signer.key, sizeof key);
    WORKS(ot_signer_open(other_file, &signer, NULL));
    memcpy(other_key, signer.key, sizeof other_key);
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", WORKLOAD, NULL, 6));
    optune_close(o);
    add("from", "hub", key);
    first = push("from");
    return 0;
}

/* ---- the whole way ----------------------------------------------------------------------- */

static void what_is_pushed_is_answered_elsewhere(void **state)
{
    (void)state;
    assert_true(first >= 6);
    assert_int_equal(push("from"), 0); /* the hub has all of it */
    fresh("to");
    char *untuned = answer_of("to");
    check_contains(untuned, "plevel");
    add("to", "hub", key);
    json_t *pulled = pull("to", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "new"), first);
    assert_int_equal(tuning_int(pulled, "records_refused"), 0);
    json_decref(pulled);
    char *there = answer_of("from"), *here = answer_of("to");
    assert_string_equal(here, there);
    const char *left[] = {"to/hubs/h/cache/hub.json.aB3xyZ",
                          "to/hubs/h/cache/0a.json.etag.7.0.tmp"};
    for (int i = 0; i < OT_COUNT(left); i++) /* of killed ones */
        write_text(tuning_path(left[i]), "{");
    pulled = pull("to", OPTUNE_OK, NULL);
    for (int i = 0; i < OT_COUNT(left); i++)
        assert_false(ot_exists(tuning_path(left[i])));
    assert_true(ot_exists(tuning_path("to/hubs/h/cache/hub.json")));
    assert_int_equal(tuning_int(pulled, "packs"), 0);
    assert_int_equal(tuning_int(pulled, "known"), 1);
    json_decref(pulled);
    /* What came from a hub is not one's own, and goes with it. */
    free(there);
    free(here);
    json_decref(deed("to", (optune_hub_options){.what = "remove", .words = WORDS("h")},
                     OPTUNE_OK, NULL));
    here = answer_of("to");
    assert_string_equal(here, untuned);
    free(here);
    free(untuned);
}

static void hints_are_never_selected(void **state)
{
    (void)state;
    fresh("hinted");
    char *untuned = answer_of("hinted");
    add("hinted", "hub", NULL);
    json_t *pulled = pull("hinted", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "new"), first);
    json_decref(pulled);
    char *answer = answer_of("hinted");
    assert_string_equal(answer, untuned);
    free(answer);
    free(untuned);
    /* They are there, as history with its reason. */
    optune *o = tuning_open("hinted");
    optune_selection *selection = NULL;
    WORKS(optune_select(o, WORKLOAD, &selection, NULL));
    check_contains(optune_selection_json(selection), "gives hints");
    optune_selection_free(selection);
    optune_close(o);
}

static void only_known_keys_are_taken(void **state)
{
    (void)state;
    char text[4096];
    fresh("strict");
    add("strict", "hub", other_key);
    json_t *pulled = pull("strict", OPTUNE_EPARTIAL, text);
    assert_int_equal(tuning_int(pulled, "packs_refused"), 1);
    assert_int_equal(tuning_int(pulled, "records"), 0);
    check_contains(text, "is no key of the hub");
    json_decref(pulled);
    assert_false(ot_exists(tuning_path("strict/hubs/h/store")));
}

/* ---- what a hub may hold instead --------------------------------------------------------- */

/* The records of the first push, and their device. */
typedef struct pushed {
    ot_arena arena;
    optune_device device;
    optune_record record[64];
    int n;
} pushed;

static int keep_line(void *arg, const ot_log_line *line)
{
    pushed *p = arg;
    if (line->device)
        p->device = *line->device;
    else if (line->ours && p->n < OT_COUNT(p->record))
        ot_record_keep(&p->arena, &p->record[p->n++], &line->record);
    return 0;
}

static void keep_path(void *arg, const char *path)
{
    snprintf(arg, 4096, "%s", path);
}

static pushed *the_pushed(void)
{
    char path[4096];
    pushed *p = ot_alloc(sizeof *p);
    assert_int_equal(tuning_logs("from/hubs/h", keep_path, path), 1);
    WORKS(ot_log_read(path, keep_line, p, NULL));
    assert_true(p->n >= 6);
    return p;
}

static void pushed_free(pushed *p)
{
    ot_arena_release(&p->arena);
    free(p);
}

/* A hub with one pack of this log, signed by `file`'s key (NULL: by nobody). */
static void forge(const char *hub, const char *log, const char *device, int64_t records,
                  const char *op, const char *file)
{
    ot_signer signer;
    char path[1400], name[128];
    ot_pack pack = {.records = records, .time = 1.7e9, .tool = "forger", .ops = json_object()};
    json_object_set_new(pack.ops, op, json_integer(records));
    snprintf(pack.device, sizeof pack.device, "%s", device);
    fresh(hub);
    WORKS(ot_make_dirs(tuning_path(hub), NULL));
    write_text(tuning_path("forged.log"), log);
    snprintf(path, sizeof path, "%s", tuning_path("forged.pack"));
    if (file)
        WORKS(ot_signer_open(file, &signer, NULL));
    WORKS(ot_pack_write(tuning_path("forged.log"), path, file ? &signer : NULL, &pack, NULL));
    ot_hub_pack_file(pack.name, name, sizeof name);
    ot_text to = {0}, bytes = {0};
    ot_text_printf(&to, "%s/%s", tuning_path(hub), name);
    write_text(to.s, "");
    WORKS(ot_read_file(path, &bytes, 1 << 26, NULL));
    WORKS(ot_write_file(to.s, bytes.s, bytes.n, NULL));
    char hex[33];
    ot_digest_hex(ot_digest_of(device, strlen(device)), hex);
    json_t *index = json_pack("{s:i, s:s, s:[o]}", "optune_hub_index", 1, "device", device,
                              "packs", ot_hub_entry(&pack));
    json_t *top = json_pack("{s:i, s:[s]}", "optune_hub", 1, "devices", device);
    char *text = json_dumps(index, 0), *all = json_dumps(top, 0);
    ot_text_clear(&to);
    ot_text_printf(&to, "%s/index/%s.json", tuning_path(hub), hex);
    write_text(to.s, text);
    ot_text_clear(&to);
    ot_text_printf(&to, "%s/hub.json", tuning_path(hub));
    write_text(to.s, all);
    free(text);
    free(all);
    json_decref(index);
    json_decref(top);
    ot_pack_release(&pack);
    ot_text_release(&to);
    ot_text_release(&bytes);
}

static void forge_records(const char *hub, const pushed *p, const optune_record *record, int n)
{
    ot_text log = {0};
    ot_device_line(&p->device, &log);
    for (int i = 0; i < n; i++)
        ot_record_line(&record[i], &log);
    forge(hub, log.s, p->device.key, n, "dense", own_file);
    ot_text_release(&log);
}

/* How many of a forged pack's records are taken, by a fresh database. */
static json_int_t taken_of(const char *hub, int expected, char *text)
{
    fresh("victim");
    add("victim", hub, key);
    json_t *pulled = pull("victim", expected, text);
    const json_int_t n = tuning_int(pulled, "records");
    json_decref(pulled);
    return n;
}

static optune_record good_of(const pushed *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->record[i].outcome == OPTUNE_OUTCOME_OK && p->record[i].config.n > 0)
            return p->record[i];
    fail_msg("no good record");
    return p->record[0];
}

static void forged_records_are_refused(void **state)
{
    (void)state;
    char text[4096];
    pushed *p = the_pushed();
    optune_record good = good_of(p), r = good;
    forge_records("forged", p, &r, 1);
    assert_int_equal(taken_of("forged", OPTUNE_OK, text), 1); /* the forger's tools work */

#define REFUSED(says)                                                                          \
    do {                                                                                       \
        forge_records("forged", p, &r, 1);                                                     \
        assert_int_equal(taken_of("forged", OPTUNE_OK, text), 0);                              \
        check_contains(text, says);                                                            \
        r = good;                                                                              \
    } while (0)
    r.config.entity[0].v[0] = 1 << 30; /* no such value in the template's space */
    REFUSED("1 records refused");
    r.config.n = 0;
    REFUSED("1 records refused");
    r.device = "cpu-of-another";
    REFUSED("another device");
    r.call = "dense(f32[16,64], const f32[32,65])";
    REFUSED("1 records refused");
    r.call = "dense( f32[16,64],const f32[32,64])";
    REFUSED("not as this version writes");
    r.op = "conv2d";
    REFUSED("not as this version writes");
    r.impl = "system.cpu";
    REFUSED("no implementation");
    r.target = "cpu -threads=1 -libs=../../etc";
    REFUSED("1 records refused");
    r.time = ot_unix_time() + 1e7;
    REFUSED("yet to come");
    r.digest = "short";
    REFUSED("1 records refused");
#undef REFUSED
    pushed_free(p);
}

/* Text that is no log of ours, or says more or less than the pack. */
static void packs_that_lie_are_refused(void **state)
{
    (void)state;
    char text[4096];
    pushed *p = the_pushed();
    ot_text log = {0};
    ot_device_line(&p->device, &log);
    ot_record_line(&p->record[0], &log);
    ot_record_line(&p->record[1], &log);
    forge("lying", log.s, p->device.key, 1, "dense", own_file);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "more records than it says");
    forge("lying", log.s, p->device.key, 2, "conv2d", own_file);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "other records than it says");
    forge("lying", log.s, "cpu-of-another", 2, "dense", own_file);
    fresh("victim");
    add("victim", "lying", key);
    json_decref(
        deed("victim",
             (optune_hub_options){.what = "pull", .words = WORDS("h"), .all_devices = true},
             OPTUNE_OK, text));
    check_contains(text, "0 records");
    forge("lying", "rubbish\n{\"input\": 3}\n[[[[[[\n\n", p->device.key, 3, "dense", own_file);
    assert_int_equal(taken_of("lying", OPTUNE_OK, text), 0);
    forge("lying", log.s, p->device.key, 2, "dense", NULL);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "is not signed");
    ot_text_release(&log);
    pushed_free(p);
}

static void the_pack(const char *hub, char path[1400])
{
    char command[1400];
    snprintf(command, sizeof command, "find '%s/packs' -type f ! -name .lock",
             tuning_path(hub));
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_non_null(fgets(path, 1400, list));
    pclose(list);
    path[strcspn(path, "\n")] = 0;
}

static void changed_and_cut_packs_are_refused(void **state)
{
    (void)state;
    char path[1400];
    ot_text bytes = {0};
    pushed *p = the_pushed();
    forge_records("changed", p, p->record, 3);
    the_pack("changed", path);
    WORKS(ot_read_file(path, &bytes, 1 << 26, NULL));
    ot_pack pack;
    WORKS(ot_pack_read(path, &pack, NULL));
    char name[OT_HEX_SHA256];
    memcpy(name, pack.name, sizeof name);
    ot_pack_release(&pack);
    for (size_t i = 0; i < bytes.n; i++) {
        bytes.s[i] ^= 1;
        WORKS(ot_write_file(path, bytes.s, bytes.n, NULL));
        bytes.s[i] ^= 1;
        optune_err err = {0};
        if (ot_pack_read(path, &pack, &err) >= 0) {
            assert_string_not_equal(pack.name, name);
            /* Nobody's: the name of the key or its signature was what changed. */
            assert_string_not_equal(pack.key, key);
            ot_pack_release(&pack);
        } else {
            check_contains(err.text, path);
        }
    }
    for (size_t n = 0; n < bytes.n; n += 7) {
        WORKS(ot_write_file(path, bytes.s, n, NULL));
        assert_true(ot_pack_read(path, &pack, NULL) < 0);
    }
    WORKS(ot_write_file(path, bytes.s, bytes.n / 2, NULL));
    char text[4096];
    assert_int_equal(taken_of("changed", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "1 packs and 0 records refused");
    unlink(path);
    assert_int_equal(taken_of("changed", OPTUNE_EPARTIAL, text), 0);
    ot_text_release(&bytes);
    pushed_free(p);
}

/* 200 MB of nothing in 200 KB, which says that it is small. */
static void bombs_do_not_go_off(void **state)
{
    (void)state;
    pushed *p = the_pushed();
    enum { LONG = 200 << 20 };
    char *log = ot_alloc(LONG + 1), path[1400];
    memset(log, '\n', LONG);
    log[LONG] = 0;
    forge("bomb", log, p->device.key, 1, "dense", own_file);
    free(log);
    the_pack("bomb", path);
    ot_pack pack;
    WORKS(ot_pack_read(path, &pack, NULL));
    assert_int_equal(pack.raw, LONG);
    pack.raw = 1000;
    optune_err err = {0};
    assert_int_equal(ot_pack_unpack(path, &pack, tuning_path("unpacked"), &err),
                     OPTUNE_EDAMAGED);
    check_contains(err.text, "more than it says");
    assert_false(ot_exists(tuning_path("unpacked")));
    ot_pack_release(&pack);
    pushed_free(p);
}

static void indexes_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } bad[] = {
        {"", OPTUNE_EDAMAGED},
        {"[]", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":1}", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":1,\"devices\":[3]}", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":1,\"devices\":[\"a\\u001b[2Jb\"]}", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":1,\"devices\":[\"a\\u0000b\"]}", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":1,\"devices\":[\"\"]}", OPTUNE_EDAMAGED},
        {"{\"optune_hub\":2,\"devices\":[]}", OPTUNE_EVERSION},
        {"{\"optune_hub\":1,\"devices\":[]", OPTUNE_EDAMAGED},
    };
    fresh("odd");
    WORKS(ot_make_dirs(tuning_path("odd"), NULL));
    fresh("asker");
    add("asker", "odd", key);
    char text[4096];
    json_decref(deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                     OPTUNE_ENOENT, text));
    check_contains(text, "no hub at");
    for (int i = 0; i < OT_COUNT(bad); i++) {
        write_text(tuning_path("odd/hub.json"), bad[i].text);
        json_decref(deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                         bad[i].status, text));
        check_contains(text, "hub.json");
    }
    char *deep = ot_alloc(2000001);
    memset(deep, '[', 2000000);
    deep[2000000] = 0;
    write_text(tuning_path("odd/hub.json"), deep);
    free(deep);
    json_decref(deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                     OPTUNE_EDAMAGED, NULL));
}

static void addresses_and_names(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"h", "http://hub.example.org/x"},
        {"h", "https://me:secret@hub.example.org/x"},
        {"h", "https://hub.example.org/?a"},
        {"h", "ftp://hub.example.org/"},
        {"h", "hub.example.org"},
        {"h", "file://relative/x"},
        {"h", "https://hub.example.org/a b"},
        {"../h", "https://hub.example.org/"},
        {"", "https://hub.example.org/"},
        {"a/b", "https://hub.example.org/"},
    };
    char text[4096];
    fresh("named");
    for (int i = 0; i < OT_COUNT(bad); i++) {
        json_decref(deed("named",
                         (optune_hub_options){.what = "add",
                                              .words = WORDS(bad[i][0], bad[i][1]),
                                              .keys = WORDS(key)},
                         OPTUNE_EUSAGE, text));
        assert_null(strstr(text, "secret"));
    }
    json_decref(deed(
        "named",
        (optune_hub_options){.what = "add", .words = WORDS("h", "https://hub.example.org/")},
        OPTUNE_EUSAGE, text));
    check_contains(text, "--key");
    json_decref(deed("named",
                     (optune_hub_options){.what = "add",
                                          .words = WORDS("h", "https://hub.example.org/"),
                                          .keys = WORDS("abc")},
                     OPTUNE_EUSAGE, text));
    add("named", "hub", key);
    json_decref(deed("named",
                     (optune_hub_options){.what = "add",
                                          .words = WORDS("h", hub_url("hub")),
                                          .keys = WORDS(key)},
                     OPTUNE_OK, text));
    check_contains(text, "as it was");
    static const char *const others[][2] = {{"https://hub.example.org", NULL}, {NULL, "eu-1"}};
    for (int i = 0; i < OT_COUNT(others); i++) {
        json_decref(deed("named",
                         (optune_hub_options){
                             .what = "add",
                             .words = WORDS("h", others[i][0] ? others[i][0] : hub_url("hub")),
                             .keys = WORDS(key),
                             .s3_region = others[i][1]},
                         OPTUNE_ECONFLICT, text));
        check_contains(text, "hub remove h");
    }
    json_decref(deed("named", (optune_hub_options){.what = "add", .words = WORDS("h")},
                     OPTUNE_EUSAGE, text));
    json_decref(deed("named", (optune_hub_options){.what = "add", .words = WORDS("new")},
                     OPTUNE_EUSAGE, text));
    check_contains(text, "address");
    json_decref(deed("named", (optune_hub_options){.what = "pull", .words = WORDS("hh")},
                     OPTUNE_ENOENT, text));
    check_contains(text, "'h'");
    json_decref(deed("named", (optune_hub_options){.what = "pul"}, OPTUNE_ENOENT, text));
    check_contains(text, "pull");
    /* A key that others may read is none. */
    assert_int_equal(chmod(other_file, 0644), 0);
    json_decref(deed("named", (optune_hub_options){.what = "key", .key_file = other_file},
                     OPTUNE_EUSAGE, text));
    check_contains(text, "chmod 600");
    assert_int_equal(chmod(other_file, 0600), 0);
}

/* ---- pushing ----------------------------------------------------------------------------- */

/* A database of records that a run would have made. */
static void store_records(const char *db, const pushed *p, const optune_record *record, int n)
{
    ot_store *store = NULL;
    int added;
    fresh(db);
    WORKS(ot_make_dirs(tuning_path(db), NULL));
    WORKS(ot_store_open(tuning_path(db), OT_STORE_WRITE, &store, NULL));
    WORKS(ot_store_put_device(store, &p->device, NULL));
    WORKS(ot_store_put(store, record, n, &added, NULL));
    assert_int_equal(added, n);
    ot_store_close(store);
}

static void what_is_ones_own_stays(void **state)
{
    (void)state;
    pushed *p = the_pushed();
    optune_record r[7];
    for (int i = 0; i < OT_COUNT(r); i++) {
        r[i] = good_of(p);
        r[i].source = "run";
    }
    r[0].outcome = OPTUNE_OUTCOME_COMPILE;
    r[0].message = "/home/somebody/private.c: error";
    r[0].cost = r[0].low = r[0].high = INFINITY;
    r[0].n_samples = 0;
    r[0].inner = 0;
    r[0].final = false;
    r[1].impl = "dense_of_a_plugin.cpu";
    r[2].op = "secret_kernel";
    r[2].call = "secret_kernel(f32[16,64])";
    r[3].source = "/home/somebody/else.log";
    /* What every hub would refuse, this one's own folder among them, is not given once more. */
    r[4].time = ot_unix_time() + 30 * 86400;
    ot_format(r[5].config.entity[0].name, sizeof r[5].config.entity[0].name, "no_such_knob");
    /* Of another version of an implementation: it has knobs of its own, and is of use to others. */
    r[6].digest = "feedfeedfeedfeedfeedfeedfeedfeed";
    r[6].config = r[5].config;
    store_records("private", p, r, OT_COUNT(r));
    fresh("given");
    add("private", "given", key);
    json_t *all = deed("private", (optune_hub_options){.what = "push", .words = WORDS("h")},
                       OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(json_array_get(all, 0), "records"), 2);
    assert_int_equal(tuning_int(json_array_get(all, 0), "own"), 2);
    assert_int_equal(tuning_int(json_array_get(all, 0), "elsewhere"), 1);
    assert_int_equal(tuning_int(json_array_get(all, 0), "unfit"), 2);
    json_decref(all);
    assert_int_equal(push("private"), 0);
    char path[1400];
    ot_pack pack;
    ot_text log = {0};
    the_pack("given", path);
    WORKS(ot_pack_read(path, &pack, NULL));
    WORKS(ot_pack_unpack(path, &pack, tuning_path("unpacked"), NULL));
    WORKS(ot_read_file(tuning_path("unpacked"), &log, 1 << 20, NULL));
    assert_null(strstr(log.s, "somebody"));
    assert_null(strstr(log.s, "secret"));
    ot_text_release(&log);
    ot_pack_release(&pack);
    /* Nor is what was sent when its push was killed, before it was kept here. */
    ot_text bytes = {0};
    WORKS(ot_read_file(path, &bytes, 1 << 20, NULL));
    fresh("private/hubs/h/logs");
    fresh("private/hubs/h/store");
    ot_format(path, sizeof path, "%s/private/hubs/h/packs-%s", tuning_path("."),
              optune_version());
    assert_int_equal(unlink(path), 0);
    ot_format(path, sizeof path, "%s/private/hubs/h/sending/pack", tuning_path("."));
    WORKS(ot_make_dirs(tuning_path("private/hubs/h/sending"), NULL));
    WORKS(ot_write_file(path, bytes.s, bytes.n, NULL));
    assert_int_equal(push("private"), 0);
    ot_text_release(&bytes);
    pushed_free(p);
}

/* Each has its own records and pushes them; none of the packs is lost. */
static void several_push_at_once(void **state)
{
    (void)state;
    enum { PUSHERS = 6 };
    pushed *p = the_pushed();
    pid_t child[PUSHERS];
    fresh("crowd");
    for (int i = 0; i < PUSHERS; i++) {
        char db[16];
        optune_record r = good_of(p);
        r.source = "run";
        r.time += i + 1;
        snprintf(db, sizeof db, "crowd%d", i);
        store_records(db, p, &r, 1);
        add(db, "crowd", key);
    }
    for (int i = 0; i < PUSHERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            char db[16];
            snprintf(db, sizeof db, "crowd%d", i);
            _exit(push(db) == 1 ? 0 : 1);
        }
    }
    for (int i = 0; i < PUSHERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    fresh("reader");
    add("reader", "crowd", key);
    json_t *pulled = pull("reader", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "packs"), PUSHERS);
    assert_int_equal(tuning_int(pulled, "new"), PUSHERS);
    json_decref(pulled);
    pushed_free(p);
}

/* ---- keys that change -------------------------------------------------------------------- */

static json_t *with_key(const char *db, const char *what, const char *of)
{
    json_t *all =
        deed(db, (optune_hub_options){.what = what, .words = WORDS("h"), .keys = WORDS(of)},
             OPTUNE_OK, NULL);
    json_t *one = json_incref(json_array_get(all, 0));
    json_decref(all);
    return one;
}

static void expect_pull(const char *db, json_int_t packs, json_int_t withdrawn)
{
    json_t *pulled = pull(db, OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "packs"), packs);
    assert_int_equal(tuning_int(pulled, "packs_withdrawn"), withdrawn);
    assert_int_equal(tuning_int(pulled, "packs_refused"), 0);
    json_decref(pulled);
}

static void expect_withdrawn(const char *db, const char *of, json_int_t packs)
{
    json_t *told = with_key(db, "remove", of);
    assert_int_equal(tuning_int(told, "packs"), packs);
    json_decref(told);
}

/* Signs anew what it gave, once the old key is withdrawn at home. */
static void the_giver_changes_its_key(void)
{
    const optune_hub_options anew = {
        .what = "push", .words = WORDS("h"), .key_file = other_file};
    json_decref(with_key("giver", "add", other_key));
    json_decref(deed("giver", anew, OPTUNE_OK, NULL));
    expect_withdrawn("giver", key, 1);
    /* What a push left that was killed while the old key was good is no reason to sign nothing. */
    ot_text bytes = {0};
    char pack[1400];
    the_pack("turn", pack);
    WORKS(ot_read_file(pack, &bytes, 1 << 20, NULL));
    WORKS(ot_make_dirs(tuning_path("giver/hubs/h/sending"), NULL));
    WORKS(ot_write_file(tuning_path("giver/hubs/h/sending/pack"), bytes.s, bytes.n, NULL));
    ot_text_release(&bytes);
    json_t *all = deed("giver", anew, OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(json_array_get(all, 0), "records"), 1);
    json_decref(all);
    char text[4096];
    json_decref(deed("giver", (optune_hub_options){.what = "push", .words = WORDS("h")},
                     OPTUNE_EUSAGE, text));
    check_contains(text, "withdrawn");
}

static void expect_answer(const char *db, bool tuned)
{
    char *answer = answer_of(db);
    assert_int_equal(strstr(answer, "plevel") == NULL, tuned);
    free(answer);
}

static void a_giver_changes_its_key(void **state)
{
    (void)state;
    char text[4096], list[1400];
    pushed *p = the_pushed();
    optune_record r = good_of(p);
    r.source = "run";
    fresh("turn");
    fresh("taker");
    store_records("giver", p, &r, 1);
    add("giver", "turn", key);
    assert_int_equal(push("giver"), 1);
    add("taker", "turn", key);
    expect_pull("taker", 1, 0);
    the_giver_changes_its_key();
    json_decref(pull("taker", OPTUNE_EPARTIAL, text));
    check_contains(text, "hub add h --key");
    json_decref(with_key("taker", "add", other_key));
    expect_pull("taker", 1, 0);
    /* Not one's that has a wrong digit: the right one would stay good. */
    char wrong[OT_HEX_KEY];
    memcpy(wrong, key, sizeof wrong);
    wrong[7] = wrong[7] == '0' ? '1' : '0';
    json_decref(
        deed("taker",
             (optune_hub_options){.what = "remove", .words = WORDS("h"), .keys = WORDS(wrong)},
             OPTUNE_ENOENT, text));
    check_contains(text, "no key of hub 'h'");
    check_contains(text, key);
    expect_withdrawn("taker", key, 1);
    expect_answer("taker", true); /* signed by the other, too */
    expect_pull("taker", 0, 1);
    expect_pull("taker", 0, 1); /* and is not fetched again */
    expect_withdrawn("taker", other_key, 1);
    expect_answer("taker", false);
    expect_pull("taker", 0, 2);
    json_decref(with_key("taker", "add", key));
    expect_pull("taker", 1, 1);
    expect_answer("taker", true);
    /* Nobody noted whose packs these are: they are taken once more. */
    snprintf(list, sizeof list, "%s-%s", tuning_path("taker/hubs/h/packs"), optune_version());
    ot_text names = {0};
    WORKS(ot_read_file(list, &names, 1 << 20, NULL));
    names.s[64] = '\n';
    WORKS(ot_write_file(list, names.s, 65, NULL));
    expect_withdrawn("taker", other_key, 0);
    expect_answer("taker", false);
    expect_pull("taker", 1, 1);
    expect_answer("taker", true);
    ot_text_release(&names);
    pushed_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pushed_is_answered_elsewhere),
        cmocka_unit_test(hints_are_never_selected),
        cmocka_unit_test(only_known_keys_are_taken),
        cmocka_unit_test(forged_records_are_refused),
        cmocka_unit_test(packs_that_lie_are_refused),
        cmocka_unit_test(changed_and_cut_packs_are_refused),
        cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(indexes_that_are_none),
        cmocka_unit_test(addresses_and_names),
        cmocka_unit_test(what_is_ones_own_stays),
        cmocka_unit_test(several_push_at_once),
        cmocka_unit_test(a_giver_changes_its_key),
    };
    return cmocka_run_group_tests(tests, setup, tuning_teardown);
}
