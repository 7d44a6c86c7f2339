/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an emitted graph as text. What is the same for every model are the patterns in
 * answer/emitted, with @WORDS@ for what is not; kernels are written by source.c.
 */
#include <ctype.h>
#include <string.h>

#include "answer/emit_graph.h"

extern const char ot_emitted_model_c[], ot_emitted_model_h[], ot_emitted_main_c[],
    ot_emitted_makefile[], ot_emitted_cmake[], ot_emitted_weights[];

const ot_emitted_text ot_emitted_texts[OT_EMITTED_TEXTS] = {
    {"@NAME@.c", ot_emitted_model_c},     {"@NAME@.h", ot_emitted_model_h},
    {"main.c", ot_emitted_main_c},        {"Makefile", ot_emitted_makefile},
    {"CMakeLists.txt", ot_emitted_cmake},
};

/* ---- words -------------------------------------------------------------------------------- */

static void add_long(ot_text *to, int64_t n)
{
    ot_text_printf(to, "%lld", (long long)n);
}

/* Any text as a string of C: what is no plain character is an octal number, '?' among them. */
static void add_string(ot_text *to, const char *s)
{
    ot_text_add(to, "\"");
    for (; *s; s++)
        if (isalnum((unsigned char)*s) || (*s && strchr(" _.-+*/=,:;<>()[]{}", *s)))
            ot_text_add_n(to, s, 1);
        else
            ot_text_printf(to, "\\%03o", (unsigned char)*s);
    ot_text_add(to, "\"");
}

/* Any text inside a comment, its lines behind " * ". */
static void add_comment(ot_text *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '\n')
            ot_text_add(to, "\n * ");
        else
            ot_text_add_n(to, (unsigned char)*s < ' ' ? " " : s, 1);
        if (s[0] == '*' && s[1] == '/')
            ot_text_add(to, " ");
    }
}

const char *ot_emitted_value_name(const ot_emission *e, ot_value value, ot_text *to)
{
    ot_text_add(to, e->graph->node[value.node].name);
    if (e->graph->node[value.node].n_out > 1)
        ot_text_printf(to, ".%d", value.output);
    return ot_text_str(to);
}

/* Where it is, as an expression in the run function. */
static void add_address(const ot_emission *e, ot_value value, ot_text *to)
{
    static const char *const form[] = {[OT_AT_INPUT] = "input[%lld]",
                                       [OT_AT_OUTPUT] = "output[%lld]",
                                       [OT_AT_WEIGHTS] = "weights + %lld",
                                       [OT_AT_ARENA] = "memory + %lld"};
    const ot_emitted_spot place = ot_emitted_place(e, value);
    if (place.kind == OT_AT_NONE) { /* nobody reads it */
        ot_text_add(to, "0");
        return;
    }
    char text[64];
    snprintf(text, sizeof text, form[place.kind], (long long)place.at);
    if (place.offset)
        ot_text_printf(to, "(%schar *)%s + %lld", place.kind == OT_AT_INPUT ? "const " : "",
                       text, (long long)place.offset);
    else
        ot_text_add(to, text);
}

/* ---- kernels ------------------------------------------------------------------------------ */

static bool has_phase(const ot_source *s, optune_phase phase)
{
    for (int i = 0; i < s->plan->n_stages; i++)
        if (s->plan->stage[i].phase == phase)
            return true;
    return false;
}

static void add_contract(const ot_emitted_kernel *k, ot_text *to)
{
    ot_text call = {0}, config = {0};
    ot_call_print(k->source.task.call, &call);
    ot_config_print_short(&k->config, &config);
    add_comment(to, ot_text_str(&call));
    ot_text_add(to, "\n * computed by ");
    ot_text_add(to, k->source.impl->name);
    ot_text_add(to, config.n ? " " : "");
    add_comment(to, ot_text_str(&config));
    ot_text_printf(to, " (%s)\n", k->tier);
    if (k->instead_of)
        ot_text_printf(to, " * instead of %s, which calls a library\n", k->instead_of);
    ot_text_release(&call);
    ot_text_release(&config);
}

