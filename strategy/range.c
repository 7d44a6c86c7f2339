/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic over ranges of integers, whose ends may be infinite. Results hold every value that
 * two members may give, and may hold more; comparisons are certain or OT_UNKNOWN.
 */
#include "strategy/range.h"

const ot_range ot_anything = {INT64_MIN, INT64_MAX};

static bool infinite(int64_t x)
{
    return x == INT64_MIN || x == INT64_MAX;
}

static int64_t negative(int64_t x)
{
    return x == INT64_MIN ? INT64_MAX : x == INT64_MAX ? INT64_MIN : -x;
}

static int64_t plus(int64_t x, int64_t y)
{
    int64_t sum;
    if (infinite(x) || infinite(y))
        return infinite(x) ? x : y;
    return __builtin_add_overflow(x, y, &sum) ? (x < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t product(int64_t x, int64_t y)
{
    int64_t xy;
    if (x == 0 || y == 0)
        return 0;
    if (infinite(x) || infinite(y) || __builtin_mul_overflow(x, y, &xy))
        return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
    return xy;
}

static int64_t quotient(int64_t x, int64_t y) /* y is not 0 */
{
    if (infinite(y))
        return x == 0 || (x < 0) == (y < 0) ? 0 : -1;
    if (infinite(x))
        return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static ot_range hull(int64_t (*combine)(int64_t, int64_t), ot_range a, ot_range b)
{
    const int64_t corner[] = {combine(a.lo, b.lo), combine(a.lo, b.hi), combine(a.hi, b.lo),
                              combine(a.hi, b.hi)};
    ot_range made = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++) {
        made.lo = corner[i] < made.lo ? corner[i] : made.lo;
        made.hi = corner[i] > made.hi ? corner[i] : made.hi;
    }
    return made;
}

ot_range ot_range_negative(ot_range a)
{
    return (ot_range){negative(a.hi), negative(a.lo)};
}

ot_range ot_range_plus(ot_range a, ot_range b)
{
    return (ot_range){plus(a.lo, b.lo), plus(a.hi, b.hi)};
}

ot_range ot_range_product(ot_range a, ot_range b)
{
    return hull(product, a, b);
}

ot_range ot_range_quotient(ot_range a, ot_range b)
{
    return b.lo <= 0 && b.hi >= 0 ? ot_anything : hull(quotient, a, b);
}

ot_range ot_range_remainder(ot_range a, ot_range b)
{
    if (b.lo <= 0 || infinite(b.lo))
        return ot_anything;
    const bool finite = !infinite(a.lo) && !infinite(a.hi);
    if (b.lo == b.hi && finite && quotient(a.lo, b.lo) == quotient(a.hi, b.lo)) {
        const int64_t base = quotient(a.lo, b.lo) * b.lo;
        return (ot_range){a.lo - base, a.hi - base};
    }
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    const int64_t most = infinite(b.hi) ? b.hi : b.hi - 1;
    return (ot_range){0, a.lo >= 0 && a.hi < most ? a.hi : most};
}

int ot_range_less(ot_range a, ot_range b)
{
    if (a.hi < b.lo)
        return OT_TRUE;
    return a.lo >= b.hi && !infinite(a.lo) ? OT_FALSE : OT_UNKNOWN;
}

int ot_range_equal(ot_range a, ot_range b)
{
    if (a.hi < b.lo || b.hi < a.lo)
        return OT_FALSE;
    return a.lo == a.hi && b.lo == b.hi && !infinite(a.lo) ? OT_TRUE : OT_UNKNOWN;
}
