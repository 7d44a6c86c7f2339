/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks, dominators and natural loops of a function: Cooper, Harvey and Kennedy, "A Simple, Fast
 * Dominance Algorithm". What ptxas moved behind a loop belongs to it where it leads back into it,
 * wherever it stands in the listing. Edges into a loop beside its header make no loop.
 *
 * Where threads part, a region is opened (BSSY) that names where they join; whoever joins (BSYNC)
 * goes on there, so an opening is followed to the joins of its register.
 */
#include <stdlib.h>
#include <string.h>

#include "target/sass/sass.h"

enum { ROUNDS = 4 }; /* of following openings: a region may lie behind another's join */

static const ot_sass_instruction *last_of(const ot_sass_code *code, const ot_sass_block *b)
{
    return &code->instruction[b->first + b->n - 1];
}

/* `BRA P0, ...`, `BRA.DIV UR4, ...`: it may go on behind a branch without a guard, too. */
static bool conditional(const ot_sass_instruction *i)
{
    if (i->guarded || ot_sass_has(i->opcode, ".DIV") || ot_sass_has(i->opcode, ".ANY"))
        return true;
    for (int k = 0; k < i->operands.n; k++)
        if (i->operands.s[k] == ',')
            return strchr("!UP~", i->operands.s[0]) != NULL;
    return false;
}

static bool ends_block(ot_sass_kind kind)
{
    return kind == OT_SASS_BRANCH || kind == OT_SASS_END || kind == OT_SASS_OPEN ||
           kind == OT_SASS_JOIN;
}

/* Numbers of the blocks that instructions begin, -1 for others. Returns how many. */
static int find_blocks(const ot_sass_code *code, int *number)
{
    int n = 0;
    for (int i = 0; i < code->n; i++)
        number[i] = i == 0 ? 0 : -1;
    for (int i = 0; i < code->n; i++) {
        const ot_sass_instruction *op = &code->instruction[i];
        if (!ends_block(op->kind))
            continue;
        if (i + 1 < code->n)
            number[i + 1] = 0;
        for (int k = 0, to; (to = ot_sass_target(code, op, k)) >= 0; k++)
            number[to] = 0;
    }
    for (int i = 0; i < code->n; i++)
        if (number[i] == 0)
            number[i] = n++;
    return n;
}

static bool has_edge(const ot_sass_flow *f, int from, int to)
{
    for (int e = f->block[from].out; e >= 0; e = f->edge[e].next)
        if (f->edge[e].to == to)
            return true;
    return false;
}

static int new_edge(ot_sass_flow *f, int to, int next)
{
    f->edge = ot_room(f->edge, f->n_edges, &f->edge_capacity, sizeof *f->edge);
    f->edge[f->n_edges] = (ot_sass_edge){to, next};
    return f->n_edges++;
}

static bool add_edge(ot_sass_flow *f, int from, int to)
{
    if (to < 0 || to >= f->n_blocks || has_edge(f, from, to))
        return false;
    f->block[from].out = new_edge(f, to, f->block[from].out);
    f->block[to].in = new_edge(f, from, f->block[to].in);
    return true;
}

/* ---- edges -------------------------------------------------------------------------------- */

static bool same_register(const ot_sass_instruction *a, const ot_sass_instruction *b)
{
    const int n = (int)strcspn(a->operands.s, ", ;\n"),
              m = (int)strcspn(b->operands.s, ", ;\n");
    return n == m && n <= a->operands.n && m <= b->operands.n &&
           memcmp(a->operands.s, b->operands.s, (size_t)n) == 0;
}

/* From what block `open` opens to every join that it reaches; true: an edge is new. */
static bool follow_opening(const ot_sass_code *code, ot_sass_flow *f, const int *number,
                           int open, int *stack, char *seen)
{
    const ot_sass_instruction *opening = last_of(code, &f->block[open]);
    const int at = ot_sass_target(code, opening, 0), to = at < 0 ? -1 : number[at];
    bool fresh = false;
    int n = 0;
    if (to < 0)
        return false;
    memset(seen, 0, (size_t)f->n_blocks);
    for (int e = f->block[open].out; e >= 0; e = f->edge[e].next)
        if (!seen[f->edge[e].to]) {
            seen[f->edge[e].to] = 1;
            stack[n++] = f->edge[e].to;
        }
    while (n > 0) {
        const int b = stack[--n];
        const ot_sass_instruction *last = last_of(code, &f->block[b]);
        const bool ours = (last->kind == OT_SASS_JOIN || last->kind == OT_SASS_OPEN) &&
                          same_register(last, opening);
        if (ours && last->kind == OT_SASS_JOIN)
            fresh = add_edge(f, b, to) || fresh;
        if (ours)
            continue;
        for (int e = f->block[b].out; e >= 0; e = f->edge[e].next)
            if (!seen[f->edge[e].to]) {
                seen[f->edge[e].to] = 1;
                stack[n++] = f->edge[e].to;
            }
    }
    return fresh;
}

