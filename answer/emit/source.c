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

#include "answer/emit/scope.h"
#include "answer/emit/source.h"
#include "call/cursor.h"

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
    ot_source_symbols(e, to);
}

static bool names_failure(const char *source)
{
    return strstr(source, "char ot_failure[") != NULL;
}

bool ot_source_failure(const ot_source *e, int module, ot_text *to)
{
    ot_text source = {0};
    ot_plan_source(&e->task, e->plan, module, &source);
    const bool says = names_failure(ot_text_str(&source));
    if (says)
        ot_text_printf(to, "%s_m%d_ot_failure", e->name, module);
    ot_text_release(&source);
    return says;
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
            ot_text_printf(to, "%s(void *)(uintptr_t)%s", comma, arg->symbol);
            break;
        case OPTUNE_ARG_FUNCTION:
            ot_text_printf(to, "%s(void *)(uintptr_t)%s_m%d_%s", comma, e->name, arg->index,
                           arg->symbol);
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
                                          "unused-parameter",      "unknown-pragmas",
                                          "tautological-compare",  "type-limits"};
    ot_text_add(to,
                "/* Bodies share headers of which each uses a part, ask whether integers are "
                "NaN, too, and speak to gcc and OpenMP. */\n");
    for (int i = 0; i < OT_COUNT(warning); i++)
        ot_text_printf(to, "#pragma GCC diagnostic ignored \"-W%s\"\n", warning[i]);
    ot_text_add(to, "\n");
}

/* ---- apart ------------------------------------------------------------------------------- */

/* Functions that somebody's code defines: two configs or sizes of one kernel are linked into one
 * program. */
static void rename_functions(const ot_source *e, int module, const char *text, ot_text *to)
{
    ot_scope scope = {0};
    ot_scope_of(text, &scope);
    for (int i = 0; i < scope.own.n; i++) {
        const char *name = scope.own.name[i];
        const size_t n = strlen(name);
        bool function = false;
        for (const char *p = strstr(text, name); p && !function; p = strstr(p + 1, name)) {
            const char *behind = p + n + strspn(p + n, " \t\r\n");
            function = *behind == '(' && ot_function_is_defined(behind);
        }
        if (function && !ot_scope_has(&scope.macros, name, n) &&
            !ot_scope_has(&scope.asked, name, n))
            ot_text_printf(to, "#undef %s\n#define %s %s_m%d_%s\n", name, name, e->name, module,
                           name);
    }
    ot_scope_release(&scope);
}

static void rename_one(const ot_source *e, int module, const char *function, ot_text *to)
{
    ot_text_printf(to, "#undef %s\n#define %s %s_m%d_%s\n", function, function, e->name, module,
                   function);
}

/* What no stage calls but the one that repeats it for each image. */
static void rename_repeated(const ot_source *e, int module, ot_text *to)
{
    const optune_plan *plan = e->plan;
    for (int s = 0; s < plan->n_stages; s++)
        for (int k = 0; k < plan->repeat.n && plan->stage[s].phase == OPTUNE_TIMED; k++)
            if (plan->stage[s].module == module)
                rename_one(e, module, plan->repeat.function[k], to);
}

static const char takes_arguments[] = "(void *const *";

static void rename_global(const ot_source *e, int module, const char *name, size_t n,
                          ot_text *to)
{
    ot_text_printf(to, "#undef %.*s\n#define %.*s %s_m%d_%.*s\n", (int)n, name, (int)n, name,
                   e->name, module, (int)n, name);
}

/* The number of the parameter that names a function which stages call in this macro, whose
 * parameters begin here; -1: none does. */
static int naming_parameter(const char *parameters)
{
    const char *end = parameters;
    while (*end && !(*end == '\n' && end[-1] != '\\'))
        end++;
    const char *p = parameters + strspn(parameters, " ");
    for (int number = 0; p < end; number++) {
        const size_t n = ot_identifier(p);
        for (const char *at = p; n && (at = strstr(at, "void ")) && at < end; at++)
            if (strncmp(at + 5, p, n) == 0 &&
                strncmp(at + 5 + n, takes_arguments, sizeof takes_arguments - 1) == 0)
                return number;
        p += n;
        p += strspn(p, " ");
        if (*p != ',')
            break;
        p += 1 + strspn(p + 1, " \\\n");
    }
    return -1;
}

