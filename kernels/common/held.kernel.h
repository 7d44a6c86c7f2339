/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HELD(x): a vector that was loaded, in its register before it is converted. gcc 12 takes what it
 * can load by elements apart: 47 instructions for 16 bytes as words, in place of two.
 */
#ifndef OPTUNE_KERNELS_COMMON_HELD_H
#define OPTUNE_KERNELS_COMMON_HELD_H

#if defined(__x86_64__) && !defined(__clang__)
#define HELD(x) __asm__("" : "+v"(x))
#else
#define HELD(x) (void)(x)
#endif

#endif
