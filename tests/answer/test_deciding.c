/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer is made of the records that decide it, and is the one that all records would give:
 * for databases of any records, with trials and finals of the same and of other configs, newer and
 * older, failed, stale, refuted and damaged ones, both choices are the same, with all they tell;
 * and so is what is kept of one, when its sentences are made later.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#include <math.h>

#include "db/kv.h"

static uint64_t rng = 1124;

static int64_t below(int64_t n)
{
    return optune_random_below(&rng, n);
}

/* `current`: nothing that a record rests on has changed since. */
static optune_record drawn(int variety, bool current)
{
    optune_record r = forged_run.record[below(forged_run.n)];
    if (!ot_impl_find(r.impl))
        return drawn(variety, current);
    record_cost(&r, 1e-6 * (double)(1 + below(variety)));
    r.time = 1.7e9 + (double)below(40);
    r.final = below(6) == 0;
    if (below(5) == 0) {
        r.outcome = below(2) ? OPTUNE_OUTCOME_WRONG : OPTUNE_OUTCOME_CRASH;
        r.message = "it did";
        r.cost = r.low = r.high = INFINITY;
        r.n_samples = 0;
    }
    if (below(6) == 0 && !current)
        r.digest = "00112233445566778899aabbccddeeff";
    if (below(9) == 0 && !current)
        r.depends = "compiler=gcc 1.0\n";
    if (below(12) == 0 && r.config.n && !current)
        r.config.entity[0].v[0] += below(2); /* one that the space may not have */
    r.host = below(2) ? "governor=performance\nmhz=3000\n" : "governor=powersave\nmhz=3000\n";
    r.counters = below(2) ? "machine_shared=0.25\n" : NULL;
    return r;
}

/* What is told of the present moment, and how often something damaged was met; with `spoilt`
 * also how many failed, as a damaged one that others stand for is counted by who does not read
 * it. */
static void strip(json_t *json, bool spoilt)
{
    const char *name;
    json_t *value;
    size_t i;
    json_object_del(json, "age");
    json_object_del(json, "warnings");
    if (spoilt)
        json_object_del(json, "trials");
    json_object_foreach(json, name, value) strip(value, spoilt);
    json_array_foreach(json, i, value) strip(value, spoilt);
}

static char *said(const optune_task *task, const ot_choice *choice, bool spoilt)
{
    json_t *json = ot_choice_json(task, choice);
    strip(json, spoilt);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

/* What stands for others and cannot be read stands for nothing. */
static void spoil(const char *db, const optune_record *r)
{
    optune_err err = {0};
    ot_store *store = NULL;
    ot_writer writer;
    const ot_digest digest = ot_record_digest(r);
    check_ok(ot_store_open(tuning_path(db), OT_STORE_WRITE, &store, &err));
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_RECORD, (ot_bytes){digest.byte, 16},
                           (ot_bytes){"nonsense", 8}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    ot_store_close(store);
}

/* What is kept of an answer, once the handle and its stores are gone. */
static const ot_answer *kept_of(const char *db, bool by_call)
{
    optune_err err = {0};
    const ot_answer *answer = NULL;
    optune *o = tuning_open(db);
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(FORGED_WORKLOAD, call, &err));
    check_ok(by_call ? ot_answer_call(o, call, &answer, &err)
                     : ot_answer_text(o, FORGED_WORKLOAD, &answer, &err));
    memset(call, 0xff, sizeof *call);
    free(call);
    optune_close(o);
    return answer;
}

/* Kept answers that leave out what was measured again, until they are explained. */
static int kept_untold;

static void check_kept(const optune_task *task, const ot_choice *choice, const char *json,
                       const char *db, bool spoilt)
{
    const ot_answer *answer = kept_of(db, spoilt);
    optune_call *call = ot_alloc(sizeof *call);
    const optune_task own = ot_answer_task(answer, call);
    optune_config *room = ot_alloc(sizeof *room); /* where the config is kept packed */
    ot_arena arena = {0};
    kept_untold += answer->untold.n > 0;
    const ot_choice mine = ot_answer_explained(answer, &arena, room);
    ot_text text = {0}, kept = {0};
    char *all = said(&own, &mine, spoilt);
    assert_string_equal(all, json);
    free(all);
    ot_config_print(choice->config, &text);
    assert_string_equal(ot_answer_config(answer), text.s);
    ot_text_clear(&text);
    ot_choice_text(task, choice, !spoilt, &text);
    ot_choice_text(&own, &mine, !spoilt, &kept);
    assert_string_equal(kept.s, text.s);
    ot_text_release(&text);
    ot_text_release(&kept);
    ot_arena_release(&arena);
    ot_answer_drop(answer);
    free(room);
    free(call);
}

/* Kept answers that say of an older measurement what differs from a later one. */
static int kept_apart;

static void check_same(optune *o, const char *db, const optune_call *call, bool spoilt)
{
    optune_err err = {0};
    ot_arena arena = {0};
    ot_choice all = {0}, deciding = {0};
    ot_fact *fact;
    int n = 0, n_known = 0;
    const optune_task task = {call, &o->target, &o->device};
    check_ok(ot_context_choose(o, &task, NULL, &arena, &fact, &n, &all, &err));
    const unsigned turn = ot_context_enter(o);
    check_ok(ot_context_decide(o, &task, NULL, NULL, &arena, &n_known, NULL, &deciding, &err));
    ot_context_leave(o, turn);
    assert_true(n_known <= n && !n_known == !n);
    assert_int_equal(all.winner, deciding.winner);
    assert_int_equal(all.tier, deciding.tier);
    assert_true(ot_config_equal(all.config, deciding.config));
    char *one = said(&task, &all, spoilt), *two = said(&task, &deciding, spoilt);
    size_t at = 0;
    while (one[at] && one[at] == two[at])
        at++;
    if (strcmp(one, two) != 0)
        fail_msg("all: ...%.300s\ndeciding: ...%.300s", one + (at > 200 ? at - 200 : 0),
                 two + (at > 200 ? at - 200 : 0));
    if (below(4) == 0) {
        check_kept(&task, &all, one, db, spoilt);
        kept_apart += strstr(one, "; governor was p") != NULL;
    }
    free(one);
    free(two);
    ot_choice_release(&all);
    ot_choice_release(&deciding);
    ot_arena_release(&arena);
}