static void add_phase(const ot_source *s, optune_phase phase, const char *function,
                      const char *parameters, const char *unused, ot_text *to)
{
    if (!has_phase(s, phase))
        return;
    ot_text_printf(to, "\nstatic void %s_%s(%s)\n{\n%s", s->name, function, parameters, unused);
    ot_source_phase(s, phase, to);
    ot_text_add(to, "}\n");
}

#define RUN_PARAMETERS                                                                         \
    "char *packed, char *workspace, const void *const *input, void *const *output"
#define RUN_UNUSED                                                                             \
    "    (void)packed;\n    (void)workspace;\n    (void)input;\n    (void)output;\n"

static void add_kernels(const ot_emission *e, ot_text *to)
{
    for (int i = 0; i < e->n_kernels; i++) {
        const ot_source *s = &e->kernel[i].source;
        ot_text_add(to, i ? "\n/*\n * " : "/*\n * ");
        add_contract(&e->kernel[i], to);
        ot_text_add(to, " */\n");
        ot_source_prototypes(s, to);
        add_phase(s, OPTUNE_PREPACK, "pack", "char *packed, const void *const *input",
                  "    (void)packed;\n    (void)input;\n", to);
        add_phase(s, OPTUNE_TIMED, "run",
                  e->n_sizes ? RUN_PARAMETERS ", const struct sizes *s" : RUN_PARAMETERS,
                  e->n_sizes ? RUN_UNUSED "    (void)s;\n" : RUN_UNUSED, to);
        add_phase(s, OPTUNE_TEARDOWN, "close", "char *packed", "    (void)packed;\n", to);
    }
}

static void kernel_file(const ot_emission *e, int kernel, int module, ot_text *to)
{
    ot_text_printf(to, "k%d_", kernel);
    for (const char *c = e->kernel[kernel].source.impl->name; *c; c++)
        ot_text_add_n(to, isalnum((unsigned char)*c) ? c : "_", 1);
    if (e->kernel[kernel].source.plan->n_modules > 1)
        ot_text_printf(to, "_m%d", module);
}

void ot_emitted_kernel_path(const ot_emission *e, int kernel, int module, ot_text *to)
{
    ot_text_add(to, "kernels/");
    kernel_file(e, kernel, module, to);
    ot_text_add(to, ".c");
}

void ot_emitted_kernel_text(const ot_emission *e, int kernel, int module, ot_text *to)
{
    const ot_emitted_kernel *k = &e->kernel[kernel];
    ot_text_add(to, "/*\n * ");
    add_contract(k, to);
    ot_source_build(&k->source, to);
    ot_text_add(to, " */\n");
    ot_source_module(&k->source, module, to);
}

/* ---- the run ------------------------------------------------------------------------------ */

/* "        const void *const in[] = {...};" */
static void add_inputs(const ot_emission *e, const ot_group *group, bool only_constants,
                       ot_text *to)
{
    ot_text_add(to, "        const void *const in[] = {");
    for (int k = 0; k < group->n_in; k++) {
        ot_text_add(to, k ? ", " : "");
        if (only_constants && ot_emitted_place(e, group->in[k]).kind != OT_AT_WEIGHTS)
            ot_text_add(to, "NULL");
        else
            add_address(e, group->in[k], to);
    }
    ot_text_add(to, group->n_in ? "};\n" : "NULL};\n");
}

static void add_packing(const ot_emission *e, ot_text *to)
{
    for (int i = 0; i < e->partition->groups.n; i++)
        for (int u = 0; u < e->group[i].n; u++) {
            const ot_emitted_use *use = &e->group[i].use[u];
            const ot_source *s = &e->kernel[use->kernel].source;
            if (!use->packs || !has_phase(s, OPTUNE_PREPACK))
                continue;
            ot_text_add(to, "    {\n");
            add_inputs(e, &e->partition->groups.group[i], true, to);
            ot_text_printf(to, "        %s_pack(packed + %lld, in);\n    }\n", s->name,
                           (long long)use->packed);
        }
}

static void add_closing(const ot_emission *e, ot_text *to)
{
    for (int i = 0; i < e->partition->groups.n; i++)
        for (int u = 0; u < e->group[i].n; u++) {
            const ot_emitted_use *use = &e->group[i].use[u];
            const ot_source *s = &e->kernel[use->kernel].source;
            if (use->packs && has_phase(s, OPTUNE_TEARDOWN))
                ot_text_printf(to, "    %s_close(constants->packed + %lld);\n", s->name,
                               (long long)use->packed);
        }
}

