/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for tests/kernels/test_team.c: each thread's number among the threads of its team,
 * combined by the words of kernels/common/team.kernel.h. Blocks of 128 threads.
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
