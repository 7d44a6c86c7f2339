/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table at the end of a run, and the same as JSON. Every figure comes from stored records
 * through the selection that a query would make; nothing is remembered from the search itself.
 */
#include <math.h>
#include <string.h>

#include "tuner/tune.h"

typedef struct row {
    char label[OPTUNE_TEXT_SIZE];
    const ot_choice *choice;
    const optune_record *best;     /* the winner's */
    const optune_record *fallback; /* plevel default with its fallback config */
    const optune_record *library;  /* the fastest library */
    double flops, bytes;
    bool moves; /* less than one operation a byte: its rate is bytes per second */
    bool other; /* it computes with other units than the peak was measured on */
} row;

static bool moves(const optune_call *call)
{
    return ot_call_flops(call) < ot_call_bytes(call);
}

/* A GPU's peak is that of its float32 units: matrix units and those of doubles have others. */
static bool is_other(const optune_device *device, const optune_call *call)
{
    bool other = false;
    for (int i = 0; i < call->n_attrs; i++)
        other = other ||
                (!strcmp(call->attr[i].name, "math") && strcmp(call->attr[i].word, "ieee"));
    for (int i = 0; i < call->n_inputs; i++) {
        const optune_dtype dtype = call->input[i].type.dtype;
        other = other || dtype.code != OPTUNE_DTYPE_FLOAT || dtype.bits != 32;
    }
    return device->threads == 0 && other;
}

/* `padding=[1,1,1,1]` becomes `padding=1` when all are equal. */
static void shorten(char *piece)
{
    char *list = strstr(piece, "=[");
    if (!list)
        return;
    char *at = list + 2;
    const size_t n = strcspn(at, ",]");
    for (char *next = at + n; *next == ','; next += 1 + n)
        if (strncmp(next + 1, at, n) || (next[1 + n] != ',' && next[1 + n] != ']'))
            return;
    memmove(list + 1, at, n);
    list[1 + n] = 0;
}

/* Shapes and what is not at its default: for the eye, not for the parser. */
static void label(const optune_call *call, bool with_op, char *to, size_t size)
{
    ot_text full = {0}, text = {0};
    if (with_op)
        ot_text_add(&text, call->op->name);
    ot_call_print(call, &full);
    const char *s = strchr(ot_text_str(&full), '(');
    s = s ? s + 1 : "";
    while (*s && *s != ')') {
        int depth = 0;
        size_t n = 0;
        while (s[n] && (depth || (s[n] != ',' && s[n] != ')'))) {
            depth += (s[n] == '[') - (s[n] == ']');
            n++;
        }
        char piece[256];
        snprintf(piece, sizeof piece, "%.*s", (int)n, s);
        const char *show = piece;
        bool skip = false;
        if (strchr(piece, '=')) {
            for (const optune_op_attr *a = call->op->attrs; a && a->name; a++) {
                char plain[256];
                snprintf(plain, sizeof plain, "%s=%s", a->name, a->value ? a->value : "");
                skip = skip || !strcmp(plain, piece);
            }
            shorten(piece);
        } else {
            show += !strncmp(show, "const ", 6) ? 6 : 0;
            show += !strncmp(show, "f32[", 4) ? 3 : 0;
        }
        if (!skip)
            ot_text_printf(&text, "%s%s", text.n ? " " : "", show);
        s += n;
        s += strspn(s, ", ");
    }
    for (int i = 0; i < call->n_epilogues; i++)
        ot_text_printf(&text, " -> %s", call->epilogue[i].op->name);
    snprintf(to, size, "%s", ot_text_str(&text));
    ot_text_release(&full);
    ot_text_release(&text);
}

/* The best record of one config of one implementation, the interleaved one first. */
static const optune_record *record_of(const ot_fact *fact, int n, const optune_impl *impl,
                                      const optune_config *config)
{
    const optune_record *found = NULL;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i].record;
        if (fact[i].currency != OT_STALE && r->outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(r->impl, impl->name) && ot_config_equal(&r->config, config) &&
            (!found || (r->final && !found->final)))
            found = r;
    }
    return found;
}

