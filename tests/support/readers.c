/* SPDX-License-Identifier: Apache-2.0 */
#include "support/readers.h"

#include "graph/graph.h"
#include "strategy/dispatch.h"
#include "support/check.h"
#include "target/target.h"

static void same_or_die(const char *what, const char *text, const char *a, const char *b)
{
    if (strcmp(a, b)) {
        fprintf(stderr, "%s of\n%s\nfirst is\n%s\nthen\n%s\n", what, text, a, b);
        abort();
    }
}

static void read_call(const char *text)
{
    static optune_call call, again;
    optune_err err = {0};
    if (ot_call_parse(text, &call, &err) < 0)
        return;
    ot_text first = {0}, second = {0};
    ot_call_print(&call, &first);
    if (ot_call_parse(ot_text_str(&first), &again, &err) < 0) {
        fprintf(stderr, "%s\nis canonically\n%s\n%s\n", text, ot_text_str(&first), err.text);
        abort();
    }
    ot_call_print(&again, &second);
    same_or_die("workload", text, ot_text_str(&first), ot_text_str(&second));
    if (ot_call_check(&call, &err) < 0)
        same_or_die("workload", text, "", err.text);
    ot_symbols symbols;
    if (ot_call_static(&call)) {
        ot_call_flops(&call);
        ot_call_bytes(&call);
    } else if (ot_symbols_of(&call, &symbols, &err) >= 0) {
        for (int i = 0; i < symbols.n; i++)
            symbols.dim[i].max = symbols.dim[i].min;
        ot_call_narrow(&call, &symbols, &again, &err);
    }
    ot_text_release(&first);
    ot_text_release(&second);
}

static void read_graph(const char *text)
{
    optune_graph *g = NULL, *again = NULL, *gradient = NULL;
    optune_err err = {0};
    if (optune_graph_parse(text, "fuzz", &g, &err) < 0)
        return;
    char *first = ot_strdup(optune_graph_text(g, false));
    if (optune_graph_parse(first, "again", &again, &err) < 0) {
        fprintf(stderr, "%s\nprints as\n%s\n%s\n", text, first, err.text);
        abort();
    }
    same_or_die("graph", text, first, optune_graph_text(again, false));
    optune_graph_close(again);
    free(first);
    if (optune_graph_infer(g, &err) >= 0) {
        if (optune_graph_size(g) < 200 && optune_graph_outputs(g) < 200 &&
            optune_graph_gradient(g, NULL, 0, &gradient, &err) >= 0)
            optune_graph_text(gradient, true);
        optune_graph_close(gradient);
        optune_graph_text(g, true);
        optune_graph_json(g);
    }
    optune_graph_close(g);
}

static void read_target(const char *text)
{
    optune_target target, again;
    optune_err err = {0};
    if (ot_target_parse(text, &target, &err) < 0)
        return;
    ot_text first = {0}, second = {0};
    ot_target_print(&target, false, &first);
    if (ot_target_parse(ot_text_str(&first), &again, &err) < 0)
        same_or_die("target", text, ot_text_str(&first), err.text);
    ot_target_print(&again, false, &second);
    same_or_die("target", text, ot_text_str(&first), ot_text_str(&second));
    ot_text_release(&first);
    ot_text_release(&second);
}

static void read_config(const char *text)
{
    static optune_config config, again;
    optune_err err = {0};
    if (ot_config_parse(text, &config, &err) < 0)
        return;
    ot_text first = {0}, second = {0};
    ot_config_print(&config, &first);
    if (ot_config_parse(ot_text_str(&first), &again, &err) < 0)
        same_or_die("config", text, ot_text_str(&first), err.text);
    ot_config_print(&again, &second);
    same_or_die("config", text, ot_text_str(&first), ot_text_str(&second));
    ot_config_print_short(&config, &second);
    ot_text_release(&first);
    ot_text_release(&second);
}

static bool some_dim(const void *arg, const char *name, optune_dim *dim)
{
    (void)arg;
    *dim = name[0] == 'm' ? (optune_dim){.min = 1, .max = INT64_MAX}
                          : optune_dim_of(strlen(name) % 7 == 3 ? 0 : (int64_t)strlen(name));
    return name[0] != 'x';
}

static void read_condition(const char *text)
{
    ot_condition *condition = NULL;
    optune_err err = {0};
    char clause[OPTUNE_WHY_SIZE];
    if (ot_condition_parse(text, &condition, &err) >= 0)
        ot_condition_test(condition, some_dim, NULL, clause, sizeof clause);
    ot_condition_free(condition);
}

static void read_dispatch(const char *text)
{
    ot_dispatch *table = NULL;
    optune_err err = {0};
    ot_text said = {0};
    if (ot_dispatch_read(text, &table, &err) < 0)
        return;
    const int64_t sizes[][OT_MAX_SYMBOLS] = {
        {1, 1, 1, 1}, {INT64_MIN, 0}, {INT64_MAX, INT64_MAX}, {17, 300}};
    for (int i = 0; i < OT_COUNT(sizes); i++)
        ot_dispatch_find(table, sizes[i]);
    ot_dispatch_print(table, &said);
    ot_text_release(&said);
    ot_dispatch_free(table);
}

static void read_type(const char *text)
{
    optune_tensor type;
    const char *end;
    optune_err err = {0};
    if (ot_tensor_parse(text, &type, &end, &err) < 0 || type.rank < 0)
        return;
    ot_text said = {0};
    ot_tensor_print(&type, &said);
    ot_text_release(&said);
}

const reader readers[READERS] = {
    {"workload", read_call}, {"graph", read_graph},         {"target", read_target},
    {"config", read_config}, {"condition", read_condition}, {"dispatch", read_dispatch},
    {"type", read_type},     {"kernel", read_kernel},
};
