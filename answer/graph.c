/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph on a machine: its groups as workloads, and what would be used for each. A group is
 * fused only when some implementation that may be selected here, and is no last resort, computes
 * the whole of it.
 */
#include <math.h>
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"

bool ot_partition_accepts(void *arg, const optune_call *call)
{
    optune *o = arg;
    return ot_is_computed(&(optune_task){call, &o->target, &o->device});
}

static const char *node_names(optune_partition *p, const ot_group *group)
{
    ot_text names = {0};
    for (int i = 0; i < group->n_nodes; i++)
        ot_text_printf(&names, "%s%s", i ? " " : "",
                       optune_graph_name(p->graph, group->node[i]));
    const char *kept = ot_arena_copy(&p->arena, ot_text_str(&names));
    ot_text_release(&names);
    return kept;
}

/* Equal workloads get one number; what does not run, and what has no sizes to be measured at, is
 * none. */
static void find_distinct(optune_partition *p)
{
    p->workloads = ot_arena_alloc(&p->arena, (size_t)(p->groups.n + 1) * sizeof(char *));
    for (int i = 0; i < p->groups.n; i++) {
        ot_partition_row *row = &p->row[i];
        const bool known = ot_call_static(p->groups.group[i].call);
        ot_text text = {0};
        ot_call_print(p->groups.group[i].call, &text);
        int k = 0;
        while (k < p->n_workloads && strcmp(p->workloads[k], ot_text_str(&text)))
            k++;
        const bool runs = p->places.idle[i] == OT_RUNS && known;
        row->text =
            k < p->n_workloads ? p->workloads[k] : ot_arena_copy(&p->arena, ot_text_str(&text));
        if (runs && k == p->n_workloads)
            p->workloads[p->n_workloads++] = row->text;
        row->workload = runs ? k : -1;
        ot_text_release(&text);
    }
}

/* ---- in which situation its groups are used ---------------------------------------------- */

static double known_bytes(const optune_graph *g, ot_value value)
{
    const optune_tensor *type = ot_graph_type_of(g, value);
    return optune_tensor_known(type) ? (double)optune_tensor_bytes(type) : 0;
}

/* Between two uses of a constant all the others are read, and what flows between groups passes
 * through buffers that are used again and again. */
static void name_policy(optune_partition *p)
{
    const optune_graph *g = p->graph;
    double constants = 0, flow = 0;
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CONST)
            constants += known_bytes(g, (ot_value){id, 0});
    for (int i = 0; i < p->groups.n; i++) {
        const ot_group *group = &p->groups.group[i];
        const int last = group->node[group->n_nodes - 1];
        double own = 0;
        if (p->places.idle[i] != OT_RUNS)
            continue;
        for (int k = 0; k < group->n_in; k++)
            if (g->node[group->in[k].node].kind != OT_NODE_CONST)
                own += known_bytes(g, group->in[k]);
        for (int k = 0; k < group->call->n_outputs; k++)
            own += known_bytes(g, (ot_value){last, k});
        flow = fmax(flow, own);
    }
    ot_policy_of_model(constants + 2 * flow, p->policy, sizeof p->policy);
}

/* The groups' calls and who reads whom: what was measured in one graph is known again in one that
 * is the same but for its names. */
static void name_graph(optune_partition *p)
{
    ot_text text = {0};
    char hex[33];
    int *producer = ot_alloc((size_t)(p->graph->n + 1) * sizeof *producer);
    for (int i = 0; i < p->groups.n; i++) {
        const ot_group *group = &p->groups.group[i];
        producer[group->node[group->n_nodes - 1]] = i + 1;
        ot_text_printf(&text, "%s", p->row[i].text);
        for (int k = 0; k < group->n_in; k++)
            ot_text_printf(&text, " %d.%d", producer[group->in[k].node], group->in[k].output);
        ot_text_add(&text, "\n");
    }
    ot_digest_hex(ot_digest_of(ot_text_str(&text), text.n), hex);
    ot_policy_of_graph(hex, p->in_graph, sizeof p->in_graph);
    ot_text_release(&text);
    free(producer);
}

static bool is_open(const optune_partition *p)
{
    bool open = false;
    for (int i = 0; i < p->groups.n; i++)
        open = open || ot_group_is_open(p->graph, &p->groups.group[i]);
    return open;
}

