/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dispatch table as one C translation unit and its header: every kernel that a row may reach,
 * its packing, the choice between them, and nothing else needed. Rows of one plan share a kernel;
 * rows that no size reaches are left out.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"
#include "answer/emit/source.h"

typedef struct generation {
    const ot_dispatch *table;
    char name[OPTUNE_NAME_SIZE];
    ot_source *kernel; /* one for each row; shared ones are made once */
    optune_call *call;
    int *kernel_of; /* of a row: index of the first row with the same plan; -1: never used */
    int64_t *offset;
    int64_t workspace;
} generation;

/* ---- kernels ----------------------------------------------------------------------------- */

static bool same_plan(const ot_dispatch_row *a, const ot_dispatch_row *b)
{
    bool same = a->impl == b->impl && ot_config_equal(&a->config, &b->config);
    for (int i = 0; i < a->range.n; i++)
        same = same && a->range.dim[i].min == b->range.dim[i].min &&
               a->range.dim[i].max == b->range.dim[i].max;
    return same;
}

static int make_kernel(optune *o, generation *g, int row, optune_err *err)
{
    const ot_dispatch_row *r = &g->table->row[row];
    ot_source *k = &g->kernel[row];
    int status = ot_call_narrow(&g->table->call, &r->range, &g->call[row], err);
    if (status < 0)
        return status;
    *k = (ot_source){.task = {&g->call[row], &o->target, &o->device},
                     .impl = r->impl,
                     .config = &r->config,
                     .plan = ot_alloc(sizeof *k->plan)};
    snprintf(k->name, sizeof k->name, "%s_k%d", g->name, row);
    status = ot_plan_make(&k->task, r->impl, &r->config, k->plan, err);
    if (status >= 0)
        status = ot_source_sized(k, err);
    if (status < 0)
        return status;
    ot_source_layout(k);
    g->offset[row] = g->workspace;
    g->workspace += k->workspace;
    return OPTUNE_OK;
}

static int make_kernels(optune *o, generation *g, optune_err *err)
{
    const int n = g->table->n;
    bool *used = ot_alloc((size_t)n * sizeof *used);
    ot_text unused = {0};
    int status = OPTUNE_OK;
    ot_dispatch_check(g->table, &unused, used);
    for (int i = 0; i < n && status >= 0; i++) {
        g->kernel_of[i] = used[i] ? i : -1;
        for (int k = 0; k < i && used[i] && g->kernel_of[i] == i; k++)
            if (g->kernel_of[k] == k && same_plan(&g->table->row[i], &g->table->row[k]))
                g->kernel_of[i] = k;
        if (g->kernel_of[i] == i)
            status = make_kernel(o, g, i, err);
    }
    ot_text_release(&unused);
    free(used);
    return status;
}

/* ---- names ------------------------------------------------------------------------------- */

/* From the file's name: "out/dense_dispatch.c" is dense_dispatch. */
static int name_of(generation *g, const char *path, optune_err *err)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const size_t n = strlen(base);
    if (n < 3 || strcmp(base + n - 2, ".c") != 0 || n - 2 >= sizeof g->name - 8)
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is not the name of a C file: FILE.c",
                           path);
    snprintf(g->name, sizeof g->name, "%s%.*s", isdigit((unsigned char)*base) ? "_" : "",
             (int)(n - 2), base);
    for (char *c = g->name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return OPTUNE_OK;
}

static int check_dims(const ot_dispatch *d, optune_err *err)
{
    static const char *const taken[] = {
        "workspace", "input",    "output",   "auto",    "break",  "case",     "char",
        "const",     "continue", "default",  "do",      "double", "else",     "enum",
        "extern",    "float",    "for",      "goto",    "if",     "inline",   "int",
        "long",      "register", "restrict", "return",  "short",  "signed",   "sizeof",
        "static",    "struct",   "switch",   "typedef", "union",  "unsigned", "void",
        "volatile",  "while",    "int64_t",  "size_t"};
    for (int i = 0; i < d->dims.n; i++)
        for (int k = 0; k < OT_COUNT(taken); k++)
            if (strcmp(d->dims.dim[i].name, taken[k]) == 0)
                return optune_fail(err, OPTUNE_EUSAGE,
                                   "dim '%s' cannot be a parameter in C: give it another name",
                                   taken[k]);
    return OPTUNE_OK;
}

/* "int64_t b, int64_t m", or "b, m" */
static void add_dims(const generation *g, const char *type, ot_text *to)
{
    for (int i = 0; i < g->table->dims.n; i++)
        ot_text_printf(to, "%s%s%s", i ? ", " : "", type, g->table->dims.dim[i].name);
}

/* ---- text -------------------------------------------------------------------------------- */

