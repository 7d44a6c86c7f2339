/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces element by element; an item is one element. PIECEk is {input, rank, offsets, then
 * extent, input stride and output stride of each loop}, in terms of the dims S0 ... known at
 * run time; a negative input is FILL. A piece is there where WHENk is true of these. Qk and Rk
 * are how many blocks a dim has and what these exceed it by.
 */
#define S0 c->s[0]
#define S1 c->s[1]
#define S2 c->s[2]
#define S3 c->s[3]
#define S4 c->s[4]
#define S5 c->s[5]
#define S6 c->s[6]
#define S7 c->s[7]

INLINE i64 piece_items(const i64 *p)
{
    i64 n = 1;
    for (int d = 0; d < p[1]; d++)
        n *= MAX(p[4 + 3 * d], (i64)0); /* of what is cut off there may be less than nothing */
    return n;
}

#define COUNT_PIECE(k)                                                                         \
    {                                                                                          \
        const i64 p[] = PIECE##k;                                                              \
        n += WHEN##k ? piece_items(p) : 0;                                                     \
    }

INLINE i64 items(const generic_call *c)
{
    i64 n = 0;
    TIMES(PIECES, COUNT_PIECE)
    return n;
}

#define FROM(k) from = p[0] == k ? c->x##k : from;

/* Elements [first, last) of a piece. */
INLINE void move_piece(const generic_call *c, const i64 *p, i64 first, i64 last)
{
    GLOBAL const X0_T *from = c->x0;
    EACH_INPUT(FROM)
    for (; first < last; first++) {
        i64 rest = first, in = p[2], out = p[3];
        for (int d = (int)p[1] - 1; d >= 0; d--) {
            const i64 i = rest % p[4 + 3 * d];
            rest /= p[4 + 3 * d];
            in += i * p[5 + 3 * d];
            out += i * p[6 + 3 * d];
        }
        if (p[0] < 0)
            WRITE(0, out, FILL);
        else
            c->o0[out] = from[in];
    }
}

#define MOVE_PIECE(k)                                                                          \
    {                                                                                          \
        const i64 p[] = PIECE##k;                                                              \
        const i64 n = WHEN##k ? piece_items(p) : 0;                                            \
        move_piece(c, p, MAX(first - base, (i64)0), MIN(last - base, n));                      \
        base += n;                                                                             \
    }

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    i64 base = 0;
    TIMES(PIECES, MOVE_PIECE)
}
