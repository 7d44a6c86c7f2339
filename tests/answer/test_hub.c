/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hubs, as files: what one database pushes another pulls, and answers the same from it; what may
 * be a hub's name and address; what is given, by several at once, too.
 */
#include "support/hubs.h"

#include "base/home.h"
#include "support/check.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the whole way ----------------------------------------------------------------------- */

static void what_is_pushed_is_answered_elsewhere(void **state)
{
    (void)state;
    assert_true(hub_n_pushed >= 6);
    assert_int_equal(hub_push("from"), 0); /* the hub has all of it */
    hub_fresh("to");
    char *untuned = hub_answer("to");
    check_contains(untuned, "plevel");
    hub_add("to", "hub", hub_key);
    json_t *pulled = hub_pull("to", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "new"), hub_n_pushed);
    assert_int_equal(tuning_int(pulled, "records_refused"), 0);
    json_decref(pulled);
    char *there = hub_answer("from"), *here = hub_answer("to");
    assert_string_equal(here, there);
    const char *left[] = {"to/hubs/h/cache/hub.json.aB3xyZ",
                          "to/hubs/h/cache/0a.json.etag.7.0.tmp"};
    for (int i = 0; i < OT_COUNT(left); i++) /* of killed ones */
        hub_write(tuning_path(left[i]), "{");
    pulled = hub_pull("to", OPTUNE_OK, NULL);
    for (int i = 0; i < OT_COUNT(left); i++)
        assert_false(ot_exists(tuning_path(left[i])));
    assert_true(ot_exists(tuning_path("to/hubs/h/cache/hub.json")));
    assert_int_equal(tuning_int(pulled, "packs"), 0);
    assert_int_equal(tuning_int(pulled, "known"), 1);
    json_decref(pulled);
    /* What came from a hub is not one's own, and goes with it. */
    free(there);
    free(here);
    json_decref(hub_deed("to", (optune_hub_options){.what = "remove", .words = WORDS("h")},
                         OPTUNE_OK, NULL));
    here = hub_answer("to");
    assert_string_equal(here, untuned);
    free(here);
    free(untuned);
}

static void hints_are_never_selected(void **state)
{
    (void)state;
    hub_fresh("hinted");
    char *untuned = hub_answer("hinted");
    hub_add("hinted", "hub", NULL);
    json_t *pulled = hub_pull("hinted", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "new"), hub_n_pushed);
    json_decref(pulled);
    char *answer = hub_answer("hinted");
    assert_string_equal(answer, untuned);
    free(answer);
    free(untuned);
    /* They are there, as history with its reason. */
    optune *o = tuning_open("hinted");
    optune_selection *selection = NULL;
    WORKS(optune_select(o, HUB_WORKLOAD, &selection, NULL));
    check_contains(optune_selection_json(selection), "gives hints");
    optune_selection_free(selection);
    optune_close(o);
}

static void only_known_keys_are_taken(void **state)
{
    (void)state;
    char text[4096];
    hub_fresh("strict");
    hub_add("strict", "hub", hub_other_key);
    json_t *pulled = hub_pull("strict", OPTUNE_EPARTIAL, text);
    assert_int_equal(tuning_int(pulled, "packs_refused"), 1);
    assert_int_equal(tuning_int(pulled, "records"), 0);
    check_contains(text, "is no key of the hub");
    json_decref(pulled);
    assert_false(ot_exists(tuning_path("strict/hubs/h/store")));
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
    hub_fresh("named");
    for (int i = 0; i < OT_COUNT(bad); i++) {
        json_decref(hub_deed("named",
                             (optune_hub_options){.what = "add",
                                                  .words = WORDS(bad[i][0], bad[i][1]),
                                                  .keys = WORDS(hub_key)},
                             OPTUNE_EUSAGE, text));
        assert_null(strstr(text, "secret"));
    }
    json_decref(hub_deed(
        "named",
        (optune_hub_options){.what = "add", .words = WORDS("h", "https://hub.example.org/")},
        OPTUNE_EUSAGE, text));
    check_contains(text, "--key");
    json_decref(hub_deed("named",
                         (optune_hub_options){.what = "add",
                                              .words = WORDS("h", "https://hub.example.org/"),
                                              .keys = WORDS("abc")},
                         OPTUNE_EUSAGE, text));
    hub_add("named", "hub", hub_key);
    json_decref(hub_deed("named",
                         (optune_hub_options){.what = "add",
                                              .words = WORDS("h", hub_url("hub")),
                                              .keys = WORDS(hub_key)},
                         OPTUNE_OK, text));
    check_contains(text, "as it was");
    static const char *const others[][2] = {{"https://hub.example.org", NULL}, {NULL, "eu-1"}};
    for (int i = 0; i < OT_COUNT(others); i++) {
        json_decref(
            hub_deed("named",
                     (optune_hub_options){
                         .what = "add",
                         .words = WORDS("h", others[i][0] ? others[i][0] : hub_url("hub")),
                         .keys = WORDS(hub_key),
                         .s3_region = others[i][1]},
                     OPTUNE_ECONFLICT, text));
        check_contains(text, "hub remove h");
    }
    json_decref(hub_deed("named", (optune_hub_options){.what = "add", .words = WORDS("h")},
                         OPTUNE_EUSAGE, text));
    json_decref(hub_deed("named", (optune_hub_options){.what = "add", .words = WORDS("new")},
                         OPTUNE_EUSAGE, text));
    check_contains(text, "address");
    json_decref(hub_deed("named", (optune_hub_options){.what = "pull", .words = WORDS("hh")},
                         OPTUNE_ENOENT, text));
    check_contains(text, "'h'");
    json_decref(hub_deed("named", (optune_hub_options){.what = "pul"}, OPTUNE_ENOENT, text));
    check_contains(text, "pull");
    /* A key that others may read is none. */
    assert_int_equal(chmod(hub_other_file, 0644), 0);
    json_decref(hub_deed("named",
                         (optune_hub_options){.what = "key", .key_file = hub_other_file},
                         OPTUNE_EUSAGE, text));
    check_contains(text, "chmod 600");
    assert_int_equal(chmod(hub_other_file, 0600), 0);
}

