/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's file says of itself, and what is written behind it for each language. */
#include "support/readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

static void die_unless(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* Each parameter that is written is an output of the call, and one that is read an input. */
static void check_places(const ot_brought *b)
{
    int inputs = 0, outputs = 0;
    for (int i = 0; i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        const bool in = arg->role == OT_ROLE_IN || arg->role == OT_ROLE_INOUT;
        const bool out = arg->role == OT_ROLE_OUT || arg->role == OT_ROLE_INOUT;
        die_unless(arg->input == (in ? inputs : -1), "another input than is next");
        die_unless(arg->output == (out ? outputs : -1), "another output than is next");
        die_unless((arg->restore != NULL) == (in && out), "what is restored is in and out");
        inputs += in;
        outputs += out;
    }
    die_unless(outputs > 0 && inputs <= OPTUNE_MAX_INPUTS && outputs <= OPTUNE_MAX_OUTPUTS,
               "too many, or none");
}

void read_kernel(const char *text)
{
    optune_err err = {0};
    ot_brought *b = ot_alloc(sizeof *b);
    b->absolute = b->relative = -1;
    b->path = ot_arena_copy(&b->arena, "/nowhere/kernel.c");
    b->file = strrchr(b->path, '/') + 1;
    b->language = OT_LANGUAGE_C;
    if (ot_notation_read(b, text, &err) >= 0 && b->language == OT_LANGUAGE_C) {
        ot_text_add(&b->source, text);
        if (ot_brought_settle(b, &err) >= 0) {
            ot_text said = {0};
            check_places(b);
            ot_entry_add(b, "kernel", &said);
            ot_restores_add(b, OT_LANGUAGE_C, &said);
            ot_restores_add(b, OT_LANGUAGE_OPENCL, &said);
            ot_restores_add(b, OT_LANGUAGE_CUDA, &said);
            ot_text_release(&said);
        } else {
            die_unless(*err.text, "refused without a word");
        }
    }
    ot_brought_free(b);
}