/* Under a policy of the handle's own, and where kernels do not run in the caller's memory, there is
 * only that. A graph whose dims follow from values is not the same one in every run. */
static void name_policies(optune_partition *p, const optune_partition *like)
{
    int n = 0;
    if (!p->o->row->worker.address || strcmp(p->o->policy->name, ot_policy_warm.name))
        return;
    if (!is_open(p)) {
        name_graph(p);
        p->asked[n++] = p->in_graph;
    }
    if (like)
        ot_copy(p->policy, sizeof p->policy, like->policy);
    else
        name_policy(p);
    if (*p->policy)
        p->asked[n++] = p->policy;
}

const char *optune_partition_policy(const optune_partition *p)
{
    if (!p)
        return NULL;
    return *p->policy ? p->policy : p->o->policy->name;
}

static int open_over(optune *o, optune_graph *graph, const optune_partition *like,
                     optune_partition **partition, optune_err *err)
{
    optune_partition *p = ot_alloc(sizeof *p);
    p->o = o;
    p->given = p->graph = graph;
    const int status = ot_graph_partition(graph, ot_partition_accepts, o, &p->groups, err);
    if (status < 0) {
        free(p);
        return status;
    }
    p->row = ot_arena_alloc(&p->arena, (size_t)(p->groups.n + 1) * sizeof *p->row);
    for (int i = 0; i < p->groups.n; i++) {
        p->row[i].nodes = node_names(p, &p->groups.group[i]);
        p->n_nodes += p->groups.group[i].n_nodes;
    }
    const optune_target_worker *worker = &o->row->worker;
    ot_places_find(graph, &p->groups, worker->address && worker->alias, &p->places);
    find_distinct(p);
    name_policies(p, like);
    *partition = p;
    return OPTUNE_OK;
}

int ot_partition_open_given(optune *o, optune_graph *graph, optune_partition **partition,
                            optune_err *err)
{
    int status = optune_graph_infer(graph, err);
    if (status >= 0)
        status = ot_context_asked(o, err);
    return status < 0 ? status : open_over(o, graph, NULL, partition, err);
}

int ot_partition_open_attended(const optune_partition *plain, const ot_site *sites, int n,
                               optune_partition **partition, optune_err *err)
{
    ot_attended *attended = ot_alloc(sizeof *attended);
    attended->users = 1;
    int status = ot_graph_as_calls(plain->given, sites, n, &attended->relaid, err);
    if (status >= 0)
        status = open_over(plain->o, attended->relaid.graph, plain, partition, err);
    if (status < 0) {
        ot_relaid_release(&attended->relaid);
        free(attended);
        return status;
    }
    (*partition)->given = plain->given;
    (*partition)->attended = attended;
    return OPTUNE_OK;
}

int ot_partition_open_relaid(const optune_partition *plain, const ot_blocks *form,
                             optune_partition **partition, optune_err *err)
{
    ot_relaid relaid;
    int status = ot_graph_relayout(plain->graph, &plain->groups, form, &relaid, err);
    if (status < 0)
        return status;
    status = open_over(plain->o, relaid.graph, plain, partition, err);
    if (status < 0) {
        ot_relaid_release(&relaid);
        return status;
    }
    (*partition)->given = plain->given;
    (*partition)->relaid = relaid;
    (*partition)->attended = plain->attended;
    (*partition)->attending = plain->attending;
    (*partition)->chaining = plain->chaining;
    (*partition)->sites = plain->sites ? ot_arena_copy(&(*partition)->arena, plain->sites) : NULL;
    if (plain->attended)
        plain->attended->users++;
    return OPTUNE_OK;
}

void ot_partition_share(optune_partition *p)
{
    const optune_graph *from = p->given;
    if (p->attended) {
        ot_relaid_share(&p->attended->relaid, from);
        from = p->attended->relaid.graph;
    }
    if (p->relaid.graph)
        ot_relaid_share(&p->relaid, from);
}

static void drop_selections(optune_partition *p)
{
    p->selected = false;
    for (int i = 0; i < p->groups.n; i++) {
        optune_selection_free(p->row[i].selection);
        ot_dispatch_free(p->row[i].table);
        p->row[i].selection = NULL;
        p->row[i].table = NULL;
    }
}