/* What calls of the macro name so, each at the beginning of a line. */
static void rename_made(const ot_source *e, int module, const char *text, const char *macro,
                        size_t n, int number, ot_text *to)
{
    for (const char *line = text; line && *line; line += line != NULL) {
        if (strncmp(line, macro, n + 1) == 0) {
            const char *name = line + n + 1;
            for (int k = 0; k < number; k++) {
                name += strcspn(name, ",)");
                name += *name == ',' ? 1 + strspn(name + 1, " \n") : 0;
            }
            if (ot_identifier(name))
                rename_global(e, module, name, ot_identifier(name), to);
        }
        line = strchr(line, '\n');
    }
}

/* What stages of other configs call is as global: without a name of its own in each kernel, two of
 * one body would not link. A macro may write it. */
static void rename_unused(const ot_source *e, int module, const char *text, ot_text *to)
{
    static const char begin[] = "void ", define[] = "#define ";
    for (const char *line = text; line && *line;) {
        const char *name = line + sizeof begin - 1, *macro = line + sizeof define - 1;
        size_t n = strncmp(line, begin, sizeof begin - 1) == 0 ? ot_identifier(name) : 0;
        if (n && strncmp(name + n, takes_arguments, sizeof takes_arguments - 1) == 0)
            rename_global(e, module, name, n, to);
        n = strncmp(line, define, sizeof define - 1) == 0 ? ot_identifier(macro) : 0;
        const int number = n && macro[n] == '(' ? naming_parameter(macro + n + 1) : -1;
        if (number >= 0)
            rename_made(e, module, text, macro, n, number, to);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* Functions of a module are renamed; later modules undo what earlier ones defined. */
void ot_source_module(const ot_source *e, int module, ot_text *to)
{
    ot_text source = {0};
    const char *function;
    ot_plan_source(&e->task, e->plan, module, &source);
    if (e->task.call->op->standard)
        rename_functions(e, module, ot_text_str(&source), to);
    else
        rename_unused(e, module, ot_text_str(&source), to);
    for (int i = 0, at; (function = function_at(e->plan, i, &at)); i++)
        if (at == module)
            rename_one(e, module, function, to);
    rename_repeated(e, module, to);
    if (names_failure(ot_text_str(&source)))
        rename_one(e, module, "ot_failure", to);
    ot_text_add(to, ot_text_str(&source));
    ot_text_release(&source);
}

/* The text; what one branch of it defines as a function and another as a macro was renamed, and is
 * not where it is a macro. */
static void add_text(const char *text, const ot_scope *scope, ot_text *to)
{
    static const char define[] = "#define ";
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        const char *name = line + sizeof define - 1;
        if (strncmp(line, define, sizeof define - 1) == 0) {
            const size_t n = ot_identifier(name);
            if (ot_scope_has(&scope->functions, name, n) &&
                ot_scope_has(&scope->macros, name, n))
                ot_text_printf(to, "#undef %.*s\n", (int)n, name);
        }
        ot_text_add_n(to, line, length);
        line += length;
    }
}

void ot_source_module_apart(const ot_source *e, int module, ot_text *to)
{
    ot_text source = {0};
    ot_scope scope = {0};
    ot_plan_source(&e->task, e->plan, module, &source);
    ot_scope_of(ot_text_str(&source), &scope);
    ot_scope_names *const own = &scope.own, *const macros = &scope.macros;
    int n = 0, at;
    const char *function; /* a macro may write what stages call, where no text shows it */
    for (int i = 0; (function = function_at(e->plan, i, &at)); i++)
        if (at == module)
            ot_scope_add(own, function, strlen(function));
    for (int i = 0; i < own->n; i++) {
        const char *name = own->name[i];
        const size_t length = strlen(name);
        if ((ot_scope_has(macros, name, length) &&
             !ot_scope_has(&scope.functions, name, length)) ||
            ot_scope_has(&scope.asked, name, length))
            continue;
        ot_text_printf(to, "#define %s %s_m%d_%s\n", name, e->name, module, name);
        memmove(own->name[n++], name, sizeof own->name[0]);
    }
    add_text(ot_text_str(&source), &scope, to);
    for (int i = 0; i < n; i++)
        ot_text_printf(to, "#undef %s\n", own->name[i]);
    for (int i = 0; i < macros->n; i++)
        ot_text_printf(to, "#undef %s\n", macros->name[i]);
    ot_scope_release(&scope);
    ot_text_release(&source);
}

void ot_source_apart(const ot_source *e, ot_text *to)
{
    for (int m = 0; m < e->plan->n_modules; m++)
        ot_source_module_apart(e, m, to);
}
