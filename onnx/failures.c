/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a model that cannot be read, gathered so that one message names them all. */
#include <string.h>

#include "onnx/onnx.h"

const char *ot_onnx_node_name(const ot_onnx_proto *proto)
{
    if (proto->name && *proto->name)
        return proto->name;
    return proto->n_output ? proto->output[0] : "without a name";
}

static void note(ot_onnx *m, const char *op, const char *node, const optune_err *why)
{
    ot_onnx_failures *f = &m->failures;
    if (!f->n)
        f->status = why->status;
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->all[i].op, op) && !strcmp(f->all[i].reason, why->text)) {
            f->all[i].count++;
            return;
        }
    if (f->n == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        ot_onnx_failure *more = ot_arena_alloc(&m->arena, (size_t)f->capacity * sizeof *more);
        for (int i = 0; i < f->n; i++)
            more[i] = f->all[i];
        f->all = more;
    }
    f->all[f->n++] = (ot_onnx_failure){op, ot_arena_copy(&m->arena, why->text), node, 1};
}

void ot_onnx_note(ot_onnx *m, const ot_onnx_proto *proto, const optune_err *why)
{
    m->failures.nodes++;
    note(m, proto->op_type ? proto->op_type : "", ot_onnx_node_name(proto), why);
}

void ot_onnx_note_tensor(ot_onnx *m, const char *what, const char *name, const optune_err *why)
{
    note(m, what, name, why);
}

int ot_onnx_report(const ot_onnx *m, optune_err *err)
{
    const ot_onnx_failures *f = &m->failures;
    ot_text text = {0};
    ot_text_printf(&text, "%.200s: %d of %d nodes cannot be read:", m->path, f->nodes,
                   m->n_nodes);
    int told = 0;
    for (int i = 0; i < f->n && text.n < OPTUNE_ERR_SIZE - 200; i++) {
        const int room = (int)(OPTUNE_ERR_SIZE - text.n - 150) / (f->n == 1 ? 1 : 2);
        ot_text_printf(&text, "%s %.40s '%.60s'", told ? ";" : "", f->all[i].op,
                       f->all[i].node);
        if (f->all[i].count > 1)
            ot_text_printf(&text, " and %d more", f->all[i].count - 1);
        ot_text_printf(&text, ": %.*s", room, f->all[i].reason);
        told += f->all[i].count;
    }
    if (told < f->nodes)
        ot_text_printf(&text, "; and %d other nodes", f->nodes - told);
    const int status = optune_fail(err, f->status, "%s", ot_text_str(&text));
    ot_text_release(&text);
    return status;
}

const char *ot_onnx_lines(ot_onnx *m)
{
    const ot_onnx_failures *f = &m->failures;
    ot_text text = {0};
    for (int i = 0; i < f->n; i++) {
        ot_text_printf(&text, "%s%s '%s'", i ? "\n" : "", f->all[i].op, f->all[i].node);
        if (f->all[i].count > 1)
            ot_text_printf(&text, " and %d more", f->all[i].count - 1);
        ot_text_printf(&text, ": %s", f->all[i].reason);
    }
    const char *lines = ot_arena_copy(&m->g->arena, ot_text_str(&text));
    ot_text_release(&text);
    return lines;
}