/* "        if (s->of_n <= 8)\n    ": the kernel for the sizes of the run. */
static void add_call(const ot_emission *e, const ot_emitted_group *group, int u, ot_text *to)
{
    const ot_emitted_use *use = &group->use[u];
    ot_text_add(to, "        ");
    if (use->when) {
        ot_text_add(to, u ? "else if (" : "if (");
        ot_source_expression(use->when, group->names, to);
        ot_text_add(to, ")\n            ");
    } else if (u) {
        ot_text_add(to, "else\n            ");
    }
    ot_text_printf(to, "%s_run(packed + %lld, memory + %lld, in, out%s);\n",
                   e->kernel[use->kernel].source.name, (long long)use->packed,
                   (long long)group->workspace, e->n_sizes ? ", s" : "");
}

/* Nothing runs where no output has an element. */
static void add_guard(const ot_node *last, ot_text *to)
{
    bool empty = true;
    for (int o = 0; o < last->n_out; o++) {
        bool own = false;
        for (int d = 0; d < last->out[o].rank; d++)
            own = own || (!optune_dim_known(&last->out[o].dim[d]) && !last->out[o].dim[d].min);
        empty = empty && own;
    }
    for (int o = 0; o < last->n_out && empty; o++) {
        ot_text_add(to, o ? " || " : "    if (");
        ot_emitted_add_bytes(&last->out[o], to);
        ot_text_add(to, o + 1 == last->n_out ? " != 0)\n" : " != 0");
    }
}

static void add_group(const ot_emission *e, int i, ot_text *to)
{
    const ot_group *group = &e->partition->groups.group[i];
    const ot_emitted_group *own = &e->group[i];
    const int last = group->node[group->n_nodes - 1];
    add_guard(&e->graph->node[last], to);
    ot_text_add(to, "    { /* ");
    add_comment(to, e->partition->row[i].nodes);
    ot_text_add(to, " */\n");
    add_inputs(e, group, false, to);
    ot_text_add(to, "        void *const out[] = {");
    for (int o = 0; o < e->graph->node[last].n_out; o++) {
        ot_text_add(to, o ? ", " : "");
        add_address(e, (ot_value){last, o}, to);
    }
    ot_text_add(to, "};\n");
    for (int u = 0; u < own->n; u++)
        add_call(e, own, u, to);
    if (own->n && own->use[own->n - 1].when)
        ot_text_printf(to, "        else\n            return %s_EARGUMENT;\n", e->upper);
    ot_text_add(to, "    }\n");
}

/* Outputs that no group writes itself: a second of the same value, inputs, constants, parts of
 * something larger. */
static void add_run(const ot_emission *e, ot_text *to)
{
    for (int i = 0; i < e->partition->groups.n; i++)
        if (ot_emitted_runs(e, i))
            add_group(e, i, to);
    for (int i = 0; i < e->n_outputs; i++) {
        const ot_emitted_spot place = ot_emitted_place(e, e->output[i]);
        const optune_tensor *type = ot_graph_type_of(e->graph, e->output[i]);
        const int64_t most = ot_tensor_most_bytes(type);
        if ((place.kind == OT_AT_OUTPUT && place.at == i) || !most)
            continue;
        ot_text_printf(to, "    memcpy(output[%d], ", i);
        add_address(e, e->output[i], to);
        ot_text_add(to, ", ");
        if (optune_tensor_known(type))
            add_long(to, most);
        else
            ot_emitted_add_bytes(type, to);
        ot_text_add(to, ");\n");
    }
}

/* ---- tensors ------------------------------------------------------------------------------ */

