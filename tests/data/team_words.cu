/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for tests/kernels/test_team.c: each thread's number among the threads of its team,
 * combined by the words of kernels/common/team.kernel.h, and those of warp_gpu.kernel.h and
 * turns_gpu.kernel.h. Blocks of 128 threads.
 */
enum { ALL = 128, COUNT = 3 };

#define GREATER(a, b) ((a) > (b) ? (a) : (b))

#define TEAM_KERNEL(n)                                                                         \
    KERNEL(ALL, 1, 1)                                                                          \
    team_##n(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT sums,                     \
             GLOBAL float *RESTRICT most)                                                      \
    {                                                                                          \
        SHARED(shared, COUNT * ALL * sizeof(float));                                           \
        LOCAL float *const pool = (LOCAL float *)shared;                                       \
        const int t = THREAD_X, lane = t % n;                                                  \
        float x[COUNT], y = in[t];                                                             \
        for (int i = 0; i < COUNT; i++)                                                        \
            x[i] = in[i * ALL + t];                                                            \
        TEAM_SUMS(pool, t, lane, n, ALL, COUNT, x);                                            \
        for (int i = 0; i < COUNT; i++)                                                        \
            sums[i * ALL + t] = x[i];                                                          \
        TEAM_COMBINE(pool, t, lane, n, 1, GREATER, y);                                         \
        most[t] = y;                                                                           \
    }

TEAM_KERNEL(1)
TEAM_KERNEL(8)
TEAM_KERNEL(32)
TEAM_KERNEL(64)
TEAM_KERNEL(128)

/* Members of a team are 16 threads apart. */
KERNEL(ALL, 1, 1)
team_across(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT sums,
            GLOBAL float *RESTRICT most)
{
    SHARED(shared, ALL * sizeof(float));
    LOCAL float *const pool = (LOCAL float *)shared;
    const int t = THREAD_X;
    float y = in[t];
    TEAM_COMBINE(pool, t, t / 16, ALL / 16, 16, GREATER, y);
    most[t] = y;
    sums[t] = 0;
}

KERNEL(ALL, 1, 1)
votes(GLOBAL const u32 *RESTRICT in, GLOBAL u32 *RESTRICT bits, GLOBAL i32 *RESTRICT lowest)
{
    const int t = THREAD_X;
    const u32 all = WARP_VOTE(in[t] != 0);
    bits[t] = all;
    lowest[t] = all ? LOWEST_BIT(all) : -1;
    WARP_BARRIER();
}

/* Takes a turn, tells it, and waits for what its neighbour tells. */
KERNEL_IN_TURNS(ALL, 1)
turns(GLOBAL u64 *told, GLOBAL u64 *heard)
{
    const int t = THREAD_X;
    const i64 turn = NEXT_TURN(told);
    u64 word;
    WORD_STORE(told + 1 + t, (u64)(t + 1) << 32 | (u64)turn);
    BARRIER();
    do
        word = WORD_LOAD(told + 1 + (t + 1) % ALL);
    while (word == 0);
    heard[t] = word;
}
