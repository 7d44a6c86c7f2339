/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants as a model has them: between two uses of a weight the rest of the model passes through
 * the caches. So that a run in a loop meets its constants where a run in a model does, every run
 * gets the next one of many copies, which together are as large as what the model touches.
 *
 * The one idea: a copy costs one memcpy when a candidate is loaded and a pointer at each run, and
 * nothing has to be known of the caches. What is packed by a library, in memory of its own, is
 * packed for each copy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

enum { MOST_COPIES = 4096, MOST_PACKED = 64, PIECES = OPTUNE_MAX_INPUTS + OPTUNE_MAX_SCRATCH };

typedef struct called { /* a stage with every argument an address */
    ot_function function;
    void *arg[OPTUNE_MAX_ARGS];
} called;

typedef struct place { /* an argument that is another one in each copy */
    int stage, arg, piece;
} place;

typedef struct piece {
    optune_arg_kind kind; /* an input or a scratch */
    int index;
    int64_t bytes;
    void *memory; /* of all copies but the first; NULL: bounds of their own have them */
} piece;

struct ot_rotation {
    ot_session *session;
    int n; /* stages that are timed */
    called stage[OPTUNE_MAX_STAGES];
    int copies, next, n_places, n_pieces;
    place place[OPTUNE_MAX_STAGES * OPTUNE_MAX_ARGS];
    piece piece[PIECES];
    void **at; /* by copy, then by place */
    ot_bound *packed[MOST_PACKED];
};

