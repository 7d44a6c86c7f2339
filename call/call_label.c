/* SPDX-License-Identifier: Apache-2.0 */
/* A call for the eye, not for the parser: shapes, and what is not at its default. */
#include <string.h>

#include "call/inside.h"

/* `padding=[1,1,1,1]` becomes `padding=1` when all are equal. */
static void shorten(char *piece)
{
    char *list = strstr(piece, "=[");
    if (!list)
        return;
    char *at = list + 2;
    const size_t n = strcspn(at, ",]");
    for (char *next = at + n; *next == ','; next += 1 + n)
        if (strncmp(next + 1, at, n) || (next[1 + n] != ',' && next[1 + n] != ']'))
            return;
    memmove(list + 1, at, n);
    list[1 + n] = 0;
}

/* Pieces that are to be shown, of which the same in a row are told by how many they are. */
typedef struct run {
    ot_text *to;
    char piece[256];
    int times;
} run;

static void end_run(run *r)
{
    for (int i = 0; i < r->times && (i == 0 || r->times < 3); i++)
        ot_text_printf(r->to, "%s%s", r->to->n ? " " : "", r->piece);
    if (r->times > 2)
        ot_text_printf(r->to, " x%d", r->times);
    r->times = 0;
}

static void add_piece(run *r, const char *piece)
{
    if (r->times && strcmp(r->piece, piece) != 0)
        end_run(r);
    ot_copy(r->piece, sizeof r->piece, piece);
    r->times++;
}

void ot_call_label(const optune_call *call, bool with_op, char *to, size_t size)
{
    ot_text full = {0}, text = {0};
    run pieces = {.to = &text};
    if (with_op)
        ot_text_add(&text, call->op->name);
    ot_call_print(call, &full);
    const char *s = strchr(ot_text_str(&full), '(');
    s = s ? s + 1 : "";
    while (*s && *s != ')') {
        int depth = 0;
        size_t n = 0;
        while (s[n] && (depth || (s[n] != ',' && s[n] != ')'))) {
            depth += (s[n] == '[') - (s[n] == ']');
            n++;
        }
        char piece[256];
        snprintf(piece, sizeof piece, "%.*s", (int)n, s);
        const char *show = piece;
        bool skip = false;
        if (strchr(piece, '=')) {
            for (const optune_op_attr *a = call->op->attrs; a && a->name; a++) {
                char plain[256];
                snprintf(plain, sizeof plain, "%s=%s", a->name, a->value ? a->value : "");
                skip = skip || !strcmp(plain, piece);
            }
            shorten(piece);
        } else {
            show += !strncmp(show, "const ", 6) ? 6 : 0;
            show += !strncmp(show, "f32[", 4) ? 3 : 0;
        }
        if (!skip)
            add_piece(&pieces, show);
        s += n;
        s += strspn(s, ", ");
    }
    end_run(&pieces);
    for (int i = 0; i < call->n_epilogues; i++)
        ot_text_printf(&text, " -> %s", call->epilogue[i].op->name);
    snprintf(to, size, "%s", text.n ? ot_text_str(&text) : call->op->name);
    ot_text_release(&full);
    ot_text_release(&text);
}
