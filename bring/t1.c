/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T1, the autotuning community's input format: a JSON file beside its kernel. Read as it is
 * found: a field that is missing, of another type, or names what is not there is told with its
 * path in the document. Nothing outside the document's own folder is read.
 */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

typedef struct t1 {
    ot_brought *b;
    const json_t *space, *kernel;
    optune_err *err;
} t1;

static const char *type_name(const json_t *value)
{
    static const char *const name[] = {"an object", "a list", "a text",  "an integer",
                                       "a number",  "`true`", "`false`", "null"};
    return name[json_typeof(value)];
}

/* Paths live as long as the file's rows: expressions say them. */
static const char *path_of(t1 *t, const char *format, ...) OPTUNE_PRINTF(2, 3);
static const char *path_of(t1 *t, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    ot_format_list(text, sizeof text, format, args);
    va_end(args);
    return ot_arena_printf(&t->b->arena, "%s: %s", t->b->file, text);
}

static ot_spot spot_of(const char *path)
{
    return (ot_spot){.file = path, .column = 1};
}

#define FAIL(t, path, ...) optune_fail_path((t), (path), __VA_ARGS__)
static int optune_fail_path(t1 *t, const char *path, const char *format, ...)
    OPTUNE_PRINTF(3, 4);
static int optune_fail_path(t1 *t, const char *path, const char *format, ...)
{
    char text[OPTUNE_WHY_SIZE];
    va_list args;
    va_start(args, format);
    ot_format_list(text, sizeof text, format, args);
    va_end(args);
    return optune_fail(t->err, OPTUNE_ESYNTAX, "%s %s", path, text);
}

/* ---- fields ------------------------------------------------------------------------------ */

static const char *text_in(t1 *t, const json_t *object, const char *path, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        FAIL(t, path_of(t, "%s.%s", path, key), "is missing");
    else if (!json_is_string(value))
        FAIL(t, path_of(t, "%s.%s", path, key), "is %s, not a text", type_name(value));
    return json_string_value(value);
}

/* A text that may be left out: NULL then. */
static int option_in(t1 *t, const json_t *object, const char *path, const char *key,
                     const char **text)
{
    const json_t *value = json_object_get(object, key);
    *text = json_string_value(value);
    return !value || json_is_null(value) || *text
               ? OPTUNE_OK
               : FAIL(t, path_of(t, "%s.%s", path, key), "is %s, not a text", type_name(value));
}