static void add_joins(const ot_sass_code *code, ot_sass_flow *f, const int *number)
{
    int *stack = ot_alloc((size_t)f->n_blocks * sizeof *stack);
    char *seen = ot_alloc((size_t)f->n_blocks);
    bool fresh = true;
    for (int round = 0; round < ROUNDS && fresh; round++) {
        fresh = false;
        for (int b = 0; b < f->n_blocks; b++)
            if (last_of(code, &f->block[b])->kind == OT_SASS_OPEN)
                fresh = follow_opening(code, f, number, b, stack, seen) || fresh;
    }
    for (int b = 0; b < f->n_blocks; b++) {
        const ot_sass_instruction *last = last_of(code, &f->block[b]);
        if (last->kind == OT_SASS_JOIN && (f->block[b].out < 0 || last->guarded))
            add_edge(f, b, b + 1);
    }
    free(stack);
    free(seen);
}

static void add_edges(const ot_sass_code *code, ot_sass_flow *f, const int *number)
{
    for (int b = 0; b < f->n_blocks; b++) {
        const ot_sass_instruction *last = last_of(code, &f->block[b]);
        if (last->kind == OT_SASS_BRANCH)
            for (int k = 0, to; (to = ot_sass_target(code, last, k)) >= 0; k++)
                add_edge(f, b, number[to]);
        const bool goes_on = last->kind == OT_SASS_BRANCH || last->kind == OT_SASS_END
                                 ? conditional(last)
                                 : last->kind != OT_SASS_JOIN;
        if (goes_on)
            add_edge(f, b, b + 1);
    }
    add_joins(code, f, number);
}

/* ---- dominators --------------------------------------------------------------------------- */

/* Blocks that the entry reaches, in reverse post-order. */
static void rank(ot_sass_flow *f)
{
    int *stack = ot_alloc((size_t)f->n_blocks * sizeof *stack);
    int *next = ot_alloc((size_t)f->n_blocks * sizeof *next);
    char *seen = ot_alloc((size_t)f->n_blocks);
    int n = 0, place = f->n_blocks;
    for (int b = 0; b < f->n_blocks; b++)
        next[b] = f->block[b].out;
    stack[n++] = 0;
    seen[0] = 1;
    while (n > 0) {
        const int b = stack[n - 1], e = next[b];
        if (e < 0) {
            f->order[--place] = b;
            n--;
            continue;
        }
        next[b] = f->edge[e].next;
        if (!seen[f->edge[e].to]) {
            seen[f->edge[e].to] = 1;
            stack[n++] = f->edge[e].to;
        }
    }
    f->n_ranked = f->n_blocks - place;
    memmove(f->order, f->order + place, (size_t)f->n_ranked * sizeof *f->order);
    for (int i = 0; i < f->n_ranked; i++)
        f->block[f->order[i]].rank = i;
    free(stack);
    free(next);
    free(seen);
}

static int common(const ot_sass_flow *f, int a, int b)
{
    while (a != b) {
        while (f->block[a].rank > f->block[b].rank)
            a = f->block[a].dominator;
        while (f->block[b].rank > f->block[a].rank)
            b = f->block[b].dominator;
    }
    return a;
}

static void dominate(ot_sass_flow *f)
{
    f->block[0].dominator = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 1; i < f->n_ranked; i++) {
            const int b = f->order[i];
            int least = -1;
            for (int e = f->block[b].in; e >= 0; e = f->edge[e].next) {
                const int from = f->edge[e].to;
                if (f->block[from].rank >= 0 && f->block[from].dominator >= 0)
                    least = least < 0 ? from : common(f, least, from);
            }
            moved = moved || f->block[b].dominator != least;
            f->block[b].dominator = least;
        }
    }
}

