/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose packs are taken: a giver's key that changes, so that both are taken for a while and what
 * one signed goes with it; and several who say at once what a hub is.
 */
#include "support/hubs.h"

#include "support/check.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static json_t *with_key(const char *db, const char *what, const char *of)
{
    json_t *all =
        hub_deed(db, (optune_hub_options){.what = what, .words = WORDS("h"), .keys = WORDS(of)},
                 OPTUNE_OK, NULL);
    json_t *one = json_incref(json_array_get(all, 0));
    json_decref(all);
    return one;
}

static void expect_pull(const char *db, json_int_t packs, json_int_t withdrawn)
{
    json_t *pulled = hub_pull(db, OPTUNE_OK, NULL);
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
        .what = "push", .words = WORDS("h"), .key_file = hub_other_file};
    json_decref(with_key("giver", "add", hub_other_key));
    json_decref(hub_deed("giver", anew, OPTUNE_OK, NULL));
    expect_withdrawn("giver", hub_key, 1);
    /* What a push left that was killed while the old key was good is no reason to sign nothing. */
    ot_text bytes = {0};
    char pack[1400];
    hub_pack_path("turn", pack);
    WORKS(ot_read_file(pack, &bytes, 1 << 20, NULL));
    WORKS(ot_make_dirs(tuning_path("giver/hubs/h/sending"), NULL));
    WORKS(ot_write_file(tuning_path("giver/hubs/h/sending/pack"), bytes.s, bytes.n, NULL));
    ot_text_release(&bytes);
    json_t *all = hub_deed("giver", anew, OPTUNE_OK, NULL);
    assert_int_equal(tuning_int(json_array_get(all, 0), "records"), 1);
    json_decref(all);
    char text[4096];
    json_decref(hub_deed("giver", (optune_hub_options){.what = "push", .words = WORDS("h")},
                         OPTUNE_EUSAGE, text));
    check_contains(text, "withdrawn");
}

static void expect_answer(const char *db, bool tuned)
{
    char *answer = hub_answer(db);
    assert_int_equal(strstr(answer, "plevel") == NULL, tuned);
    free(answer);
}

static void a_giver_changes_its_key(void **state)
{
    (void)state;
    char text[4096], list[1400];
    hub_pushed *p = hub_pushed_read();
    optune_record r = hub_pushed_good(p);
    r.source = "run";
    hub_fresh("turn");
    hub_fresh("taker");
    hub_store("giver", p, &r, 1);
    hub_add("giver", "turn", hub_key);
    assert_int_equal(hub_push("giver"), 1);
    hub_add("taker", "turn", hub_key);
    expect_pull("taker", 1, 0);
    the_giver_changes_its_key();
    json_decref(hub_pull("taker", OPTUNE_EPARTIAL, text));
    check_contains(text, "hub add h --key");
    json_decref(with_key("taker", "add", hub_other_key));
    expect_pull("taker", 1, 0);
    /* Not one's that has a wrong digit: the right one would stay good. */
    char wrong[OT_HEX_KEY];
    memcpy(wrong, hub_key, sizeof wrong);
    wrong[7] = wrong[7] == '0' ? '1' : '0';
    json_decref(hub_deed(
        "taker",
        (optune_hub_options){.what = "remove", .words = WORDS("h"), .keys = WORDS(wrong)},
        OPTUNE_ENOENT, text));
    check_contains(text, "no key of hub 'h'");
    check_contains(text, hub_key);
    expect_withdrawn("taker", hub_key, 1);
    expect_answer("taker", true); /* signed by the other, too */
    expect_pull("taker", 0, 1);
    expect_pull("taker", 0, 1); /* and is not fetched again */
    expect_withdrawn("taker", hub_other_key, 1);
    expect_answer("taker", false);
    expect_pull("taker", 0, 2);
    json_decref(with_key("taker", "add", hub_key));
    expect_pull("taker", 1, 1);
    expect_answer("taker", true);
    /* Nobody noted whose packs these are: they are taken once more. */
    snprintf(list, sizeof list, "%s-%s", tuning_path("taker/hubs/h/packs"), optune_version());
    ot_text names = {0};
    WORKS(ot_read_file(list, &names, 1 << 20, NULL));
    names.s[64] = '\n';
    WORKS(ot_write_file(list, names.s, 65, NULL));
    expect_withdrawn("taker", hub_other_key, 0);
    expect_answer("taker", false);
    expect_pull("taker", 1, 1);
    expect_answer("taker", true);
    ot_text_release(&names);
    hub_pushed_free(p);
}

/* ---- at once ----------------------------------------------------------------------------- */

