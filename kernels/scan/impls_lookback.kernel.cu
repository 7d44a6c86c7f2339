/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a contiguous axis in one pass: TEAM threads for a tile of EACH elements a thread, which
 * is a line or, by look-back, a part of it. A thread has EACH / V vectors of neighbours, those of a
 * warp side by side, so that loads and stores are whole lines of memory; lanes meet by shuffles,
 * warps in shared memory. With STAGED the elements of a tile that waits lie in shared memory, in
 * places of the thread's own: a core then holds more of them than its registers would.
 *
 * Tiles are told of, and 32 of them, a section: what is in front of a tile is what sections in
 * front of its own amount to, one after the other, and tiles of its own in front of it, by halves.
 * So a warp knows all that matters from a word a lane of either, and what has to be combined one
 * after the other is short, however many tiles are under way.
 */
#include "kernels/common/mma_gpu.kernel.h"
#include "kernels/scan/lookback.kernel.h"

#define SPAN (TEAM * EACH)
#define SECTION 32
#define TEAMS (THREADS / TEAM)
#define LANES (TEAM < 32 ? TEAM : 32) /* of a team in a warp */
#define WARPS (TEAM / LANES)
/* Where a thread begins in a tile. */
#define FIRST(part, lane) ((part) * (LANES * EACH) + (lane)*V)
#define GROUPS MAX((i64)1, CEIL_DIV((i64)OUTER, TEAMS)) /* a range of lines may be empty */

VECTOR(vec_in, IN, V);
VECTOR(vec_out, OUT_T, V);

/* What the lanes of a team in a warp amount to together, and *below, what is before this one:
 * halves of ever more of them exchange what they amount to. */
INLINE DTYPE scan_lanes(DTYPE amount, int lane, DTYPE *below)
{
    *below = NEUTRAL;
    UNROLL
    for (int reach = 1; reach < LANES; reach *= 2) {
        DTYPE other;
        TEAM_SWAP(other, amount, reach);
        *below = lane & reach ? OP(other, *below) : *below;
        amount = OP(amount, other);
    }
    return amount;
}

/* The same of a team's warps, of which this one amounts to `all`. */
INLINE DTYPE scan_warps(LOCAL DTYPE *sums, DTYPE all, DTYPE *ahead)
{
    *ahead = NEUTRAL;
#if TEAM > 32
    const int t = THREAD_X, part = t % TEAM / LANES;
    if (t % LANES == 0)
        sums[t / 32] = all;
    BARRIER();
    all = NEUTRAL;
    UNROLL
    for (int w = 0; w < WARPS; w++) {
        const DTYPE other = sums[t / TEAM * WARPS + w];
        *ahead = w < part ? OP(*ahead, other) : *ahead;
        all = OP(all, other);
    }
#endif
    return all;
}

/* Element i of a line that lies at `base` and has `end` of them. */
INLINE DTYPE element(GLOBAL const IN *RESTRICT in, i64 base, i64 i, i64 end)
{
    return i < end ? LOADED(in[base + i]) : NEUTRAL;
}

/* Where a thread's elements of a tile are: in registers, or behind `stage`. */
#if STAGED
#define HERE LOCAL vec_in *const stage
#define VECTOR_OF(r) (stage[(r)*THREADS])
#else
#define HERE vec_in *const stage
#define VECTOR_OF(r) (stage[r])
#endif

/* Brings there what a thread has, from `first` on, of the tile that begins at `from`. */
INLINE void load_tile(GLOBAL const IN *RESTRICT in, i64 base, i64 from, i64 first, i64 end, HERE)
{
    if (from + SPAN <= end) {
        UNROLL
        for (int r = 0; r < EACH / V; r++) {
            GLOBAL const IN *const at = in + base + first + r * (LANES * V);
#if STAGED
            cp_async_16(&VECTOR_OF(r), at);
#else
            VECTOR_OF(r) = *(GLOBAL const vec_in *)at;
#endif
        }
    } else {
        UNROLL
        for (int r = 0; r < EACH / V; r++) {
            UNROLL
            for (int e = 0; e < V; e++) {
                const i64 i = first + r * (LANES * V) + e;
                VECTOR_OF(r).v[e] = i < end ? in[base + i] : IN_NEUTRAL;
            }
        }
    }
#if STAGED
    cp_async_commit();
    CP_ASYNC_WAIT(0);
#endif
}

