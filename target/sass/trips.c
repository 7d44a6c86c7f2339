/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a loop runs, where its code says so: one branch back under a predicate that compares a
 * register with a constant, and one addition of a constant to this register, which is taken to
 * start at 0. `for (k = 0; k != 32; k += 8)` is compiled so where it is not unrolled.
 */
#include <stdlib.h>
#include <string.h>

#include "target/sass/sass.h"

enum { MOST_TRIPS = 64 };

/* Operand `index`, without what says how its register is cached. */
static ot_sass_word operand(const ot_sass_instruction *i, int index)
{
    const char *s = i->operands.s, *const end = s + i->operands.n;
    for (; index > 0 && s < end; index--) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        s = comma ? comma + 1 : end;
    }
    while (s < end && *s == ' ')
        s++;
    int n = 0;
    while (s + n < end && s[n] != ',' && s[n] != '.' && s[n] != ' ')
        n++;
    return (ot_sass_word){s, n};
}

static bool same(ot_sass_word a, ot_sass_word b)
{
    return a.n == b.n && memcmp(a.s, b.s, (size_t)a.n) == 0;
}

static bool constant(ot_sass_word word, int64_t *value)
{
    char digits[24], *rest;
    if (word.n < 3 || word.n >= (int)sizeof digits || word.s[0] != '0' || word.s[1] != 'x')
        return false;
    memcpy(digits, word.s, (size_t)word.n);
    digits[word.n] = '\0';
    *value = strtoll(digits, &rest, 16);
    return *rest == '\0';
}

static bool is(const ot_sass_instruction *i, const char *start)
{
    const size_t n = strlen(start);
    return (size_t)i->opcode.n >= n && memcmp(i->opcode.s, start, n) == 0;
}

/* `IADD3 R5, R5, 0x8, RZ` of this register; *writers counts all that write it. */
static int64_t step_of(const ot_sass_code *code, const ot_sass_flow *f,
                       const ot_sass_loop *loop, ot_sass_word counter, int *writers)
{
    int64_t step = 0, value;
    *writers = 0;
    for (int k = 0; k < loop->n_blocks; k++) {
        const ot_sass_block *b = &f->block[loop->block[k]];
        for (int i = 0; i < b->n; i++) {
            const ot_sass_instruction *op = &code->instruction[b->first + i];
            if (!same(operand(op, 0), counter))
                continue;
            ++*writers;
            const bool adds = is(op, "IADD3") || is(op, "VIADD") || is(op, "UIADD3");
            if (adds && !op->guarded && same(operand(op, 1), counter) &&
                constant(operand(op, 2), &value))
                step = value;
        }
    }
    return step;
}

/* The predicate under which the loop goes on: that of the one branch back, or, where this has none,
 * what the branch out of the loop in front of it has not. Empty: it has another form. */
static ot_sass_word goes_on(const ot_sass_code *code, const ot_sass_flow *f,
                            const ot_sass_loop *loop)
{
    const ot_sass_word none = {"", 0};
    int latch = -1;
    for (int e = f->block[loop->header].in; e >= 0; e = f->edge[e].next) {
        if (!ot_sass_loop_has(loop, f->edge[e].to))
            continue;
        if (latch >= 0)
            return none;
        latch = f->edge[e].to;
    }
    if (latch < 0)
        return none;
    const ot_sass_block *b = &f->block[latch];
    const ot_sass_instruction *back = &code->instruction[b->first + b->n - 1];
    const bool inverted = !back->guard.n && b->n == 1 && b->first > 0;
    const ot_sass_instruction *decides = inverted ? back - 1 : back;
    const int skip = inverted ? 2 : 1; /* `@!` of what leaves, `@` of what stays */
    if (back->kind != OT_SASS_BRANCH || decides->kind != OT_SASS_BRANCH ||
        decides->guard.n <= skip || (decides->guard.s[1] == '!') != inverted)
        return none;
    return (ot_sass_word){decides->guard.s + skip, decides->guard.n - skip};
}

int ot_sass_trips(const ot_sass_code *code, const ot_sass_flow *f, const ot_sass_loop *loop)
{
    const ot_sass_word predicate = goes_on(code, f, loop);
    int trips = 0;
    if (!predicate.n)
        return 0;
    for (int k = 0; k < loop->n_blocks; k++) {
        const ot_sass_block *b = &f->block[loop->block[k]];
        for (int i = 0; i < b->n; i++) {
            const ot_sass_instruction *op = &code->instruction[b->first + i];
            int64_t end, step;
            int writers;
            if (!same(operand(op, 0), predicate))
                continue;
            if ((!is(op, "ISETP.NE") && !is(op, "UISETP.NE")) ||
                !constant(operand(op, 3), &end))
                return 0;
            step = step_of(code, f, loop, operand(op, 2), &writers);
            if (writers != 1 || step < 1 || end % step != 0 || end / step < 2 ||
                end / step > MOST_TRIPS)
                return 0;
            trips = (int)(end / step);
        }
    }
    return trips;
}