void optune_partition_close(optune_partition *p)
{
    if (!p)
        return;
    drop_selections(p);
    ot_places_release(&p->places);
    ot_groups_release(&p->groups);
    ot_relaid_release(&p->relaid);
    if (p->attended && --p->attended->users == 0) {
        ot_relaid_release(&p->attended->relaid);
        free(p->attended);
    }
    ot_arena_release(&p->arena);
    ot_text_release(&p->text);
    free(p);
}

int optune_partition_size(const optune_partition *p)
{
    if (!p)
        return 0;
    return p->groups.n;
}

const char *optune_partition_workload(const optune_partition *p, int i)
{
    if (!p || i < 0 || i >= p->groups.n)
        return NULL;
    return p->row[i].text;
}

const char *optune_partition_place(const optune_partition *p, int i)
{
    if (!p || i < 0 || i >= p->groups.n)
        return NULL;
    return ot_idle_name(p->places.idle[i]);
}

const char *optune_partition_nodes(const optune_partition *p, int i)
{
    if (!p || i < 0 || i >= p->groups.n)
        return NULL;
    return p->row[i].nodes;
}

optune_selection *optune_partition_selection(const optune_partition *p, int i)
{
    if (!p || i < 0 || i >= p->groups.n)
        return NULL;
    return p->row[i].selection;
}

int optune_partition_select(optune_partition *p, optune_err *err)
{
    OT_ENTER(err, {"partition", p});
    drop_selections(p);
    p->selected = true;
    for (int i = 0; i < p->groups.n; i++) {
        optune_err inner = {0};
        const ot_group *group = &p->groups.group[i];
        if (p->places.idle[i] != OT_RUNS)
            continue;
        const int status =
            ot_selection_of(p->o, group->call, p->asked, &p->row[i].selection, &inner);
        if (status < 0) {
            drop_selections(p);
            return ot_graph_fail(p->graph, group->node[0], -1, status, inner.text, err);
        }
        p->row[i].table = ot_dispatch_of(p->o, group->call);
    }
    return OPTUNE_OK;
}

/* ---- what people and programs see -------------------------------------------------------- */

static const char *time_text(double seconds, char to[32])
{
    if (isfinite(seconds))
        ot_format(to, 32, "%.4g us", seconds * 1e6);
    else
        ot_copy(to, 32, "-");
    return to;
}

/* `impl {knobs}` without the config when it has no knobs. */
static void add_row(const optune_partition *p, int i, int width, ot_text *to)
{
    const ot_partition_row *row = &p->row[i];
    char time[32];
    if (p->places.idle[i] != OT_RUNS) {
        ot_text_printf(to, "%-*s  %s\n", width, row->nodes, ot_idle_name(p->places.idle[i]));
        return;
    }
    if (row->table) {
        ot_text_printf(to, "%-*s  %-24s %12s  %-10s %d row%s\n", width, row->nodes,
                       "a dispatch table", "-", "tuned", row->table->n,
                       row->table->n == 1 ? "" : "s");
        return;
    }
    ot_text config = {0};
    optune_config parsed;
    if (ot_config_parse(optune_selection_config(row->selection), &parsed, NULL) >= 0)
        ot_config_print_short(&parsed, &config);
    ot_text_printf(to, "%-*s  %-24s %12s  %-10s %s\n", width, row->nodes,
                   optune_selection_impl(row->selection),
                   time_text(optune_selection_cost(row->selection), time),
                   optune_selection_tier(row->selection), ot_text_str(&config));
    ot_text_release(&config);
}

static int names_width(const optune_partition *p)
{
    int width = 5;
    for (int i = 0; i < p->groups.n; i++) {
        const int n = (int)strlen(p->row[i].nodes);
        width = n > width ? n : width;
    }
    return width > 40 ? 40 : width;
}