/* Until a process has the file open, as who waits for its turn has. */
static void wait_for(pid_t child, const char *path)
{
    struct stat lock, its;
    for (int i = 0; i < 20000; i++) {
        char name[64];
        assert_int_equal(stat(path, &lock), 0);
        for (int fd = 0; fd < 64; fd++) {
            ot_format(name, sizeof name, "/proc/%d/fd/%d", (int)child, fd);
            if (stat(name, &its) == 0 && its.st_ino == lock.st_ino && its.st_dev == lock.st_dev)
                return;
        }
        usleep(1000);
    }
    fail_msg("nobody waits for '%s'", path);
}

/* A child that pulls once it is continued, and exits with 10 times the packs that it took and how
 * many it passed over; 99: it was told that there is no hub, 98: something else. */
static pid_t start_pull(const char *db)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) {
        assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
        return child;
    }
    raise(SIGSTOP);
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    const optune_hub_options options = {
        .size = sizeof options, .what = "pull", .words = WORDS("h")};
    const int status = optune_hub(o, &options, &result, NULL);
    if (status < 0)
        _exit(status == OPTUNE_ENOENT ? 99 : 98);
    json_t *all = tuning_parse(optune_result_json(result)), *one = json_array_get(all, 0);
    _exit((int)(10 * tuning_int(one, "packs") + tuning_int(one, "packs_withdrawn")));
}

static int exit_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whose word counts when a turn begins, not when somebody began to wait for it. */
static void who_waits_hears_what_was_withdrawn(void **state)
{
    (void)state;
    ot_hub hub;
    int64_t packs;
    hub_fresh("waiting");
    hub_add("waiting", "hub", hub_key);
    optune *o = tuning_open("waiting");
    const pid_t child = start_pull("waiting");
    WORKS(ot_hub_open(o, "h", &hub, NULL));
    assert_int_equal(kill(child, SIGCONT), 0);
    wait_for(child, tuning_path("waiting/hubs/h/lock"));
    json_t *keys = json_pack("[s]", hub_key);
    WORKS(ot_hub_withdraw(&hub, keys, NULL, &packs, NULL));
    json_decref(keys);
    ot_hub_close(&hub);
    optune_close(o);
    assert_int_equal(exit_of(child), 1);
    expect_answer("waiting", false);
}

/* Who waited for a hub that was removed works on none, or on the one that was added since. */
static void who_waits_for_a_hub_that_is_removed(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        ot_hub hub;
        hub_fresh("waiting");
        hub_add("waiting", "hub", hub_key);
        optune *o = tuning_open("waiting");
        const pid_t child = start_pull("waiting");
        WORKS(ot_hub_open(o, "h", &hub, NULL));
        assert_int_equal(kill(child, SIGCONT), 0);
        wait_for(child, tuning_path("waiting/hubs/h/lock"));
        assert_int_equal(kill(child, SIGSTOP), 0); /* it sees nothing of what is between */
        ot_hub_empty(&hub);
        assert_true(ot_hub_leave(&hub));
        if (again)
            hub_add("waiting", "hub", hub_key);
        assert_int_equal(kill(child, SIGCONT), 0);
        optune_close(o);
        assert_int_equal(exit_of(child), again ? 10 : 99);
        expect_answer("waiting", again);
        assert_int_equal(ot_exists(tuning_path("waiting/hubs/h")), again);
    }
}

/* Each with a key of its own; none is lost. */
static void several_add_one_hub(void **state)
{
    (void)state;
    enum { ADDERS = 8, ROUNDS = 5 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child[ADDERS];
        hub_fresh("many");
        WORKS(ot_make_dirs(tuning_path("many"), NULL));
        for (int i = 0; i < ADDERS; i++) {
            child[i] = fork();
            assert_true(child[i] >= 0);
            if (child[i] == 0) {
                char key[OT_HEX_KEY];
                ot_format(key, sizeof key, "%064x", i);
                hub_add("many", "hub", key);
                _exit(0);
            }
        }
        for (int i = 0; i < ADDERS; i++)
            assert_int_equal(exit_of(child[i]), 0);
        ot_hub hub;
        optune *o = tuning_open("many");
        WORKS(ot_hub_open(o, "h", &hub, NULL));
        assert_int_equal(json_array_size(hub.keys), ADDERS);
        ot_hub_close(&hub);
        optune_close(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_giver_changes_its_key),
        cmocka_unit_test(who_waits_hears_what_was_withdrawn),
        cmocka_unit_test(who_waits_for_a_hub_that_is_removed),
        cmocka_unit_test(several_add_one_hub),
    };
    return cmocka_run_group_tests(tests, hub_setup, tuning_teardown);
}
