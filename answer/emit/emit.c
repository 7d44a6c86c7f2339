/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selected implementation as C that builds without optune: one file with the bodies of its
 * modules (a file each where they need other flags than each other), the workspace layout and the
 * stages in order, a header with the contract, and the plan as JSON. Two emitted kernels can be
 * linked into one program: every function of a body is renamed with the kernel's own prefix.
 */
#include <ctype.h>
#include <string.h>

#include "answer/emit/source.h"
#include "base/fenv.h"

static void name_of(ot_source *e)
{
    ot_text call = {0};
    char hex[33];
    ot_call_print(e->task.call, &call);
    ot_digest_hex(ot_digest_of(ot_text_str(&call), call.n), hex);
    ot_text_release(&call);
    snprintf(e->name, sizeof e->name, "%s_%.8s", e->task.call->op->name, hex);
    for (char *c = e->name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
}

static void add_contract(const ot_source *e, ot_text *to)
{
    ot_text call = {0}, config = {0};
    ot_call_print(e->task.call, &call);
    ot_config_print_short(e->config, &config);
    ot_text_printf(to, "/*\n * %s\n * computed by %s %s\n *\n", ot_text_str(&call),
                   e->impl->name, ot_text_str(&config));
    ot_source_build(e, to);
    if (e->impl->library) {
        ot_text_add(to, " * It ");
        ot_source_linked(e, to);
    }
    ot_text_release(&call);
    ot_text_release(&config);
}

/* The input that an output holds when a run begins; -1: none. */
static int restored_from(const optune_plan *plan, int output)
{
    for (int i = 0; i < plan->n_stages; i++) {
        const optune_stage *stage = &plan->stage[i];
        if (stage->phase == OPTUNE_RESTORE && stage->arg[1].kind == OPTUNE_ARG_OUTPUT &&
            stage->arg[1].index == output && stage->arg[0].kind == OPTUNE_ARG_INPUT)
            return stage->arg[0].index;
    }
    return -1;
}

static void add_failures(const ot_source *e, ot_text *to)
{
    for (int m = 0; m < e->plan->n_modules; m++) {
        ot_text name = {0};
        if (ot_source_failure(e, m, &name))
            ot_text_printf(to,
                           "/* What the library refused in _init or _run, the first of it; "
                           "empty: nothing. */\nextern char %s[];\n",
                           name.s);
        ot_text_release(&name);
    }
}

static void add_header(const ot_source *e, ot_text *to)
{
    const char *n = e->name;
    add_contract(e, to);
    ot_text_add(to, " *\n * Inputs and outputs are dense, row-major, in this order:\n");
    for (int i = 0; i < optune_call_inputs(e->task.call); i++) {
        ot_text type = {0};
        ot_tensor_print(&e->task.call->input[i].type, &type);
        ot_text_printf(to, " *   input[%d] %s, %s%s\n", i, ot_call_input_name(e->task.call, i),
                       ot_text_str(&type),
                       e->task.call->input[i].is_const ? ", constant: packed by _init" : "");
        ot_text_release(&type);
    }
    for (int i = 0; i < e->task.call->n_outputs; i++) {
        ot_text type = {0};
        ot_tensor_print(&e->task.call->output[i], &type);
        const int from = restored_from(e->plan, i);
        ot_text_printf(to, " *   output[%d] %s", i, ot_text_str(&type));
        if (from >= 0)
            ot_text_printf(to, ", what input[%d] became; as the same memory, changed in place",
                           from);
        ot_text_add(to, "\n");
        ot_text_release(&type);
    }
    ot_text_printf(
        to,
        " * The workspace is %lld bytes, zeroed, 64-byte aligned, owned by the caller; "
        "one run at a time uses it.\n */\n"
        "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "size_t %s_workspace(void);\n"
        "/* Once, and after _close again whenever a constant input changes; others may be "
        "NULL. */\n"
        "void %s_init(void *workspace, const void *const *input);\n"
        "void %s_run(void *workspace, const void *const *input, void *const *output);\n"
        "void %s_close(void *workspace);\n",
        (long long)e->workspace, n, n, n, n, n, n);
    add_failures(e, to);
    ot_text_add(to, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void add_source(const ot_source *e, ot_text *to)
{
    const char *n = e->name;
    add_contract(e, to);
    ot_text_printf(to, " */\n#include <stdint.h>\n\n#include \"%s.h\"\n\n", n);
    ot_source_quiet(to);
    if (e->plan->n_modules == 1) {
        ot_source_module(e, 0, to);
        /* The renaming ends here: what follows uses full names. */
        for (int s = 0; s < e->plan->n_stages; s++)
            ot_text_printf(to, "#undef %s\n", e->plan->stage[s].function);
    } else if (ot_source_is_one(e)) {
        ot_source_apart(e, to);
    } else {
        for (int m = 0; m < e->plan->n_modules; m++)
            ot_text_printf(to, "/* module %d is %s_m%d.c */\n", m, n, m);
    }
    ot_text_add(to, "\n");
    ot_source_prototypes(e, to);
    ot_text_printf(to, "\nsize_t %s_workspace(void)\n{\n    return %lld;\n}\n\n", n,
                   (long long)e->workspace);
    ot_text_printf(to,
                   "void %s_init(void *workspace, const void *const *input)\n{\n    "
                   "(void)workspace;\n    (void)input;\n",
                   n);
    ot_source_phase(e, OPTUNE_PREPACK, to);
    ot_text_add(to, "}\n\n");
    ot_text_printf(
        to,
        "void %s_run(void *workspace, const void *const *input, void *const *output)\n"
        "{\n    (void)workspace;\n    (void)input;\n",
        n);
    ot_source_phase(e, OPTUNE_TIMED, to);
    ot_text_add(to, "}\n\n");
    ot_text_printf(to, "void %s_close(void *workspace)\n{\n    (void)workspace;\n", n);
    ot_source_phase(e, OPTUNE_TEARDOWN, to);
    ot_text_add(to, "}\n\n");
}

/* Dims of a list, each as an argument that is one dim has it. */
static json_t *dims_json(const optune_plan *plan, const optune_arg *dims)
{
    json_t *index = json_array();
    for (int k = 0; k < dims->value; k++)
        json_array_append_new(index, json_integer(ot_plan_dim(plan, dims, k).index));
    return index;
}

static json_t *plan_json(const ot_source *e, const char *tier)
{
    static const char *const phases[] = {"prepack", "timed", "teardown", "restore"};
    ot_text call = {0}, config = {0}, target = {0};
    char digest[33];
    ot_call_digest(&e->task, e->impl, digest);
    ot_call_print(e->task.call, &call);
    ot_config_print(e->config, &config);
    ot_target_print(e->task.target, true, &target);
    json_t *modules = json_array(), *stages = json_array(), *scratch = json_array();
    for (int m = 0; m < e->plan->n_modules; m++) {
        json_t *defines = json_object();
        for (int d = 0; d < e->plan->module[m].n_defines; d++)
            json_object_set_new(
                defines, ot_plan_text(e->plan, e->plan->module[m].define[d].name),
                json_string(ot_plan_text(e->plan, e->plan->module[m].define[d].value)));
        json_array_append_new(modules, json_pack("{s:o}", "defines", defines));
    }
    for (int i = 0; i < e->plan->n_scratch; i++)
        json_array_append_new(
            scratch,
            json_pack("{s:s, s:I, s:I, s:b}", "name", e->plan->scratch[i].name, "offset",
                      (json_int_t)e->offset[i], "bytes", (json_int_t)e->plan->scratch[i].bytes,
                      "constant", (int)e->plan->scratch[i].constant));
    for (int s = 0; s < e->plan->n_stages; s++) {
        const optune_stage *stage = &e->plan->stage[s];
        json_t *args = json_array();
        for (int a = 0; a < stage->n_args; a++) {
            static const char *const kinds[] = {"input",    "output", "scratch", "int",
                                                "float",    "symbol", "dim",     "tensor_map",
                                                "function", "dims"};
            const optune_arg *arg = &stage->arg[a];
            json_t *item = json_pack("{s:s}", "kind", kinds[arg->kind]);
            if (arg->kind == OPTUNE_ARG_SYMBOL)
                json_object_update_new(item, json_pack("{s:s, s:I}", "symbol", arg->symbol,
                                                       "version", (json_int_t)arg->value));
            else if (arg->kind == OPTUNE_ARG_FUNCTION)
                json_object_update_new(item, json_pack("{s:s, s:i}", "function", arg->symbol,
                                                       "module", arg->index));
            else if (arg->kind == OPTUNE_ARG_INT)
                json_object_set_new(item, "value", json_integer(arg->value));
            else if (arg->kind == OPTUNE_ARG_FLOAT)
                json_object_set_new(item, "value", json_real(arg->real));
            else if (arg->kind == OPTUNE_ARG_DIMS)
                json_object_set_new(item, "index", dims_json(e->plan, arg));
            else
                json_object_set_new(item, "index", json_integer(arg->index));
            json_array_append_new(args, item);
        }
        json_array_append_new(stages, json_pack("{s:s, s:i, s:s, s:o}", "phase",
                                                phases[stage->phase], "module", stage->module,
                                                "function", stage->function, "args", args));
    }
    json_t *json = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o}", "version", 1,
        "name", e->name, "call", ot_text_str(&call), "target", ot_text_str(&target), "device",
        e->task.device->key, "impl", e->impl->name, "digest", digest, "tier", tier, "config",
        json_loads(ot_text_str(&config), 0, NULL), "workspace", (json_int_t)e->workspace,
        "scratch", scratch, "modules", modules, "stages", stages);
    if (e->impl->library)
        json_object_set_new(json, "library", json_string(e->impl->library));
    ot_text_release(&call);
    ot_text_release(&config);
    ot_text_release(&target);
    return json;
}

static int write_one(const ot_source *e, const char *dir, const char *suffix,
                     const ot_text *text, json_t *files, ot_text *said, optune_err *err)
{
    char path[4096 + 256];
    snprintf(path, sizeof path, "%s/%s%s", dir, *suffix == 'p' ? "" : e->name, suffix);
    json_array_append_new(files, json_string(path));
    ot_text_printf(said, "%s\n", path);
    return ot_write_file(path, ot_text_str(text), text->n, err);
}

static int write_all(const ot_source *e, const char *dir, const char *tier,
                     optune_result **result, optune_err *err)
{
    ot_text text = {0}, said = {0};
    json_t *files = json_array();
    int status = ot_make_dirs(dir, err);
    if (status >= 0) {
        add_source(e, &text);
        status = write_one(e, dir, ".c", &text, files, &said, err);
    }
    for (int m = 0; m < e->plan->n_modules && !ot_source_is_one(e) && status >= 0; m++) {
        char suffix[16];
        ot_text_clear(&text);
        ot_source_quiet(&text);
        ot_source_module(e, m, &text);
        snprintf(suffix, sizeof suffix, "_m%d.c", m);
        status = write_one(e, dir, suffix, &text, files, &said, err);
    }
    if (status >= 0) {
        ot_text_clear(&text);
        add_header(e, &text);
        status = write_one(e, dir, ".h", &text, files, &said, err);
    }
    if (status >= 0) {
        json_t *plan = plan_json(e, tier);
        char *dump = json_dumps(plan, JSON_INDENT(2));
        ot_text_clear(&text);
        ot_text_printf(&text, "%s\n", dump);
        free(dump);
        json_decref(plan);
        status = write_one(e, dir, "plan.json", &text, files, &said, err);
    }
    ot_text_release(&text);
    if (status >= 0) {
        *result = ot_result_new(said.s, json_pack("{s:s, s:s, s:O}", "name", e->name, "impl",
                                                  e->impl->name, "files", files));
        said.s = NULL;
    }
    json_decref(files);
    free(said.s);
    return status;
}

int optune_emit(optune *o, const char *workload, const char *dir, optune_result **result,
                optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"workload", workload}, {"dir", dir}, {"result", result});
    *result = NULL;
    optune_selection *selection = NULL;
    ot_source *e = ot_alloc(sizeof *e);
    optune_config *config = ot_alloc(sizeof *config);
    optune_call *call = ot_alloc(sizeof *call);
    e->plan = ot_alloc(sizeof *e->plan);
    int status = ot_call_parse(workload, call, err);
    if (status >= 0 && !ot_call_static(call))
        status =
            optune_fail(err, OPTUNE_EUSAGE,
                        "only a workload of constant dims can be emitted; `optune dispatch` "
                        "writes C for ranges");
    if (status >= 0)
        status = ot_context_device(o, err);
    if (status >= 0 && o->device.warp > 0)
        status =
            optune_fail(err, OPTUNE_EUNSUPPORTED,
                        "C is emitted for CPUs only, and '%s' is a GPU target", o->target.kind);
    if (status >= 0)
        status = optune_select(o, workload, &selection, err);
    if (status >= 0)
        status = ot_config_parse(optune_selection_config(selection), config, err);
    if (status >= 0) {
        e->task = (optune_task){call, &o->target, &o->device};
        e->impl = ot_impl_find(optune_selection_impl(selection));
        e->config = config;
        status = ot_plan_make(&e->task, e->impl, config, e->plan, err);
    }
    if (status >= 0) {
        name_of(e);
        ot_source_layout(e);
        status = write_all(e, dir, optune_selection_tier(selection), result, err);
    }
    optune_selection_free(selection);
    free(call);
    free(config);
    free(e->plan);
    free(e);
    return status;
}
