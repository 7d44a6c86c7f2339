/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole graph as C that builds without optune: which kernel computes each group, and where
 * everything lies. Constants lie in a file that is mapped; what kernels pack of them is packed
 * once, when the model is opened, and never changes; everything else that a run needs is one
 * arena, planned by when each value is alive. So threads share the former and bring the latter.
 * Writes nothing itself.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "answer/emit_graph.h"
#include "answer/emitted_weights.h"
#include "answer/program/lifetimes.h"
#include "base/fenv.h"

static int64_t round_up(int64_t n)
{
    return (n + WEIGHTS_ALIGNMENT - 1) / WEIGHTS_ALIGNMENT * WEIGHTS_ALIGNMENT;
}

static int home_of(const ot_emission *e, ot_value value)
{
    return ot_places_at(&e->partition->places, value).home;
}

/* Whether a stage of this phase, or what is restored before it, reads an input. */
static bool reads(const ot_source *s, optune_phase phase, int input)
{
    for (int i = 0; i < s->plan->n_stages; i++)
        for (int a = 0; a < s->plan->stage[i].n_args; a++) {
            const optune_arg *arg = &s->plan->stage[i].arg[a];
            const optune_phase own = s->plan->stage[i].phase;
            if ((own == OPTUNE_RESTORE ? OPTUNE_TIMED : own) == phase &&
                arg->kind == OPTUNE_ARG_INPUT && arg->index == input)
                return true;
        }
    return false;
}

/* ---- the file of weights -------------------------------------------------------------------- */

enum { UNREAD, ONLY_PACKED, READ_BY_RUNS };

/* The constant whose elements a value is or is a part of; -1: none. */
static int constant_of(const ot_emission *e, ot_value value)
{
    const int leaf = e->partition->places.home[home_of(e, value)].leaf;
    return leaf >= 0 && e->graph->node[leaf].kind == OT_NODE_CONST ? leaf : -1;
}

/* How constants are used, by node. */
static void find_uses(const ot_emission *e, char *use)
{
    const ot_groups *groups = &e->partition->groups;
    for (int i = 0; i < groups->n; i++)
        for (int k = 0; k < groups->group[i].n_in && ot_emitted_runs(e, i); k++) {
            const int node = constant_of(e, groups->group[i].in[k]);
            for (int u = 0; u < e->group[i].n && node >= 0; u++) {
                const ot_source *s = &e->kernel[e->group[i].use[u].kernel].source;
                if (reads(s, OPTUNE_TIMED, k))
                    use[node] = READ_BY_RUNS;
                else if (reads(s, OPTUNE_PREPACK, k) && use[node] == UNREAD)
                    use[node] = ONLY_PACKED;
            }
        }
    for (int i = 0; i < e->n_outputs; i++)
        if (constant_of(e, e->output[i]) >= 0)
            use[constant_of(e, e->output[i])] = READ_BY_RUNS;
}

static void name_layout(ot_emission *e)
{
    ot_text text = {0};
    for (int i = 0; i < e->n_weights; i++) {
        const int node = e->weight[i];
        ot_tensor_print(&e->graph->node[node].out[0], &text);
        ot_text_printf(&text, " %lld\n",
                       (long long)ot_emitted_place(e, (ot_value){node, 0}).at);
    }
    e->layout = ot_hash64(ot_text_str(&text), text.n);
    ot_text_release(&text);
}

