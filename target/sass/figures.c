/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a function's hottest loop. The hottest is the one with the most math of its own, of
 * tensor cores where there are such, where
 * a loop inside another counts eight times as much, as it runs that much more often at least; loops
 * inside it that compute nothing (waiting for a barrier, say) are parts of it. Where its code says
 * how often it runs, the loop around it is looked at, with so many runs of it inside: a tile that
 * is not unrolled is a tile all the same. The blocks are one sequence, the header first, behind
 * whose end it begins again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target/sass/sass.h"

enum { OF_INNER = 8, DEEPEST = 6, LONGEST = 1 << 17 }; /* LONGEST: instructions */

typedef struct sequence {
    const ot_sass_instruction **op;
    int n;
} sequence;

/* Where there are tensor cores' products, other math is what becomes of them. */
static ot_sass_kind math_kind(const ot_sass_code *code)
{
    for (int i = 0; i < code->n; i++)
        if (code->instruction[i].kind == OT_SASS_TENSOR)
            return OT_SASS_TENSOR;
    return OT_SASS_MATH;
}

static int math_in(const ot_sass_code *code, const ot_sass_flow *f, int block,
                   ot_sass_kind kind)
{
    int n = 0;
    for (int i = 0; i < f->block[block].n; i++)
        n += code->instruction[f->block[block].first + i].kind == kind;
    return n;
}

static int math_of(const ot_sass_code *code, const ot_sass_flow *f, const ot_sass_loop *loop,
                   ot_sass_kind kind)
{
    int n = 0;
    for (int i = 0; i < loop->n_blocks; i++)
        n += math_in(code, f, loop->block[i], kind);
    return n;
}

/* Whether a loop inside this one that computes has the block. */
static bool inside(const ot_sass_flow *f, const int *math, const ot_sass_loop *loop, int block)
{
    for (int l = 0; l < f->n_loops; l++)
        if (&f->loop[l] != loop && math[l] > 0 && ot_sass_loop_has(&f->loop[l], block) &&
            ot_sass_loop_has(loop, f->loop[l].header) && f->loop[l].depth > loop->depth)
            return true;
    return false;
}

static const ot_sass_loop *hottest(const ot_sass_code *code, const ot_sass_flow *f,
                                   const int *math, ot_sass_kind kind)
{
    const ot_sass_loop *best = NULL;
    double most = -1;
    for (int l = 0; l < f->n_loops; l++) {
        const ot_sass_loop *loop = &f->loop[l];
        double own = 0, all = 0;
        for (int i = 0; i < loop->n_blocks; i++)
            if (!inside(f, math, loop, loop->block[i])) {
                own += math_in(code, f, loop->block[i], kind);
                all += f->block[loop->block[i]].n;
            }
        /* Without any math the longest one counts, behind all that compute. */
        const double heat =
            (own + all * 1e-6) * pow(OF_INNER, loop->depth < DEEPEST ? loop->depth : DEEPEST);
        if (heat > most) {
            most = heat;
            best = loop;
        }
    }
    return best;
}

static const ot_sass_loop *around(const ot_sass_flow *f, const ot_sass_loop *loop)
{
    for (int l = 0; l < f->n_loops; l++)
        if (f->loop[l].depth == loop->depth - 1 && ot_sass_loop_has(&f->loop[l], loop->header))
            return &f->loop[l];
    return NULL;
}

static void add_block(const ot_sass_code *code, const ot_sass_block *b, sequence *s)
{
    for (int k = 0; k < b->n; k++)
        s->op[s->n++] = &code->instruction[b->first + k];
}

static sequence sequence_of(const ot_sass_code *code, const ot_sass_flow *f, const int *math,
                            const ot_sass_loop *loop)
{
    const int known = ot_sass_trips(code, f, loop), trips = known ? known : 1;
    const ot_sass_loop *outer = known && code->n <= LONGEST / trips ? around(f, loop) : NULL;
    const ot_sass_loop *whole = outer ? outer : loop;
    sequence s = {ot_alloc((size_t)code->n * (size_t)(outer ? trips + 1 : 1) * sizeof *s.op),
                  0};
    for (int i = 0; i < whole->n_blocks; i++) {
        const int block = whole->block[i];
        if (outer && ot_sass_loop_has(loop, block)) {
            for (int t = 0; t < trips && block == loop->header; t++)
                for (int k = 0; k < loop->n_blocks; k++)
                    if (!inside(f, math, loop, loop->block[k]))
                        add_block(code, &f->block[loop->block[k]], &s);
        } else if (!inside(f, math, whole, block)) {
            add_block(code, &f->block[block], &s);
        }
    }
    return s;
}