static void fill(row *r, const optune_task *task, const ot_choice *choice, const ot_fact *fact,
                 int n)
{
    r->choice = choice;
    const ot_choice_row *winner = &choice->row[choice->winner];
    r->best = winner->fact ? &winner->fact->record : NULL;
    const optune_impl *by_level = choice->row[choice->default_row].candidate.impl;
    optune_space *space = NULL;
    if (ot_space_open(task, by_level, &space, NULL) >= 0) {
        optune_config fallback;
        ot_space_fallback(space, &fallback);
        r->fallback = record_of(fact, n, by_level, &fallback);
        ot_space_close(space);
    }
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *c = &choice->row[i];
        if (c->candidate.impl->library && c->fact &&
            (!r->library || c->fact->record.cost < r->library->cost))
            r->library = &c->fact->record;
    }
}

static void add_times(char *to, size_t size, double value)
{
    if (isfinite(value) && value > 0)
        snprintf(to, size, value < 100 ? "%.2fx" : "%.0fx", value);
    else
        snprintf(to, size, "-");
}

static void add_failures(const ot_tuned *tuned, ot_text *text)
{
    int all = 0;
    for (int k = 0; k < OT_COUNT(tuned->failures); k++)
        all += tuned->failures[k];
    if (!all) {
        ot_text_add(text, "0");
        return;
    }
    const char *comma = "";
    for (int k = 0; k < OT_COUNT(tuned->failures); k++)
        if (tuned->failures[k]) {
            ot_text_printf(text, "%s%d %s", comma, tuned->failures[k], ot_outcome_name(k));
            comma = ", ";
        }
}

static void header(int width, bool all_move, ot_text *text)
{
    ot_text_printf(text, "%-*s %-24s %9s %6s %8s %6s %8s %8s %6s %s\n", width, "workload",
                   "winner", "time us", "+-%", all_move ? "GB/s" : "GFLOP/s", "peak", "default",
                   "library", "trials", "failed");
}

/* What one run moves or computes in a second, and its share of the measured peak; 0: unknown. */
static double rate_of(const ot_run *run, const row *r, double *share)
{
    *share = 0;
    const double work = r->moves ? r->bytes : r->flops;
    if (!r->best || work <= 0)
        return 0;
    const double rate = work / r->best->cost;
    const double peak = r->moves ? run->peak_bandwidth : run->peak_flops;
    if (peak > 0 && (r->moves || !r->other))
        *share = rate / peak;
    return rate;
}

static void add_text(const ot_run *run, const row *r, const ot_tuned *tuned, int width,
                     bool all_move, ot_text *text)
{
    if (!r->best) {
        ot_text_printf(text, "%-*s %s\n", width, r->label,
                       *tuned->problem      ? tuned->problem
                       : tuned->interrupted ? "interrupted before anything was measured"
                                            : "nothing measured within the limits");
        return;
    }
    const optune_impl *impl = r->choice->row[r->choice->winner].candidate.impl;
    char versus_default[24], versus_library[24], peak[24] = "-", rate[24] = "-";
    add_times(versus_default, sizeof versus_default,
              r->fallback ? r->fallback->cost / r->best->cost : NAN);
    add_times(versus_library, sizeof versus_library,
              r->library ? r->library->cost / r->best->cost : NAN);
    double share;
    const double per_second = rate_of(run, r, &share);
    if (per_second > 0)
        snprintf(rate, sizeof rate, "%.1f%s", per_second * 1e-9,
                 r->moves && !all_move ? "GB" : "");
    if (share > 0)
        snprintf(peak, sizeof peak, "%.0f%%%s", 100 * share,
                 r->moves ? (share > 1 ? "c" : "") : (impl->fewer_operations ? "e" : ""));
    ot_text_printf(text, "%-*s %-24s %9.2f %6.1f %8s %6s %8s %8s %6d ", width, r->label,
                   impl->name, r->best->cost * 1e6,
                   50 * (r->best->high - r->best->low) / r->best->cost, rate, peak,
                   versus_default, versus_library, tuned->trials);
    add_failures(tuned, text);
    ot_text_add(text, "\n");
    for (int i = 0; i < r->choice->n; i++)
        if (r->choice->row[i].tied && !r->choice->row[i].winner)
            ot_text_printf(text, "%-*s tied with %s, %.2f us\n", width, "",
                           r->choice->row[i].candidate.impl->name,
                           r->choice->row[i].fact->record.cost * 1e6);
}

