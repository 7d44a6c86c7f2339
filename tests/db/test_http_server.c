/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions, resuming, trying again, writing and signing, with a server that keeps to the rules
 * and does all that servers do wrong (support/hub_server.py), over plain http; and the same over
 * addresses of files.
 */
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/http.h"

static ot_child server;
static int port;
static char dir[4096], path[4200], url[4300];
static optune_err err;
static ot_http_reply reply;

static int setup(void **state)
{
    (void)state;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    ot_http_pause_s = 0.01;
    if (ot_temp_dir(dir, sizeof dir, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    char *const argv[] = {(char *)"python3",
                          (char *)OT_SOURCE_DIR "/tests/support/hub_server.py", NULL};
    if (ot_child_start(&server, argv, 150, NULL) < 0)
        return 0;
    ot_child *one = &server;
    while (!ot_child_poll(&server) && !strchr(ot_text_str(&server.text), '\n'))
        ot_child_wait_any(&one, 1, 10);
    port = server.ended ? 0 : atoi(ot_text_str(&server.text));
    if (!port)
        print_message("no python3: tests against a server are skipped\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (server.pid)
        ot_child_kill(&server);
    ot_child_release(&server);
    ot_remove_tree(dir);
    return 0;
}

static void need_server(void)
{
    if (!port)
        skip();
    unlink(path);
}

static const char *at(const char *name)
{
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", port, name);
    return url;
}

static int get(const char *address, ot_http how)
{
    how.plain = true;
    err = (optune_err){0};
    return ot_http_get(address, path, &how, &reply, &err);
}

static int put(const char *address, const char *text, ot_http how)
{
    char from[4200];
    snprintf(from, sizeof from, "%s/sent", dir);
    how.plain = true;
    err = (optune_err){0};
    check_ok(ot_write_file(from, text, strlen(text), &err));
    return ot_http_put(address, from, &how, &reply, &err);
}

static void holds(const char *text)
{
    ot_text found = {0};
    check_ok(ot_read_file(path, &found, 1 << 20, &err));
    assert_string_equal(ot_text_str(&found), text);
    ot_text_release(&found);
}

static int64_t size_of(void)
{
    struct stat info;
    return stat(path, &info) < 0 ? -1 : info.st_size;
}

static int times(const char *name)
{
    char address[256], text[4300];
    ot_text found = {0};
    snprintf(address, sizeof address, "times/%s", name);
    snprintf(text, sizeof text, "%s/times", dir);
    check_ok(ot_http_get(at(address), text, &(ot_http){.plain = true}, &reply, &err));
    check_ok(ot_read_file(text, &found, 100, &err));
    const int n = atoi(ot_text_str(&found));
    ot_text_release(&found);
    return n;
}

/* ---- conditions -------------------------------------------------------------------------- */

static void conditions_of(const char *address)
{
    char first[sizeof reply.etag], copy[4300];
    snprintf(copy, sizeof copy, "%s", address);
    assert_int_equal(get(copy, (ot_http){0}), OPTUNE_ENOENT);
    assert_int_equal(reply.status, 404);
    check_ok(put(copy, "one", (ot_http){.only_new = true}));
    assert_int_equal(put(copy, "two", (ot_http){.only_new = true}), OPTUNE_ECONFLICT);
    assert_int_equal(reply.status, 412);
    check_ok(get(copy, (ot_http){0}));
    assert_int_equal(reply.status, 200);
    holds("one");
    snprintf(first, sizeof first, "%s", reply.etag);
    assert_true(first[0] == '"');
    unlink(path);
    check_ok(get(copy, (ot_http){.etag = first}));
    assert_int_equal(reply.status, 304);
    assert_false(ot_exists(path));
    check_ok(put(copy, "two", (ot_http){.etag = first}));
    assert_int_equal(put(copy, "three", (ot_http){.etag = first}), OPTUNE_ECONFLICT);
    check_ok(get(copy, (ot_http){.etag = first}));
    assert_int_equal(reply.status, 200);
    holds("two");
    check_ok(put(copy, "", (ot_http){0}));
    check_ok(get(copy, (ot_http){0}));
    holds("");
}

static void conditions_are_kept_to(void **state)
{
    (void)state;
    need_server();
    conditions_of(at("file/new"));
}

static void files_keep_to_them_too(void **state)
{
    (void)state;
    char address[4300];
    unlink(path);
    snprintf(address, sizeof address, "file://%s/a%%20folder/in/one", dir);
    conditions_of(address);
    snprintf(address, sizeof address, "file://%s", dir);
    assert_int_equal(get(address, (ot_http){0}), OPTUNE_EUSAGE);
    check_contains(err.text, "no file");
    snprintf(address, sizeof address, "file://%s/a%%20folder/in/one", dir);
    check_ok(put(address, "12345", (ot_http){0}));
    assert_int_equal(get(address, (ot_http){.max_bytes = 4}), OPTUNE_ELIMIT);
    assert_int_equal(get("file:///%zz", (ot_http){0}), OPTUNE_EUSAGE);
    assert_int_equal(get("file:///dev/zero", (ot_http){0}), OPTUNE_EUSAGE);
}

static void folders_are_made(void **state)
{
    (void)state;
    need_server();
    const ot_http how = {.plain = true};
    assert_int_equal(put(at("dav/a/b/file"), "text", how), OPTUNE_ECONFLICT);
    assert_int_equal(reply.status, 409);
    assert_true(ot_http_make_folder(at("dav/a/b/"), &how, &err) < 0);
    check_ok(ot_http_make_folder(at("dav/a/"), &how, &err));
    check_ok(ot_http_make_folder(at("dav/a/b/"), &how, &err));
    check_ok(ot_http_make_folder(at("dav/a/b/"), &how, &err)); /* it is there */
    check_ok(put(at("dav/a/b/file"), "text", how));
}

/* ---- what goes wrong and passes ---------------------------------------------------------- */

static void what_may_pass_is_tried_again(void **state)
{
    (void)state;
    need_server();
    const double before = ot_now();
    check_ok(get(at("busy/hello"), (ot_http){0}));
    assert_true(ot_now() - before >= 1); /* as the server said */
    assert_int_equal(size_of(), 60000);
    assert_int_equal(times("busy/hello"), 3);
    check_ok(put(at("busy/there"), "text", (ot_http){0}));
    assert_int_equal(times("busy/there"), 3);
    unlink(path);
    assert_int_equal(get(at("busy/once"), (ot_http){.tries = 1}), OPTUNE_ENET);
    check_contains(err.text, "503");
    assert_false(ot_exists(path));
    assert_int_equal(get(at("nothing/of/that/kind"), (ot_http){0}), OPTUNE_ENOENT);
    assert_int_equal(times("nothing/of/that/kind"), 1);
}

/* An answer that comes packed, which nobody asked for, is unpacked, and no more of it is taken than
 * may come; who says tomorrow is not waited for. */
static void odd_answers(void **state)
{
    (void)state;
    need_server();
    check_ok(get(at("packed/hello"), (ot_http){0}));
    assert_int_equal(size_of(), 60000);
    unlink(path);
    check_ok(get(at("packed/hello"), (ot_http){.resume = true}));
    assert_int_equal(size_of(), 60000);
    unlink(path);
    assert_int_equal(get(at("packed/hello"), (ot_http){.max_bytes = 59999}), OPTUNE_ENET);
    check_contains(err.text, "longer than 59999 bytes");
    assert_false(ot_exists(path));
    const double before = ot_now();
    assert_int_equal(get(at("later/hello"), (ot_http){0}), OPTUNE_ENET);
    assert_true(ot_now() - before < 20);
    check_contains(err.text, "429");
    check_contains(err.text, "it wants to be asked again in 86");
    assert_false(reply.at_fault);
    assert_int_equal(times("later/hello"), 1);
    assert_int_equal(get(at("headers/x"), (ot_http){.tries = 1}), OPTUNE_ENET);
    check_contains(err.text, "headers");
}

static void what_was_cut_is_gone_on_with(void **state)
{
    (void)state;
    need_server();
    check_ok(get(at("cut/hello"), (ot_http){.resume = true}));
    assert_int_equal(size_of(), 60000);
    assert_int_equal(reply.status, 206);
    assert_int_equal(reply.bytes, 60000); /* and no byte twice */
    /* In another process, later. */
    unlink(path);
    check_ok(put(at("file/later"), "0123456789", (ot_http){0}));
    assert_int_equal(get(at("cut/later"), (ot_http){.resume = true, .tries = 1}), OPTUNE_ENET);
    assert_false(ot_exists(path));
    check_ok(get(at("cut/later"), (ot_http){.resume = true}));
    assert_int_equal(reply.bytes, 5);
    holds("0123456789");
    /* Without being asked to, from the start. */
    check_ok(put(at("file/again"), "0123456789", (ot_http){0}));
    check_ok(get(at("cut/again"), (ot_http){0}));
    assert_int_equal(reply.bytes, 15);
    holds("0123456789");
}

static void another_file_is_not_joined_to_it(void **state)
{
    (void)state;
    need_server();
    check_ok(put(at("file/turned"), "abcdefghij", (ot_http){0}));
    check_ok(get(at("changed/turned"), (ot_http){.resume = true}));
    holds("jihgfedcba");
    char part[4300];
    snprintf(part, sizeof part, "%s.part", path);
    assert_false(ot_exists(part));
    /* Half a file without a word of what it is a half of. */
    check_ok(ot_write_file(part, "zzz", 3, &err));
    check_ok(get(at("file/turned"), (ot_http){.resume = true}));
    holds("jihgfedcba");
}

/* ---- what goes wrong and stays so -------------------------------------------------------- */

static void *stop_soon(void *arg)
{
    usleep(300000);
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

static void it_stops_when_told(void **state)
{
    (void)state;
    need_server();
    static const char *const names[] = {"mute/x", "endless/x", "down/x"};
    for (int i = 0; i < OT_COUNT(names); i++) {
        atomic_bool stop = false;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stop), 0);
        assert_int_equal(get(at(names[i]), (ot_http){.stop = &stop}), OPTUNE_EINTERRUPTED);
        pthread_join(thread, NULL);
        assert_false(ot_exists(path));
    }
}

static void limits_hold(void **state)
{
    (void)state;
    need_server();
    assert_int_equal(get(at("mute/x"), (ot_http){.total_s = 0.2, .tries = 2}), OPTUNE_ENET);
    check_contains(err.text, "timed out");
    assert_int_equal(get(at("endless/x"), (ot_http){.max_bytes = 5000}), OPTUNE_ENET);
    check_contains(err.text, "longer than 5000 bytes");
    assert_int_equal(get(at("long/x"), (ot_http){0}), OPTUNE_ENET);
    check_contains(err.text, "longer than");
    assert_int_equal(get(at("file/hello"), (ot_http){.max_bytes = 60000}), OPTUNE_OK);
    unlink(path);
    assert_int_equal(get(at("file/hello"), (ot_http){.max_bytes = 59999, .resume = true}),
                     OPTUNE_ENET);
    char part[4300];
    snprintf(part, sizeof part, "%s.part", path);
    assert_false(ot_exists(part));
}

/* ---- what is secret ---------------------------------------------------------------------- */

static void requests_are_signed(void **state)
{
    (void)state;
    need_server();
    ot_http how = {.region = "eu-test-1", .key_id = "AKEXAMPLE", .secret = "very/secret+key"};
    check_ok(get(at("signed/some/file.json"), how));
    check_ok(put(at("signed/some/file.json"), "the body", how));
    /* However an address is spelled, it is signed as S3 spells it. */
    static const char *const spelled[] = {"a+b=c", "a:b@c,d", "(a)!b*'",
                                          "a%2Bb", "%c3%bc",  "\xc3\xbc"};
    for (int i = 0; i < OT_COUNT(spelled); i++) {
        char name[64];
        snprintf(name, sizeof name, "signed/%s/x", spelled[i]);
        check_ok(get(at(name), how));
        check_ok(put(at(name), "the body", how));
    }
    how.session = "session";
    check_ok(put(at("signed/session"), "the body", how));
    how.secret = "another";
    assert_int_equal(get(at("signed/some/file.json"), how), OPTUNE_ENET);
    check_contains(err.text, "403");
    assert_null(strstr(err.text, "another"));
}

/* A clock that is off is refused with the same status as a wrong key. */
static void a_clock_that_is_off_is_named(void **state)
{
    (void)state;
    need_server();
    ot_http how = {.region = "eu-test-1", .key_id = "AKEXAMPLE", .secret = "very/secret+key"};
    assert_int_equal(put(at("skewed/3600"), "the body", how), OPTUNE_ENET);
    check_contains(err.text, "this machine's clock is 60 minutes behind the server's");
    assert_int_equal(get(at("skewed/-86400"), how), OPTUNE_ENET);
    check_contains(err.text, "this machine's clock is 1440 minutes ahead of the server's");
    assert_int_equal(get(at("skewed/60"), how), OPTUNE_ENET);
    check_contains(err.text, "is the S3 key one of this bucket?");
    assert_int_equal(get(at("skewed/3600"), (ot_http){0}), OPTUNE_ENET); /* nothing is signed */
    check_contains(err.text, "there is no token");
}

static void secrets_stay_with_their_host(void **state)
{
    (void)state;
    need_server();
    /* Over http no token goes anywhere; a signature not to where a server points. */
    check_ok(get(at("who/x"), (ot_http){.bearer = "token"}));
    holds("nobody");
    const ot_http how = {
        .region = "eu-test-1", .key_id = "AKEXAMPLE", .secret = "very/secret+key"};
    assert_int_equal(get(at("elsewhere/x"), how), OPTUNE_ENET);
    check_contains(err.text, "has moved");
    assert_int_equal(times("who/x"), 1);
    assert_int_equal(get(at("elsewhere/x"), (ot_http){.bearer = "token"}), OPTUNE_OK);
    holds("nobody");
    assert_int_equal(put(at("moved/x"), "text", how), OPTUNE_ENET);
    check_contains(err.text, "has moved");
    assert_int_equal(times("file/x"), 0);
    snprintf(url, sizeof url, "http://me:hidden@127.0.0.1:%d/nothing", port);
    assert_true(get(url, (ot_http){0}) < 0);
    assert_null(strstr(err.text, "hidden"));
    assert_int_equal(ot_http_get("ftp://me:hidden@there/x", path, NULL, &reply, &err),
                     OPTUNE_ENET);
    assert_null(strstr(err.text, "hidden"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_kept_to),
        cmocka_unit_test(files_keep_to_them_too),
        cmocka_unit_test(folders_are_made),
        cmocka_unit_test(what_may_pass_is_tried_again),
        cmocka_unit_test(odd_answers),
        cmocka_unit_test(what_was_cut_is_gone_on_with),
        cmocka_unit_test(another_file_is_not_joined_to_it),
        cmocka_unit_test(it_stops_when_told),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(requests_are_signed),
        cmocka_unit_test(a_clock_that_is_off_is_named),
        cmocka_unit_test(secrets_stay_with_their_host),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
