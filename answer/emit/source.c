/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel as C text: its modules with every function renamed, its workspace, and its stages as
 * calls in order. Emitting one kernel and generating a dispatch table both write with it; it knows
 * nothing of files.
 *
 * Several kernels fit one translation unit when each is written apart: every name that a body
 * defines at file scope is renamed by a macro in front of it, and every macro is undefined behind
 * it. The bodies include nothing, so all their names are their own.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer/emit/source.h"

void ot_source_layout(ot_source *e)
{
    for (int i = 0; i < e->plan->n_scratch; i++) {
        int64_t *end = e->shared && e->plan->scratch[i].constant ? &e->packed : &e->workspace;
        e->offset[i] = *end;
        *end += (e->plan->scratch[i].bytes + 63) / 64 * 64;
    }
}

void ot_source_flags(const ot_source *e, ot_text *to)
{
    const optune_target *target = e->task.target;
    if (target->cflags[0]) {
        ot_text_add(to, target->cflags);
    } else {
        ot_text_printf(to, "-O3 -march=%s", target->arch[0] ? target->arch : "native");
#if defined(__x86_64__)
        ot_text_add(to, " -mprefer-vector-width=512");
#endif
        ot_text_add(to, " -fno-math-errno -fno-trapping-math -ffp-contract=fast");
    }
    ot_text_printf(to, " -std=gnu17%s", target->threads > 1 ? " -fopenmp" : "");
}

static bool same_flags(const ot_module *a, const ot_module *b)
{
    bool same = a->n_flags == b->n_flags;
    for (int f = 0; f < a->n_flags && same; f++)
        same = !strcmp(a->flag[f], b->flag[f]);
    return same;
}

bool ot_source_is_one(const ot_source *e)
{
    bool one = true;
    for (int m = 1; m < e->plan->n_modules; m++)
        one = one && same_flags(&e->plan->module[0], &e->plan->module[m]);
    return one;
}

void ot_source_build(const ot_source *e, ot_text *to)
{
    const int n = ot_source_is_one(e) ? 1 : e->plan->n_modules;
    ot_text_add(to, " * Build: cc ");
    ot_source_flags(e, to);
    for (int m = 0; m < n; m++)
        for (int f = 0; f < e->plan->module[m].n_flags; f++)
            ot_text_printf(to, " %s", e->plan->module[m].flag[f]);
    ot_text_add(to, "\n");
}

/* The function that use number `i` of a plan's names, and its module; NULL behind the last. Stages
 * come first, then the functions that they are handed. */
static const char *function_at(const optune_plan *plan, int i, int *module)
{
    if (i < plan->n_stages) {
        *module = plan->stage[i].module;
        return plan->stage[i].function;
    }
    i -= plan->n_stages;
    for (int s = 0; s < plan->n_stages; s++)
        for (int a = 0; a < plan->stage[s].n_args; a++) {
            const optune_arg *arg = &plan->stage[s].arg[a];
            if (arg->kind == OPTUNE_ARG_FUNCTION && i-- == 0) {
                *module = arg->index;
                return arg->symbol;
            }
        }
    return NULL;
}

/* Whether use number `i` names what one in front of it did. */
static bool is_repeated(const optune_plan *plan, int i)
{
    int module = 0, other = 0;
    const char *function = function_at(plan, i, &module);
    for (int k = 0; k < i; k++) {
        const char *before = function_at(plan, k, &other);
        if (other == module && !strcmp(before, function))
            return true;
    }
    return false;
}

void ot_source_prototypes(const ot_source *e, ot_text *to)
{
    const char *function;
    for (int i = 0, at; (function = function_at(e->plan, i, &at)); i++)
        if (!is_repeated(e->plan, i))
            ot_text_printf(to, "void %s_m%d_%s(void *const *arg);\n", e->name, at, function);
    for (int s = 0; s < e->plan->n_stages; s++)
        for (int a = 0; a < e->plan->stage[s].n_args; a++) {
            const optune_arg *arg = &e->plan->stage[s].arg[a];
            bool said = arg->kind != OPTUNE_ARG_SYMBOL;
            for (int k = 0; k <= s && !said; k++)
                for (int b = 0; b < (k < s ? e->plan->stage[k].n_args : a) && !said; b++)
                    said = e->plan->stage[k].arg[b].kind == OPTUNE_ARG_SYMBOL &&
                           !strcmp(e->plan->stage[k].arg[b].symbol, arg->symbol);
            if (!said)
                ot_text_printf(to, "extern void %s(void);\n", arg->symbol);
        }
}