static bool dominates(const ot_sass_flow *f, int a, int b)
{
    while (f->block[b].rank > f->block[a].rank)
        b = f->block[b].dominator;
    return a == b;
}

/* ---- loops -------------------------------------------------------------------------------- */

bool ot_sass_loop_has(const ot_sass_loop *loop, int block)
{
    return loop->has[block / 64] >> (block % 64) & 1;
}

static bool put(ot_sass_loop *loop, int block)
{
    const bool fresh = !ot_sass_loop_has(loop, block);
    loop->has[block / 64] |= (uint64_t)1 << (block % 64);
    return fresh;
}

/* All that leads to `from` without passing the header. */
static void fill(const ot_sass_flow *f, ot_sass_loop *loop, int from, int *stack)
{
    int n = 0;
    put(loop, loop->header);
    if (put(loop, from))
        stack[n++] = from;
    while (n > 0) {
        const int b = stack[--n];
        for (int e = f->block[b].in; e >= 0; e = f->edge[e].next)
            if (f->block[f->edge[e].to].rank >= 0 && put(loop, f->edge[e].to))
                stack[n++] = f->edge[e].to;
    }
}

static bool find_loops(ot_sass_flow *f)
{
    int *stack = ot_alloc((size_t)f->n_blocks * sizeof *stack);
    bool fits = true;
    for (int i = 0; i < f->n_ranked && fits; i++) {
        const int header = f->order[i];
        ot_sass_loop *loop = NULL;
        for (int e = f->block[header].in; e >= 0 && fits; e = f->edge[e].next) {
            const int from = f->edge[e].to;
            if (f->block[from].rank < 0 || !dominates(f, header, from))
                continue;
            if (!loop && (fits = f->n_loops < OT_SASS_MOST_LOOPS)) {
                loop = &f->loop[f->n_loops++];
                loop->header = header;
                loop->has = ot_alloc((size_t)(f->n_blocks / 64 + 1) * sizeof *loop->has);
            }
            if (loop)
                fill(f, loop, from, stack);
        }
    }
    for (int l = 0; l < f->n_loops; l++) {
        ot_sass_loop *loop = &f->loop[l];
        loop->block = ot_alloc((size_t)f->n_ranked * sizeof *loop->block);
        for (int i = 0; i < f->n_ranked; i++)
            if (ot_sass_loop_has(loop, f->order[i]))
                loop->block[loop->n_blocks++] = f->order[i];
        for (int k = 0; k < f->n_loops; k++)
            loop->depth += ot_sass_loop_has(&f->loop[k], loop->header);
    }
    free(stack);
    return fits;
}

bool ot_sass_flow_open(const ot_sass_code *code, ot_sass_flow *flow)
{
    *flow = (ot_sass_flow){0};
    if (code->n == 0 || code->cut)
        return false;
    int *number = ot_alloc((size_t)code->n * sizeof *number);
    flow->n_blocks = find_blocks(code, number);
    bool fits = flow->n_blocks <= OT_SASS_MOST_BLOCKS;
    if (fits) {
        flow->block = ot_alloc((size_t)flow->n_blocks * sizeof *flow->block);
        flow->order = ot_alloc((size_t)flow->n_blocks * sizeof *flow->order);
        flow->loop = ot_alloc(OT_SASS_MOST_LOOPS * sizeof *flow->loop);
        for (int i = 0, b = -1; i < code->n; i++) {
            if (number[i] >= 0)
                flow->block[b = number[i]] = (ot_sass_block){
                    .first = i, .out = -1, .in = -1, .rank = -1, .dominator = -1};
            flow->block[b].n++;
        }
        add_edges(code, flow, number);
        rank(flow);
        dominate(flow);
        fits = find_loops(flow);
    }
    free(number);
    if (!fits)
        ot_sass_flow_close(flow);
    return fits;
}

void ot_sass_flow_close(ot_sass_flow *flow)
{
    for (int l = 0; l < flow->n_loops; l++) {
        free(flow->loop[l].block);
        free(flow->loop[l].has);
    }
    free(flow->block);
    free(flow->edge);
    free(flow->order);
    free(flow->loop);
    *flow = (ot_sass_flow){0};
}
