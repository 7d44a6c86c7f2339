/* SPDX-License-Identifier: Apache-2.0 */
/* What an emitted graph's files say of sizes that a run is told: words of the patterns. */
#include <string.h>

#include "answer/emit_graph.h"

static void add_header(const ot_emission *e, ot_text *to)
{
    ot_text_printf(to,
                   "\n/* Sizes of dims that every run is told, so many of them in this order, each "
                   "within its range. */\nenum { %s_SIZES = %d };\nstruct %s_size {\n"
                   "    const char *name;\n    int64_t min, max;\n};\n"
                   "extern const struct %s_size %s_size[];\n"
                   "/* The dims of input or output i at these sizes, into dim[]: as many as its "
                   "rank is. What is in\n * the tables above is as large as it can be. Elements "
                   "lie dense in what they are at the sizes of a\n * run. Returns what a run "
                   "would. */\n"
                   "int %s_input_shape(int i, const int64_t *size, int64_t *dim);\n"
                   "int %s_output_shape(int i, const int64_t *size, int64_t *dim);\n",
                   e->upper, e->n_sizes, e->name, e->name, e->name, e->name, e->name);
}

static void add_messages(const ot_emission *e, ot_text *to)
{
    for (int i = 0; i < e->n_sizes; i++)
        ot_text_printf(to,
                       "    case %s_ESIZE - %d:\n        return \"size %d, '%s', is not %lld to "
                       "%lld\";\n",
                       e->upper, i, i, e->dim[i].name, (long long)e->dim[i].min,
                       (long long)e->dim[i].max);
}

static void add_shapes(const ot_emission *e, bool outputs, ot_text *to)
{
    const int n = outputs ? e->n_outputs : e->n_inputs;
    ot_text_printf(to,
                   "\nint %s_%s_shape(int i, const int64_t *size, int64_t *dim)\n{\n"
                   "    struct sizes s[1];\n    const int status = sizes_of(size, s);\n"
                   "    if (status < 0 || !dim)\n"
                   "        return status < 0 ? status : %s_EARGUMENT;\n    switch (i) {\n",
                   e->name, outputs ? "output" : "input", e->upper);
    for (int i = 0; i < n; i++) {
        const ot_value value = outputs ? e->output[i] : (ot_value){e->input[i], 0};
        const optune_tensor *type = ot_graph_type_of(e->graph, value);
        ot_text_printf(to, "    case %d:\n", i);
        for (int d = 0; d < type->rank; d++) {
            ot_text_printf(to, "        dim[%d] = ", d);
            ot_emitted_add_dim(&type->dim[d], to);
            ot_text_add(to, ";\n");
        }
        ot_text_printf(to, "        return %s_OK;\n", e->upper);
    }
    ot_text_printf(to, "    default:\n        return %s_EARGUMENT;\n    }\n}\n", e->upper);
}

static void add_sizes(const ot_emission *e, ot_text *to)
{
    ot_text_printf(to, "/* ---- sizes ---- */\n\nconst struct %s_size %s_size[] = {\n", e->name,
                   e->name);
    for (int i = 0; i < e->n_sizes; i++)
        ot_text_printf(to, "    {\"%s\", %lld, %lld},\n", e->dim[i].name,
                       (long long)e->dim[i].min, (long long)e->dim[i].max);
    ot_text_add(to, "};\n\n/* As they are told, then what follows of them. */\nstruct sizes {\n");
    for (int i = 0; i < e->n_dims; i++)
        ot_text_printf(to, "    int64_t of_%s;\n", e->dim[i].name);
    ot_text_printf(to,
                   "};\n\nstatic int sizes_of(const int64_t *size, struct sizes *s)\n{\n"
                   "    if (!size)\n        return %s_EARGUMENT;\n"
                   "    for (int i = 0; i < %s_SIZES; i++)\n"
                   "        if (size[i] < %s_size[i].min || size[i] > %s_size[i].max)\n"
                   "            return %s_ESIZE - i;\n",
                   e->upper, e->upper, e->name, e->name, e->upper);
    for (int i = 0; i < e->n_dims; i++)
        if (e->dim[i].formula)
            ot_text_printf(to, "    s->of_%s = %s;\n", e->dim[i].name, e->dim[i].formula);
        else
            ot_text_printf(to, "    s->of_%s = size[%d];\n", e->dim[i].name, i);
    ot_text_printf(to, "    return %s_OK;\n}\n", e->upper);
    add_shapes(e, false, to);
    add_shapes(e, true, to);
    ot_text_add(to, "\n");
}

