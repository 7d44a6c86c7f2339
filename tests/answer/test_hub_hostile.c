/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hub may hold instead of what it should: packs of others, cut, changed, forged, bombs;
 * indexes that are none.
 */
#include "support/hubs.h"

#include "support/check.h"

#include <unistd.h>

/* A hub with one pack of this log, signed by `file`'s key (NULL: by nobody). */
static void forge(const char *hub, const char *log, const char *device, int64_t records,
                  const char *op, const char *file)
{
    ot_signer signer;
    char path[1400], name[128];
    ot_pack pack = {.records = records, .time = 1.7e9, .tool = "forger", .ops = json_object()};
    json_object_set_new(pack.ops, op, json_integer(records));
    snprintf(pack.device, sizeof pack.device, "%s", device);
    hub_fresh(hub);
    WORKS(ot_make_dirs(tuning_path(hub), NULL));
    hub_write(tuning_path("forged.log"), log);
    snprintf(path, sizeof path, "%s", tuning_path("forged.pack"));
    if (file)
        WORKS(ot_signer_open(file, &signer, NULL));
    WORKS(ot_pack_write(tuning_path("forged.log"), path, file ? &signer : NULL, &pack, NULL));
    ot_hub_pack_file(pack.name, name, sizeof name);
    ot_text to = {0}, bytes = {0};
    ot_text_printf(&to, "%s/%s", tuning_path(hub), name);
    hub_write(to.s, "");
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
    hub_write(to.s, text);
    ot_text_clear(&to);
    ot_text_printf(&to, "%s/hub.json", tuning_path(hub));
    hub_write(to.s, all);
    free(text);
    free(all);
    json_decref(index);
    json_decref(top);
    ot_pack_release(&pack);
    ot_text_release(&to);
    ot_text_release(&bytes);
}

static void forge_records(const char *hub, const hub_pushed *p, const optune_record *record,
                          int n)
{
    ot_text log = {0};
    ot_device_line(&p->device, &log);
    for (int i = 0; i < n; i++)
        ot_record_line(&record[i], &log);
    forge(hub, log.s, p->device.key, n, "dense", hub_own_file);
    ot_text_release(&log);
}

/* How many of a forged pack's records are taken, by a fresh database. */
static json_int_t taken_of(const char *hub, int expected, char *text)
{
    hub_fresh("victim");
    hub_add("victim", hub, hub_key);
    json_t *pulled = hub_pull("victim", expected, text);
    const json_int_t n = tuning_int(pulled, "records");
    json_decref(pulled);
    return n;
}

static void forged_records_are_refused(void **state)
{
    (void)state;
    char text[4096];
    hub_pushed *p = hub_pushed_read();
    optune_record good = hub_pushed_good(p), r = good;
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
    hub_pushed_free(p);
}

/* Text that is no log of ours, or says more or less than the pack. */
static void packs_that_lie_are_refused(void **state)
{
    (void)state;
    char text[4096];
    hub_pushed *p = hub_pushed_read();
    ot_text log = {0};
    ot_device_line(&p->device, &log);
    ot_record_line(&p->record[0], &log);
    ot_record_line(&p->record[1], &log);
    forge("lying", log.s, p->device.key, 1, "dense", hub_own_file);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "more records than it says");
    forge("lying", log.s, p->device.key, 2, "conv2d", hub_own_file);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "other records than it says");
    forge("lying", log.s, "cpu-of-another", 2, "dense", hub_own_file);
    hub_fresh("victim");
    hub_add("victim", "lying", hub_key);
    json_decref(
        hub_deed("victim",
                 (optune_hub_options){.what = "pull", .words = WORDS("h"), .all_devices = true},
                 OPTUNE_OK, text));
    check_contains(text, "0 records");
    forge("lying", "rubbish\n{\"input\": 3}\n[[[[[[\n\n", p->device.key, 3, "dense",
          hub_own_file);
    assert_int_equal(taken_of("lying", OPTUNE_OK, text), 0);
    forge("lying", log.s, p->device.key, 2, "dense", NULL);
    assert_int_equal(taken_of("lying", OPTUNE_EPARTIAL, text), 0);
    check_contains(text, "is not signed");
    ot_text_release(&log);
    hub_pushed_free(p);
}

static void changed_and_cut_packs_are_refused(void **state)
{
    (void)state;
    char path[1400];
    ot_text bytes = {0};
    hub_pushed *p = hub_pushed_read();
    forge_records("changed", p, p->record, 3);
    hub_pack_path("changed", path);
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
            assert_string_not_equal(pack.key, hub_key);
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
    hub_pushed_free(p);
}

/* 200 MB of nothing in 200 KB, which says that it is small. */
static void bombs_do_not_go_off(void **state)
{
    (void)state;
    hub_pushed *p = hub_pushed_read();
    enum { LONG = 200 << 20 };
    char *log = ot_alloc(LONG + 1), path[1400];
    memset(log, '\n', LONG);
    log[LONG] = 0;
    forge("bomb", log, p->device.key, 1, "dense", hub_own_file);
    free(log);
    hub_pack_path("bomb", path);
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
    hub_pushed_free(p);
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
    hub_fresh("odd");
    WORKS(ot_make_dirs(tuning_path("odd"), NULL));
    hub_fresh("asker");
    hub_add("asker", "odd", hub_key);
    char text[4096];
    json_decref(hub_deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                         OPTUNE_ENOENT, text));
    check_contains(text, "no hub at");
    for (int i = 0; i < OT_COUNT(bad); i++) {
        hub_write(tuning_path("odd/hub.json"), bad[i].text);
        json_decref(hub_deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                             bad[i].status, text));
        check_contains(text, "hub.json");
    }
    char *deep = ot_alloc(2000001);
    memset(deep, '[', 2000000);
    deep[2000000] = 0;
    hub_write(tuning_path("odd/hub.json"), deep);
    free(deep);
    json_decref(hub_deed("asker", (optune_hub_options){.what = "pull", .words = WORDS("h")},
                         OPTUNE_EDAMAGED, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_records_are_refused),
        cmocka_unit_test(packs_that_lie_are_refused),
        cmocka_unit_test(changed_and_cut_packs_are_refused),
        cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(indexes_that_are_none),
    };
    return cmocka_run_group_tests(tests, hub_setup, tuning_teardown);
}
