/* SPDX-License-Identifier: Apache-2.0 */
/* A text of ours through a target's own compiler, as candidates go, and loaded. */
#include "run/worker.h"

int ot_peak_build(ot_session *s, const ot_text *text, void **module, optune_err *err)
{
    char dir[2048], from[2100], to[2100];
    const optune_target_row *row = ot_target_find(s->target.kind);
    int status = ot_temp_dir(dir, sizeof dir, err);
    if (status < 0)
        return status;
    snprintf(from, sizeof from, "%s/peak%s", dir, row->source_suffix);
    snprintf(to, sizeof to, "%s/peak%s", dir, row->module_suffix);
    optune_argv argv = {0};
    status = ot_write_file(from, text->s, text->n, err);
    if (status >= 0)
        status = row->compile(&s->target, &s->device, NULL, 0, from, to, &argv, err);
    if (status >= 0)
        status = ot_run_program(argv.word, 20, NULL, err);
    if (status >= 0)
        status = s->row->load(s->state, to, module, err);
    optune_argv_release(&argv);
    ot_remove_tree(dir);
    return status;
}