static void add_tensors(const ot_emission *e, bool outputs, ot_text *to)
{
    const int n = outputs ? e->n_outputs : e->n_inputs;
    const char *what = outputs ? "output" : "input";
    ot_text rows = {0};
    for (int i = 0; i < n; i++) {
        const ot_value value = outputs ? e->output[i] : (ot_value){e->input[i], 0};
        const optune_tensor *type = ot_graph_type_of(e->graph, value);
        ot_text name = {0};
        char dtype[OPTUNE_NAME_SIZE];
        ot_print_dtype_long(type->dtype, dtype, sizeof dtype);
        ot_text_add(&rows, "    {");
        add_string(&rows, ot_emitted_value_name(e, value, &name));
        ot_text_printf(&rows, ", \"%s\", %d, ", dtype, type->rank);
        if (type->rank)
            ot_text_printf(&rows, "%s_dim_%d", what, i);
        else
            ot_text_add(&rows, "NULL");
        ot_text_printf(&rows, ", %lld},\n", (long long)ot_tensor_most_bytes(type));
        ot_text_release(&name);
        if (!type->rank)
            continue;
        ot_text_printf(to, "static const int64_t %s_dim_%d[] = {", what, i);
        for (int d = 0; d < type->rank; d++)
            ot_text_printf(to, "%s%lld", d ? ", " : "", (long long)type->dim[d].max);
        ot_text_add(to, "};\n");
    }
    ot_text_printf(to, "const struct %s_tensor %s_%s[] = {\n%s};\n", e->name, e->name, what,
                   n ? ot_text_str(&rows) : "    {NULL, NULL, 0, NULL, 0},\n");
    ot_text_release(&rows);
}

static void add_model_contract(const ot_emission *e, ot_text *to)
{
    static const char *const what[] = {"input", "output"};
    ot_text_printf(to, " * A model of %d operators in %d groups, each by the implementation\n",
                   e->partition->n_nodes, e->partition->places.n_run);
    ot_text_add(to, " * that was selected for it:\n *\n");
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; i < (outputs ? e->n_outputs : e->n_inputs); i++) {
            const ot_value value = outputs ? e->output[i] : (ot_value){e->input[i], 0};
            ot_text type = {0}, name = {0};
            ot_tensor_print(ot_graph_type_of(e->graph, value), &type);
            ot_text_printf(to, " *   %s[%d] ", what[outputs], i);
            add_comment(to, ot_emitted_value_name(e, value, &name));
            ot_text_printf(to, ", %s\n", ot_text_str(&type));
            ot_text_release(&type);
            ot_text_release(&name);
        }
    if (*optune_graph_left_out(e->graph)) {
        ot_text_add(
            to, " *\n * Parts of the model are left out, so it computes something else:\n * ");
        add_comment(to, optune_graph_left_out(e->graph));
        while (to->n &&
               (to->s[to->n - 1] == ' ' || to->s[to->n - 1] == '*' || to->s[to->n - 1] == '\n'))
            to->s[--to->n] = 0;
        ot_text_add(to, "\n");
    }
}

/* ---- building ----------------------------------------------------------------------------- */

typedef void module_text(const ot_emission *e, int kernel, int module, ot_text *to);

static void each_module(const ot_emission *e, module_text *add, ot_text *to)
{
    for (int i = 0; i < e->n_kernels; i++)
        for (int m = 0; m < e->kernel[i].source.plan->n_modules; m++)
            add(e, i, m, to);
}

static void add_object(const ot_emission *e, int kernel, int module, ot_text *to)
{
    ot_text_add(to, " \\\n\t$(B)/");
    kernel_file(e, kernel, module, to);
    ot_text_add(to, ".o");
}

static void add_source(const ot_emission *e, int kernel, int module, ot_text *to)
{
    ot_text_add(to, "\n  ");
    ot_emitted_kernel_path(e, kernel, module, to);
}

static void add_own_flags(const ot_emission *e, int kernel, int module, ot_text *to)
{
    const ot_module *m = &e->kernel[kernel].source.plan->module[module];
    if (!m->n_flags)
        return;
    ot_text_add(to, "$(B)/");
    kernel_file(e, kernel, module, to);
    ot_text_add(to, ".o: FLAGS =");
    for (int f = 0; f < m->n_flags; f++)
        ot_text_printf(to, " %s", m->flag[f]);
    ot_text_add(to, "\n");
}

static void add_own_options(const ot_emission *e, int kernel, int module, ot_text *to)
{
    const ot_module *m = &e->kernel[kernel].source.plan->module[module];
    if (!m->n_flags)
        return;
    ot_text_add(to, "set_property(SOURCE ");
    ot_emitted_kernel_path(e, kernel, module, to);
    ot_text_add(to, " APPEND PROPERTY COMPILE_OPTIONS");
    for (int f = 0; f < m->n_flags; f++)
        ot_text_printf(to, " %s", m->flag[f]);
    ot_text_add(to, ")\n");
}