static void add_dim_name(const char *name, size_t n, const ot_source_names *names, ot_text *to)
{
    for (int i = 0; names && i < names->n; i++)
        if (strlen(names->name[i]) == n && strncmp(names->name[i], name, n) == 0) {
            ot_text_add(to, names->is[i]);
            return;
        }
    if (names)
        ot_text_add(to, names->front);
    ot_text_add_n(to, name, n);
}

void ot_source_expression(const char *text, const ot_source_names *names, ot_text *to)
{
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (n && !isdigit((unsigned char)*p))
            add_dim_name(p, n, names, to);
        else
            ot_text_add_n(to, p, n ? n : 1);
        p += n ? n : 1;
    }
}

static int formula(const ot_source *e, int o, int d, ot_text *to, optune_err *err)
{
    return e->over ? ot_dim_formula_over(e->task.call, e->over, o, d, to, err)
                   : ot_dim_formula(e->task.call, o, d, to, err);
}

/* The parameter of the run function that has this dim's size, or what is made of some. */
static void add_dim(const ot_source *e, const optune_arg *arg, ot_text *to)
{
    const int o = arg->index / OPTUNE_MAX_RANK - OPTUNE_MAX_INPUTS;
    ot_text text = {0};
    if (o < 0) /* one that is computed of parameters is written as C has it */
        ot_text_printf(&text, "(%s)", optune_dim_text(ot_call_arg_dim(e->task.call, arg)));
    else
        formula(e, o, arg->index % OPTUNE_MAX_RANK, &text, NULL);
    ot_source_expression(ot_text_str(&text), e->dims, to);
    ot_text_release(&text);
}

static int formula_of(const ot_source *e, const optune_arg *dim, optune_err *err)
{
    const int o = dim->index / OPTUNE_MAX_RANK - OPTUNE_MAX_INPUTS;
    ot_text text = {0};
    if (o < 0)
        return OPTUNE_OK;
    const int status = formula(e, o, dim->index % OPTUNE_MAX_RANK, &text, err);
    ot_text_release(&text);
    return status;
}

int ot_source_sized(const ot_source *e, optune_err *err)
{
    const optune_plan *plan = e->plan;
    for (int s = 0; s < plan->n_stages; s++)
        for (int a = 0; a < plan->stage[s].n_args; a++)
            if (plan->stage[s].arg[a].kind == OPTUNE_ARG_DIM)
                OT_RETURN_UNLESS_OK(formula_of(e, &plan->stage[s].arg[a], err));
    for (int k = 0; k < plan->n_dims; k++) {
        const optune_arg dim = optune_dim_arg(0, plan->dim[k]);
        OT_RETURN_UNLESS_OK(formula_of(e, &dim, err));
    }
    return OPTUNE_OK;
}

/* What an argument that holds sizes is called in front of the call. */
static void add_sizes(const ot_source *e, int a, const optune_arg *dims, ot_text *to)
{
    ot_text_printf(to, "        int64_t value%d[] = {", a);
    for (int k = 0; k < dims->value; k++) {
        const optune_arg dim = ot_plan_dim(e->plan, dims, k);
        ot_text_add(to, k ? ", " : "");
        add_dim(e, &dim, to);
    }
    ot_text_add(to, "};\n");
}