static void add_contract(const generation *g, ot_text *to)
{
    ot_text call = {0};
    ot_call_print(&g->table->call, &call);
    ot_text_printf(to, "/*\n * %s\n *\n", ot_text_str(&call));
    for (int i = 0; i < g->table->n; i++) {
        const ot_dispatch_row *row = &g->table->row[i];
        ot_text config = {0};
        ot_config_print_short(&row->config, &config);
        ot_text_printf(to, " * row %d: %s: %s %s\n", i, row->when ? row->when : "otherwise",
                       row->impl->name, ot_text_str(&config));
        ot_text_release(&config);
    }
    ot_text_add(to, " *\n");
    for (int i = 0; i < g->table->n; i++)
        if (g->kernel_of[i] == i) {
            ot_source_build(&g->kernel[i], to);
            break;
        }
    for (int i = 0; i < g->table->n; i++)
        if (g->kernel_of[i] == i && g->kernel[i].impl->library) {
            ot_text_printf(to, " * Row %d ", i);
            ot_source_linked(&g->kernel[i], to);
        }
    ot_text_release(&call);
}

static void add_tensors(const generation *g, ot_text *to)
{
    const optune_call *call = &g->table->call;
    ot_text_add(to, " *\n * Inputs and outputs are dense, row-major, in this order:\n");
    for (int i = 0; i < optune_call_inputs(call) + call->n_outputs; i++) {
        const int out = i - optune_call_inputs(call);
        ot_text type = {0};
        ot_tensor_print(out < 0 ? &call->input[i].type : &call->output[out], &type);
        if (out < 0)
            ot_text_printf(to, " *   input[%d] %s, %s%s\n", i, ot_call_input_name(call, i),
                           ot_text_str(&type),
                           call->input[i].is_const ? ", constant: packed by _init" : "");
        else
            ot_text_printf(to, " *   output[%d] %s\n", out, ot_text_str(&type));
        ot_text_release(&type);
    }
}