static int64_t rounded(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Written once, in front of all runs. */
static bool is_packed(const optune_plan *plan, int scratch)
{
    for (int i = 0; i < plan->n_stages; i++)
        for (int k = 0; k < plan->stage[i].n_args && plan->stage[i].phase == OPTUNE_PREPACK;
             k++)
            if (plan->stage[i].arg[k].kind == OPTUNE_ARG_SCRATCH &&
                plan->stage[i].arg[k].index == scratch)
                return true;
    return false;
}

static int64_t constant_bytes(const ot_bound *b, const optune_arg *arg)
{
    const ot_session *s = b->session;
    const optune_plan *plan = &b->loaded->plan;
    if (arg->kind == OPTUNE_ARG_INPUT && arg->index < optune_call_inputs(&s->call) &&
        s->call.input[arg->index].is_const)
        return s->in_bytes[arg->index];
    if (arg->kind == OPTUNE_ARG_SCRATCH && is_packed(plan, arg->index))
        return plan->scratch[arg->index].bytes;
    return 0;
}

static int piece_of(ot_rotation *r, const optune_arg *arg, int64_t bytes)
{
    int i = 0;
    while (i < r->n_pieces &&
           (r->piece[i].kind != arg->kind || r->piece[i].index != arg->index))
        i++;
    if (i == r->n_pieces)
        r->piece[r->n_pieces++] =
            (piece){.kind = arg->kind, .index = arg->index, .bytes = bytes};
    return i;
}

static void *address(const ot_session *s, const optune_arg *arg, void *value)
{
    const bool buffer = arg->kind == OPTUNE_ARG_INPUT || arg->kind == OPTUNE_ARG_OUTPUT ||
                        arg->kind == OPTUNE_ARG_SCRATCH || arg->kind == OPTUNE_ARG_DIMS;
    return buffer && value ? s->row->address(s->state, value) : value;
}

/* The stages as they are called, and which of their arguments are constant. Returns the bytes of
 * one copy. */
static int64_t look(ot_rotation *r, const ot_bound *b)
{
    int64_t bytes = 0;
    r->n = b->n[OPTUNE_TIMED];
    for (int i = 0; i < r->n; i++) {
        const optune_launch *launch = &b->launch[OPTUNE_TIMED][i];
        memcpy(&r->stage[i].function, &launch->function, sizeof r->stage[i].function);
        for (int k = 0; k < launch->stage->n_args; k++) {
            const optune_arg *arg = &launch->stage->arg[k];
            const int64_t own = constant_bytes(b, arg);
            r->stage[i].arg[k] = address(b->session, arg, launch->arg[k]);
            if (own > 0 && r->stage[i].arg[k])
                r->place[r->n_places++] = (place){i, k, piece_of(r, arg, own)};
        }
    }
    for (int i = 0; i < r->n_pieces; i++)
        bytes += rounded(r->piece[i].bytes);
    return bytes;
}

/* Libraries keep what they packed where nobody else finds it. */
static int pack_again(ot_rotation *r, const ot_bound *b)
{
    for (int c = 1; c < r->copies; c++) {
        ot_bound **one = &r->packed[c];
        if (ot_bound_open(b->session, b->loaded, OT_ALIGNED, one, NULL) < 0 ||
            ot_bound_prepack(*one, NULL) < 0)
            return c; /* as many as there is room for */
    }
    return r->copies;
}

static int copy_piece(ot_rotation *r, piece *p, const void *from, optune_err *err)
{
    const ot_session *s = r->session;
    const int64_t each = rounded(p->bytes);
    const int status = s->row->alloc(s->state, each * (r->copies - 1), false, &p->memory, err);
    if (status < 0) {
        p->memory = NULL;
        return status;
    }
    char *to = s->row->address(s->state, p->memory);
    for (int c = 1; c < r->copies; c++)
        memcpy(to + (c - 1) * each, from, (size_t)p->bytes);
    return OPTUNE_OK;
}

static void *copy_of(const ot_rotation *r, const piece *p, int c, void *first)
{
    const ot_session *s = r->session;
    if (c == 0)
        return first;
    if (!p->memory)
        return s->row->address(s->state, r->packed[c]->scratch[p->index]);
    return (char *)s->row->address(s->state, p->memory) + (c - 1) * rounded(p->bytes);
}

static int make_copies(ot_rotation *r, const ot_bound *b, optune_err *err)
{
    const bool library = b->loaded->impl->library != NULL;
    int status = OPTUNE_OK;
    if (library)
        r->copies = pack_again(r, b);
    for (int i = 0; i < r->n_places && status >= 0; i++) {
        const place *at = &r->place[i];
        piece *p = &r->piece[at->piece];
        if (!p->memory && !(library && p->kind == OPTUNE_ARG_SCRATCH))
            status = copy_piece(r, p, r->stage[at->stage].arg[at->arg], err);
    }
    if (status < 0)
        return status;
    r->at = ot_alloc((size_t)r->copies * (size_t)r->n_places * sizeof *r->at);
    for (int c = 0; c < r->copies; c++)
        for (int i = 0; i < r->n_places; i++) {
            const place *at = &r->place[i];
            r->at[c * r->n_places + i] =
                copy_of(r, &r->piece[at->piece], c, r->stage[at->stage].arg[at->arg]);
        }
    return OPTUNE_OK;
}

int ot_rotation_open(ot_bound *b, int64_t footprint, ot_rotation **rotation, optune_err *err)
{
    *rotation = NULL;
    /* Two launches of our own go in front of the candidate's. */
    if (footprint <= 0 || !b->session->row->address ||
        b->n[OPTUNE_TIMED] + 2 > OPTUNE_MAX_STAGES)
        return OPTUNE_OK;
    ot_rotation *r = ot_alloc(sizeof *r);
    *r = (ot_rotation){.session = b->session};
    const int64_t bytes = look(r, b);
    const int64_t most = b->loaded->impl->library ? MOST_PACKED : MOST_COPIES;
    const int64_t wanted = bytes > 0 ? (footprint + bytes - 1) / bytes : 1;
    int status = OPTUNE_OK;
    r->copies = (int)(wanted < most ? wanted : most);
    if (r->copies > 1)
        status = make_copies(r, b, err);
    if (r->copies < 2 || status < 0) {
        ot_rotation_close(r);
        return status;
    }
    *rotation = r;
    return OPTUNE_OK;
}

void ot_rotation_close(ot_rotation *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_pieces; i++)
        if (r->piece[i].memory)
            r->session->row->free(r->session->state, r->piece[i].memory);
    for (int c = 0; c < MOST_PACKED; c++)
        ot_bound_close(r->packed[c]);
    free(r->at);
    free(r);
}

/* ---- launches ---------------------------------------------------------------------------- */

static void turn(void *const *arg)
{
    ot_rotation *r = arg[0];
    r->next = r->next + 1 < r->copies ? r->next + 1 : 0;
    void *const *at = r->at + (size_t)r->next * (size_t)r->n_places;
    for (int i = 0; i < r->n_places; i++)
        r->stage[r->place[i].stage].arg[r->place[i].arg] = at[i];
}

static void call(void *const *arg)
{
    called *stage = arg[0];
    stage->function(stage->arg);
}

int ot_rotation_launches(ot_rotation *r, optune_launch *launch)
{
    launch[0] = ot_launch_of(turn, r);
    for (int i = 0; i < r->n; i++)
        launch[i + 1] = ot_launch_of(call, &r->stage[i]);
    return r->n + 1;
}