static void add_stage(const ot_source *e, const optune_stage *stage, ot_text *to)
{
    ot_text_add(to, "    {\n");
    for (int a = 0; a < stage->n_args; a++) {
        const optune_arg *arg = &stage->arg[a];
        if (arg->kind == OPTUNE_ARG_INT) {
            ot_text_printf(to, "        static long long value%d = %lldLL;\n", a,
                           (long long)arg->value);
        } else if (arg->kind == OPTUNE_ARG_DIM) {
            ot_text_printf(to, "        int64_t value%d = ", a);
            add_dim(e, arg, to);
            ot_text_add(to, ";\n");
        } else if (arg->kind == OPTUNE_ARG_DIMS) {
            add_sizes(e, a, arg, to);
        } else if (arg->kind == OPTUNE_ARG_FLOAT) {
            ot_text_printf(to, "        static double value%d = %.17g;\n", a, arg->real);
        }
    }
    ot_text_add(to, "        void *const arg[] = {");
    for (int a = 0; a < stage->n_args; a++) {
        const optune_arg *arg = &stage->arg[a];
        const char *comma = a ? ", " : "";
        switch (arg->kind) {
        case OPTUNE_ARG_INPUT:
            ot_text_printf(to, "%s(void *)input[%d]", comma, arg->index);
            break;
        case OPTUNE_ARG_OUTPUT:
            ot_text_printf(to, "%soutput[%d]", comma, arg->index);
            break;
        case OPTUNE_ARG_SCRATCH:
            ot_text_printf(to, "%s(char *)%s + %lld", comma,
                           e->shared && e->plan->scratch[arg->index].constant ? "packed"
                                                                              : "workspace",
                           (long long)e->offset[arg->index]);
            break;
        case OPTUNE_ARG_SYMBOL:
            ot_text_printf(to, "%s(void *)%s", comma, arg->symbol);
            break;
        case OPTUNE_ARG_FUNCTION:
            ot_text_printf(to, "%s(void *)%s_m%d_%s", comma, e->name, arg->index, arg->symbol);
            break;
        case OPTUNE_ARG_DIMS:
            ot_text_printf(to, "%svalue%d", comma, a);
            break;
        default:
            ot_text_printf(to, "%s&value%d", comma, a);
        }
    }
    ot_text_printf(to, "};\n        %s_m%d_%s(arg);\n    }\n", e->name, stage->module,
                   stage->function);
}

void ot_source_phase(const ot_source *e, optune_phase phase, ot_text *to)
{
    if (phase == OPTUNE_TIMED)
        ot_source_phase(e, OPTUNE_RESTORE, to);
    for (int s = 0; s < e->plan->n_stages; s++)
        if (e->plan->stage[s].phase == phase)
            add_stage(e, &e->plan->stage[s], to);
}

void ot_source_quiet(ot_text *to)
{
    static const char *const warning[] = {"unused-function",       "unused-variable",
                                          "unused-const-variable", "unused-but-set-variable",
                                          "unused-parameter",      "unknown-pragmas"};
    ot_text_add(to, "/* Bodies share headers of which each uses a part, and speak to gcc and "
                    "OpenMP. */\n");
    for (int i = 0; i < OT_COUNT(warning); i++)
        ot_text_printf(to, "#pragma GCC diagnostic ignored \"-W%s\"\n", warning[i]);
    ot_text_add(to, "\n");
}

/* ---- apart ------------------------------------------------------------------------------- */

typedef struct names {
    int n, capacity;
    char (*name)[OPTUNE_NAME_SIZE];
} names;

static bool has_name(const names *all, const char *name, size_t n)
{
    for (int i = 0; i < all->n; i++)
        if (strlen(all->name[i]) == n && strncmp(all->name[i], name, n) == 0)
            return true;
    return false;
}

static void add_name(names *all, const char *name, size_t n)
{
    if (!n || n >= OPTUNE_NAME_SIZE || has_name(all, name, n))
        return;
    all->name = ot_room(all->name, all->n, &all->capacity, sizeof *all->name);
    snprintf(all->name[all->n++], OPTUNE_NAME_SIZE, "%.*s", (int)n, name);
}

static size_t identifier(const char *p)
{
    size_t n = 0;
    if (!isalpha((unsigned char)*p) && *p != '_')
        return 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n;
}

/* Names that a macro makes of numbers, `static const T a##i = ...` of an op's own attributes
 * (include/optune/define.h) or `VECTOR(vec_x##k, ...)` and what follows it, are in no text. */
static void add_numbered(names *own, const char *value, const char *end)
{
    const char *vector = strstr(value, "VECTOR(");
    if ((identifier(value) != 6 || strncmp(value, "static", 6) != 0) &&
        (!vector || vector >= end))
        return;
    for (const char *paste = value; (paste = strstr(paste, "##")) && paste < end; paste += 2) {
        const char *from = paste, *number = paste + 2;
        while (isalnum((unsigned char)from[-1]) || from[-1] == '_')
            from--;
        if (!islower((unsigned char)*from) || strncmp(number + identifier(number), "##", 2) == 0)
            continue;
        for (int i = 0; i < OPTUNE_MAX_NUMBERS; i++) {
            char name[OPTUNE_NAME_SIZE];
            snprintf(name, sizeof name, "%.*s%d", (int)(paste - from), from, i);
            add_name(own, name, strlen(name));
        }
    }
}

