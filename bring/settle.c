/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a file has declared all: what the names in its expressions mean, which sizes follow from the
 * inputs and which are attributes of the call, what the source is, and the rows that stand for it.
 */
#include <ctype.h>
#include <string.h>

#include "bring/bring.h"

/* ---- names ------------------------------------------------------------------------------- */

static int slot_of(const ot_brought *b, const char *name)
{
    for (int i = 0; i < b->n_sizes; i++)
        if (strcmp(b->size[i].name, name) == 0)
            return i;
    for (int i = 0; i < b->n_knobs; i++)
        if (strcmp(b->knob[i].name, name) == 0)
            return OT_BROUGHT_SIZES + i;
    return -1;
}

static int no_such_name(const ot_brought *b, const ot_formula *f, const char *name,
                        optune_err *err)
{
    const char *names[OT_BROUGHT_VALUES];
    int n = 0;
    optune_err inner = {0};
    for (int i = 0; i < b->n_sizes; i++)
        names[n++] = b->size[i].name;
    for (int i = 0; i < b->n_knobs; i++)
        names[n++] = b->knob[i].name;
    ot_no_such(&inner, "size or knob", name, names, n);
    const char *at = strstr(f->expr->text, name);
    return ot_fail_at(
        ot_spot_in(&f->expr->place, f->expr->text, at ? (size_t)(at - f->expr->text) : 0),
        OPTUNE_ENOENT, err, "%s", inner.text);
}

static int settle_formula(const ot_brought *b, ot_formula *f, optune_err *err)
{
    if (!f->expr)
        return OPTUNE_OK;
    const char *const *name;
    const int n = ot_expr_names(f->expr, &name);
    for (int i = 0; i < n; i++) {
        const int slot = slot_of(b, name[i]);
        if (slot < 0)
            return no_such_name(b, f, name[i], err);
        f->slot[i] = (uint8_t)slot;
    }
    return OPTUNE_OK;
}

static int settle_formulas(ot_brought *b, optune_err *err)
{
    ot_formula *const one[] = {&b->grid, &b->block, &b->shared, &b->flops, &b->bytes};
    for (int i = 0; i < OT_COUNT(one); i++)
        OT_RETURN_UNLESS_OK(settle_formula(b, one[i], err));
    for (int i = 0; i < b->n_where; i++)
        OT_RETURN_UNLESS_OK(settle_formula(b, &b->where[i], err));
    for (int i = 0; i < b->n_args; i++) {
        OT_RETURN_UNLESS_OK(settle_formula(b, &b->arg[i].value, err));
        OT_RETURN_UNLESS_OK(settle_formula(b, &b->arg[i].low, err));
        OT_RETURN_UNLESS_OK(settle_formula(b, &b->arg[i].high, err));
        for (int d = 0; d < b->arg[i].rank; d++)
            OT_RETURN_UNLESS_OK(settle_formula(b, &b->arg[i].dim[d], err));
    }
    return OPTUNE_OK;
}

/* ---- parameters -------------------------------------------------------------------------- */

static const char *type_text(ot_brought *b, const ot_brought_arg *arg)
{
    char dtype[OPTUNE_WORD_SIZE];
    ot_text text = {0};
    ot_print_dtype(arg->dtype, dtype, sizeof dtype);
    ot_text_printf(&text, "%s[", dtype);
    for (int d = 0; d < arg->rank; d++)
        ot_text_printf(&text, "%s%s", d ? "," : "", arg->dim[d].expr->text);
    ot_text_add(&text, "]");
    const char *copy = ot_arena_copy(&b->arena, ot_text_str(&text));
    ot_text_release(&text);
    return copy;
}

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where the word next stands outside of statements; NULL: nowhere. */
static const char *find_word(const char *text, const char *from, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = strstr(from, word); p; p = strstr(p + 1, word)) {
        const char *line = p;
        while (line > text && line[-1] != '\n')
            line--;
        const char *statement = strstr(line, "optune");
        if ((p == text || !is_part(p[-1])) && !is_part(p[n]) && !(statement && statement < p))
            return p;
    }
    return NULL;
}

static bool is_word_of_c(const char *name)
{
    static const char *const word[] = {
        "auto",   "break",    "case",   "char",     "const",  "continue", "default", "do",
        "double", "enum",     "extern", "float",    "goto",   "inline",   "int",     "long",
        "return", "register", "short",  "restrict", "signed", "sizeof",   "static",  "struct",
        "switch", "typedef",  "union",  "unsigned", "void",   "volatile", "while"};
    for (int i = 0; i < OT_COUNT(word); i++)
        if (strcmp(name, word[i]) == 0)
            return true;
    return false;
}

/* Knobs and sizes are macros: one that is called like what the source needs would replace it. A
 * size may be a parameter, and is no macro then. */
