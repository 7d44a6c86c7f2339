/* SPDX-License-Identifier: Apache-2.0 */
/* A text of ours through a target's own compiler, as candidates go, and loaded. */
#include "run/worker.h"

/* The module's path, in `dir`. */
static int compile(const optune_target *target, const optune_device *device,
                   const ot_text *text, const char *dir, char *to, size_t size, optune_err *err)
{
    char from[2100];
    const optune_target_row *row = ot_target_find(target->kind);
    snprintf(from, sizeof from, "%s/text%s", dir, row->source_suffix);
    snprintf(to, size, "%s/text%s", dir, row->module_suffix);
    optune_argv argv = {0};
    int status = ot_write_cached(from, text->s, text->n, err);
    if (status >= 0)
        status = row->compile(target, device, NULL, 0, from, to, &argv, err);
    if (status >= 0)
        status = ot_run_program_in(argv.word, dir, 20, NULL, err);
    optune_argv_release(&argv);
    return status;
}

int ot_session_load_text(ot_session *s, const ot_text *text, void **module, optune_err *err)
{
    char dir[2048], to[2100];
    OT_RETURN_UNLESS_OK(ot_temp_dir(dir, sizeof dir, err));
    int status = compile(&s->target, &s->device, text, dir, to, sizeof to, err);
    if (status >= 0)
        status = s->row->load(s->state, to, module, err);
    ot_remove_tree(dir);
    return status;
}

int ot_target_compile_text(const optune_target *target, const optune_device *device,
                           const ot_text *text, ot_text *module, optune_err *err)
{
    char dir[2048], to[2100];
    OT_RETURN_UNLESS_OK(ot_temp_dir(dir, sizeof dir, err));
    int status = compile(target, device, text, dir, to, sizeof to, err);
    if (status >= 0)
        status = ot_read_file(to, module, 64 << 20, err);
    ot_remove_tree(dir);
    return status;
}