/* Behind a comment, a literal or a preprocessor line that starts here; else `p`. */
static const char *skip_apart(const char *p, bool line_start, names *macros, names *asked,
                              names *own)
{
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (*p == '"' || *p == '\'') {
        const char quote = *p++;
        while (*p && *p != quote)
            p += *p == '\\' && p[1] ? 2 : 1;
        return *p ? p + 1 : p;
    }
    if (*p == '#' && line_start) {
        const char *word = p + 1 + strspn(p + 1, " \t");
        const size_t n = identifier(word);
        const char *name = word + n + strspn(word + n, " \t");
        if (n == 6 && strncmp(word, "define", n) == 0)
            add_name(macros, name, identifier(name));
        else if ((n == 5 && strncmp(word, "ifdef", n) == 0) ||
                 (n == 6 && strncmp(word, "ifndef", n) == 0))
            add_name(asked, name, identifier(name));
        while (*p && !(*p == '\n' && p[-1] != '\\'))
            p++;
        const char *value = name + identifier(name);
        value += *value == '(' ? strcspn(value, ")") + 1 : 0;
        if (n == 6 && strncmp(word, "define", n) == 0 && value < p)
            add_numbered(own, value + strspn(value, " \t"), p);
    }
    return p;
}

/* True when what follows the parameters is a body: a declaration alone names something that is
 * elsewhere. */
static bool is_defined(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (depth == 0 && (*p == '{' || *p == ';' || *p == ','))
            return *p == '{';
    }
    return false;
}

/* True when a body is all that follows the parameters. */
static bool is_function(const char *p)
{
    int depth = 0;
    do {
        depth += *p == '(';
        depth -= *p == ')';
    } while (*p++ && depth > 0);
    return p[-1] && p[strspn(p, " \t\r\n")] == '{';
}

/* What OpenCL's compiler has names for: uint, float4. */
static bool is_opencl_type(const char *p, size_t n)
{
    static const char *const words[] = {"char", "short", "int", "long", "float", "double",
                                        "half", "bool"};
    const size_t sign = n && *p == 'u';
    while (n && isdigit((unsigned char)p[n - 1]))
        n--;
    for (int i = 0; i < OT_COUNT(words); i++)
        for (size_t from = 0; from <= sign; from++)
            if (strlen(words[i]) == n - from && strncmp(words[i], p + from, n - from) == 0)
                return true;
    return false;
}

static bool is_keyword(const char *p, size_t n)
{
    static const char *const words[] = {
        "typedef", "static",   "inline",   "extern",   "const",          "volatile", "restrict",
        "void",    "char",     "short",    "int",      "long",           "float",    "double",
        "signed",  "unsigned", "struct",   "union",    "enum",           "register", "sizeof",
        "asm",     "_Bool",    "_Complex", "_Float16", "_Static_assert", "_Alignas"};
    for (int i = 0; i < OT_COUNT(words); i++)
        if (strlen(words[i]) == n && strncmp(words[i], p, n) == 0)
            return true;
    return (n > 1 && p[0] == '_' && p[1] == '_') || /* the compiler's own */
           is_opencl_type(p, n);
}

/* What the text defines at file scope: macros, and names of functions, types and constants. What it
 * asks for by #ifdef is a macro, if any: a name of ours would be its answer. */
static void find_names(const char *text, names *macros, names *asked, names *own,
                       names *functions)
{
    int braces = 0, parens = 0;
    bool line_start = true, type = false, constants = false, pending_enum = false;
    for (const char *p = text; *p;) {
        const char *behind = skip_apart(p, line_start, macros, asked, own);
        if (behind != p) {
            p = behind;
            line_start = false;
            continue;
        }
        line_start = *p == '\n' || (line_start && isspace((unsigned char)*p));
        const size_t n = identifier(p);
        const bool scope = parens == 0 && (braces == 0 || (braces == 1 && constants));
        if (n && scope) {
            type = type || (n == 7 && strncmp(p, "typedef", n) == 0);
            pending_enum = n == 4 && strncmp(p, "enum", n) == 0 ? true : pending_enum;
            const char *next = p + n + strspn(p + n, " \t\n");
            if (!is_keyword(p, n) && (type || *next != '(' || is_defined(next)))
                add_name(own, p, n);
            if (functions && *next == '(' && is_function(next))
                add_name(functions, p, n);
            if (*next == '(' && has_name(macros, p, n)) { /* VECTOR(tile_rows, float, 4); */
                const char *first = next + 1 + strspn(next + 1, " \t\n");
                if (!is_keyword(first, identifier(first)))
                    add_name(own, first, identifier(first));
            }
        }
        if (n) {
            p += n;
            continue;
        }
        if (isdigit((unsigned char)*p)) {
            p += strspn(p, "0123456789abcdefABCDEFxXuUlL.");
            continue;
        }
        parens += *p == '(';
        parens -= *p == ')';
        if (*p == '{' && braces++ == 0) {
            constants = pending_enum;
            pending_enum = false;
        }
        braces -= *p == '}';
        if (*p == ';' && braces == 0)
            type = pending_enum = false;
        p++;
    }
}