static int check_macro(const ot_brought *b, const char *what, const char *name, ot_spot spot,
                       bool parameter, optune_err *err)
{
    const char *is = is_word_of_c(name)               ? "a word of C"
                     : strcmp(name, b->function) == 0 ? "the kernel"
                                                      : NULL;
    if (!is && parameter && ot_parameters_name(ot_text_str(&b->source), b->function, name))
        is = "a parameter";
    return is ? ot_fail_at(spot, OPTUNE_ECONFLICT, err,
                           "'%s' is %s: as a macro the %s would replace it in the source", name,
                           is, what)
              : OPTUNE_OK;
}

static int check_macros(const ot_brought *b, optune_err *err)
{
    for (int i = 0; i < b->n_knobs; i++)
        OT_RETURN_UNLESS_OK(
            check_macro(b, "knob", b->knob[i].name, b->knob[i].spot, true, err));
    for (int i = 0; i < b->n_sizes; i++)
        OT_RETURN_UNLESS_OK(
            check_macro(b, "size", b->size[i].name, b->size[i].spot, false, err));
    return OPTUNE_OK;
}

static int settle_args(ot_brought *b, optune_err *err)
{
    int in = 0, out = 0;
    for (int i = 0; i < b->n_args; i++) {
        ot_brought_arg *arg = &b->arg[i];
        for (int k = 0; k < i; k++)
            if (strcmp(b->arg[k].name, arg->name) == 0)
                return ot_fail_at(arg->spot, OPTUNE_ECONFLICT, err,
                                  "there are two parameters '%s'", arg->name);
        arg->input = arg->output = -1;
        if (arg->role == OT_ROLE_SCALAR)
            continue;
        if (arg->role != OT_ROLE_OUT)
            arg->input = in++;
        if (arg->role != OT_ROLE_IN)
            arg->output = out++;
        if (arg->role == OT_ROLE_INOUT)
            arg->restore = ot_arena_printf(&b->arena, "optune_restore_%d", arg->output);
        if (in > OPTUNE_MAX_INPUTS || out > OPTUNE_MAX_OUTPUTS)
            return ot_fail_at(arg->spot, OPTUNE_ELIMIT, err,
                              "more than %d inputs or %d outputs", OPTUNE_MAX_INPUTS,
                              OPTUNE_MAX_OUTPUTS);
        if (arg->input >= 0)
            b->input[arg->input] = (optune_op_input){
                .name = arg->name, .type = type_text(b, arg), .description = ""};
    }
    b->op.n_outputs = out;
    return out ? OPTUNE_OK
               : optune_fail(err, OPTUNE_EUSAGE,
                             "%s: '%s' has no output: no parameter is marked 'out' or 'inout'",
                             b->file, b->function);
}

/* A size is the first dim of an input that is nothing but its name. */
static void bind_size(ot_brought *b, int k)
{
    for (int i = 0; i < b->n_args && !b->size[k].list; i++)
        for (int d = 0; b->arg[i].input >= 0 && d < b->arg[i].rank; d++) {
            const ot_formula *f = &b->arg[i].dim[d];
            if (f->expr->node[f->expr->root].kind == OT_NODE_NAME && f->slot[0] == k) {
                b->size[k].input = b->arg[i].input;
                b->size[k].dim = d;
                return;
            }
        }
}

static const char *numbers(ot_brought *b, const ot_brought_size *size)
{
    ot_text text = {0};
    ot_text_add(&text, size->list ? "[" : "");
    for (int i = 0; i < size->n; i++)
        ot_text_printf(&text, "%s%lld", i ? "," : "", (long long)size->value[i]);
    ot_text_add(&text, size->list ? "]" : "");
    const char *copy = ot_arena_copy(&b->arena, ot_text_str(&text));
    ot_text_release(&text);
    return copy;
}

static void settle_sizes(ot_brought *b)
{
    int n = 0;
    for (int k = 0; k < b->n_sizes; k++) {
        ot_brought_size *size = &b->size[k];
        bind_size(b, k);
        if (size->input >= 0)
            continue;
        size->dim = n;
        b->attr[n++] = (optune_op_attr){.name = size->name,
                                        .kind = size->list ? OPTUNE_ATTR_INTS : OPTUNE_ATTR_INT,
                                        .value = numbers(b, size),
                                        .description = "a size",
                                        .length = size->list ? size->n : 0,
                                        .min = 0,
                                        .max = OPTUNE_MAX_DIM,
                                        .shown = true};
    }
}

/* ---- launch, tolerance ------------------------------------------------------------------- */