/* Of what is there: `before`, what is in the tile's vectors of its lanes before each of a thread's,
 * and *ahead, what is in warps before it. Gives what all of the tile amounts to. */
INLINE DTYPE scan_tile(HERE, LOCAL DTYPE *sums, DTYPE before[EACH / V], DTYPE *ahead)
{
    const int lane = THREAD_X % LANES;
    DTYPE all = NEUTRAL;
    UNROLL
    for (int r = 0; r < EACH / V; r++) {
        const vec_in x = VECTOR_OF(r);
        DTYPE amount = LOADED(x.v[0]), below;
        UNROLL
        for (int e = 1; e < V; e++)
            amount = OP(amount, LOADED(x.v[e]));
        amount = scan_lanes(amount, lane, &below);
        before[r] = OP(all, below);
        all = OP(all, amount);
    }
    return scan_warps(sums, all, ahead);
}

#if TILES > 1
INLINE GLOBAL u64 *section_of(GLOBAL u64 *told, i64 line, i64 section)
{
    return told_of(told, line, TILES + section, 0);
}

/* What everything before `tile` of a line amounts to, for all of a warp, where the tile itself
 * amounts to `all`; whether it was told in time. The last tile of a section tells of it, and looks
 * back over sections; the others wait for that of the section in front, so that few ask for what
 * all wait for. */
INLINE bool look_back(GLOBAL u64 *told, i64 line, int tile, DTYPE all, LOCAL DTYPE *seen,
                      int lane, DTYPE *carry)
{
    const int section = tile / SECTION, place = tile % SECTION;
    const bool last = place == SECTION - 1;
    int near = lane < place ? UNTOLD : OWN, far = (last ? lane : 0) < section ? UNTOLD : WHOLE;
    DTYPE x = lane == place ? all : NEUTRAL, y = NEUTRAL, below;
    bool summed = false;
    u32 wholes;
    if (lane == 0 && !last)
        tell(told_of(told, line, tile, 0), OWN, all);
    for (int asked = 0;; asked++) {
        if (asked == PATIENCE)
            return false;
        if (asked > 0)
            PAUSE();
        if (near == UNTOLD)
            near = ask(told_of(told, line, tile - place + lane, 0), &x);
        if (far != WHOLE && (lane == 0 || last))
            far = ask(section_of(told, line, section - 1 - lane), &y);
        const u32 known = WARP_VOTE(far != UNTOLD), untold = WARP_VOTE(near == UNTOLD);
        wholes = WARP_VOTE(far == WHOLE);
        if (!untold && !summed) {
            all = scan_lanes(x, lane, &below);
            if (lane == 0 && last)
                tell(section_of(told, line, section), OWN, all);
            summed = true;
        }
        /* All up to the nearest that is whole. */
        if (summed && wholes && !((wholes ^ (wholes - 1)) & ~known))
            break;
    }
    seen[lane] = y;
    if (lane == place)
        seen[SECTION] = below;
    WARP_BARRIER();
    const int whole = LOWEST_BIT(wholes);
    DTYPE sum = seen[whole];
    UNROLL_BY(8)
    for (int i = whole - 1; i >= 0; i--)
        sum = OP(sum, seen[i]);
    if (lane == 0 && last)
        tell(section_of(told, line, section), WHOLE, OP(sum, all));
    *carry = OP(sum, seen[SECTION]);
    return true;
}

/* That again, by all of a block that was not told. */
INLINE DTYPE go_back(GLOBAL const IN *RESTRICT in, GLOBAL u64 *told, i64 line, i64 base,
                     int tile, LOCAL DTYPE *sums, LOCAL DTYPE *seen)
{
    const int t = THREAD_X, lane = t % LANES;
    const bool last = tile % SECTION == SECTION - 1;
    DTYPE sum = NEUTRAL, own = NEUTRAL, ignored, below;
    UNROLL_BY(1)
    for (int i = 0; i <= tile; i++) {
        DTYPE all = NEUTRAL;
        UNROLL_BY(1)
        for (int r = 0; r < EACH / V; r++) {
            const i64 at = (i64)i * SPAN + FIRST(t / LANES, lane) + r * (LANES * V);
            DTYPE amount = element(in, base, at, N);
            UNROLL_BY(1)
            for (int e = 1; e < V; e++)
                amount = OP(amount, element(in, base, at + e, N));
            all = OP(all, scan_lanes(amount, lane, &ignored));
        }
        BARRIER(); /* earlier sums have been read */
        all = scan_warps(sums, all, &ignored);
        own = i % SECTION == lane ? all : own;
        if (i < tile && i % SECTION == SECTION - 1) {
            sum = OP(sum, scan_lanes(own, lane, &ignored));
            own = NEUTRAL;
        }
    }
    own = scan_lanes(own, lane, &below);
    if (t == tile % SECTION)
        seen[SECTION] = below;
    BARRIER();
    if (t == 0 && last)
        tell(section_of(told, line, tile / SECTION), WHOLE, OP(sum, own));
    return OP(sum, seen[SECTION]);
}