/* Of the timing program: `-s DIM=N`. */
static void add_reader(const ot_emission *e, ot_text *to)
{
    ot_text_printf(to,
                   "static void read_size(const char *word, int64_t *size)\n{\n"
                   "    const char *at = strchr(word, '=');\n    char *end = NULL;\n"
                   "    for (int i = 0; at && i < %s_SIZES; i++)\n"
                   "        if (strncmp(%s_size[i].name, word, (size_t)(at - word)) == 0 &&\n"
                   "            !%s_size[i].name[at - word]) {\n"
                   "            size[i] = strtoll(at + 1, &end, 10);\n"
                   "            if (end > at + 1 && !*end)\n                return;\n"
                   "        }\n"
                   "    fprintf(stderr, \"-s takes DIM=N, not '%%s'; dims are\", word);\n"
                   "    for (int i = 0; i < %s_SIZES; i++)\n"
                   "        fprintf(stderr, \" %%s\", %s_size[i].name);\n"
                   "    fprintf(stderr, \"\\n\");\n    exit(2);\n}\n\n",
                   e->upper, e->name, e->name, e->upper, e->name);
}

static void add_bytes_now(const ot_emission *e, ot_text *to)
{
    ot_text_printf(
        to,
        "    int64_t dim[%d];\n"
        "    const int status = output ? %s_output_shape(i, work->size, dim)\n"
        "                              : %s_input_shape(i, work->size, dim);\n"
        "    if (status < 0) {\n        fprintf(stderr, \"%%s\\n\", %s_message(status));\n"
        "        exit(1);\n    }\n"
        "    for (int d = 0; d < type->rank && type->dim[d]; d++)\n"
        "        bytes = bytes / (size_t)type->dim[d] * (size_t)dim[d];\n",
        OPTUNE_MAX_RANK, e->name, e->name, e->name);
}

bool ot_emitted_size_word(const ot_emission *e, const char *word, size_t n, ot_text *to)
{
    static const struct {
        const char *word;
        const char *text;                                /* with @ for the model's name ... */
        void (*add)(const ot_emission *e, ot_text *to); /* ... or more than that */
    } words[] = {
        {"SIZES_HEADER", NULL, add_header},
        {"SIZES", NULL, add_sizes},
        {"SIZE_MESSAGES", NULL, add_messages},
        {"SIZE_READER", NULL, add_reader},
        {"SIZE_BYTES", NULL, add_bytes_now},
        {"SIZE_PARAMETER", "\n               const int64_t *size,", NULL},
        {"SIZE_ARGUMENT", "size, ", NULL},
        {"SIZE_OF_WORK", "work->size, ", NULL},
        {"SIZE_LETTER", "s:", NULL},
        {"SIZE_STATUS",
         "    ^_ESIZE = -100,     /* minus i: size i is outside its range */\n", NULL},
        {"SIZE_CHECK",
         "    struct sizes s[1];\n    const int told = sizes_of(size, s);\n"
         "    if (told != ^_OK)\n        return told;\n",
         NULL},
        {"SIZE_USAGE",
         "    \"  -s DIM=N    a size; those that are not given are the largest\\n\"\n",
         NULL},
        {"SIZE_WORK", "    int64_t size[^_SIZES];\n", NULL},
        {"SIZE_OPTION",
         "        } else if (c == 's') {\n            read_size(optarg, work.size);\n", NULL},
        {"SIZE_DEFAULT",
         "    for (int i = 0; i < ^_SIZES; i++)\n        work.size[i] = @_size[i].max;\n", NULL},
    };
    for (int i = 0; i < OT_COUNT(words); i++) {
        if (strlen(words[i].word) != n || strncmp(words[i].word, word, n) != 0)
            continue;
        if (e->n_sizes && words[i].add)
            words[i].add(e, to);
        for (const char *p = e->n_sizes ? words[i].text : NULL; p && *p; p++)
            if (*p == '@' || *p == '^')
                ot_text_add(to, *p == '@' ? e->name : e->upper);
            else
                ot_text_add_n(to, p, 1);
        return true;
    }
    return false;
}