static void add_header(const generation *g, ot_text *to)
{
    const char *n = g->name;
    add_contract(g, to);
    add_tensors(g, to);
    ot_text_printf(
        to,
        " * The workspace is %lld bytes, zeroed, 64-byte aligned, owned by the caller; "
        "one run at a time uses it.\n */\n"
        "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "size_t %s_workspace(void);\n"
        "/* Once, and after _close again whenever a constant input changes; others may "
        "be NULL. */\n"
        "void %s_init(void *workspace, const void *const *input);\n"
        "/* 0, or -1 for sizes outside the ranges: then nothing was done. */\n"
        "int %s_run(void *workspace, const void *const *input, void *const *output, ",
        (long long)g->workspace, n, n, n, n, n);
    add_dims(g, "int64_t ", to);
    ot_text_printf(to,
                   ");\nvoid %s_close(void *workspace);\n"
                   "/* The row of the table that _run uses; -1 outside the ranges. */\n"
                   "int %s_row(",
                   n, n);
    add_dims(g, "int64_t ", to);
    ot_text_add(to, ");\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void add_row_function(const generation *g, ot_text *to)
{
    ot_text_printf(to, "int %s_row(", g->name);
    add_dims(g, "int64_t ", to);
    ot_text_add(to, ")\n{\n");
    for (int i = 0; i < g->table->dims.n; i++) {
        const optune_dim *dim = &g->table->dims.dim[i];
        ot_text_printf(to, "    if (%s < %lld || %s > %lld)\n        return -1;\n", dim->name,
                       (long long)dim->min, dim->name, (long long)dim->max);
    }
    for (int i = 0; i < g->table->n; i++) {
        const char *when = g->table->row[i].when;
        if (g->kernel_of[i] < 0)
            continue;
        if (when)
            ot_text_printf(to, "    if (%s)\n        return %d;\n", when, i);
        else
            ot_text_printf(to, "    return %d;\n", i);
    }
    const char *last = g->table->row[g->table->n - 1].when;
    ot_text_add(to,
                last || g->kernel_of[g->table->n - 1] < 0 ? "    return -1;\n}\n\n" : "}\n\n");
}

/* One function of a phase for each kernel; they are called by what follows. */
static void add_kernel_phases(const generation *g, int row, ot_text *to)
{
    const ot_source *k = &g->kernel[row];
    ot_source_prototypes(k, to);
    ot_text_printf(to,
                   "\nstatic void %s_init(char *workspace, const void *const *input)\n{\n"
                   "    (void)workspace;\n    (void)input;\n",
                   k->name);
    ot_source_phase(k, OPTUNE_PREPACK, to);
    ot_text_printf(to,
                   "}\n\nstatic void %s_run(char *workspace, const void *const *input, "
                   "void *const *output, ",
                   k->name);
    add_dims(g, "int64_t ", to);
    ot_text_add(to, ")\n{\n    (void)workspace;\n    (void)input;\n");
    for (int i = 0; i < g->table->dims.n; i++)
        ot_text_printf(to, "    (void)%s;\n", g->table->dims.dim[i].name);
    ot_source_phase(k, OPTUNE_TIMED, to);
    ot_text_printf(to, "}\n\nstatic void %s_close(char *workspace)\n{\n    (void)workspace;\n",
                   k->name);
    ot_source_phase(k, OPTUNE_TEARDOWN, to);
    ot_text_add(to, "}\n\n");
}

static void add_each(const generation *g, const char *function, const char *more, ot_text *to)
{
    for (int i = 0; i < g->table->n; i++)
        if (g->kernel_of[i] == i)
            ot_text_printf(to, "    %s_%s((char *)workspace + %lld%s);\n", g->kernel[i].name,
                           function, (long long)g->offset[i], more);
}

static void add_run(const generation *g, ot_text *to)
{
    ot_text_printf(
        to, "int %s_run(void *workspace, const void *const *input, void *const *output, ",
        g->name);
    add_dims(g, "int64_t ", to);
    ot_text_printf(to, ")\n{\n    switch (%s_row(", g->name);
    add_dims(g, "", to);
    ot_text_add(to, ")) {\n");
    for (int i = 0; i < g->table->n; i++) {
        if (g->kernel_of[i] < 0)
            continue;
        const int k = g->kernel_of[i];
        ot_text_printf(to,
                       "    case %d:\n        %s_run((char *)workspace + %lld, input, output, ",
                       i, g->kernel[k].name, (long long)g->offset[k]);
        add_dims(g, "", to);
        ot_text_add(to, ");\n        return 0;\n");
    }
    ot_text_add(to, "    default:\n        return -1;\n    }\n}\n\n");
}

static void add_source(const generation *g, ot_text *to)
{
    const char *n = g->name;
    add_contract(g, to);
    ot_text_printf(to, " */\n#include \"%s.h\"\n\n", n);
    ot_source_quiet(to);
    for (int i = 0; i < g->table->n; i++)
        if (g->kernel_of[i] == i) {
            ot_text_printf(to, "/* ---- kernel %d: %s ---- */\n\n", i, g->kernel[i].impl->name);
            ot_source_apart(&g->kernel[i], to);
            ot_text_add(to, "\n");
            add_kernel_phases(g, i, to);
        }
    ot_text_add(to, "/* ---- the table ---- */\n\n");
    add_row_function(g, to);
    ot_text_printf(to, "size_t %s_workspace(void)\n{\n    return %lld;\n}\n\n", n,
                   (long long)g->workspace);
    ot_text_printf(to, "void %s_init(void *workspace, const void *const *input)\n{\n", n);
    add_each(g, "init", ", input", to);
    ot_text_add(to, "}\n\n");
    add_run(g, to);
    ot_text_printf(to, "void %s_close(void *workspace)\n{\n", n);
    add_each(g, "close", "", to);
    ot_text_add(to, "}\n");
}

/* ---- files ------------------------------------------------------------------------------- */

static int write_one(const char *path, const char *suffix, const ot_text *text, ot_text *said,
                     optune_err *err)
{
    char file[4096];
    const int n = snprintf(file, sizeof file, "%.*s%s", (int)strlen(path) - 2, path, suffix);
    if (n < 0 || (size_t)n >= sizeof file)
        return optune_fail(err, OPTUNE_ELIMIT, "path too long: '%s'", path);
    const int status = ot_write_file(file, ot_text_str(text), text->n, err);
    if (status >= 0)
        ot_text_printf(said, "  wrote %s\n", file);
    return status;
}

static int write_all(const generation *g, const char *path, ot_text *said, optune_err *err)
{
    ot_text text = {0};
    add_source(g, &text);
    int status = write_one(path, ".c", &text, said, err);
    if (status >= 0) {
        ot_text_clear(&text);
        add_header(g, &text);
        status = write_one(path, ".h", &text, said, err);
    }
    if (status >= 0) {
        json_t *json = ot_dispatch_json(g->table);
        char *dump = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        ot_text_clear(&text);
        ot_text_printf(&text, "%s\n", dump);
        free(dump);
        json_decref(json);
        status = write_one(path, ".json", &text, said, err);
    }
    ot_text_release(&text);
    return status;
}

int ot_dispatch_writable(const ot_dispatch *table, const char *path, optune_err *err)
{
    generation g = {.table = table};
    const int status = name_of(&g, path, err);
    return status < 0 ? status : check_dims(table, err);
}

int ot_dispatch_write(optune *o, const ot_dispatch *table, const char *path, ot_text *said,
                      optune_err *err)
{
    const size_t n = (size_t)table->n;
    generation g = {.table = table,
                    .kernel = ot_alloc(n * sizeof *g.kernel),
                    .call = ot_alloc(n * sizeof *g.call),
                    .kernel_of = ot_alloc(n * sizeof *g.kernel_of),
                    .offset = ot_alloc(n * sizeof *g.offset)};
    int status = name_of(&g, path, err);
    if (status >= 0)
        status = check_dims(table, err);
    if (status >= 0)
        status = make_kernels(o, &g, err);
    if (status >= 0)
        status = write_all(&g, path, said, err);
    for (size_t i = 0; i < n; i++)
        free(g.kernel[i].plan);
    free(g.kernel);
    free(g.call);
    free(g.kernel_of);
    free(g.offset);
    return status;
}