/* The key lies where a user's other folders do, with HOME and without. */
static void key_without_a_home(void **state)
{
    (void)state;
    static const char *const names[] = {"HOME", "XDG_CONFIG_HOME", "OPTUNE_KEY"};
    char *kept[OT_COUNT(names)], home[4096], path[4096 + 32], wanted[4096 + 32];
    optune_err err = {0};
    if (!ot_own_home(home, sizeof home))
        skip(); /* a container's number, which no list of users has */
    for (int i = 0; i < OT_COUNT(names); i++) {
        kept[i] = getenv(names[i]) ? ot_strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    check_ok(ot_hub_key_file(NULL, path, sizeof path, &err));
    snprintf(wanted, sizeof wanted, "%s/.config/optune/key", home);
    assert_string_equal(path, wanted);
    setenv("HOME", "/of/mine", 1);
    check_ok(ot_hub_key_file(NULL, path, sizeof path, &err));
    assert_string_equal(path, "/of/mine/.config/optune/key");
    if (geteuid() == 0) { /* with another's HOME, as sudo may keep it, too */
        assert_int_equal(mkdir(tuning_path("theirs"), 0755), 0);
        assert_int_equal(chown(tuning_path("theirs"), 54321, (gid_t)-1), 0);
        setenv("HOME", tuning_path("theirs"), 1);
        check_ok(ot_hub_key_file(NULL, path, sizeof path, &err));
        assert_string_equal(path, wanted);
    }
    unsetenv("HOME");
    for (int i = 0; i < OT_COUNT(names); i++) {
        if (kept[i])
            setenv(names[i], kept[i], 1);
        free(kept[i]);
    }
}

static int warnings;

static void count_warning(void *arg, optune_log_level level, const char *text)
{
    (void)arg;
    warnings += level <= OPTUNE_LOG_WARNING;
    print_message("%s\n", text);
}

/* Who has a database of his own in front of a shared one, into which somebody pulls. */
static void hubs_of_those_behind_are_asked(void **state)
{
    (void)state;
    hub_fresh("shared");
    hub_fresh("mine");
    hub_add("shared", "hub", hub_key);
    json_decref(hub_pull("shared", OPTUNE_OK, NULL));
    char list[2600], *there = hub_answer("from");
    snprintf(list, sizeof list, "%s:", tuning_path("mine"));
    ot_copy(list + strlen(list), sizeof list - strlen(list), tuning_path("shared"));
    optune *o = NULL;
    const optune_options options = {.size = sizeof options,
                                    .db = list,
                                    .target = "cpu -threads=1",
                                    .log_level = OPTUNE_LOG_WARNING,
                                    .log = count_warning};
    warnings = 0;
    WORKS(optune_open(&options, &o, NULL));
    char *here = tuning_answer(o, HUB_WORKLOAD);
    optune_close(o);
    assert_string_equal(here, there);
    assert_int_equal(warnings, 0); /* that nobody measured for it is nothing to tell */
    free(here);
    free(there);
}

/* Who has no turn, or may not take one, reads all the same what is known here. */
static void a_list_waits_for_nobody(void **state)
{
    (void)state;
    ot_hub hub;
    hub_fresh("listed");
    hub_add("listed", "hub", hub_key);
    json_decref(hub_pull("listed", OPTUNE_OK, NULL));
    optune *o = tuning_open("listed");
    WORKS(ot_hub_open(o, "h", &hub, NULL));
    json_t *all = hub_deed("listed", (optune_hub_options){.what = "list"}, OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(json_array_get(all, 0), "packs"), 1);
    json_decref(all);
    /* Nor does what the hub has, which is fetched. */
    const char *const words[] = {"h", NULL};
    all = hub_deed("listed", (optune_hub_options){.what = "list", .words = words}, OPTUNE_OK,
                   NULL);
    assert_int_equal(json_array_size(json_object_get(json_array_get(all, 0), "devices")), 1);
    json_decref(all);
    ot_hub_close(&hub);
    optune_close(o);
    /* One that cannot be read is told among the others. */
    hub_write(tuning_path("listed/hubs/g/hub.json"), "{");
    char text[4096];
    all = hub_deed("listed", (optune_hub_options){.what = "list"}, OPTUNE_EPARTIAL, text);
    assert_int_equal(json_array_size(all), 2);
    json_decref(all);
    check_contains(text, "g  '");
    check_contains(text, "optune hub remove g");
}

/* ---- pushing ----------------------------------------------------------------------------- */

static void what_is_ones_own_stays(void **state)
{
    (void)state;
    hub_pushed *p = hub_pushed_read();
    optune_record r[7];
    for (int i = 0; i < OT_COUNT(r); i++) {
        r[i] = hub_pushed_good(p);
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
    hub_store("private", p, r, OT_COUNT(r));
    hub_fresh("given");
    hub_add("private", "given", hub_key);
    json_t *all = hub_deed("private", (optune_hub_options){.what = "push", .words = WORDS("h")},
                           OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(json_array_get(all, 0), "records"), 2);
    assert_int_equal(tuning_int(json_array_get(all, 0), "own"), 2);
    assert_int_equal(tuning_int(json_array_get(all, 0), "elsewhere"), 1);
    assert_int_equal(tuning_int(json_array_get(all, 0), "unfit"), 2);
    json_decref(all);
    assert_int_equal(hub_push("private"), 0);
    char path[1400];
    ot_pack pack;
    ot_text log = {0};
    hub_pack_path("given", path);
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
    hub_fresh("private/hubs/h/logs");
    hub_fresh("private/hubs/h/store");
    ot_format(path, sizeof path, "%s/private/hubs/h/packs-%s", tuning_path("."),
              optune_version());
    assert_int_equal(unlink(path), 0);
    ot_format(path, sizeof path, "%s/private/hubs/h/sending/pack", tuning_path("."));
    WORKS(ot_make_dirs(tuning_path("private/hubs/h/sending"), NULL));
    WORKS(ot_write_file(path, bytes.s, bytes.n, NULL));
    assert_int_equal(hub_push("private"), 0);
    ot_text_release(&bytes);
    hub_pushed_free(p);
}

/* Each has its own records and pushes them; none of the packs is lost. */
static void several_push_at_once(void **state)
{
    (void)state;
    enum { PUSHERS = 6 };
    hub_pushed *p = hub_pushed_read();
    pid_t child[PUSHERS];
    hub_fresh("crowd");
    for (int i = 0; i < PUSHERS; i++) {
        char db[16];
        optune_record r = hub_pushed_good(p);
        r.source = "run";
        r.time += i + 1;
        snprintf(db, sizeof db, "crowd%d", i);
        hub_store(db, p, &r, 1);
        hub_add(db, "crowd", hub_key);
    }
    for (int i = 0; i < PUSHERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            char db[16];
            snprintf(db, sizeof db, "crowd%d", i);
            _exit(hub_push(db) == 1 ? 0 : 1);
        }
    }
    for (int i = 0; i < PUSHERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    hub_fresh("reader");
    hub_add("reader", "crowd", hub_key);
    json_t *pulled = hub_pull("reader", OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(pulled, "packs"), PUSHERS);
    assert_int_equal(tuning_int(pulled, "new"), PUSHERS);
    json_decref(pulled);
    hub_pushed_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pushed_is_answered_elsewhere),
        cmocka_unit_test(hints_are_never_selected),
        cmocka_unit_test(only_known_keys_are_taken),
        cmocka_unit_test(addresses_and_names),
        cmocka_unit_test(key_without_a_home),
        cmocka_unit_test(hubs_of_those_behind_are_asked),
        cmocka_unit_test(a_list_waits_for_nobody),
        cmocka_unit_test(what_is_ones_own_stays),
        cmocka_unit_test(several_push_at_once),
    };
    return cmocka_run_group_tests(tests, hub_setup, tuning_teardown);
}