/* What is read while packing comes first: it can be let go then. */
static int place_constants(ot_emission *e, optune_err *err)
{
    const optune_graph *g = e->graph;
    char *use = ot_alloc((size_t)g->n + 1);
    int status = OPTUNE_OK;
    find_uses(e, use);
    e->weights_bytes = sizeof(struct weights_header);
    for (int wanted = ONLY_PACKED; wanted <= READ_BY_RUNS; wanted++) {
        for (int id = 0; id < g->n && status >= 0; id++) {
            if (use[id] != wanted)
                continue;
            if (!g->node[id].data)
                status = ot_graph_fail(g, id, -1, OPTUNE_EUSAGE, "the constant has no elements",
                                       err);
            e->home[home_of(e, (ot_value){id, 0})] =
                (ot_emitted_spot){.kind = OT_AT_WEIGHTS, .at = e->weights_bytes};
            e->weights_bytes += round_up(optune_tensor_bytes(&g->node[id].out[0]));
            e->weight[e->n_weights++] = id;
        }
        if (wanted == ONLY_PACKED)
            e->only_packed = e->weights_bytes;
    }
    free(use);
    name_layout(e);
    return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool same_constants(const ot_emission *e, const ot_source *s, int a, int b)
{
    const ot_groups *groups = &e->partition->groups;
    for (int k = 0; k < groups->group[a].n_in; k++) {
        const ot_value x = groups->group[a].in[k], y = groups->group[b].in[k];
        if (reads(s, OPTUNE_PREPACK, k) && (x.node != y.node || x.output != y.output))
            return false;
    }
    return true;
}

/* An earlier group's use of this kernel that packs the same; NULL: there is none. */
static const ot_emitted_use *packed_before(const ot_emission *e, int group, int kernel)
{
    for (int i = 0; i < group; i++)
        for (int u = 0; u < e->group[i].n; u++)
            if (e->group[i].use[u].kernel == kernel &&
                same_constants(e, &e->kernel[kernel].source, i, group))
                return &e->group[i].use[u];
    return NULL;
}

static void place_packed(ot_emission *e)
{
    for (int i = 0; i < e->partition->groups.n; i++)
        for (int u = 0; u < e->group[i].n; u++) {
            ot_emitted_use *use = &e->group[i].use[u];
            const ot_emitted_use *same = packed_before(e, i, use->kernel);
            use->packs = !same;
            use->packed = same ? same->packed : e->packed_bytes;
            e->packed_bytes += same ? 0 : e->kernel[use->kernel].source.packed;
        }
}

/* Of a group's kernels one runs. */
static int64_t workspace_of(const ot_emission *e, int group)
{
    int64_t most = 0;
    for (int u = 0; u < e->group[group].n; u++) {
        const int64_t own = e->kernel[e->group[group].use[u].kernel].source.workspace;
        most = own > most ? own : most;
    }
    return most;
}

/* Of what does not lie in memory of the caller. */
static const optune_plan *plan_of(void *emission, int group)
{
    const ot_emission *e = emission;
    const ot_group *at = &e->partition->groups.group[group];
    const int out = home_of(e, (ot_value){at->node[at->n_nodes - 1], 0});
    return e->group[group].n == 1 && e->home[out].kind == OT_AT_NONE
               ? e->kernel[e->group[group].use[0].kernel].source.plan
               : NULL;
}

/* Homes of inputs, outputs and constants are where those are. */
static void place_values(ot_emission *e)
{
    const ot_places *places = &e->partition->places;
    const ot_groups *groups = &e->partition->groups;
    const size_t most = (size_t)(groups->n + places->n + 1);
    ot_lifetime *item = ot_alloc(most * sizeof *item);
    int64_t **to = ot_alloc(most * sizeof *to);
    int *over = ot_alloc(most * sizeof *over), *lasts = ot_alloc(most * sizeof *lasts);
    int n = 0;
    ot_places_over(e->graph, groups, places, plan_of, e, over, lasts);
    for (int h = 0; h < places->n; h++) {
        const ot_home *home = &places->home[h];
        if (home->leaf >= 0 || e->home[h].kind == OT_AT_OUTPUT)
            continue;
        e->home[h].kind = OT_AT_ARENA;
        if (over[h] != h)
            continue;
        item[n] = (ot_lifetime){.bytes = home->bytes, .first = home->first, .last = lasts[h]};
        to[n++] = &e->home[h].at;
    }
    for (int i = 0; i < groups->n; i++)
        if (ot_emitted_runs(e, i)) {
            item[n] = (ot_lifetime){.bytes = workspace_of(e, i), .first = i, .last = i};
            to[n++] = &e->group[i].workspace;
        }
    e->arena_bytes = ot_lifetimes_place(item, n);
    for (int i = 0; i < n; i++)
        *to[i] = item[i].offset;
    for (int h = 0; h < places->n; h++)
        if (e->home[h].kind == OT_AT_ARENA)
            e->home[h].at = e->home[over[h]].at;
    free(over);
    free(lasts);
    free(item);
    free(to);
}

/* A home is where an output is if that is all of it; of others that part is copied at the end. */
static int place_ends(ot_emission *e, optune_err *err)
{
    const optune_graph *g = e->graph;
    const ot_places *places = &e->partition->places;
    for (int id = 0; id < g->n; id++) {
        const ot_node *node = &g->node[id];
        for (int o = 0; o < node->n_out; o++)
            OT_RETURN_UNLESS_OK(ot_graph_need_bound(g, id, o, err));
        if (node->kind == OT_NODE_VAR) {
            e->home[home_of(e, (ot_value){id, 0})] =
                (ot_emitted_spot){.kind = OT_AT_INPUT, .at = e->n_inputs};
            e->input[e->n_inputs++] = id;
        }
    }
    for (int i = 0; i < e->n_outputs; i++) {
        const int h = home_of(e, e->output[i]);
        const int64_t bytes = ot_tensor_most_bytes(ot_graph_type_of(g, e->output[i]));
        if (places->home[h].leaf < 0 && places->home[h].bytes == bytes &&
            e->home[h].kind == OT_AT_NONE)
            e->home[h] = (ot_emitted_spot){.kind = OT_AT_OUTPUT, .at = i};
    }
    return OPTUNE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* What NAME.c, NAME.h or NAME_OK would stand in the way of: the timing program, headers of C and
 * POSIX, and macros of <unistd.h>. */
static bool is_taken(const char *name)
{
    static const char *const taken[] = {
        "main",   "assert", "complex", "ctype",  "dirent",   "errno",     "fcntl",    "fenv",
        "float",  "glob",   "grp",     "iconv",  "inttypes", "iso646",    "kernels",  "limits",
        "locale", "malloc", "math",    "memory", "omp",      "poll",      "pthread",  "pwd",
        "sched",  "setjmp", "signal",  "stdarg", "stdbool",  "stddef",    "stdint",   "stdio",
        "stdlib", "string", "strings", "syslog", "termios",  "tgmath",    "threads",  "time",
        "uchar",  "unistd", "utime",   "wchar",  "wctype",   "stdatomic", "features", "f",
        "r",      "w",      "x",
    };
    for (int i = 0; i < OT_COUNT(taken); i++)
        if (strcasecmp(name, taken[i]) == 0)
            return true;
    return false;
}

static int check_name(const char *name, optune_err *err)
{
    const size_t n = strlen(name);
    bool good = isalpha((unsigned char)name[0]) && n <= 40;
    for (size_t i = 0; i < n; i++)
        good = good && (isalnum((unsigned char)name[i]) || name[i] == '_');
    if (!good)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%.80s' cannot be the model's name: a letter, then letters, digits "
                           "and '_', at most 40",
                           name);
    return is_taken(name)
               ? optune_fail(err, OPTUNE_EUSAGE,
                             "'%s' cannot be the model's name: a header or a macro of "
                             "the system, or a file beside the model, is called so; "
                             "--name '%s_model' would do",
                             name, name)
               : OPTUNE_OK;
}

static int check_target(optune *o, optune_err *err)
{
    int status = ot_context_device(o, err);
    if (status >= 0 && !o->row->worker.address)
        status = optune_fail(err, OPTUNE_EUNSUPPORTED,
                             "a graph is emitted as C for CPUs only, and the target is '%s'",
                             o->target.kind);
    return status;
}

/* Emitted C has no shape functions. */
static int check_dims(const optune_partition *p, optune_err *err)
{
    for (int i = 0; i < p->groups.n; i++)
        if (p->groups.group[i].call->op->shape)
            return ot_graph_fail(
                p->graph, p->groups.group[i].node[0], -1, OPTUNE_EUNSUPPORTED,
                "its dims follow from values, which emitted C cannot tell: end "
                "the graph in front of it, or compute it in process",
                err);
    return OPTUNE_OK;
}

static void open_emission(ot_emission *e, optune_partition *p, const char *name)
{
    const optune_graph *g = p->graph;
    ot_partition_share(p);
    e->partition = p;
    e->graph = g;
    e->name = name;
    for (size_t i = 0; i <= strlen(name); i++)
        e->upper[i] = (char)toupper((unsigned char)name[i]);
    e->target = p->o->target;
    e->target.n_libs = 0;
    e->choice = ot_alloc((size_t)(p->groups.n + 1) * sizeof *e->choice);
    e->group = ot_alloc((size_t)(p->groups.n + 1) * sizeof *e->group);
    e->input = ot_alloc((size_t)(g->n + 1) * sizeof *e->input);
    e->weight = ot_alloc((size_t)(g->n + 1) * sizeof *e->weight);
    e->home = ot_alloc((size_t)(p->places.n + 1) * sizeof *e->home);
    e->n_outputs = ot_graph_output_values(g, NULL, 0);
    e->output = ot_alloc((size_t)(e->n_outputs + 1) * sizeof *e->output);
    ot_graph_output_values(g, e->output, e->n_outputs);
}

static void close_emission(ot_emission *e)
{
    for (int i = 0; i < e->n_kernels; i++) {
        free(e->kernel[i].source.plan);
        free(e->kernel[i].row);
    }
    for (int i = 0; i < e->n_choices; i++)
        ot_dispatch_free(e->choice[i].table);
    free(e->kernel);
    free(e->choice);
    free(e->dim);
    free(e->group);
    free(e->input);
    free(e->weight);
    free(e->home);
    free(e->output);
    ot_arena_release(&e->arena);
    free(e);
}

static optune_result *report(const ot_emission *e, const char *dir, json_t *files)
{
    ot_text said = {0};
    json_t *json = ot_emitted_json(e);
    for (int i = 0; i < e->n_kernels; i++)
        if (e->kernel[i].instead_of) {
            ot_text_printf(&said, "%s instead of %s, which calls a library: ",
                           e->kernel[i].source.impl->name, e->kernel[i].instead_of);
            ot_call_print(e->kernel[i].source.task.call, &said);
            ot_text_add(&said, "\n");
        }
    ot_text_printf(
        &said,
        "%d group%s by %d kernel%s; %lld bytes of weights, %lld packed, %lld of activations\n",
        e->partition->places.n_run, e->partition->places.n_run == 1 ? "" : "s", e->n_kernels,
        e->n_kernels == 1 ? "" : "s", (long long)e->weights_bytes, (long long)e->packed_bytes,
        (long long)e->arena_bytes);
    for (size_t i = 0; i < json_array_size(files); i++)
        ot_text_printf(&said, "%s/%s\n", dir, json_string_value(json_array_get(files, i)));
    json_object_set_new(json, "dir", json_string(dir));
    json_object_set(json, "files", files);
    char *text = said.s;
    return ot_result_new(text, json);
}

int optune_partition_emit(optune_partition *p, const char *dir, const char *name, bool force,
                          optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"partition", p}, {"dir", dir}, {"result", result});
    *result = NULL;
    name = name ? name : "model";
    const char *const *known;
    int status = check_name(name, err);
    if (status >= 0)
        status = check_target(p->o, err);
    if (status >= 0)
        status = optune_partition_workloads(p, &known, err);
    if (status >= 0)
        status = check_dims(p, err);
    if (status < 0)
        return status;
    ot_emission *e = ot_alloc(sizeof *e);
    json_t *files = json_array();
    open_emission(e, p, name);
    status = place_ends(e, err);
    if (status >= 0)
        status = ot_emitted_sizes(e, err);
    if (status >= 0)
        status = ot_emitted_sizes_fit(e, err);
    if (status >= 0)
        status = ot_emitted_choose(e, err);
    if (status >= 0)
        status = place_constants(e, err);
    if (status >= 0) {
        place_packed(e);
        place_values(e);
        status = ot_emitted_write(e, dir, force, files, err);
    }
    if (status >= 0)
        *result = report(e, dir, files);
    json_decref(files);
    close_emission(e);
    return status;
}
