/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows from a shared object that exports `optune_plugin` (OPTUNE_PLUGIN defines it). All of its
 * rows are added or none; once added, the object stays loaded for ever, since rows are used by
 * address. Targets belong to another room: the caller says how to add one.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/inside.h"

#define ADD_ALL(list, type, add)                                                               \
    for (const type *const *row = (list); row && *row; row++) {                                \
        const int status = (add)(*row, err);                                                   \
        if (status < 0)                                                                        \
            return status;                                                                     \
    }

/* What the tables do not ask of rows that a run makes for itself. */
static int check_ops(const struct optune_plugin *plugin, optune_err *err)
{
    for (const optune_op *const *op = plugin->ops; op && *op; op++)
        if (!(*op)->reference || !(*op)->summary)
            return optune_fail(err, OPTUNE_EUSAGE, "operator '%s' lacks a %s",
                               (*op)->name ? (*op)->name : "",
                               (*op)->summary ? "reference" : "summary");
    return OPTUNE_OK;
}

/* Whether a relation that knows all of the inputs left an output unknown; values decide the rest of
 * those that have a shape function. */
static bool unsettled(const optune_call *call)
{
    bool known = !call->op->shape;
    for (int i = 0; i < call->n_inputs && known; i++)
        known = optune_tensor_known(&call->input[i].type);
    for (int i = 0; i < call->n_outputs && known; i++)
        if (!optune_tensor_known(&call->output[i]))
            return true;
    return false;
}

/* A sample is a call of its operator whose types follow: what is wrong with the one or the other
 * is told with the sample, before the first question. */
static int check_samples(const optune_op *op, optune_err *err)
{
    optune_call *call = ot_alloc(sizeof *call);
    int status = OPTUNE_OK;
    for (const char *const *text = op->samples; text && *text && status >= 0; text++) {
        optune_err why = {0};
        status = ot_call_parse(*text, call, &why);
        if (status < 0)
            status = optune_fail(err, status, "operator '%s': its sample '%s': %s", op->name,
                                 *text, why.text);
        else if (call->op != op)
            status = optune_fail(err, OPTUNE_EUSAGE,
                                 "operator '%s': its sample '%s' is a call of '%s'", op->name,
                                 *text, call->op->name);
        else if (unsettled(call))
            status = optune_fail(err, OPTUNE_ETYPE,
                                 "operator '%s': its type relation does not tell the output of "
                                 "its sample '%s'",
                                 op->name, *text);
    }
    free(call);
    return status;
}

/* Each word of `symbolic` is INPUT.DIM of the operator, or all of it is a star. */
static int check_symbolic(const optune_impl *impl, optune_err *err)
{
    const optune_op *op = impl->op ? ot_op_find(impl->op) : NULL;
    const char *list = impl->symbolic;
    if (!op || !list || !strcmp(list, "*"))
        return OPTUNE_OK;
    for (const char *p = list; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " "), name = strcspn(p, ". ");
        bool known = false;
        for (const optune_op_input *in = op->inputs; in && in->name && !known; in++)
            known = strlen(in->name) == name && !strncmp(in->name, p, name);
        if (!known || n != name + 2 || p[name + 1] < '0' ||
            p[name + 1] >= '0' + OPTUNE_MAX_RANK)
            return optune_fail(
                err, OPTUNE_EUSAGE,
                "implementation '%s': '%.*s' in `symbolic` is no dim of an input "
                "of '%s'",
                impl->name, (int)n, p, op->name);
        p += n;
    }
    return OPTUNE_OK;
}

/* Each word of `math` is a class that calls can ask for. */
static int check_math(const optune_impl *impl, optune_err *err)
{
    const optune_op *op = impl->op ? ot_op_find(impl->op) : NULL;
    const optune_op_attr *math = op ? ot_op_attr_at(op, ot_op_attr_count(op) - 1) : NULL;
    for (const char *p = math ? impl->math : NULL; p && *p; p += strspn(p, " ")) {
        char word[OPTUNE_WORD_SIZE] = "";
        optune_attr attr;
        optune_err why = {0};
        const size_t n = strcspn(p, " ");
        memcpy(word, p, n < sizeof word ? n : sizeof word - 1);
        const int status = n ? ot_attr_parse(math, word, &attr, &why) : OPTUNE_OK;
        if (status < 0)
            return optune_fail(err, status, "implementation '%s': %s", impl->name, why.text);
        p += n;
    }
    return OPTUNE_OK;
}

/* What a run would only find out by trials that fail. */
static int check_impls(const struct optune_plugin *plugin, optune_err *err)
{
    for (const optune_impl *const *impl = plugin->impls; impl && *impl; impl++) {
        if (!(*impl)->source || !*(*impl)->source)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "implementation '%s' lacks its body, `source`",
                               (*impl)->name ? (*impl)->name : "");
        OT_RETURN_UNLESS_OK(check_symbolic(*impl, err));
        OT_RETURN_UNLESS_OK(check_math(*impl, err));
    }
    return OPTUNE_OK;
}