static json_t *record_json(const optune_record *r)
{
    if (!r)
        return json_null();
    ot_text config = {0};
    ot_config_print(&r->config, &config);
    json_t *json =
        json_pack("{s:s, s:o, s:f, s:f, s:f, s:i, s:b}", "impl", r->impl, "config",
                  json_loads(ot_text_str(&config), 0, NULL), "cost", r->cost, "low", r->low,
                  "high", r->high, "samples", r->n_samples, "final", (int)r->final);
    ot_text_release(&config);
    return json;
}

static json_t *row_json(const ot_run *run, const optune_call *call, const row *r,
                        const ot_tuned *tuned)
{
    json_t *json = json_object(), *ties = json_array(), *failures = json_object();
    ot_text text = {0};
    ot_call_print(call, &text);
    json_object_set_new(json, "call", json_string(ot_text_str(&text)));
    ot_text_release(&text);
    for (int i = 0; r->choice && i < r->choice->n; i++)
        if (r->choice->row[i].tied && !r->choice->row[i].winner)
            json_array_append_new(ties, record_json(&r->choice->row[i].fact->record));
    for (int k = 0; k < OT_COUNT(tuned->failures); k++)
        if (tuned->failures[k])
            json_object_set_new(failures, ot_outcome_name(k), json_integer(tuned->failures[k]));
    json_object_set_new(json, "winner", record_json(r->best));
    json_object_set_new(json, "ties", ties);
    json_object_set_new(json, "default", record_json(r->fallback));
    json_object_set_new(json, "library", record_json(r->library));
    double share;
    const double rate = rate_of(run, r, &share);
    const bool computes = rate > 0 && !r->moves;
    json_object_set_new(json, "flops_per_second", computes ? json_real(rate) : json_null());
    json_object_set_new(json, "bytes_per_second",
                        rate > 0 && r->moves ? json_real(rate) : json_null());
    json_object_set_new(json, "share_of_peak", share > 0 ? json_real(share) : json_null());
    json_object_set_new(
        json, "effective",
        computes
            ? json_boolean(r->choice->row[r->choice->winner].candidate.impl->fewer_operations)
            : json_null());
    json_object_set_new(json, "trials", json_integer(tuned->trials));
    json_object_set_new(json, "new_trials", json_integer(tuned->new_trials));
    json_object_set_new(json, "space", json_integer(tuned->space));
    json_object_set_new(json, "failures", failures);
    json_object_set_new(json, "problem",
                        *tuned->problem ? json_string(tuned->problem) : json_null());
    return json;
}