static int settle_launch(const ot_brought *b, optune_err *err)
{
    const bool gpu = b->language == OT_LANGUAGE_OPENCL || b->language == OT_LANGUAGE_CUDA;
    if (gpu && (!b->grid.expr || !b->block.expr))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "%s: a kernel for GPUs needs its launch: 'launch grid = (N + BLOCK "
                           "- 1) // BLOCK, block = BLOCK'",
                           b->file);
    const ot_formula *said = b->grid.expr ? &b->grid : b->block.expr ? &b->block : &b->shared;
    if (!gpu && said->expr)
        return ot_fail_at(said->expr->place, OPTUNE_EUSAGE, err,
                          "a C function is called, not launched");
    return OPTUNE_OK;
}

/* Unless the file says: what sums in the output's type lose. Outputs of several types have one
 * each, which stays open here. */
static void settle_tolerance(ot_brought *b)
{
    double least = 0;
    for (int i = 0; i < b->n_args; i++) {
        const double own = b->arg[i].output >= 0 ? ot_usual_tolerance(b->arg[i].dtype) : 0;
        if (own > 0)
            least = least == 0 || least == own ? own : OT_BY_TYPE;
    }
    b->absolute = b->absolute < 0 ? least : b->absolute;
    b->relative = b->relative < 0 ? least : b->relative;
}

/* ---- source ------------------------------------------------------------------------------ */

static const char *keep(ot_brought *b, ot_text *text)
{
    const char *copy = ot_arena_copy(&b->arena, ot_text_str(text));
    ot_text_release(text);
    return copy;
}

static const char *kernel_source(ot_brought *b)
{
    ot_text text = {0};
    const char *source = ot_text_str(&b->source);
    ot_text_printf(&text, "/* %s %s */\n", b->file, b->digest);
    /* A CUDA kernel's name is as in C, so that the driver finds it; of what stands beside it,
     * templates and overloaded functions can have none such. */
    if (b->language != OT_LANGUAGE_CUDA || strstr(source, "extern \"C\""))
        ot_text_add(&text, source);
    else if (!ot_declarations_mark(source, b->function, "extern \"C\" ", &text))
        ot_text_printf(&text, "extern \"C\" {\n%s\n}\n", source);
    if (b->language == OT_LANGUAGE_C)
        ot_entry_add(b, b->function, &text);
    ot_restores_add(b, b->language, &text);
    return keep(b, &text);
}

/* The name stands in front of a parenthesis somewhere, as a function's does. */
static bool names_function(const char *text, const char *name)
{
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
        const char *after = p + strlen(name);
        if (after[strspn(after, " \t\n")] == '(')
            return true;
    }
    return false;
}

/* As C, with OPTUNE_REFERENCE defined, so that a file can hide its kernel from the C compiler. */
static int reference_source(ot_brought *b, optune_err *err)
{
    ot_text text = {0};
    ot_text_add(&text, "#define OPTUNE_REFERENCE 1\n");
    if (b->reference_source) {
        const char *path = ot_path_beside(b, b->reference_source);
        const int status = ot_source_read(path, b->reference_folder, &text, err);
        if (status < 0) {
            ot_text_release(&text);
            return status;
        }
    } else {
        ot_text_add_n(&text, b->source.s, b->source.n);
    }
    if (!names_function(ot_text_str(&text), b->reference)) {
        ot_text_release(&text);
        return optune_fail(err, OPTUNE_ENOENT, "%s: there is no reference function '%s'",
                           b->file, b->reference);
    }
    const int fits =
        ot_parameters_check(b, ot_text_str(&text), b->reference, OT_LANGUAGE_C, err);
    ot_entry_add(b, b->reference, &text);
    ot_restores_add(b, OT_LANGUAGE_C, &text);
    b->checker.source = keep(b, &text);
    return fits;
}

/* A C compiler takes a call of what is not there, and only the loader misses it. */
static int check_function(const ot_brought *b, optune_err *err)
{
    const char *text = ot_text_str(&b->source);
    if (!strchr(text, '{') || strstr(text, "##")) /* no function at all, or pasted, perhaps */
        return OPTUNE_OK;
    if (find_word(text, text, b->function))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_ENOENT, "%s: there is no function '%s' in the source",
                       b->file, b->function);
}

/* ---- all --------------------------------------------------------------------------------- */

/* A knob among the names of a dim; NULL: there is none. */
static const char *knob_in(const ot_brought *b, const ot_formula *f)
{
    const char *const *name;
    for (int i = ot_expr_names(f->expr, &name) - 1; i >= 0; i--)
        if (f->slot[i] >= OT_BROUGHT_SIZES)
            return b->knob[f->slot[i] - OT_BROUGHT_SIZES].name;
    return NULL;
}