/* ---- distances ---------------------------------------------------------------------------- */

/* Cycles until what the load at `at` brings is read, in this round or the next; -1: it is not. */
static int distance(const sequence *s, int at)
{
    const ot_sass_range range = ot_sass_writes(s->op[at]);
    int cycles = 0;
    if (range.n == 0)
        return -1;
    for (int k = 1; k <= s->n; k++) {
        cycles += s->op[(at + k - 1) % s->n]->stall;
        const ot_sass_instruction *op = s->op[(at + k) % s->n];
        if (ot_sass_reads(op, range))
            return cycles;
        const ot_sass_range over = ot_sass_writes(op);
        if (!op->guarded && over.first <= range.first &&
            over.first + over.n >= range.first + range.n)
            return -1;
    }
    return -1;
}

/* Looking for the users of very many loads in a very long loop is not worth its time. */
enum { MOST_STEPS = 1 << 25 };

static void distances(const sequence *s, ot_sass_kind kind, double *least, double *median)
{
    double *found = ot_alloc((size_t)(s->n + 1) * sizeof *found);
    int n = 0;
    for (int i = 0; i < s->n && (int64_t)i * s->n < MOST_STEPS; i++) {
        const int cycles = s->op[i]->kind == kind ? distance(s, i) : -1;
        if (cycles >= 0)
            found[n++] = cycles;
    }
    if (n > 0) {
        qsort(found, (size_t)n, sizeof *found, ot_ascending);
        *least = found[0];
        *median = n % 2 ? found[n / 2] : (found[n / 2 - 1] + found[n / 2]) / 2;
    }
    free(found);
}

/* ---- counts ------------------------------------------------------------------------------- */

/* The number behind the comma of `SB0, 0x2`, of a wait. */
static double left_by(const ot_sass_instruction *wait)
{
    const char *comma = memchr(wait->operands.s, ',', (size_t)wait->operands.n);
    return comma ? (double)strtoul(comma + 1, NULL, 0) : NAN;
}

static void take_wait(double *most, const ot_sass_instruction *wait)
{
    const double left = left_by(wait);
    if (!isnan(left) && (isnan(*most) || left > *most))
        *most = left;
}

static void count_width(int bytes, double *of_16, double *of_8, double *of_4, double *less)
{
    *(bytes >= 16 ? of_16 : bytes == 8 ? of_8 : bytes == 4 ? of_4 : less) += 1;
}

static void count_stores(const ot_sass_code *code, ot_sass_figures *f)
{
    f->store_16 = f->store_8 = f->store_4 = f->store_less = f->store_tensor = 0;
    for (int i = 0; i < code->n; i++) {
        const ot_sass_instruction *op = &code->instruction[i];
        if (op->kind == OT_SASS_GLOBAL_STORE)
            count_width(ot_sass_bytes(op), &f->store_16, &f->store_8, &f->store_4,
                        &f->store_less);
        f->store_tensor += op->kind == OT_SASS_TENSOR_STORE;
    }
}

/* The number of the register that operand `at` of an FFMA names; -1: it names none. */
static int register_at(const ot_sass_instruction *op, int at, bool *reused)
{
    const char *s = op->operands.s, *const end = s + op->operands.n;
    for (; at > 0 && s < end; s++)
        at -= *s == ',';
    while (s < end && (*s == ' ' || *s == '-' || *s == '|'))
        s++;
    if (at > 0 || end - s < 2 || *s != 'R' || s[1] < '0' || s[1] > '9')
        return -1;
    char *behind;
    const int number = (int)strtol(s + 1, &behind, 10);
    *reused = end - behind >= 6 && memcmp(behind, ".reuse", 6) == 0;
    return number;
}

/* FFMA that read three registers of one bank, of two: they take a cycle more. What the one before
 * left in the operands' caches is not read. From compute capability 7.0 on. */
static double conflicts_of(const sequence *s)
{
    int kept[3] = {-1, -1, -1}, n = 0;
    for (int i = 0; i < s->n; i++) {
        int next[3] = {-1, -1, -1}, in_bank[2] = {0, 0};
        const ot_sass_word name = s->op[i]->opcode;
        for (int k = 0; k < 3 && name.n >= 4 && memcmp(name.s, "FFMA", 4) == 0; k++) {
            bool reused = false;
            const int number = register_at(s->op[i], k + 1, &reused);
            if (number >= 0 && number != kept[k])
                in_bank[number % 2]++;
            if (reused)
                next[k] = number;
        }
        n += in_bank[0] == 3 || in_bank[1] == 3;
        memcpy(kept, next, sizeof kept);
    }
    return n;
}

