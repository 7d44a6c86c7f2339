/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of pattern implementations share: loops over tensors with as few dims as the
 * strides allow, and the macros that give a body an op's expression and types. Host code only;
 * it decides nothing about speed.
 */
#ifndef OPTUNE_KERNELS_PATTERN_H
#define OPTUNE_KERNELS_PATTERN_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/host/host.h"

enum { PATTERN_TENSORS = OPTUNE_MAX_OPERANDS + 1 };

/* Nested loops, outermost first, and how far each tensor moves along them, in elements. */
typedef struct pattern_loops {
    int rank, tensors;
    int64_t extent[OPTUNE_MAX_AXES];
    int64_t stride[PATTERN_TENSORS][OPTUNE_MAX_AXES];
} pattern_loops;

/* Drops loops of one turn and joins neighbours that every tensor walks as one. */
void pattern_loops_collapse(pattern_loops *l);

/* ---- types ------------------------------------------------------------------------------- */

/* The C type of one element on CPUs; NULL: there is none. */
const char *pattern_c_type(optune_dtype dtype);

static inline bool pattern_is_real(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
}

static inline int64_t pattern_bytes(optune_dtype dtype)
{
    return dtype.bits < 8 ? 1 : dtype.bits / 8;
}

/* Whether all types are constant; else why not. */
bool pattern_known(const optune_call *call, char *why);

/* What CPU templates of patterns ask for: constant shapes, something to do, C types. */
bool pattern_applies(const optune_task *task, char *why);

/* The same but for the shapes. */
bool pattern_computes(const optune_task *task, char *why);

/* Writes what one dim adds to an offset, "name / inside % extent * stride", of a number that
 * counts through all dims, `inside` elements in those within this one; `extent` 0: it is the
 * outermost, and nothing is taken off. Returns its length. */
int pattern_offset_term(char *text, size_t size, const char *name, int64_t inside,
                        int64_t extent, int64_t stride);

/* ---- macros of bodies -------------------------------------------------------------------- */

void pattern_define_extremes(optune_plan *plan, int m, optune_dtype dtype);

/* SCALAR, the type of an expression as `type`, and what is known of it. */
void pattern_define_scalar_as(optune_plan *plan, int m, const optune_call *call,
                              const char *type);

/* X<i>_V, the type of operand i in the expression: SCALAR, or its own where that is another
 * one, so that a condition of 0.5 beside integers is not 0. Bools are 0 and 1 in any type. */
void pattern_define_value(optune_plan *plan, int m, const optune_call *call, int i,
                          const char *own);

enum { PATTERN_NUMBER_TEXT = 28 };

/* Attribute i as a number in C, in the type of the expression; false: it is none. */
bool pattern_number(const optune_call *call, int i, char text[PATTERN_NUMBER_TEXT]);

/* The same for CPUs. */
void pattern_define_scalar(optune_plan *plan, int m, const optune_call *call);

/* OUT_T, and by which integer RESULT(x) of scalar_cpu.kernel.h turns a SCALAR into it. */
void pattern_define_output_as(optune_plan *plan, int m, const optune_call *call,
                              const char *type);

static inline void pattern_define_output(optune_plan *plan, int m, const optune_call *call)
{
    pattern_define_output_as(plan, m, call, pattern_c_type(call->output[0].dtype));
}

#endif