/* ---- patterns ----------------------------------------------------------------------------- */

static void add_openmp(const ot_emission *e, ot_text *to)
{
    if (e->target.threads < 2)
        return;
    ot_text_printf(
        to,
        " *\n * A run uses %d threads of OpenMP. They are fastest where they stay:\n"
        " * OMP_NUM_THREADS=%d OMP_PLACES=cores OMP_PROC_BIND=close in the program's "
        "environment.\n",
        e->target.threads, e->target.threads);
}

/* The word between two '@'. */
static void add_word(const ot_emission *e, const char *word, size_t n, ot_text *to)
{
    const ot_source any = {.task = {.target = &e->target}};
    const bool parallel = e->target.threads > 1;
#define WORD(text, ...)                                                                        \
    if (strlen(text) == n && strncmp(word, text, n) == 0) {                                    \
        __VA_ARGS__;                                                                           \
        return;                                                                                \
    }
    WORD("NAME", ot_text_add(to, e->name))
    WORD("UPPER", ot_text_add(to, e->upper))
    WORD("CONTRACT", add_model_contract(e, to))
    WORD("OPENMP", add_openmp(e, to))
    if (n > 3 && strncmp(word, "SIZ", 3) == 0 && ot_emitted_size_word(e, word, n, to))
        return;
    WORD("INPUTS", add_long(to, e->n_inputs))
    WORD("OUTPUTS", add_long(to, e->n_outputs))
    WORD("THREADS", add_long(to, parallel ? e->target.threads : 1))
    WORD("WEIGHTS", ot_text_add(to, ot_emitted_weights))
    WORD("LAYOUT", ot_text_printf(to, "%016llx", (unsigned long long)e->layout))
    WORD("WEIGHTS_BYTES", add_long(to, e->weights_bytes))
    WORD("ONLY_PACKED", add_long(to, e->only_packed))
    WORD("PACKED_BYTES", add_long(to, e->packed_bytes))
    WORD("ARENA_BYTES", add_long(to, e->arena_bytes))
    WORD("TENSORS", add_tensors(e, false, to); add_tensors(e, true, to))
    WORD("KERNELS", add_kernels(e, to))
    WORD("PACK", add_packing(e, to))
    WORD("CLOSE", add_closing(e, to))
    WORD("RUN", add_run(e, to))
    WORD("KERNEL_FLAGS", ot_source_flags(&any, to))
    WORD("KERNEL_OPTIONS", ot_source_flags(&any, to))
    WORD("OPENMP_FLAG", ot_text_add(to, parallel ? " -fopenmp" : ""))
    WORD("OPENMP_LINK", if (parallel) ot_text_printf(
                            to, "target_link_options(%s_model PUBLIC -fopenmp)\n", e->name))
    WORD("KERNEL_OBJECTS", each_module(e, add_object, to))
    WORD("KERNEL_SOURCES", each_module(e, add_source, to))
    WORD("KERNEL_OWN_FLAGS", each_module(e, add_own_flags, to))
    WORD("KERNEL_OWN_OPTIONS", each_module(e, add_own_options, to))
#undef WORD
    ot_text_printf(to, "@%.*s@", (int)n, word);
}

static void fill(const ot_emission *e, const char *pattern, ot_text *to)
{
    for (const char *p = pattern; *p;) {
        const size_t plain = strcspn(p, "@");
        ot_text_add_n(to, p, plain);
        p += plain;
        if (!*p)
            return;
        const size_t n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (n && p[n + 1] == '@') {
            add_word(e, p + 1, n, to);
            p += n + 2;
        } else {
            ot_text_add_n(to, p++, 1);
        }
    }
}

void ot_emitted_path(const ot_emission *e, int text, ot_text *to)
{
    fill(e, ot_emitted_texts[text].path, to);
}

void ot_emitted_fill(const ot_emission *e, int text, ot_text *to)
{
    fill(e, ot_emitted_texts[text].pattern, to);
}
