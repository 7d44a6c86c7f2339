/* SPDX-License-Identifier: Apache-2.0 */
/* Runs through the public calls; what they left behind is read through the store's own. */
#include "support/tuning.h"

#include "base/record.h"
#include "support/check.h"

#include <glob.h>
#include <math.h>

char tuning_dir[1024];

int tuning_setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(tuning_dir, sizeof tuning_dir, &err));
    setenv("OPTUNE_CACHE", tuning_path("cache"), 1);
    setenv("XDG_RUNTIME_DIR", tuning_dir, 1);
    setenv("OPTUNE_WORKER", OT_WORKER, 0);
    unsetenv("OPTUNE_PLUGINS");
    unsetenv("OPTUNE_DB");
    return 0;
}

int tuning_teardown(void **state)
{
    (void)state;
    ot_remove_tree(tuning_dir);
    return 0;
}

const char *tuning_path(const char *name)
{
    static char path[8][1200];
    static int turn;
    turn = (turn + 1) % OT_COUNT(path);
    snprintf(path[turn], sizeof path[turn], "%s/%s", tuning_dir, name);
    return path[turn];
}

optune *tuning_open_with(const char *db, optune_options options)
{
    optune *o = NULL;
    optune_err err = {0};
    options.size = sizeof options;
    options.db = tuning_path(db);
    if (!options.target)
        options.target = "cpu -threads=1";
    check_ok(optune_open(&options, &o, &err));
    return o;
}

optune *tuning_open(const char *db)
{
    return tuning_open_with(db, (optune_options){0});
}

json_t *tuning_parse(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        print_error("no JSON: %s in: %s\n", error.text, text);
        fail();
    }
    return json;
}

static const char *impl_of(const json_t *record)
{
    return json_string_value(json_object_get(record, "impl"));
}

/* The rows of a run's result say what its document says. */
static void check_rows(const optune_result *result, const json_t *json, bool compile_only)
{
    int n = 0, status;
    optune_err err = {0};
    optune_run_row row = {.size = sizeof row};
    optune_run_total total = {.size = sizeof total};
    const json_t *list = json_object_get(json, "workloads");
    assert_int_equal(optune_result_total(result, &total, &err), compile_only ? 1 : OPTUNE_OK);
    for (; (status = optune_result_row(result, n, &row, &err)) == OPTUNE_OK; n++) {
        const json_t *w = json_array_get(list, (size_t)n),
                     *winner = json_object_get(w, "winner");
        assert_string_equal(row.call, tuning_text(w, "call"));
        assert_int_equal(row.trials, tuning_int(w, "trials"));
        assert_int_equal(row.new_trials, tuning_int(w, "new_trials"));
        assert_int_equal(row.n_ties, json_array_size(json_object_get(w, "ties")));
        assert_true(*row.label && (!row.winner || row.known));
        if (row.winner)
            assert_string_equal(row.winner->impl, impl_of(winner));
        else
            assert_true(json_is_null(winner));
        for (int i = 0; i < row.n_ties; i++)
            assert_string_equal(row.ties[i]->call, row.call);
    }
    assert_int_equal(status, 1);
    assert_int_equal(n, compile_only ? 0 : json_array_size(list));
    if (compile_only)
        return;
    assert_int_equal(total.workloads, n);
    assert_int_equal(total.new_trials, tuning_int(json, "new_trials"));
    assert_string_equal(total.device, tuning_text(json, "device"));
}

json_t *tuning_run(optune *o, optune_run_options options, int status)
{
    optune_err err = {0};
    optune_result *result = NULL;
    options.size = sizeof options;
    if (options.seconds == 0)
        options.seconds = 240;
    const int ended = optune_run(o, &options, &result, &err);
    if (ended != status) {
        print_error("the run ended with %d: %s\n", ended, err.text);
        fail();
    }
    assert_non_null(result);
    assert_true(strlen(optune_result_text(result)) > 0);
    json_t *json = tuning_parse(optune_result_json(result));
    check_rows(result, json, options.compile_only);
    optune_result_free(result);
    return json;
}

json_t *tuning_run_one(optune *o, const char *op, const char *workload, const char *impl,
                       int trials)
{
    return tuning_run(o,
                      (optune_run_options){
                          .op = op,
                          .workloads = (const char *const[]){workload, NULL},
                          .impls = impl ? (const char *const[]){impl, NULL} : NULL,
                          .trials = trials,
                      },
                      OPTUNE_OK);
}

char *tuning_answer(optune *o, const char *workload)
{
    optune_selection *selection = NULL;
    optune_err err = {0};
    ot_text text = {0};
    check_ok(optune_select(o, workload, &selection, &err));
    ot_text_printf(&text, "%s %s %s %.17g", optune_selection_impl(selection),
                   optune_selection_config(selection), optune_selection_tier(selection),
                   optune_selection_cost(selection));
    optune_selection_free(selection);
    return text.s;
}

json_int_t tuning_int(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value)) {
        print_error("no integer '%s'\n", name);
        fail();
    }
    return json_integer_value(value);
}

const char *tuning_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text) {
        print_error("no text '%s'\n", name);
        fail();
    }
    return text;
}

const json_t *tuning_workload(const json_t *run, size_t i)
{
    const json_t *workload = json_array_get(json_object_get(run, "workloads"), i);
    assert_non_null(workload);
    return workload;
}

static int keep(void *arg, const optune_record *from)
{
    tuning_records *all = arg;
    optune_record *more = ot_arena_alloc(&all->arena, (size_t)(all->n + 1) * sizeof *more);
    for (int i = 0; i < all->n; i++)
        more[i] = all->record[i];
    ot_record_keep(&all->arena, &more[all->n++], from);
    all->record = more;
    return 0;
}

void tuning_read(const char *db, tuning_records *records)
{
    ot_store *store = NULL;
    optune_err err = {0};
    *records = (tuning_records){0};
    check_ok(ot_store_open(tuning_path(db), OT_STORE_READ, &store, &err));
    check_ok(ot_store_walk(store, keep, records, &err));
    ot_store_close(store);
}

int tuning_logs(const char *db, void (*each)(void *arg, const char *path), void *arg)
{
    glob_t found;
    char pattern[1300];
    snprintf(pattern, sizeof pattern, "%s/logs/*.log", tuning_path(db));
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    const int n = (int)found.gl_pathc;
    for (int i = 0; i < n && each; i++)
        each(arg, found.gl_pathv[i]);
    globfree(&found);
    return n;
}