static void count_loop(const sequence *s, ot_sass_figures *f)
{
    int math = 0, barriers = 0, commits = 0;
    int64_t cycles = 0;
    f->tensor = f->load_16 = f->load_8 = f->load_4 = f->load_less = f->copy_16 = f->copy_less =
        f->copy_tensor = f->shared_16 = f->shared_less = f->local = 0;
    for (int i = 0; i < s->n; i++) {
        const ot_sass_instruction *op = s->op[i];
        const int bytes = ot_sass_bytes(op);
        cycles += op->stall;
        math += op->kind == OT_SASS_MATH;
        f->tensor += op->kind == OT_SASS_TENSOR;
        commits += op->kind == OT_SASS_TENSOR && ot_sass_has(op->operands, "gsb0");
        barriers += op->kind == OT_SASS_BARRIER;
        f->local += op->kind == OT_SASS_LOCAL;
        f->copy_tensor += op->kind == OT_SASS_TENSOR_COPY;
        if (op->kind == OT_SASS_GLOBAL_LOAD)
            count_width(bytes, &f->load_16, &f->load_8, &f->load_4, &f->load_less);
        if (op->kind == OT_SASS_COPY)
            *(bytes >= 16 ? &f->copy_16 : &f->copy_less) += 1;
        if (op->kind == OT_SASS_SHARED_LOAD)
            *(bytes >= 16 ? &f->shared_16 : &f->shared_less) += 1;
        if (op->kind == OT_SASS_PRODUCTS_WAIT)
            take_wait(&f->products_in_flight, op);
        if (op->kind == OT_SASS_WAIT)
            take_wait(&f->copies_in_flight, op);
    }
    if (f->copy_16 + f->copy_less == 0)
        f->copies_in_flight = NAN; /* the first scoreboard has other uses */
    f->conflicts = conflicts_of(s);
    f->loop = s->n;
    f->math = f->tensor > 0 ? f->tensor : math;
    if (f->math > 0) {
        f->share = f->math / s->n;
        f->cycles = (double)cycles / f->math;
    }
    if (f->tensor > 0 && barriers > 0)
        f->per_barrier = f->tensor / barriers;
    if (commits > 0)
        f->per_commit = f->tensor / commits;
}

void ot_sass_figures_of(const ot_sass_code *code, ot_sass_figures *figures)
{
    ot_sass_flow flow;
#define NONE(field, name, sentence) .field = NAN,
    *figures = (ot_sass_figures){OT_SASS_FIGURES(NONE)};
#undef NONE
    if (code->n == 0 || code->cut)
        return;
    count_stores(code, figures);
    if (!ot_sass_flow_open(code, &flow))
        return;
    const ot_sass_kind kind = math_kind(code);
    int *math = ot_alloc((size_t)(flow.n_loops + 1) * sizeof *math);
    for (int l = 0; l < flow.n_loops; l++)
        math[l] = math_of(code, &flow, &flow.loop[l], kind);
    const ot_sass_loop *loop = hottest(code, &flow, math, kind);
    if (loop) {
        sequence s = sequence_of(code, &flow, math, loop);
        count_loop(&s, figures);
        distances(&s, OT_SASS_GLOBAL_LOAD, &figures->global_least, &figures->global_median);
        distances(&s, OT_SASS_SHARED_LOAD, &figures->shared_least, &figures->shared_median);
        free(s.op);
    }
    if (!code->timed)
        figures->cycles = figures->global_least = figures->global_median =
            figures->shared_least = figures->shared_median = NAN;
    free(math);
    ot_sass_flow_close(&flow);
}

void ot_sass_figures_print(const ot_sass_figures *figures, ot_text *to)
{
    static const char *const names[] = {
#define NAME(field, name, sentence) name,
        OT_SASS_FIGURES(NAME)
#undef NAME
    };
    const double values[] = {
#define VALUE(field, name, sentence) figures->field,
        OT_SASS_FIGURES(VALUE)
#undef VALUE
    };
    for (int i = 0; i < OT_COUNT(names); i++) {
        char number[32] = "null";
        if (isfinite(values[i]))
            ot_format(number, sizeof number, "%.6g", values[i]);
        ot_text_printf(to, " %s=%s", names[i], number);
    }
}
