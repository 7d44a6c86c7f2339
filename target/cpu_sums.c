/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether AVX-512 BF16 is any faster than multiply-adds of float32: that is no flag of a processor.
 * Some take four times as long for the instruction, which adds up two products, as tiles are what
 * they have for bfloat16; a virtual machine may hide these.
 *
 * The one idea: both are timed, a few microseconds one right behind the other, so that the clock of
 * the core, which changes, is the same for both; the median of some turns is what a turn that was
 * interrupted does not move.
 */
#include "target/target.h"

#ifdef __x86_64__
#include <cpuid.h>

enum { TURNS = 15, ROUNDS = 150 };

/* Eight sums of their own, of zeros: an instruction up to the byte that names its sum (vdpbf16ps
 * and vfmadd231ps of zmm8 and zmm9), as the assembler need not know it. */
#define ONE(op, sum) ".byte 0x62, 0xd2, " op ", " sum "\n"
#define EIGHT(op)                                                                              \
    ONE(op, "0xc0")                                                                            \
    ONE(op, "0xc8")                                                                            \
    ONE(op, "0xd0")                                                                            \
    ONE(op, "0xd8")                                                                            \
    ONE(op, "0xe0")                                                                            \
    ONE(op, "0xe8")                                                                            \
    ONE(op, "0xf0")                                                                            \
    ONE(op, "0xf8")
#define SUMS(op)                                                                               \
    do {                                                                                       \
        int rounds = ROUNDS;                                                                   \
        __asm__ volatile(                                                                      \
            "vzeroall\n1:\n" EIGHT(op) EIGHT(op) "subl $1, %0\njnz 1b\nvzeroupper"             \
            : "+r"(rounds)                                                                     \
            :                                                                                  \
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",  \
              "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc");                     \
    } while (0)

/* As this process may run them, whatever a list says: where code is emulated they are not there. */
static bool runs(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx512f") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           a >> 5 & 1;
}

bool ot_cpu_bf16_slow(void)
{
    double ratio[TURNS];
    if (!runs())
        return false;
    for (int i = 0; i < TURNS; i++) {
        const int64_t first = ot_now_ns(), start = ot_now_ns(), read = start - first;
        SUMS("0x36, 0x48, 0x52");
        const int64_t between = ot_now_ns();
        SUMS("0x35, 0x48, 0xb8");
        const int64_t plain = ot_now_ns() - between - read;
        ratio[i] = (double)(between - start - read) / (double)(plain > 1 ? plain : 1);
    }
    return ot_cpu_sums_slow(ratio, TURNS);
}

#else

bool ot_cpu_bf16_slow(void)
{
    return false;
}

#endif

/* An instruction has twice the products; near that either will do, and one answer is wanted. */
bool ot_cpu_sums_slow(const double *ratio, int n)
{
    return ot_median_interval(ratio, n).median > 2.5;
}