static void add_sum(const optune_partition *p, ot_text *to)
{
    double sum = 0;
    int known = 0;
    for (int i = 0; i < p->groups.n; i++) {
        const double cost = optune_selection_cost(p->row[i].selection);
        if (p->row[i].selection && isfinite(cost)) {
            sum += cost;
            known++;
        }
    }
    ot_text_printf(to, "\n%d operator%s in %d group%s, %d distinct workload%s", p->n_nodes,
                   p->n_nodes == 1 ? "" : "s", p->groups.n, p->groups.n == 1 ? "" : "s",
                   p->n_workloads, p->n_workloads == 1 ? "" : "s");
    if (p->places.n_run < p->groups.n)
        ot_text_printf(to, "; %d in place or views", p->groups.n - p->places.n_run);
    if (known == p->places.n_run && known)
        ot_text_printf(to, "; together %.4g us\n", sum * 1e6);
    else
        ot_text_printf(to, "; %d of %d measured\n", known, p->places.n_run);
}

/* Every implementation of each distinct workload, under the names of the nodes it stands for. */
static void add_explanations(optune_partition *p, ot_text *to)
{
    for (int k = 0; k < p->n_workloads; k++) {
        optune_selection *selection = NULL;
        const char *comma = "";
        for (int i = 0; i < p->groups.n; i++)
            if (p->row[i].workload == k) {
                ot_text_printf(to, "%s%s", comma, p->row[i].nodes);
                comma = ", ";
                selection = p->row[i].selection;
            }
        ot_text_printf(to, ":\n%s\n", optune_selection_text(selection, true));
    }
}

const char *optune_partition_text(optune_partition *p, bool explain)
{
    OT_DEFAULT_FENV;
    if (!p)
        return NULL;
    ot_text_clear(&p->text);
    if (!p->selected)
        return "";
    if (explain)
        add_explanations(p, &p->text);
    const int width = names_width(p);
    ot_text_printf(&p->text, "%-*s  %-24s %12s  %-10s %s\n", width, "nodes", "implementation",
                   "time", "tier", "config");
    for (int i = 0; i < p->groups.n; i++)
        add_row(p, i, width, &p->text);
    add_sum(p, &p->text);
    ot_attending_say(p, &p->text);
    ot_layouts_say(&p->layouts, &p->text);
    return ot_text_str(&p->text);
}

static json_t *group_json(const optune_partition *p, int i)
{
    json_t *json = json_object(), *nodes = json_array();
    const ot_group *group = &p->groups.group[i];
    for (int k = 0; k < group->n_nodes; k++)
        json_array_append_new(nodes, json_string(optune_graph_name(p->graph, group->node[k])));
    json_object_set_new(json, "nodes", nodes);
    json_object_set_new(json, "workload", json_string(optune_partition_workload(p, i)));
    const char *place = optune_partition_place(p, i);
    json_object_set_new(json, "place", place ? json_string(place) : json_null());
    json_object_set_new(json, "selection",
                        p->row[i].selection
                            ? json_loads(optune_selection_json(p->row[i].selection), 0, NULL)
                            : json_null());
    if (p->row[i].table)
        json_object_set_new(json, "dispatch", ot_dispatch_json(p->row[i].table));
    return json;
}

const char *optune_partition_json(optune_partition *p)
{
    OT_DEFAULT_FENV;
    if (!p)
        return NULL;
    json_t *json = json_object(), *groups = json_array(), *workloads = json_array();
    for (int i = 0; i < p->groups.n; i++)
        json_array_append_new(groups, group_json(p, i));
    for (int k = 0; k < p->n_workloads; k++)
        json_array_append_new(workloads, json_string(p->workloads[k]));
    json_object_set_new(json, "groups", groups);
    json_object_set_new(json, "workloads", workloads);
    json_t *asked = json_array();
    for (int i = 0; p->asked[i]; i++)
        json_array_append_new(asked, json_string(p->asked[i]));
    json_array_append_new(asked, json_string(p->o->policy->name));
    json_object_set_new(json, "policies", asked);
    json_object_set_new(json, "policy", json_string(optune_partition_policy(p)));
    json_object_set_new(json, "layouts", ot_layouts_json(&p->layouts));
    json_object_set_new(json, "attention", ot_attending_json(&p->attending, OT_SITE_ATTENTION));
    json_object_set_new(json, "chains", ot_attending_json(&p->chaining, OT_SITE_CHAIN));
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(json);
    ot_text_clear(&p->text);
    ot_text_add(&p->text, text);
    free(text);
    return ot_text_str(&p->text);
}