static int add_rows(const struct optune_plugin *plugin, optune_err *err)
{
    ADD_ALL(plugin->ops, optune_op, ot_op_add)
    for (const optune_op *const *op = plugin->ops; op && *op; op++)
        OT_RETURN_UNLESS_OK(check_samples(*op, err));
    OT_RETURN_UNLESS_OK(check_impls(plugin, err));
    ADD_ALL(plugin->impls, optune_impl, ot_impl_add)
    for (const optune_op *const *op = plugin->ops; op && *op; op++)
        if ((*op)->standard && !ot_impl_find((*op)->standard))
            return optune_fail(err, OPTUNE_ENOENT,
                               "operator '%s': its standard '%s' is no implementation",
                               (*op)->name, (*op)->standard);
    ADD_ALL(plugin->strategies, optune_strategy, ot_strategy_add)
    ADD_ALL(plugin->searches, optune_search, ot_search_add)
    return OPTUNE_OK;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Two rows of one name inside the plugin are found before the first is added, because a target
 * that was added stays. */
static int check_targets(const struct optune_plugin *plugin, optune_err *err)
{
    for (const optune_target_row *const *a = plugin->targets; a && *a; a++) {
        OT_RETURN_UNLESS_OK(ot_row_check_name("target", (*a)->name, err));
        for (const optune_target_row *const *b = plugin->targets; b < a; b++)
            if (same((*a)->name, (*b)->name))
                return optune_fail(err, OPTUNE_ECONFLICT, "target '%s' is there twice",
                                   (*a)->name);
    }
    return OPTUNE_OK;
}

/* A later strategy goes before an earlier one for what both are of, which inside one plugin is a
 * slip: half of what is written would do nothing. */
static int check_strategies(const struct optune_plugin *plugin, optune_err *err)
{
    for (const optune_strategy *const *a = plugin->strategies; a && *a; a++)
        for (const optune_strategy *const *b = plugin->strategies; b < a; b++) {
            const bool both = same((*a)->op, (*b)->op) && same((*a)->family, (*b)->family) &&
                              ((*a)->op || (*a)->family || (*a)->pattern == (*b)->pattern);
            const char *key, *other;
            for (int i = 0; both && (key = ot_strategy_key(*a, i)); i++)
                for (int k = 0; (other = ot_strategy_key(*b, k)); k++)
                    if (strcmp(key, other) == 0)
                        return optune_fail(err, OPTUNE_ECONFLICT,
                                           "two strategies of %s%s for '%s'",
                                           (*a)->op       ? ""
                                           : (*a)->family ? "family "
                                                          : "a pattern",
                                           (*a)->op       ? (*a)->op
                                           : (*a)->family ? (*a)->family
                                                          : "",
                                           key);
        }
    return OPTUNE_OK;
}

typedef struct loading {
    const char *path;
    int (*add_target)(const optune_target_row *, optune_err *);
} loading;

static int load(const loading *what, optune_err *err)
{
    const char *path = what->path;
    /* A name without a slash is a file's, too, before it is a library's. */
    char *real = realpath(path, NULL);
    const int fd = real ? ot_open_file(real, O_RDONLY, err) : 0;
    if (fd < 0) { /* of a pipe dlopen(3) would wait for the other end */
        free(real);
        return fd;
    }
    if (real)
        close(fd);
    void *object = dlopen(real ? real : path, RTLD_NOW | RTLD_LOCAL);
    free(real);
    if (!object) {
        const char *said = dlerror();
        const char *name = strstr(said, "undefined symbol: ");
        const bool ours = name && strncmp(strchr(name, ':') + 2, "optune_", 7) == 0;
        return optune_fail(err, OPTUNE_ENOENT, "cannot load plugin '%s': %s%s", path, said,
                           ours || !name ? ""
                                         : " (what rows share is in liboptune-kernels.a: link "
                                           "with `pkg-config --libs optune-plugin`)");
    }
    const struct optune_plugin *plugin = dlsym(object, "optune_plugin");
    int status = OPTUNE_OK;
    bool kept = false;
    optune_err inner = {0};
    const ot_registry_mark mark = ot_registry_now();
    if (!plugin) {
        status = optune_fail(
            err, OPTUNE_EUNSUPPORTED,
            "'%s' is not an optune plugin: it exports no symbol 'optune_plugin'", path);
        goto out;
    }
    if (plugin->abi != OPTUNE_ABI) {
        status = optune_fail(err, OPTUNE_EVERSION,
                             "plugin '%s' was built for ABI %u, this is ABI %u; rebuild it",
                             path, (unsigned)plugin->abi, (unsigned)OPTUNE_ABI);
        goto out;
    }
    status = check_targets(plugin, &inner);
    if (status >= 0)
        status = check_ops(plugin, &inner);
    if (status >= 0)
        status = check_strategies(plugin, &inner);
    if (status >= 0 && plugin->name && !ot_text_is_plain(plugin->name))
        status = optune_fail(&inner, OPTUNE_EUSAGE, "its name is not one line of text");
    ot_registry_of_plugin(plugin->name ? plugin->name : "without a name");
    if (status >= 0)
        status = add_rows(plugin, &inner);
    if (status >= 0)
        status = ot_registry_whole(mark, &inner);
    ot_registry_of_plugin(NULL);
    for (const optune_target_row *const *row = plugin->targets; status >= 0 && row && *row;
         row++) {
        status = what->add_target(*row, &inner);
        kept = kept || status >= 0;
    }
    if (status < 0) {
        ot_registry_rewind(mark);
        status = optune_fail(err, status, "plugin '%s' refused: %s", path, inner.text);
    } else {
        kept = true;
    }
out:
    if (!kept)
        dlclose(object);
    return status;
}

static int try_load(void *what)
{
    return load(what, NULL);
}

int ot_plugin_load(const char *path, int (*add_target)(const optune_target_row *, optune_err *),
                   optune_err *err)
{
    loading what = {.path = path, .add_target = add_target};
    optune_err inner = {0};
    const int status = ot_plugin_try(try_load, &what, &inner);
    return status < 0 ? optune_fail(err, status, "plugin '%s' refused: %s", path, inner.text)
                      : load(&what, err);
}