/* Which letters the table used, and what they say. */
static void footer(const ot_run *run, bool some_move, bool all_move,
                   const double *versus_default, int n_default, const double *versus_library,
                   int n_library, ot_text *text)
{
    if (n_default)
        ot_text_printf(text, "\ngeometric mean over the default: %.2fx",
                       ot_geomean(versus_default, n_default));
    if (n_library)
        ot_text_printf(text, "%sover the best library: %.2fx", n_default ? "; " : "\n",
                       ot_geomean(versus_library, n_library));
    const int threads = run->o->target.threads; /* 0: a GPU has none to choose */
    ot_text_printf(text, "\n%d new trials, %d failed, %.1f s on %s", run->new_trials,
                   run->failures, ot_now() - run->started, run->o->device.name);
    if (threads)
        ot_text_printf(text, ", %d thread%s", threads, threads == 1 ? "" : "s");
    ot_text_add(text, "\n");
    const char *why = ot_worker_counters_why(run->worker);
    if (why && *why)
        ot_text_printf(text, "%s\n", why);
    if (run->peak_flops > 0)
        ot_text_printf(text, "measured peak: %.0f GFLOP/s%s, %.1f GB/s %s%s%s\n",
                       run->peak_flops * 1e-9, threads ? "" : " in float32",
                       run->peak_bandwidth * 1e-9, threads ? "read" : "copied",
                       all_move ? "" : "; \"e\": effective, fewer operations are done",
                       some_move ? "; \"c\": the data stays in caches" : "");
}

optune_result *ot_run_result(ot_run *run, const ot_tuned *tuned)
{
    ot_text text = {0};
    json_t *list = json_array();
    double *versus = ot_alloc(2 * (size_t)(run->n_workloads + 1) * sizeof *versus);
    double *to_default = versus, *to_library = versus + run->n_workloads;
    int n_default = 0, n_library = 0;
    int width = 20, n_move = 0;
    for (int i = 0; i < run->n_workloads; i++) {
        char name[OPTUNE_TEXT_SIZE];
        label(&run->call[i], !run->op, name, sizeof name);
        width = (int)fmax(width, (double)strlen(name));
        n_move += moves(&run->call[i]);
    }
    const bool all_move = n_move > 0 && n_move == run->n_workloads;
    header(width, all_move, &text);
    for (int i = 0; i < run->n_workloads; i++) {
        const optune_task task = {&run->call[i], &run->o->target, &run->o->device};
        ot_arena arena = {0};
        ot_fact *fact;
        int n = 0;
        ot_choice *choice = ot_alloc(sizeof *choice);
        row *r = ot_alloc(sizeof *r);
        label(&run->call[i], !run->op, r->label, sizeof r->label);
        r->flops = ot_call_flops(&run->call[i]);
        r->bytes = ot_call_bytes(&run->call[i]);
        r->moves = moves(&run->call[i]);
        r->other = is_other(&run->o->device, &run->call[i]);
        if (ot_context_facts(run->o, &task, &arena, &fact, &n, NULL) >= 0 &&
            ot_select(&task, fact, n, choice, NULL) >= 0)
            fill(r, &task, choice, fact, n);
        add_text(run, r, &tuned[i], width, all_move, &text);
        json_array_append_new(list, row_json(run, &run->call[i], r, &tuned[i]));
        if (r->best && r->fallback)
            to_default[n_default++] = r->fallback->cost / r->best->cost;
        if (r->best && r->library)
            to_library[n_library++] = r->library->cost / r->best->cost;
        free(r);
        free(choice);
        ot_arena_release(&arena);
    }
    footer(run, n_move > 0, all_move, to_default, n_default, to_library, n_library, &text);
    free(versus);
    ot_text target = {0};
    ot_target_print(&run->o->target, false, &target);
    json_t *json = json_pack(
        "{s:s?, s:s, s:s, s:s, s:i, s:i, s:b, s:f, s:f, s:f, s:s, s:o}", "op",
        run->op ? run->op->name : NULL, "target", ot_text_str(&target), "device",
        run->o->device.key, "search", run->search->name, "new_trials", run->new_trials,
        "failures", run->failures, "interrupted", (int)ot_context_stopped(run->o), "seconds",
        ot_now() - run->started, "peak_flops", run->peak_flops, "peak_bandwidth",
        run->peak_bandwidth, "counters_why",
        ot_worker_counters_why(run->worker) ? ot_worker_counters_why(run->worker) : "",
        "workloads", list);
    ot_text_release(&target);
    return ot_result_new(text.s, json);
}
