/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What emitted code asks of the library that it is linked with. Functions that only one major
 * version has are asked for of that version alone, so that a linker finds them in archives, too,
 * and names what is missing: a macro says which version that is.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer/emit/source.h"

/* The major version of the library that a kernel is built for: that of the one here, else the
 * newest that any function of its is of. 0: what it calls is in all. */
static int library_version(const ot_source *e)
{
    const optune_target_row *row = ot_target_find(e->task.target->kind);
    char text[OPTUNE_TEXT_SIZE], library[256];
    int newest = 0;
    for (int s = 0; s < e->plan->n_stages; s++)
        for (int a = 0; a < e->plan->stage[s].n_args; a++) {
            const optune_arg *arg = &e->plan->stage[s].arg[a];
            if (arg->kind == OPTUNE_ARG_SYMBOL && arg->value > newest)
                newest = (int)arg->value;
        }
    if (newest && row->dependencies(e->task.target, e->impl, text, sizeof text, NULL) >= 0 &&
        ot_lines_get(text, "library", library, sizeof library)) {
        const char *version = strpbrk(library, "0123456789"); /* "oneDNN 3.7.2" */
        return version ? atoi(version) : newest;
    }
    return newest;
}

/* OPTUNE_DNNL_VERSION: a macro of who builds it for another one. */
static void add_version_macro(const ot_source *e, ot_text *to)
{
    ot_text_add(to, "OPTUNE_");
    for (const char *c = e->impl->library; *c; c++)
        ot_text_printf(to, "%c", isalnum((unsigned char)*c) ? toupper((unsigned char)*c) : '_');
    ot_text_add(to, "_VERSION");
}

void ot_source_linked(const ot_source *e, ot_text *to)
{
    const int version = library_version(e);
    ot_text_printf(to, "calls the library '%s' and is linked with it", e->impl->library);
    if (version) {
        ot_text_printf(to, ", version %d; for another: -D", version);
        add_version_macro(e, to);
        ot_text_add(to, "=N");
    }
    ot_text_add(to, ".\n");
}

/* Functions of another version are NULL: of this one each is asked of the linker, which takes them
 * out of archives and says what is missing. */
static void add_symbol(const ot_source *e, const optune_arg *arg, ot_text *to)
{
    if (arg->value) {
        ot_text_add(to, "#if ");
        add_version_macro(e, to);
        ot_text_printf(to, " == %lld\n", (long long)arg->value);
    }
    ot_text_printf(to, "extern void %s(void);\n", arg->symbol);
    if (arg->value)
        ot_text_printf(to, "#else\n#define %s 0\n#endif\n", arg->symbol);
}

static void add_version(const ot_source *e, ot_text *to)
{
    const int version = library_version(e);
    if (version) {
        ot_text_add(to, "#ifndef ");
        add_version_macro(e, to);
        ot_text_add(to, "\n#define ");
        add_version_macro(e, to);
        ot_text_printf(to, " %d\n#endif\n", version);
    }
}

void ot_source_symbols(const ot_source *e, ot_text *to)
{
    add_version(e, to);
    for (int s = 0; s < e->plan->n_stages; s++)
        for (int a = 0; a < e->plan->stage[s].n_args; a++) {
            const optune_arg *arg = &e->plan->stage[s].arg[a];
            bool said = arg->kind != OPTUNE_ARG_SYMBOL;
            for (int k = 0; k <= s && !said; k++)
                for (int b = 0; b < (k < s ? e->plan->stage[k].n_args : a) && !said; b++)
                    said = e->plan->stage[k].arg[b].kind == OPTUNE_ARG_SYMBOL &&
                           !strcmp(e->plan->stage[k].arg[b].symbol, arg->symbol);
            if (!said)
                add_symbol(e, arg, to);
        }
}
