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
