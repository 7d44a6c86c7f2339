/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an instruction is for, by its opcode, and which registers it moves. Opcodes that are not in
 * the table are OTHER: addresses, moves, comparisons, and whatever later architectures bring.
 */
#include <stdlib.h>
#include <string.h>

#include "target/sass/sass.h"

/* The part of an opcode in front of its first point. */
static const struct {
    const char *name;
    ot_sass_kind kind;
} classes[] = {
    {"FFMA", OT_SASS_MATH},
    {"FFMA2", OT_SASS_MATH},
    {"FFMA32I", OT_SASS_MATH},
    {"FADD", OT_SASS_MATH},
    {"FADD2", OT_SASS_MATH},
    {"FMUL", OT_SASS_MATH},
    {"FMUL2", OT_SASS_MATH},
    {"FMNMX", OT_SASS_MATH},
    {"FMNMX3", OT_SASS_MATH},
    {"DFMA", OT_SASS_MATH},
    {"DADD", OT_SASS_MATH},
    {"DMUL", OT_SASS_MATH},
    {"HFMA2", OT_SASS_MATH},
    {"HADD2", OT_SASS_MATH},
    {"HMUL2", OT_SASS_MATH},
    {"HMNMX2", OT_SASS_MATH},
    {"MUFU", OT_SASS_MATH},
    {"IDP", OT_SASS_MATH},
    {"IDP4A", OT_SASS_MATH},
    {"HMMA", OT_SASS_TENSOR},
    {"IMMA", OT_SASS_TENSOR},
    {"DMMA", OT_SASS_TENSOR},
    {"BMMA", OT_SASS_TENSOR},
    {"QMMA", OT_SASS_TENSOR},
    {"OMMA", OT_SASS_TENSOR},
    {"HGMMA", OT_SASS_TENSOR},
    {"IGMMA", OT_SASS_TENSOR},
    {"QGMMA", OT_SASS_TENSOR},
    {"BGMMA", OT_SASS_TENSOR},
    {"UTCHMMA", OT_SASS_TENSOR},
    {"UTCIMMA", OT_SASS_TENSOR},
    {"UTCQMMA", OT_SASS_TENSOR},
    {"UTCOMMA", OT_SASS_TENSOR},
    {"LDG", OT_SASS_GLOBAL_LOAD},
    {"LD", OT_SASS_GLOBAL_LOAD},
    {"STG", OT_SASS_GLOBAL_STORE},
    {"ST", OT_SASS_GLOBAL_STORE},
    {"LDS", OT_SASS_SHARED_LOAD},
    {"LDSM", OT_SASS_SHARED_LOAD},
    {"STS", OT_SASS_SHARED_STORE},
    {"STSM", OT_SASS_SHARED_STORE},
    {"LDL", OT_SASS_LOCAL},
    {"STL", OT_SASS_LOCAL},
    {"LDGSTS", OT_SASS_COPY},
    {"UTMALDG", OT_SASS_TENSOR_COPY},
    {"UBLKCP", OT_SASS_TENSOR_COPY},
    {"UTMASTG", OT_SASS_TENSOR_STORE},
    {"UTMAREDG", OT_SASS_TENSOR_STORE},
    {"LDGDEPBAR", OT_SASS_COMMIT},
    {"DEPBAR", OT_SASS_WAIT},
    {"WARPGROUP", OT_SASS_PRODUCTS_WAIT},
    {"BAR", OT_SASS_BARRIER},
    {"SYNCS", OT_SASS_BARRIER},
    {"BRA", OT_SASS_BRANCH},
    {"CALL", OT_SASS_BRANCH},
    {"BRX", OT_SASS_BRANCH},
    {"BRXU", OT_SASS_BRANCH},
    {"JMP", OT_SASS_BRANCH},
    {"JMX", OT_SASS_BRANCH},
    {"JMXU", OT_SASS_BRANCH},
    {"EXIT", OT_SASS_END},
    {"RET", OT_SASS_END},
    {"KILL", OT_SASS_END},
    {"BSSY", OT_SASS_OPEN},
    {"BSYNC", OT_SASS_JOIN},
};

bool ot_sass_has(ot_sass_word word, const char *part)
{
    return memmem(word.s, (size_t)word.n, part, strlen(part)) != NULL;
}

static bool begins(ot_sass_word word, const char *name)
{
    const size_t n = strlen(name);
    return (size_t)word.n >= n && memcmp(word.s, name, n) == 0 &&
           ((size_t)word.n == n || word.s[n] == '.');
}

ot_sass_kind ot_sass_kind_of(ot_sass_word opcode, ot_sass_word operands)
{
    ot_sass_kind kind = OT_SASS_OTHER;
    for (int i = 0; i < OT_COUNT(classes); i++)
        if (begins(opcode, classes[i].name))
            kind = classes[i].kind;
    /* Half a unit's multiplication of nothing by nothing moves a constant. */
    if (begins(opcode, "HFMA2") && ot_sass_has(operands, "RZ, RZ"))
        return OT_SASS_OTHER;
    /* A call of a label within the function does not come back; others do. */
    if (begins(opcode, "CALL") && !ot_sass_has(operands, "(.L"))
        return OT_SASS_OTHER;
    if (begins(opcode, "SYNCS") && !ot_sass_has(opcode, ".PHASECHK"))
        return OT_SASS_OTHER;
    if (begins(opcode, "BAR") && ot_sass_has(opcode, ".ARV"))
        return OT_SASS_OTHER;
    if (begins(opcode, "WARPGROUP") && !ot_sass_has(opcode, ".DEPBAR"))
        return OT_SASS_OTHER;
    /* Of the scoreboards, copies count on the first. */
    if (begins(opcode, "DEPBAR") && !ot_sass_has(operands, "SB0"))
        return OT_SASS_OTHER;
    return kind;
}

