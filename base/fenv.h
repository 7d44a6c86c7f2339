/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floating-point environment of a caller. A program may round upwards, take denormals for zero
 * or trap what is no number; what the library reads, prints and computes is the same in all of
 * them, as its numbers are part of identities. A public function begins with OT_DEFAULT_FENV, and
 * has the environment that a process starts with until it returns; then the caller's is back, its
 * flags, too.
 *
 * The one idea: to look costs a few cycles, and nearly every caller has that environment already.
 */
#ifndef OPTUNE_BASE_FENV_H
#define OPTUNE_BASE_FENV_H

#include <fenv.h>
#include <stdbool.h>

#include "base/base.h"

typedef struct ot_fenv {
    fenv_t own;
    bool other; /* the caller's is another than the default, and kept in `own` */
} ot_fenv;

/* Control bits alone: flags that are up make no other environment. */
static inline bool ot_fenv_is_default(void)
{
#if defined(__x86_64__)
    return (__builtin_ia32_stmxcsr() & ~0x3fu) == 0x1f80;
#elif defined(__aarch64__)
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control == 0;
#else
    return false;
#endif
}

static inline void ot_fenv_enter(ot_fenv *before)
{
    before->other = !ot_fenv_is_default();
    if (__builtin_expect(before->other, false)) {
        fegetenv(&before->own);
        fesetenv(FE_DFL_ENV);
    }
}

static inline void ot_fenv_leave(const ot_fenv *before)
{
    if (__builtin_expect(before->other, false))
        fesetenv(&before->own);
}

/* A declaration: until the block ends. */
#define OT_DEFAULT_FENV                                                                        \
    __attribute__((cleanup(ot_fenv_leave))) ot_fenv ot_fenv_of_caller;                         \
    ot_fenv_enter(&ot_fenv_of_caller)
/* The same, and what the function was given: EUSAGE names the first that is NULL. */
#define OT_ENTER(err, ...)                                                                     \
    OT_DEFAULT_FENV;                                                                           \
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, __VA_ARGS__))

#endif