/* What waits holds its elements: as many registers beside them are enough. */
#define REGISTERS                                                                              \
    (STAGED ? (EACH / V + 16) * DTYPE_WORDS + 24 : (EACH + EACH / V + 20) * DTYPE_WORDS + 28)
#define RESIDENT MAX(1, MIN(2048 / THREADS, 65536 / (THREADS * REGISTERS)))
KERNEL_IN_TURNS(THREADS, RESIDENT)
#else
KERNEL(THREADS, 1, 1)
#endif
scan(GLOBAL const IN *RESTRICT in, GLOBAL OUT_T *RESTRICT out
#if TILES > 1
     ,
     GLOBAL u64 *RESTRICT told
#endif
         LEAD_PARAMETERS)
{
    SHARED(scan_pool, POOL_BYTES);
    const int t = THREAD_X, lane = t % LANES, part = t % TEAM / LANES, team = t / TEAM;
#if TILES > 1
    LOCAL notes *const note = (LOCAL notes *)scan_pool;
    LOCAL DTYPE *const sums = (LOCAL DTYPE *)(note + 1); /* a place for each warp */
    LOCAL DTYPE *const seen = sums + THREADS / 32;
    if (t == 0)
        note->turn = NEXT_TURN(told);
    BARRIER();
    const int tile = (int)note->turn / (int)GROUPS;
    const i64 line = (i64)((int)note->turn % (int)GROUPS) * TEAMS + team;
#else
    LOCAL DTYPE *const sums = (LOCAL DTYPE *)scan_pool;
    const i64 tile = 0, line = (i64)BLOCK_X * TEAMS + team;
#endif
    const bool mine = line < OUTER && tile < TILES;
    const i64 from = (i64)tile * SPAN, first = from + FIRST(part, lane);
    const i64 base = mine ? line * N : 0, end = mine ? N : 0;
    DTYPE before[EACH / V], ahead;
#if STAGED
    LOCAL vec_in *const stage = (LOCAL vec_in *)(scan_pool + POOL_BYTES - STAGED) + t;
#else
    vec_in stage[EACH / V];
#endif
    load_tile(in, base, from, first, end, stage);
#if TILES > 1
    const DTYPE all = scan_tile(stage, sums, before, &ahead);
    BARRIER(); /* the sums have been read */
    if (part == 0) {
        DTYPE carry = NEUTRAL;
        const bool known = !mine || look_back(told, line, tile, all, seen, lane, &carry);
        if (lane == 0) {
            sums[0] = carry;
            note->untold = !known;
        }
    }
    BARRIER();
    if (note->untold) {
        const DTYPE carry = go_back(in, told, line, base, tile, sums, seen);
#if !STAGED /* the tile is scanned again: nothing of it was kept meanwhile */
        load_tile(in, base, from, first, end, stage);
        scan_tile(stage, sums, before, &ahead);
#endif
        ahead = OP(carry, ahead);
    } else {
        ahead = OP(sums[0], ahead);
    }
#else
    scan_tile(stage, sums, before, &ahead);
#endif
    UNROLL
    for (int r = 0; r < EACH / V; r++) {
        const vec_in x = VECTOR_OF(r);
        DTYPE sum = OP(ahead, before[r]);
        vec_out y;
        UNROLL
        for (int e = 0; e < V; e++) {
            const DTYPE next = OP(sum, LOADED(x.v[e]));
            y.v[e] = STORED(EXCLUSIVE ? sum : next);
            sum = next;
        }
        const i64 i = first + r * (LANES * V);
        if (i + V <= end) {
            STORE_VECTOR((GLOBAL vec_out *)(out + base + i), y);
        } else {
            UNROLL
            for (int e = 0; e < V; e++)
                if (i + e < end)
                    out[base + i + e] = y.v[e];
        }
    }
}
