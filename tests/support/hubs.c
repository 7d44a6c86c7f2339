/* SPDX-License-Identifier: Apache-2.0 */
#include "support/hubs.h"

#include "support/check.h"

#include <string.h>
#include <unistd.h>

#include "support/records.h"

char hub_key[OT_HEX_KEY], hub_other_key[OT_HEX_KEY];
char hub_own_file[1200], hub_other_file[1200];
json_int_t hub_n_pushed;

json_t *hub_deed(const char *db, optune_hub_options options, int expected, char *text)
{
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    options.size = sizeof options;
    if (!options.key_file)
        options.key_file = hub_own_file;
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

const char *hub_url(const char *hub)
{
    static char url[1200];
    snprintf(url, sizeof url, "file://%s", tuning_path(hub));
    return url;
}

void hub_add(const char *db, const char *hub, const char *of)
{
    const optune_hub_options options = {.what = "add",
                                        .words = WORDS("h", hub_url(hub)),
                                        .keys = of ? WORDS(of) : NULL,
                                        .anybody = !of};
    json_decref(hub_deed(db, options, OPTUNE_OK, NULL));
}

json_t *hub_pull(const char *db, int expected, char *text)
{
    json_t *all =
        hub_deed(db, (optune_hub_options){.what = "pull", .words = WORDS("h")}, expected, text);
    json_t *one = json_incref(json_array_get(all, 0));
    json_decref(all);
    return one;
}

json_int_t hub_push(const char *db)
{
    json_t *all = hub_deed(db, (optune_hub_options){.what = "push", .words = WORDS("h")},
                           OPTUNE_OK, NULL);
    const json_int_t n = tuning_int(json_array_get(all, 0), "records");
    json_decref(all);
    return n;
}

void hub_write(const char *path, const char *text)
{
    char folder[1300];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    WORKS(ot_make_dirs(folder, NULL));
    WORKS(ot_write_file(path, text, strlen(text), NULL));
}

char *hub_answer(const char *db)
{
    optune *o = tuning_open(db);
    char *answer = tuning_answer(o, HUB_WORKLOAD);
    optune_close(o);
    return answer;
}

void hub_fresh(const char *name)
{
    ot_remove_tree(tuning_path(name));
}

int hub_setup(void **state)
{
    tuning_setup(state);
    snprintf(hub_own_file, sizeof hub_own_file, "%s", tuning_path("own.key"));
    snprintf(hub_other_file, sizeof hub_other_file, "%s", tuning_path("other.key"));
    ot_signer signer;
    WORKS(ot_signer_open(hub_own_file, &signer, NULL));
    memcpy(hub_key, signer.key, sizeof hub_key);
    WORKS(ot_signer_open(hub_other_file, &signer, NULL));
    memcpy(hub_other_key, signer.key, sizeof hub_other_key);
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", HUB_WORKLOAD, NULL, 6));
    optune_close(o);
    hub_add("from", "hub", hub_key);
    hub_n_pushed = hub_push("from");
    return 0;
}

static int keep_line(void *arg, const ot_log_line *line)
{
    hub_pushed *p = arg;
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

hub_pushed *hub_pushed_read(void)
{
    char path[4096];
    hub_pushed *p = ot_alloc(sizeof *p);
    assert_int_equal(tuning_logs("from/hubs/h", keep_path, path), 1);
    WORKS(ot_log_read(path, keep_line, p, NULL));
    assert_true(p->n >= 6);
    return p;
}

void hub_pushed_free(hub_pushed *p)
{
    ot_arena_release(&p->arena);
    free(p);
}

optune_record hub_pushed_good(const hub_pushed *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->record[i].outcome == OPTUNE_OUTCOME_OK && p->record[i].config.n > 0)
            return p->record[i];
    fail_msg("no good record");
    return p->record[0];
}

void hub_pack_path(const char *hub, char path[1400])
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

void hub_store(const char *db, const hub_pushed *p, const optune_record *record, int n)
{
    ot_store *store = NULL;
    int added;
    hub_fresh(db);
    WORKS(ot_make_dirs(tuning_path(db), NULL));
    WORKS(ot_store_open(tuning_path(db), OT_STORE_WRITE, &store, NULL));
    WORKS(ot_store_put_device(store, &p->device, NULL));
    WORKS(ot_store_put(store, record, n, &added, NULL));
    assert_int_equal(added, n);
    ot_store_close(store);
}
