/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body that calls a library, for the target `cuda` over its stand-in (fake_cuda.c): its functions
 * begin as those of kernels/common/cuda_library.kernel.h do.
 *
 * Build: cc -shared -fPIC -DANSWER=N -o body.so tests/data/fake_body.c
 */
#ifndef ANSWER
#define ANSWER 0
#endif
#ifndef COLD
#define COLD 0
#endif

/* arg: a buffer of one int */
void answer(void *const *arg)
{
    *(int *)arg[0] = ANSWER;
}

/* arg: fake_cuda_pass */
void slow(void *const *arg)
{
    ((void (*)(int))arg[0])(500);
}

typedef struct clock {
    double (*seconds)(struct clock *clock, void (*body)(void *const *arg), void *const *arg,
                      int n, int cold);
} clock;

/* arg: the clock, a buffer of one double, cuLaunchKernel, a kernel, the stream */
static void launch(void *const *arg)
{
    void *nothing[3] = {&nothing, &nothing, &nothing};
    ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
              void *, void **, void **))arg[2])(arg[3], 1, 1, 1, 1, 1, 1, 0, arg[4], nothing,
                                                0);
}

/* The same: what a launch takes, as the clock says while this runs. */
void choose(void *const *arg)
{
    clock *of = arg[0];
    launch(arg);
    *(double *)arg[1] = of->seconds(of, launch, arg, 5, COLD);
}

char ot_failure[16];

/* The same: it has to measure once, and says so where it cannot. */
void learn(void *const *arg)
{
    static int learned;
    clock *of = arg[0];
    if (!learned && of->seconds(of, launch, arg, 5, COLD) < 0) {
        ot_failure[0] = 'x';
        return;
    }
    learned = 1;
    launch(arg);
}
