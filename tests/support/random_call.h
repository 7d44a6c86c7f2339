/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random typed calls of any operator of the table, made from what its row says: its samples and
 * presets give ranks, layouts and list lengths, its attributes their words and ranges, and its
 * type relation what fits together. So an operator that is added is met, too.
 */
#ifndef OPTUNE_TESTS_RANDOM_CALL_H
#define OPTUNE_TESTS_RANDOM_CALL_H

#include "strategy/strategy.h"

typedef struct random_limits {
    double elements; /* of all tensors together, at most */
    double flops;    /* at most */
    double empty;    /* the share of calls that may have dims of 0 */
} random_limits;

/* A call whose types are known, in *text, too, which reads back as the same call. False: this draw
 * came to nothing. Fails the test when a call's text is not read back. */
bool random_call(uint64_t *rng, const optune_op *op, const random_limits *limits,
                 optune_call *call, ot_text *text);

/* The same call with some of its dims as ranges that hold their sizes: equal sizes are one symbol,
 * or each dim has its own, and some are computed of others. False: none of a few draws is a typed
 * call that `ot_symbols_all` knows. */
bool random_range(uint64_t *rng, const optune_call *call, optune_call *range);

/* The call of these ranges at sizes of theirs, by `turn`: all smallest, all largest, then random
 * ones; smaller where a limit is exceeded. False: no draw is a typed call within the limits. */
bool random_sizes(uint64_t *rng, const optune_call *range, int turn,
                  const random_limits *limits, optune_call *at);

/* Whether all its types are known and it is no larger. */
bool random_call_within(const optune_call *call, const random_limits *limits);

/* An operator in tree: those with implementations of their own more often than the many that
 * share a pattern's; always the one that OPTUNE_TEST_OP names. */
const optune_op *random_op(uint64_t *rng);

/* The sample with something fused behind it, a different kind for each `variant`: a constant for
 * each channel, the whole shape, the value as second operand, one for each row. */
void random_call_fuse(const char *sample, int variant, ot_text *to);

/* The call with one to four operators fused behind it, any that have an expression, with operands
 * of the output's dims or broadcast. False: nothing fits behind it. */
bool random_call_chain(uint64_t *rng, const optune_call *call, optune_call *fused);

/* Whether anything is to be fused behind it. */
bool random_call_fuses(const optune_call *call);

bool random_chance(uint64_t *rng, double p);
int64_t random_between(uint64_t *rng, int64_t lo, int64_t hi); /* both included */
/* The seed in OPTUNE_TEST_SEED, else one of the time; says which. */
uint64_t random_seed(void);
/* The positive number in this variable of the environment, where there is one. */
int random_asked(const char *variable, int otherwise);

#endif