/* ---- widths ------------------------------------------------------------------------------- */

int ot_sass_bytes(const ot_sass_instruction *i)
{
    static const struct {
        const char *part;
        int bytes;
    } widths[] = {{".128", 16}, {".64", 8},  {".U8", 1},  {".S8", 1},
                  {".U16", 2},  {".S16", 2}, {".256", 32}};
    if (begins(i->opcode, "LDSM") || begins(i->opcode, "STSM"))
        return ot_sass_has(i->opcode, ".4") ? 16 : ot_sass_has(i->opcode, ".2") ? 8 : 4;
    /* What the second-level cache fetches at once is written as "LTC128B". */
    for (int k = 0; k < OT_COUNT(widths); k++) {
        const char *at = i->opcode.s, *const end = at + i->opcode.n;
        const size_t n = strlen(widths[k].part);
        while ((at = memmem(at, (size_t)(end - at), widths[k].part, n)))
            if ((at += n) == end || *at == '.')
                return widths[k].bytes;
    }
    return 4;
}

static bool moves(ot_sass_kind kind)
{
    return kind >= OT_SASS_GLOBAL_LOAD && kind <= OT_SASS_LOCAL;
}

static bool only_reads(const ot_sass_instruction *i)
{
    switch (i->kind) {
    case OT_SASS_GLOBAL_STORE:
    case OT_SASS_SHARED_STORE:
    case OT_SASS_COPY:
    case OT_SASS_TENSOR_COPY:
    case OT_SASS_TENSOR_STORE:
    case OT_SASS_BRANCH:
    case OT_SASS_BARRIER:
        return true;
    case OT_SASS_LOCAL:
        return begins(i->opcode, "STL");
    default:
        return begins(i->opcode, "RED") || begins(i->opcode, "REDG");
    }
}

/* How many registers an operand that names one is, by its place; the widest that it may be, where
 * the form is not looked at. */
static int width(const ot_sass_instruction *i, int place, bool address)
{
    if (moves(i->kind) && !address)
        return (ot_sass_bytes(i) + 3) / 4;
    if (i->kind == OT_SASS_TENSOR && !begins(i->opcode, "HGMMA"))
        return place == 2 ? 2 : 4;
    if (i->opcode.s[0] == 'D' && i->kind == OT_SASS_MATH)
        return 2;
    if (ot_sass_has(i->opcode, ".WIDE") && (place == 0 || place == 3))
        return 2;
    return begins(i->opcode, "CS2R") ? 2 : 1;
}

/* Calls on each register of the operands: false ends it. */
typedef bool visit_register(void *arg, ot_sass_range range, int place);
static void each_register(const ot_sass_instruction *i, visit_register *visit, void *arg)
{
    const char *s = i->operands.s, *const end = s + i->operands.n;
    int place = 0, brackets = 0;
    for (; s < end; s++) {
        if (*s == '[')
            brackets++;
        else if (*s == ']')
            brackets--;
        else if (*s == ',' && brackets <= 0)
            place++;
        const bool starts =
            *s == 'R' && end - s > 1 && s[1] >= '0' && s[1] <= '9' &&
            (s == i->operands.s || !strchr("URBPSLabcdefgx_.0123456789", s[-1]));
        if (!starts)
            continue;
        int number = 0;
        while (++s < end && *s >= '0' && *s <= '9')
            number = number < 1024 ? 10 * number + (*s - '0') : number;
        ot_sass_range range = {number, width(i, place, brackets > 0)};
        if (end - s >= 3 && memcmp(s, ".64", 3) == 0)
            range.n = 2;
        if (!visit(arg, range, place))
            return;
        s--;
    }
}

static bool take_first(void *arg, ot_sass_range range, int place)
{
    ot_sass_range *first = arg;
    if (place == 0)
        *first = range;
    return false;
}

ot_sass_range ot_sass_writes(const ot_sass_instruction *i)
{
    ot_sass_range range = {0};
    if (!only_reads(i))
        each_register(i, take_first, &range);
    return range;
}

typedef struct reading {
    ot_sass_range range;
    bool every, found;
} reading;

static bool look(void *arg, ot_sass_range range, int place)
{
    reading *r = arg;
    r->found = (place > 0 || r->every) && range.first < r->range.first + r->range.n &&
               r->range.first < range.first + range.n;
    return !r->found;
}

bool ot_sass_reads(const ot_sass_instruction *i, ot_sass_range range)
{
    reading r = {.range = range, .every = only_reads(i)};
    each_register(i, look, &r);
    return r.found;
}