/* A dim as the file's own sizes make it: it is the same for all configs. */
static int own_dim(const ot_brought *b, const ot_formula *f, const ot_values *values,
                   int64_t *dim, optune_err *err)
{
    optune_err inner = {0};
    const int status = ot_formula_int(f, values, dim, &inner);
    const char *knob = status < 0 ? knob_in(b, f) : NULL;
    if (status >= 0)
        return status;
    return optune_fail(err, status, "%s%s%s%s", inner.text,
                       knob ? "; in a dim, which all configs share, a knob is the list of its "
                              "values, as in max("
                            : "",
                       knob ? knob : "", knob ? ")" : "");
}

/* The call that the file's own sizes make. */
static int default_workload(ot_brought *b, optune_err *err)
{
    ot_values values;
    ot_text text = {0};
    int status = OPTUNE_OK, n = 0;
    ot_own_values(b, &values);
    ot_text_printf(&text, "%s(", b->op.name);
    for (int i = 0; i < b->n_args && status >= 0; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        char dtype[OPTUNE_WORD_SIZE];
        if (arg->input < 0)
            continue;
        ot_print_dtype(arg->dtype, dtype, sizeof dtype);
        ot_text_printf(&text, "%s%s[", n++ ? ", " : "", dtype);
        for (int d = 0; d < arg->rank && status >= 0; d++) {
            int64_t dim = 0;
            status = own_dim(b, &arg->dim[d], &values, &dim, err);
            if (status >= 0 && (dim < 0 || dim > OPTUNE_MAX_DIM))
                status = ot_fail_at(arg->dim[d].expr->place, OPTUNE_ETYPE, err,
                                    "'%s' is %lld, no dim's size", arg->dim[d].expr->text,
                                    (long long)dim);
            ot_text_printf(&text, "%s%lld", d ? "," : "", (long long)dim);
        }
        ot_text_add(&text, "]");
    }
    ot_text_add(&text, ")");
    b->workload[0] = keep(b, &text);
    return status;
}

/* What a file that is no kernel's has in place of a function and its parameters. */
static void settle_result(ot_brought *b)
{
    const char *name = strrchr(b->path, '/') + 1;
    b->function = ot_arena_printf(&b->arena, "%.*s", (int)(strrchr(name, '.') - name), name);
    b->n_args = 1;
    b->arg[0] = (ot_brought_arg){.name = "result",
                                 .role = OT_ROLE_OUT,
                                 .dtype = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1},
                                 .rank = 1};
    ot_expr_parse("4", NULL, &b->arg[0].dim[0].expr, NULL); /* a digest */
}

int ot_brought_settle(ot_brought *b, optune_err *err)
{
    if (b->language == OT_LANGUAGE_PROGRAM)
        settle_result(b);
    if (!b->op.name)
        b->op.name = b->function;
    const char *const names[] = {b->op.name, b->function, b->reference ? b->reference : "f"};
    for (int i = 0; i < OT_COUNT(names); i++)
        if (!ot_is_identifier(names[i]))
            return optune_fail(err, OPTUNE_ESYNTAX, "%s: '%.40s' is no name of a kernel",
                               b->file, names[i]);
    if (strlen(b->op.name) > OPTUNE_NAME_SIZE - 16)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "%s: the name '%s' is too long; 'name ...' gives a shorter one",
                           b->file, b->op.name);
    OT_RETURN_UNLESS_OK(settle_formulas(b, err));
    OT_RETURN_UNLESS_OK(settle_args(b, err));
    settle_sizes(b);
    OT_RETURN_UNLESS_OK(settle_launch(b, err));
    settle_tolerance(b);
    if (b->language == OT_LANGUAGE_PROGRAM) {
        OT_RETURN_UNLESS_OK(ot_program_settle(b, err));
        OT_RETURN_UNLESS_OK(default_workload(b, err));
        ot_brought_rows(b);
        return OPTUNE_OK;
    }
    if (b->reference && strcmp(b->reference, "default") == 0)
        b->reference = NULL;
    if (b->reference)
        OT_RETURN_UNLESS_OK(reference_source(b, err));
    OT_RETURN_UNLESS_OK(check_macros(b, err));
    OT_RETURN_UNLESS_OK(check_function(b, err));
    OT_RETURN_UNLESS_OK(
        ot_parameters_check(b, ot_text_str(&b->source), b->function, b->language, err));
    ot_text arrays = {0};
    const int settled = ot_arrays_settle(b, &arrays, err);
    const char *const all[] = {ot_text_str(&b->source), b->checker.source, b->digest,
                               ot_text_str(&arrays)};
    ot_digest_hex(ot_digest_texts(all, b->exemplified ? 4 : 3), b->digest);
    ot_text_release(&arrays);
    OT_RETURN_UNLESS_OK(settled);
    b->impl.source = kernel_source(b);
    OT_RETURN_UNLESS_OK(default_workload(b, err));
    ot_brought_rows(b);
    return OPTUNE_OK;
}