/* Functions that somebody's code defines: two configs or sizes of one kernel are linked into one
 * program. */
static void rename_functions(const ot_source *e, int module, const char *text, ot_text *to)
{
    names macros = {0}, asked = {0}, own = {0};
    find_names(text, &macros, &asked, &own, NULL);
    for (int i = 0; i < own.n; i++) {
        const char *name = own.name[i];
        const size_t n = strlen(name);
        bool function = false;
        for (const char *p = strstr(text, name); p && !function; p = strstr(p + 1, name)) {
            const char *behind = p + n + strspn(p + n, " \t\r\n");
            function = *behind == '(' && is_defined(behind);
        }
        if (function && !has_name(&macros, name, n) && !has_name(&asked, name, n))
            ot_text_printf(to, "#undef %s\n#define %s %s_m%d_%s\n", name, name, e->name, module,
                           name);
    }
    free(macros.name);
    free(asked.name);
    free(own.name);
}

/* Functions of a module are renamed; later modules undo what earlier ones defined. */
void ot_source_module(const ot_source *e, int module, ot_text *to)
{
    ot_text source = {0};
    const char *function;
    ot_plan_source(&e->task, e->plan, module, &source);
    if (e->task.call->op->standard)
        rename_functions(e, module, ot_text_str(&source), to);
    for (int i = 0, at; (function = function_at(e->plan, i, &at)); i++)
        if (at == module)
            ot_text_printf(to, "#undef %s\n#define %s %s_m%d_%s\n", function, function, e->name,
                           module, function);
    ot_text_add(to, ot_text_str(&source));
    ot_text_release(&source);
}

/* The text; what one branch of it defines as a function and another as a macro was renamed, and is
 * not where it is a macro. */
static void add_text(const char *text, const names *macros, const names *functions,
                     ot_text *to)
{
    static const char define[] = "#define ";
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        const char *name = line + sizeof define - 1;
        if (strncmp(line, define, sizeof define - 1) == 0) {
            const size_t n = identifier(name);
            if (has_name(functions, name, n) && has_name(macros, name, n))
                ot_text_printf(to, "#undef %.*s\n", (int)n, name);
        }
        ot_text_add_n(to, line, length);
        line += length;
    }
}

void ot_source_module_apart(const ot_source *e, int module, ot_text *to)
{
    ot_text source = {0};
    names macros = {0}, asked = {0}, own = {0}, functions = {0};
    ot_plan_source(&e->task, e->plan, module, &source);
    find_names(ot_text_str(&source), &macros, &asked, &own, &functions);
    int n = 0, at;
    const char
        *function; /* what stages call may be written by a macro, where no text shows it */
    for (int i = 0; (function = function_at(e->plan, i, &at)); i++)
        if (at == module)
            add_name(&own, function, strlen(function));
    for (int i = 0; i < own.n; i++) {
        const char *name = own.name[i];
        const size_t length = strlen(name);
        if ((has_name(&macros, name, length) && !has_name(&functions, name, length)) ||
            has_name(&asked, name, length))
            continue;
        ot_text_printf(to, "#define %s %s_m%d_%s\n", name, e->name, module, name);
        memmove(own.name[n++], name, sizeof own.name[0]);
    }
    add_text(ot_text_str(&source), &macros, &functions, to);
    for (int i = 0; i < n; i++)
        ot_text_printf(to, "#undef %s\n", own.name[i]);
    for (int i = 0; i < macros.n; i++)
        ot_text_printf(to, "#undef %s\n", macros.name[i]);
    free(macros.name);
    free(asked.name);
    free(own.name);
    free(functions.name);
    ot_text_release(&source);
}

void ot_source_apart(const ot_source *e, ot_text *to)
{
    for (int m = 0; m < e->plan->n_modules; m++)
        ot_source_module_apart(e, m, to);
}