static void test_same_as_all(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(FORGED_WORKLOAD, call, &err));
    /* What is drawn hangs on how many configs the run measured: until all has been met. */
    for (int i = 0; i < 60 || (i < 400 && !(kept_apart && kept_untold)); i++) {
        char db[32];
        const int n = 1 + (int)below(120);
        optune_record *r = ot_alloc((size_t)n * sizeof *r);
        snprintf(db, sizeof db, "deciding%d", i);
        for (int k = 0; k < n; k++)
            r[k] = drawn(i % 2 ? 8 : 1000, i % 5 < 3);
        forged_put(db, r, n, NULL);
        if (i % 3 == 0)
            spoil(db, &r[below(n)]);
        optune *o = tuning_open(db);
        check_ok(ot_context_device(o, &err));
        check_same(o, db, call, i % 3 == 0);
        optune_close(o);
        free(r);
    }
    assert_true(kept_apart > 0 && kept_untold > 0);
    free(call);
}

/* Two good ones of one implementation and of two configs; false: the run has none. */
static bool two_configs(optune_record *one, optune_record *other)
{
    for (int i = 0; i < forged_run.n; i++)
        for (int k = 0; k < i; k++) {
            *one = forged_run.record[k];
            *other = forged_run.record[i];
            if (one->outcome == OPTUNE_OUTCOME_OK && other->outcome == OPTUNE_OUTCOME_OK &&
                !strcmp(one->impl, other->impl) &&
                !ot_config_equal(&one->config, &other->config))
                return true;
        }
    return false;
}

/* Where a damaged record was the later one of a config, those of other configs count as ever. */
static void test_outdated_alone(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_choice choice = {0};
    ot_fact *fact;
    int n = 0;
    optune_record r[3];
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(FORGED_WORKLOAD, call, &err));
    assert_true(two_configs(&r[0], &r[2]));
    r[1] = r[0];
    for (int i = 0; i < OT_COUNT(r); i++) {
        r[i].final = false;
        r[i].time = 1.7e9 + i;
    }
    record_cost(&r[0], 1e-6);
    record_cost(&r[1], 3e-6);
    record_cost(&r[2], 2e-6);
    forged_put("outdated", r, OT_COUNT(r), NULL);
    spoil("outdated", &r[1]);
    optune *o = tuning_open("outdated");
    check_ok(ot_context_device(o, &err));
    const optune_task task = {call, &o->target, &o->device};
    check_ok(ot_context_choose(o, &task, NULL, &arena, &fact, &n, &choice, &err));
    assert_int_equal(n, 2);
    assert_int_equal(choice.tier, OT_TIER_TUNED);
    assert_true(ot_config_equal(choice.config, &r[2].config));
    const ot_choice_row *row = &choice.row[choice.winner];
    assert_true(row->stale && strstr(row->stale->why, "cannot be read"));
    ot_choice_release(&choice);
    ot_arena_release(&arena);
    optune_close(o);
    free(call);
}

/* What a search leaves: many configs once. Few of them are read. */
static void test_few_are_read(void **state)
{
    (void)state;
    enum { N = 300 };
    optune_err err = {0};
    ot_store *store = NULL;
    ot_arena arena = {0};
    optune_record *r = ot_alloc(N * sizeof *r);
    ot_finds found;
    const optune_record like = forged_run.record[0];
    int told = 0;
    for (int i = 0; i < N; i++) {
        r[i] = like;
        r[i].final = false;
        r[i].time = 1.7e9 + i;
        r[i].config.n = 1;
        r[i].config.entity[0] = (optune_entity){.name = "k",
                                                .kind = OPTUNE_KNOB_OTHER,
                                                .scalar = OPTUNE_SCALAR_INT,
                                                .n = 1,
                                                .v = {i}};
        record_cost(&r[i], 1e-6 * (1 + (i * 7) % N));
        if (i % 10 == 0) {
            r[i].outcome = OPTUNE_OUTCOME_CRASH;
            r[i].n_samples = 0;
            r[i].cost = r[i].low = r[i].high = INFINITY;
        }
    }
    forged_put("few", r, N, NULL);
    check_ok(ot_store_open(tuning_path("few"), OT_STORE_READ, &store, &err));
    const ot_question question = {
        .device = like.device, .target = like.target, .call = like.call, .policy = like.policy};
    check_ok(ot_store_find_which(store, &question, OT_DECIDING, &arena, &found, &err));
    assert_int_equal(found.n, 2);
    for (int i = 0; i < found.n; i++)
        told += 1 + found.how[i].alike;
    assert_int_equal(told, N);
    assert_true(found.record[0].cost < 2.5e-6);       /* the cheapest that did not fail */
    assert_true(found.record[1].time == 1.7e9 + 290); /* the newest that did */
    ot_store_close(store);
    ot_arena_release(&arena);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_all),
        cmocka_unit_test(test_outdated_alone),
        cmocka_unit_test(test_few_are_read),
    };
    return cmocka_run_group_tests_name("answer/deciding", tests, forged_setup, forged_teardown);
}