/* The same, of these words alone. */
static int choice_in(t1 *t, const json_t *object, const char *path, const char *key,
                     const char *const *words, const char **text)
{
    ot_text all = {0};
    OT_RETURN_UNLESS_OK(option_in(t, object, path, key, text));
    bool known = !*text;
    for (int i = 0; words[i] && !known; i++) {
        known = strcmp(words[i], *text) == 0;
        ot_text_printf(&all, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    const int status = known ? OPTUNE_OK
                             : FAIL(t, path_of(t, "%s.%s", path, key), "is '%.40s', not %s",
                                    *text, ot_text_str(&all));
    ot_text_release(&all);
    return status;
}

/* An expression: a text, or a number as it stands. NULL: neither. */
static const char *expression_in(t1 *t, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        return ot_arena_printf(&t->b->arena, "%lld", (long long)json_integer_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "True" : "False";
    if (!json_is_real(value))
        return NULL;
    ot_text text = {0};
    ot_text_add_real(&text, json_real_value(value));
    const char *copy = ot_arena_copy(&t->b->arena, ot_text_str(&text));
    ot_text_release(&text);
    return copy;
}

static int list_in(t1 *t, const json_t *object, const char *path, const char *key, bool needed,
                   const json_t **list)
{
    *list = json_object_get(object, key);
    if (!*list || json_is_null(*list))
        return needed ? FAIL(t, path_of(t, "%s.%s", path, key), "is missing")
                      : (*list = NULL, OPTUNE_OK);
    return json_is_array(*list)
               ? OPTUNE_OK
               : FAIL(t, path_of(t, "%s.%s", path, key), "is %s, not a list", type_name(*list));
}

/* ---- the space --------------------------------------------------------------------------- */

static bool fits_type(const char *type, const ot_expr_value *value)
{
    if (!strcmp(type, "int") || !strcmp(type, "uint"))
        return value->kind == OT_VALUE_INT && (type[0] == 'i' || value->i >= 0);
    if (!strcmp(type, "bool"))
        return value->kind == OT_VALUE_BOOL ||
               (value->kind == OT_VALUE_INT && value->i >> 1 == 0);
    if (!strcmp(type, "float"))
        return ot_value_number(value);
    return !strcmp(type, "string") && value->kind == OT_VALUE_WORD;
}

/* A JSON value as one of ours; lists give their first item. */
static bool plain_value(const json_t *json, ot_expr_value *value)
{
    if (json_is_array(json))
        json = json_array_get(json, 0);
    if (json_is_integer(json))
        *value = ot_int_value(json_integer_value(json));
    else if (json_is_boolean(json))
        *value = (ot_expr_value){.kind = OT_VALUE_BOOL, .i = json_is_true(json)};
    else if (json_is_real(json))
        *value = (ot_expr_value){.kind = OT_VALUE_REAL, .f = json_real_value(json)};
    else if (json_is_string(json))
        *value = (ot_expr_value){.kind = OT_VALUE_WORD, .s = json_string_value(json)};
    else
        return false;
    return true;
}

/* A list of JSON's own in place of a text, as an expression; NULL: what is in it is no value, and
 * that was said. */
static const char *values_in(t1 *t, const json_t *json, const char *path)
{
    const json_t *list = json_object_get(json, "Values"), *item;
    size_t i;
    ot_text text = {0};
    if (!json_is_array(list))
        return text_in(t, json, path, "Values");
    ot_text_add(&text, "[");
    json_array_foreach(list, i, item)
    {
        const char *word = json_string_value(item);
        const char *value = word && strpbrk(word, "'\"\\\n") ? NULL : expression_in(t, item);
        if (!value) {
            FAIL(t, path_of(t, "%s.Values[%zu]", path, i),
                 "is %s, not a number, a truth value or a plain word", type_name(item));
            ot_text_release(&text);
            return NULL;
        }
        ot_text_printf(&text, word ? "%s'%s'" : "%s%s", i ? ", " : "", value);
    }
    ot_text_add(&text, "]");
    const char *whole = ot_arena_copy(&t->b->arena, ot_text_str(&text));
    ot_text_release(&text);
    return whole;
}

/* Files in use name defaults that are no value: that is no reason to refuse them, but told. */
static void remark_default(t1 *t, const char *path, const json_t *said)
{
    ot_brought *b = t->b;
    char *text = json_dumps(said, JSON_COMPACT | JSON_ENCODE_ANY);
    const ot_brought_knob *knob = &b->knob[b->n_knobs - 1];
    b->remark[b->n_remarks++] = ot_arena_printf(
        &b->arena, "%s is %.40s, which is none of its Values: untuned '%s' is the first, %s",
        path_of(t, "%s.Default", path), text ? text : "no text", knob->name, knob->text[0]);
    free(text);
}

static int add_parameter(t1 *t, const json_t *json, int i)
{
    const char *path =
        path_of(t, "ConfigurationSpace.TuningParameters[%d]", i) + strlen(t->b->file) + 2;
    if (!json_is_object(json))
        return FAIL(t, path_of(t, "%s", path), "is %s, not an object", type_name(json));
    const char *name = text_in(t, json, path, "Name"), *type = NULL, *values = NULL;
    if (name)
        type = text_in(t, json, path, "Type");
    if (type)
        values = values_in(t, json, path);
    if (!values)
        return OPTUNE_ESYNTAX;
    static const char *const types[] = {"int", "uint", "float", "bool", "string"};
    int known = 0;
    while (known < OT_COUNT(types) && strcmp(types[known], type) != 0)
        known++;
    if (known == OT_COUNT(types))
        return FAIL(t, path_of(t, "%s.Type", path),
                    "is '%.40s'; there are int, uint, float, bool and string", type);
    const char *at = path_of(t, "%s.Values", path);
    ot_expr_value list, standard;
    OT_RETURN_UNLESS_OK(ot_declared_value(t->b, values, spot_of(at), &list, t->err));
    for (int k = 0; list.kind == OT_VALUE_LIST && k < list.n; k++)
        if (!fits_type(type, &list.item[k]))
            return FAIL(t, at, "has a value, number %d, that is not of Type '%.40s'", k + 1,
                        type);
    const json_t *said = json_object_get(json, "Default");
    const bool given = said && plain_value(said, &standard);
    const ot_spot spot = spot_of(path_of(t, "%s", path));
    const int status =
        ot_declare_knob(t->b, name, spot, &list, given ? &standard : NULL, t->err);
    if (status == OPTUNE_EUSAGE && given && list.n)
        OT_RETURN_UNLESS_OK(ot_declare_knob(t->b, name, spot, &list, NULL, t->err));
    else if (status < 0 || given || !said || json_is_null(said))
        return status;
    remark_default(t, path, said);
    return OPTUNE_OK;
}

static int add_condition(t1 *t, const json_t *json, int i)
{
    const char *path =
        path_of(t, "ConfigurationSpace.Conditions[%d]", i) + strlen(t->b->file) + 2;
    if (!json_is_object(json))
        return FAIL(t, path_of(t, "%s", path), "is %s, not an object", type_name(json));
    const char *text = text_in(t, json, path, "Expression");
    return text ? ot_declare_where(t->b, text, spot_of(path_of(t, "%s.Expression", path)),
                                   t->err)
                : OPTUNE_ESYNTAX;
}

static int add_space(t1 *t)
{
    const json_t *list, *item;
    size_t i;
    OT_RETURN_UNLESS_OK(
        list_in(t, t->space, "ConfigurationSpace", "TuningParameters", true, &list));
    json_array_foreach(list, i, item) OT_RETURN_UNLESS_OK(add_parameter(t, item, (int)i));
    OT_RETURN_UNLESS_OK(list_in(t, t->space, "ConfigurationSpace", "Conditions", false, &list));
    if (list)
        json_array_foreach(list, i, item) OT_RETURN_UNLESS_OK(add_condition(t, item, (int)i));
    return OPTUNE_OK;
}

/* ---- sizes and launch -------------------------------------------------------------------- */

#define KERNEL "KernelSpecification"

static int add_problem_size(t1 *t)
{
    const json_t *list, *item;
    const char *path = path_of(t, KERNEL ".ProblemSize");
    ot_expr_value value[OPTUNE_MAX_LIST];
    size_t i;
    OT_RETURN_UNLESS_OK(list_in(t, t->kernel, KERNEL, "ProblemSize", false, &list));
    if (!list)
        return OPTUNE_OK;
    if (json_array_size(list) > OPTUNE_MAX_LIST)
        return FAIL(t, path, "has more than %d numbers", OPTUNE_MAX_LIST);
    json_array_foreach(list, i, item)
    {
        const char *text = expression_in(t, item);
        if (!text)
            return FAIL(t, path, "has %s, not a number", type_name(item));
        OT_RETURN_UNLESS_OK(ot_declared_value(t->b, text, spot_of(path), &value[i], t->err));
    }
    const ot_expr_value all = {
        .kind = OT_VALUE_LIST, .n = (int)json_array_size(list), .item = value};
    return ot_declare_size(t->b, "ProblemSize", spot_of(path), &all, t->err);
}

/* In parentheses it would be a list of none. */
static bool is_blank(const char *expression)
{
    return !expression[strspn(expression, " \t\r\n")];
}

/* `{"X": ..., "Y": ..., "Z": ...}` as one list of three. */
static int add_three(t1 *t, const char *key, ot_formula *formula)
{
    static const char *const axis[] = {"X", "Y", "Z"};
    const json_t *json = json_object_get(t->kernel, key);
    const char *path = path_of(t, KERNEL ".%s", key);
    ot_text text = {0};
    int status = OPTUNE_OK;
    if (!json_is_object(json))
        return FAIL(t, path, json ? "is %s, not an object" : "is missing%s",
                    json ? type_name(json) : "");
    for (int i = 0; i < 3 && status >= 0; i++) {
        const json_t *value = json_object_get(json, axis[i]);
        const char *part = value ? expression_in(t, value) : i ? "1" : NULL;
        if (part && !is_blank(part))
            ot_text_printf(&text, "%s(%s)", i ? ", " : "[", part);
        else
            status =
                FAIL(t, path, value ? "has no expression as its %s" : "lacks its %s", axis[i]);
    }
    ot_text_add(&text, "]");
    const ot_spot spot = spot_of(path);
    if (status >= 0)
        status = ot_expr_parse(ot_text_str(&text), &spot, &formula->expr, t->err);
    ot_text_release(&text);
    return status;
}

/* Blocks along one axis: what the problem has of it, divided by all divisors, rounded up. */
static int add_division(t1 *t, int axis, int n_sizes, ot_text *to)
{
    const char key[] = {'G', 'r', 'i', 'd', 'D', 'i', 'v', (char)('X' + axis), '\0'};
    const json_t *list, *item;
    size_t i;
    ot_text by = {0};
    OT_RETURN_UNLESS_OK(list_in(t, t->kernel, KERNEL, key, false, &list));
    ot_text_add(to, axis ? ", " : "[");
    if (!list || axis >= n_sizes) {
        ot_text_add(to, "1");
        return OPTUNE_OK;
    }
    ot_text_add(&by, "1");
    json_array_foreach(list, i, item)
    {
        const char *part = expression_in(t, item);
        if (!part || is_blank(part)) {
            ot_text_release(&by);
            return FAIL(t, path_of(t, KERNEL ".%s[%d]", key, (int)i),
                        "is %s, not an expression", part ? "empty" : type_name(item));
        }
        ot_text_printf(&by, " * (%s)", part);
    }
    ot_text_printf(to, "-(-ProblemSize[%d] // (%s))", axis, ot_text_str(&by));
    ot_text_release(&by);
    return OPTUNE_OK;
}

/* Where a problem's size and divisors are given, as Kernel Tuner writes them, they decide; else
 * it is GlobalSize, in blocks or, with OpenCL's way of counting, in threads. */
static int add_launch(t1 *t)
{
    ot_brought *b = t->b;
    const json_t *sizes = json_object_get(t->kernel, "ProblemSize");
    OT_RETURN_UNLESS_OK(add_three(t, "LocalSize", &b->block));
    const json_t *shared = json_object_get(t->kernel, "SharedMemory");
    const char *bytes = shared ? expression_in(t, shared) : NULL;
    if (shared && !bytes && !json_is_null(shared))
        return FAIL(t, path_of(t, KERNEL ".SharedMemory"),
                    "is %s, not a number or an expression", type_name(shared));
    const ot_spot at = spot_of(path_of(t, KERNEL ".SharedMemory"));
    if (bytes)
        OT_RETURN_UNLESS_OK(ot_expr_parse(bytes, &at, &b->shared.expr, t->err));
    static const char *const ways[] = {"OpenCL", "CUDA", "Vulkan", NULL};
    const char *counts;
    OT_RETURN_UNLESS_OK(choice_in(t, t->kernel, KERNEL, "GlobalSizeType", ways, &counts));
    if (!sizes || !json_object_get(t->kernel, "GridDivX")) {
        b->grid_in_threads =
            counts ? strcmp(counts, "OpenCL") == 0 : b->language == OT_LANGUAGE_OPENCL;
        return add_three(t, "GlobalSize", &b->grid);
    }
    ot_text text = {0};
    int status = OPTUNE_OK;
    for (int axis = 0; axis < 3 && status >= 0; axis++)
        status = add_division(t, axis, (int)json_array_size(sizes), &text);
    ot_text_add(&text, "]");
    const ot_spot spot = spot_of(path_of(t, KERNEL ".GridDiv"));
    if (status >= 0)
        status = ot_expr_parse(ot_text_str(&text), &spot, &b->grid.expr, t->err);
    ot_text_release(&text);
    return status;
}

/* ---- arguments --------------------------------------------------------------------------- */

static bool dtype_named(const char *name, optune_dtype *dtype)
{
    static const char *const known[][2] = {
        {"float", "f32"},  {"double", "f64"}, {"half", "f16"},  {"int", "i32"},
        {"uint", "u32"},   {"char", "i8"},    {"uchar", "u8"},  {"short", "i16"},
        {"ushort", "u16"}, {"long", "i64"},   {"ulong", "u64"}, {"bool", "u8"}};
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strcmp(name, known[i][0]) == 0)
            name = known[i][1];
    return ot_parse_dtype(name, dtype) && dtype->lanes == 1 && dtype->bits % 8 == 0;
}

/* A vector of so many, `float4`, is a last dim in memory; int8 and float16 are no vectors. */
static bool lanes_named(const char *name, optune_dtype *dtype, int *lanes)
{
    char one[16];
    const size_t n = strlen(name);
    *lanes = 1;
    if (dtype_named(name, dtype))
        return true;
    if (n < 2 || n >= sizeof one || !strchr("248", name[n - 1]))
        return false;
    *lanes = name[n - 1] - '0';
    snprintf(one, sizeof one, "%.*s", (int)n - 1, name);
    return dtype_named(one, dtype);
}

/* The words that every argument may have; NULL: it has none. */
typedef struct argument_words {
    const char *access, *fill;
} argument_words;

static int words_in(t1 *t, const json_t *json, const char *path, argument_words *words)
{
    static const char *const accesses[] = {"ReadOnly", "WriteOnly", "ReadWrite", NULL};
    static const char *const fills[] = {"Constant",  "Random",    "Generator", "Script",
                                        "BinaryRaw", "BinaryHDF", NULL};
    OT_RETURN_UNLESS_OK(choice_in(t, json, path, "AccessType", accesses, &words->access));
    return choice_in(t, json, path, "FillType", fills, &words->fill);
}

static int add_vector(t1 *t, const json_t *json, const char *path, int lanes,
                      const argument_words *words, ot_brought_arg *arg)
{
    const char *access = words->access, *fill = words->fill;
    const json_t *output = json_object_get(json, "Output"),
                 *size = json_object_get(json, "Size");
    const char *text = size ? expression_in(t, size) : NULL;
    const ot_spot spot = spot_of(path_of(t, "%s.Size", path));
    if (json_is_integer(output) && json_integer_value(output) >> 1)
        return FAIL(t, path_of(t, "%s.Output", path), "is %lld, not 0 or 1",
                    (long long)json_integer_value(output));
    if (output && !json_is_boolean(output) && !json_is_integer(output) && !json_is_null(output))
        return FAIL(t, path_of(t, "%s.Output", path), "is %s, not 0 or 1", type_name(output));
    if (!access)
        return FAIL(t, path_of(t, "%s.AccessType", path),
                    "is missing: ReadOnly, WriteOnly or ReadWrite");
    if (!text)
        return FAIL(t, spot.file,
                    size ? "is %s, not a number or an expression" : "is missing%s",
                    size ? type_name(size) : "");
    arg->role = !strcmp(access, "ReadWrite") ? OT_ROLE_INOUT
                : !strcmp(access, "WriteOnly") || json_integer_value(output) == 1 ||
                        json_is_true(output)
                    ? OT_ROLE_OUT
                    : OT_ROLE_IN;
    arg->rank = 1;
    const json_t *value = json_object_get(json, "FillValue");
    const bool same = arg->role != OT_ROLE_OUT && fill && !strcmp(fill, "Constant");
    const char *constant = same && value ? expression_in(t, value) : NULL;
    const ot_spot at = spot_of(path_of(t, "%s.FillValue", path));
    if (same && !constant)
        return FAIL(t, at.file,
                    value ? "is %s, not a number or an expression"
                          : "is missing: FillType is Constant%s",
                    value ? type_name(value) : "");
    if (constant) {
        OT_RETURN_UNLESS_OK(ot_expr_parse(constant, &at, &arg->low.expr, t->err));
        OT_RETURN_UNLESS_OK(ot_expr_parse(constant, &at, &arg->high.expr, t->err));
    }
    OT_RETURN_UNLESS_OK(ot_expr_parse(text, &spot, &arg->dim[0].expr, t->err));
    if (lanes == 1)
        return OPTUNE_OK;
    arg->rank = 2;
    return ot_expr_parse(ot_arena_printf(&t->b->arena, "%d", lanes), &spot, &arg->dim[1].expr,
                         t->err);
}

static int add_scalar(t1 *t, const json_t *json, const char *path, ot_brought_arg *arg)
{
    const json_t *value = json_object_get(json, "FillValue");
    const char *text = value ? expression_in(t, value) : NULL;
    const ot_spot spot = spot_of(path_of(t, "%s.FillValue", path));
    if (!text)
        return FAIL(t, spot.file,
                    value ? "is %s, not a number or an expression" : "is missing%s",
                    value ? type_name(value) : "");
    arg->role = OT_ROLE_SCALAR;
    return ot_expr_parse(text, &spot, &arg->value.expr, t->err);
}

static int add_argument(t1 *t, const json_t *json, int i)
{
    ot_brought *b = t->b;
    const char *path = path_of(t, KERNEL ".Arguments[%d]", i) + strlen(b->file) + 2;
    if (!json_is_object(json))
        return FAIL(t, path_of(t, "%s", path), "is %s, not an object", type_name(json));
    if (b->n_args == OT_BROUGHT_ARGS)
        return FAIL(t, path_of(t, "%s", path), "is one more than the %d that are possible",
                    OT_BROUGHT_ARGS);
    ot_brought_arg *arg = &b->arg[b->n_args++];
    const char *type = text_in(t, json, path, "Type"), *memory = NULL, *name = NULL;
    if (type)
        memory = text_in(t, json, path, "MemoryType");
    if (!memory)
        return OPTUNE_ESYNTAX;
    OT_RETURN_UNLESS_OK(option_in(t, json, path, "Name", &name));
    *arg = (ot_brought_arg){.spot = spot_of(path_of(t, "%s", path))};
    arg->name = name ? ot_arena_copy(&b->arena, name) : ot_arena_printf(&b->arena, "arg%d", i);
    int lanes;
    argument_words words;
    OT_RETURN_UNLESS_OK(words_in(t, json, path, &words));
    if (!lanes_named(type, &arg->dtype, &lanes))
        return FAIL(
            t, path_of(t, "%s.Type", path),
            "'%.40s' is no type that is known here (float, double, half, int8 to uint64, and "
            "vectors of them in memory, as float4)",
            type);
    if (strcmp(memory, "Vector") == 0)
        return add_vector(t, json, path, lanes, &words, arg);
    if (strcmp(memory, "Scalar") == 0 && lanes > 1)
        return FAIL(t, path_of(t, "%s.Type", path), "is a vector, which no scalar is");
    if (strcmp(memory, "Scalar") == 0)
        return add_scalar(t, json, path, arg);
    return FAIL(t, path_of(t, "%s.MemoryType", path),
                "'%.40s' is not understood: there are Vector and Scalar", memory);
}

/* Of constant memory that a kernel reads by its name we know nothing: nobody fills it. */
static void remark_constant(t1 *t, const json_t *json, int i)
{
    ot_brought *b = t->b;
    const char *memory = json_string_value(json_object_get(json, "MemType"));
    const char *name = b->arg[i].name, *said = ot_text_str(&b->source);
    if (!memory || strcmp(memory, "Constant") != 0)
        return;
    while ((said = strstr(said, "__constant__"))) {
        const size_t n = strcspn(said, ";");
        if (memmem(said, n, name, strlen(name))) {
            b->remark[b->n_remarks++] = ot_arena_printf(
                &b->arena,
                "%s is Constant: '%s' is passed as a parameter, and what the source declares "
                "__constant__ by that name holds zeros",
                path_of(t, KERNEL ".Arguments[%d].MemType", i), name);
            return;
        }
        said += n;
    }
}

/* ---- files ------------------------------------------------------------------------------- */

static int read_source(t1 *t, const char *folder)
{
    ot_brought *b = t->b;
    const char *file = text_in(t, t->kernel, KERNEL, "KernelFile");
    optune_err inner = {0};
    if (!file)
        return OPTUNE_ESYNTAX;
    const char *path =
        file[0] == '/' ? file : ot_arena_printf(&b->arena, "%s/%s", folder, file);
    if (ot_source_read(path, folder, &b->source, &inner) >= 0)
        return OPTUNE_OK;
    return FAIL(t, path_of(t, KERNEL ".KernelFile:"), "%s", inner.text);
}

static int take_tolerance(t1 *t, const char *key, const json_t *json, double *to)
{
    if (!json)
        return OPTUNE_OK;
    if (!json_is_number(json) || !(json_number_value(json) >= 0))
        return FAIL(t, path_of(t, KERNEL ".Reference.%s", key), "is no number of 0 or more");
    *to = json_number_value(json);
    return OPTUNE_OK;
}

/* Our own addition: `"Reference": {"Function", "File", "Absolute", "Relative"}`. */
static int read_reference(t1 *t, const char *folder)
{
    ot_brought *b = t->b;
    const json_t *json = json_object_get(t->kernel, "Reference");
    if (!json)
        return OPTUNE_OK;
    if (!json_is_object(json))
        return FAIL(t, path_of(t, KERNEL ".Reference"), "is %s, not an object",
                    type_name(json));
    const char *function = text_in(t, json, KERNEL ".Reference", "Function"), *file;
    const json_t *absolute = json_object_get(json, "Absolute");
    const json_t *relative = json_object_get(json, "Relative");
    if (!function)
        return OPTUNE_ESYNTAX;
    OT_RETURN_UNLESS_OK(option_in(t, json, KERNEL ".Reference", "File", &file));
    b->reference = ot_arena_copy(&b->arena, function);
    if (file) {
        b->reference_source = file[0] == '/'
                                  ? ot_arena_copy(&b->arena, file)
                                  : ot_arena_printf(&b->arena, "%s/%s", folder, file);
        b->reference_folder = folder;
    }
    OT_RETURN_UNLESS_OK(take_tolerance(t, "Absolute", absolute, &b->absolute));
    return take_tolerance(t, "Relative", relative, &b->relative);
}

static int read_language(t1 *t)
{
    static const char *const known[] = {"C", "OpenCL", "CUDA"};
    const char *language = text_in(t, t->kernel, KERNEL, "Language");
    const char *name = language ? text_in(t, t->kernel, KERNEL, "KernelName") : NULL;
    if (!name)
        return OPTUNE_ESYNTAX;
    t->b->function = ot_arena_copy(&t->b->arena, name);
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strcmp(language, known[i]) == 0) {
            t->b->language = (ot_language)i;
            return OPTUNE_OK;
        }
    return FAIL(t, path_of(t, KERNEL ".Language"), "is '%.40s', not C, OpenCL or CUDA",
                language);
}

static int read_flags(t1 *t)
{
    const json_t *list, *item;
    size_t i;
    ot_brought *b = t->b;
    OT_RETURN_UNLESS_OK(list_in(t, t->kernel, KERNEL, "CompilerOptions", false, &list));
    if (!list)
        return OPTUNE_OK;
    json_array_foreach(list, i, item)
    {
        const char *flag = json_string_value(item);
        if (!flag || strlen(flag) >= OPTUNE_WORD_SIZE || b->n_flags == OT_BROUGHT_FLAGS)
            return FAIL(t, path_of(t, KERNEL ".CompilerOptions[%d]", (int)i),
                        "is no text of less than %d letters, or one of more than %d",
                        OPTUNE_WORD_SIZE, OT_BROUGHT_FLAGS);
        b->flag[b->n_flags++] = ot_arena_copy(&b->arena, flag);
    }
    return OPTUNE_OK;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Names in use have blanks and dashes, which are no part of an operator's. NULL: it is empty. */
static const char *name_of(t1 *t, const char *given)
{
    char *name = ot_arena_printf(&t->b->arena, "%s%s",
                                 given[0] >= '0' && given[0] <= '9' ? "_" : "", given);
    for (char *p = name; *p; p++)
        if (!(*p >= '0' && *p <= '9') && !ot_identifier_length(p))
            *p = '_';
    return *name ? name : NULL;
}

static int read_document(t1 *t, const json_t *document)
{
    static const char *const parts[] = {"ConfigurationSpace", "KernelSpecification"};
    ot_brought *b = t->b;
    const json_t *list, *item, *name;
    const char *slash = strrchr(b->path, '/');
    const char *folder = ot_arena_printf(&b->arena, "%.*s", (int)(slash - b->path), b->path);
    size_t i;
    for (int k = 0; k < OT_COUNT(parts); k++) {
        const json_t *part = json_object_get(document, parts[k]);
        if (!json_is_object(part))
            return FAIL(t, path_of(t, "%s", parts[k]),
                        part ? "is %s, not an object" : "is missing: this is no T1 file%s",
                        part ? type_name(part) : "");
        *(k ? &t->kernel : &t->space) = part;
    }
    name = json_object_get(t->kernel, "BenchmarkName");
    name = name ? name : json_object_get(json_object_get(document, "General"), "BenchmarkName");
    if (name && !json_is_string(name))
        return FAIL(t, path_of(t, "BenchmarkName"), "is %s, not a text", type_name(name));
    b->op.name = name ? name_of(t, json_string_value(name)) : NULL;
    OT_RETURN_UNLESS_OK(read_language(t));
    OT_RETURN_UNLESS_OK(add_problem_size(t));
    OT_RETURN_UNLESS_OK(add_space(t));
    OT_RETURN_UNLESS_OK(read_flags(t));
    if (b->language != OT_LANGUAGE_C)
        OT_RETURN_UNLESS_OK(add_launch(t));
    OT_RETURN_UNLESS_OK(list_in(t, t->kernel, KERNEL, "Arguments", true, &list));
    json_array_foreach(list, i, item) OT_RETURN_UNLESS_OK(add_argument(t, item, (int)i));
    OT_RETURN_UNLESS_OK(read_reference(t, folder));
    OT_RETURN_UNLESS_OK(read_source(t, folder));
    json_array_foreach(list, i, item) remark_constant(t, item, (int)i);
    return OPTUNE_OK;
}

int ot_t1_read(ot_brought *b, const char *text, optune_err *err)
{
    json_error_t error;
    t1 t = {.b = b, .err = err};
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        return optune_fail(err, OPTUNE_ESYNTAX, "%s:%d:%d: %s", b->file, error.line,
                           error.column, error.text);
    ot_digest_hex(ot_digest_of(text, strlen(text)), b->digest);
    const int status =
        json_is_object(document)
            ? read_document(&t, document)
            : optune_fail(err, OPTUNE_ESYNTAX, "%s: it is no JSON object", b->file);
    json_decref(document);
    return status;
}
