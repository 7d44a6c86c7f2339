/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies, which say what may compute an operator on a target, and implementations: one
 * way to compute it, its config space and its plan. Part of define.h.
 */
#ifndef OPTUNE_DEFINE_IMPL_H
#define OPTUNE_DEFINE_IMPL_H

#include "optune/define_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- strategy: which implementations for one target key ---------------------------------- */

#define OPTUNE_PLEVEL 10 /* the default priority level: what a row that says none has */
/* Says level 0 in a row or to optune_strategy_add, since a 0 is what a field left out holds. */
#define OPTUNE_PLEVEL_ZERO (-2147483647 - 1)

typedef struct optune_strategy_row {
    const char *impl; /* the implementation's name */
    int plevel;       /* left out (0): OPTUNE_PLEVEL; OPTUNE_PLEVEL_ZERO: 0; may be negative */
    const char *when; /* specialization: conjunctive normal form over named dims,
                           "m > 16 && (k % 32 == 0 || n % 32 == 0)"; NULL: always */
    bool (*condition)(const optune_task *task,
                      char *why); /* a plain C condition; NULL: always */
} optune_strategy_row;

/* One per (op, target key). A target's keys are tried in order, then "generic"; the first
 * strategy found is the one. Rows keep their order: it breaks ties between equal plevels. */
typedef struct optune_strategy {
    const char *op;
    const char *key;                 /* "cpu", "cuda", "gpu", "generic" ... */
    const optune_strategy_row *rows; /* ends at a NULL impl */
    /* Names that `when` may use: values of the call's dims. Returns false for an unknown name; it
     * is asked about the op's samples when the strategy is added, and a condition with a name that
     * it knows of none of them is refused, as is one that holds for no size. NULL: only named
     * symbolic dims of the call itself. */
    bool (*dim)(const optune_call *call, const char *name, optune_dim *value);
    /* With `op` NULL: of every op of this pattern that declares it and has no strategy of its
     * own for the key. OPTUNE_BROADCAST serves elementwise ops too. Rows name implementations of
     * the pattern. */
    optune_pattern pattern;
    /* Instead of `key`: one strategy for several, which ends at NULL. */
    const char *const *keys;
    /* With `op` NULL: of every op of this family that has no strategy of its own for the key; it
     * goes before a pattern's. A row `loop.cpu` names <op>_loop.cpu of each of them, `.cpu`
     * <op>.cpu. */
    const char *family;
} optune_strategy;

#define OPTUNE_STRATEGY(folder, id)                                                            \
    extern const optune_strategy optune_strategy_##folder##_##id;                              \
    const optune_strategy optune_strategy_##folder##_##id
/* A file strategies_<id>.c: as many as there are, and {0} behind the last. */
#define OPTUNE_STRATEGIES(folder, id)                                                          \
    extern const optune_strategy optune_strategies_##folder##_##id[];                          \
    const optune_strategy optune_strategies_##folder##_##id[]

/* ---- impl: one way to compute an operator ------------------------------------------------ */

typedef struct optune_space optune_space; /* a config space under construction, and after */
typedef struct optune_plan optune_plan;   /* what one config becomes */

typedef struct optune_impl {
    const char *op;
    const char *name; /* TVM's where the template is the same: "dense_pack.x86" */
    const char *summary;
    const char *library;   /* the library it calls, as in -libs; NULL: generated code */
    const char *math;      /* numerics classes it is right for, space separated; NULL: "ieee" */
    const char *task_args; /* AutoTVM's positional args of this template, as names of inputs and
                              attributes, "out_shape" and "null" among them; a trailing '?' makes
                              one null when absent; `groups=data[1]` takes no place and says
                              what an attribute is. NULL: it is no template of TVM's, and its
                              args are all inputs, then all attributes */
    double error_scale;    /* of the op's error bound; 0: 1, plain summation */
    bool
        fewer_operations; /* does fewer than the op's flops (winograd): its rates are effective */

    /* Whether it can compute this at all; false with a sentence in `why`. NULL: always. On CPUs a
     * row that refuses a call of 16-bit floats is asked about the same call in float32, which its
     * space and plan then see: values are converted around it. Where an operator's meaning depends
     * on the type itself, the condition of a strategy's row, which sees the call as it is,
     * refuses. Where the op has a generic implementation no other is asked about a call whose
     * outputs have no elements at any size, so that what it and the hooks below count of these is
     * not 0. */
    bool (*applies)(const optune_task *task, char *why);
    /* Declares the knobs. NULL: one config with no knobs. */
    void (*space)(const optune_task *task, optune_space *space);
    /* The config used untuned: valid and sensible on any device. On entry every knob holds its
     * first entity; the helpers below pick others. NULL: that is the fallback. */
    void (*fallback)(const optune_task *task, const optune_space *space, optune_config *config);
    /* Whole-config constraint, by arithmetic, before any compiler runs. NULL: all are valid. */
    bool (*valid)(const optune_task *task, const optune_config *config, char *why);
    /* Turns a valid config into a plan. Called in every process that handles the config; must
     * give the same plan for the same arguments. */
    void (*plan)(const optune_task *task, const optune_config *config, optune_plan *plan);

    const char *source; /* plugins: the body's text, which may include what bodies in the tree do,
                           by the same names (OPTUNE_TEXT). NULL: the row's file with .kernel.c for
                           .c, .kernel.cu for GPUs, or .kernel.h for both; or see OPTUNE_BODY */

    /* With `op` NULL: every op of this pattern that declares it gets this implementation under
     * the name <op>_<name>, with a digest that covers the op's declaration. OPTUNE_BROADCAST
     * serves elementwise ops too. */
    optune_pattern pattern;
    /* Dims it takes at run time, as "input.dim": "data.0 x.1". Where one of them is a range, its
     * `applies`, `space` and `plan` are asked about the whole range, and the plan must be right
     * for every size in it; "*": any dim of any input. NULL: it is only asked about calls of
     * constants. */
    const char *symbolic;
    /* The op's last resort on every target, right before fast: no strategy names it, each has it
     * behind its rows, for calls that no row computes. */
    bool generic;
    /* With `op` NULL: every op of this family gets this implementation, named as a strategy's rows
     * of it are. NULL: `pattern` says which. */
    const char *family;
    /* What a valid config is estimated to cost on this device, in a unit of its own: it compares
     * configs of one call, by arithmetic alone. Advice that orders a search's first trials, not
     * heard where trials contradict. NULL, or NAN: nothing is known. */
    double (*estimate)(const optune_task *task, const optune_config *config);
    /* Of a template of TVM's: vector operations of the longest straight code that its schedule
     * there makes of a config. Exports for TVM leave out what no compiler comes to an end with.
     * NULL: few. */
    int64_t (*task_unrolls)(const optune_call *call, const optune_config *config);
} optune_impl;

/* `folder` is the file's below kernels/, with _ for /, `id` its <name>:
 * kernels/scale/impl_vector.c is OPTUNE_IMPL(scale, vector), kernels/pool/grad/impl_gather.c
 * OPTUNE_IMPL(pool_grad, gather). */
#define OPTUNE_IMPL(folder, id)                                                                \
    extern const optune_impl optune_impl_##folder##_##id;                                      \
    const optune_impl optune_impl_##folder##_##id
/* A file impls_<id>.c: rows of one body, impls_<id>.kernel.c; as many as there are, and {0}
 * behind the last. */
#define OPTUNE_IMPLS(folder, id)                                                               \
    extern const optune_impl optune_impls_##folder##_##id[];                                   \
    const optune_impl optune_impls_##folder##_##id[]
/* The rows of this file have another file's body, which it names: OPTUNE_BODY("kernels/...");
 * scripts/embed.c reads it. In tree only: plugins have `source`. */
#define OPTUNE_BODY(file) _Static_assert(sizeof(file) > 1, "a file of kernels/")
/* Out of tree: defines `id`, the text of a file as it is when the plugin is compiled, so that a
 * body is a file: `OPTUNE_TEXT(rows_body, "rows.kernel.c");`, `.source = rows_body`. It is looked
 * for from where the compiler runs and in the folders of -I. Each `id` is once in a plugin. */
#define OPTUNE_TEXT(id, file)                                                                  \
    __asm__(".pushsection .rodata\n.globl " #id "\n.hidden " #id "\n.type " #id                \
            ", %object\n" #id ":\n.incbin \"" file "\"\n.byte 0\n.size " #id ", . - " #id      \
            "\n.popsection\n");                                                                \
    extern __attribute__((visibility("hidden"))) const char id[]

/* The strategy of an op for exactly this key, the latest; NULL: none. */
OPTUNE_API const optune_strategy *optune_strategy_of(const char *op, const char *key);
/* Adds an implementation behind the others of that op and key, at run time; `strategy` may be
 * one in tree, a plugin's, or the caller's own first one with `op`, `key` and no rows. plevel
 * as in a row: 0 is OPTUNE_PLEVEL. ECONFLICT: it is there, or its name is another's. Before any
 * handle is asked; trials run in a process of their own, so what is to be tuned, too, belongs
 * in a plugin. */
OPTUNE_API int optune_strategy_add(const optune_strategy *strategy, const optune_impl *impl,
                                   int plevel, optune_err *err);

/* Knobs. Enumeration order, and so the index, is AutoTVM's. */
typedef enum optune_split_policy {
    OPTUNE_SPLIT_FACTORS,   /* divisors of the extent, no tail */
    OPTUNE_SPLIT_POWER2,    /* powers of two up to the extent, tails allowed */
    OPTUNE_SPLIT_VERBOSE,   /* divisors and powers of two in AutoTVM's order, tails allowed */
    OPTUNE_SPLIT_CANDIDATE, /* the list given */
} optune_split_policy;

typedef struct optune_split {
    optune_split_policy policy;
    int64_t max_factor; /* of every size but the outermost; 0: none */
    bool (*filter)(const int64_t *sizes, int parts, const void *arg); /* NULL: all */
    const void *filter_arg;                      /* must live as long as the space */
    const int64_t (*candidate)[OPTUNE_MAX_LIST]; /* CANDIDATE: sizes, outermost first */
    int n_candidates;
} optune_split;

/* Splits an axis of `extent` into `parts` sizes, outermost first. `how` NULL: factors. */
OPTUNE_API void optune_space_split(optune_space *space, const char *name, int64_t extent,
                                   int parts, const optune_split *how);
/* One of `n` values, in this order; they are copied. */
OPTUNE_API void optune_space_ints(optune_space *space, const char *name, int n,
                                  const int64_t *values);
OPTUNE_API void optune_space_bools(optune_space *space, const char *name, int n,
                                   const bool *values);
OPTUNE_API void optune_space_words(optune_space *space, const char *name, int n,
                                   const char *const *words);
typedef enum optune_reorder_policy {
    OPTUNE_REORDER_IDENTITY,
    OPTUNE_REORDER_ALL,          /* permutations, lexicographic */
    OPTUNE_REORDER_INTERVAL_ALL, /* permutes [lo, hi) only */
    OPTUNE_REORDER_CANDIDATE,    /* the list given */
} optune_reorder_policy;
/* An order of `axes` axes; `lo`, `hi` and the candidates as the policy needs them. */
OPTUNE_API void optune_space_reorder(optune_space *space, const char *name, int axes,
                                     optune_reorder_policy policy, int lo, int hi,
                                     const int64_t (*candidate)[OPTUNE_MAX_LIST],
                                     int n_candidates);
/* `policy` is AutoTVM's word: "unroll", "try_unroll", "try_unroll_vec", "try_vec", "bind_gpu",
 * "locate_cache" ... */
OPTUNE_API void optune_space_annotate(optune_space *space, const char *name, int axes,
                                      const char *policy);

/* Reading a config; a knob that is not there asserts. Sizes and words belong to the config. An
 * order is read as a split is, and an annotation, an optune_annotation for each axis. */
OPTUNE_API const int64_t *optune_config_split(const optune_config *config, const char *name);
OPTUNE_API int64_t optune_config_int(const optune_config *config, const char *name);
OPTUNE_API bool optune_config_bool(const optune_config *config, const char *name);
OPTUNE_API const char *optune_config_word(const optune_config *config, const char *name);
/* For fallback: choose the entity whose inner sizes (all but the outermost) are the largest
 * that do not exceed `limit[1..parts-1]`, innermost first; limit[0] is ignored. */
OPTUNE_API void optune_config_choose_split(optune_config *config, const optune_space *space,
                                           const char *name, const int64_t *limit);
/* For fallback: choose the largest value <= `limit`, else the smallest. */
OPTUNE_API void optune_config_choose_int(optune_config *config, const optune_space *space,
                                         const char *name, int64_t limit);
/* For fallback: choose this order or annotation, a value for each axis, which must be one of the
 * knob's. */
OPTUNE_API void optune_config_choose_list(optune_config *config, const optune_space *space,
                                          const char *name, const int64_t *values);
/* For fallback: choose this word, which must be one of the knob's. */
OPTUNE_API void optune_config_choose_word(optune_config *config, const optune_space *space,
                                          const char *name, const char *word);

/* For fallback, at its end: where the implementation's own `valid` refuses what was chosen,
 * chooses the nearest config that it accepts, with as few other knobs as can be, so that no
 * formula has to repeat every rule. Costs one question when the choice is valid. A bounded
 * number is looked at, and where constraints say what is valid, what they lead to: when nothing
 * is found the choice stays as it is, and selection passes the implementation over. */
OPTUNE_API void optune_config_nearest(optune_config *config, const optune_space *space);

/* Plans. A plan is modules (a body with macros), scratch buffers and ordered stages. The
 * functions never fail: the first excess or misuse is kept in the plan and reported when it is
 * used. */
typedef enum optune_phase {
    OPTUNE_PREPACK,  /* once, before timing; may read only const inputs and constant scratch */
    OPTUNE_TIMED,    /* every run */
    OPTUNE_TEARDOWN, /* once, at the end: a library handle is destroyed */
    OPTUNE_RESTORE,  /* every run, before TIMED: an output that is read, too, gets what it holds.
                        Its time is not counted; where there is one, runs are timed one by one */
} optune_phase;

typedef enum optune_arg_kind {
    OPTUNE_ARG_INPUT,   /* index: which input */
    OPTUNE_ARG_OUTPUT,  /* index: which output */
    OPTUNE_ARG_SCRATCH, /* index: what optune_plan_scratch returned */
    OPTUNE_ARG_INT,     /* value; CPU bodies receive a pointer to it, GPU bodies 64 bits */
    OPTUNE_ARG_FLOAT,   /* real; GPU bodies receive a float */
    OPTUNE_ARG_SYMBOL,  /* symbol: a function of the implementation's library, by name; value:
                         * the library's one major version that has it; 0: all have */
    OPTUNE_ARG_DIM,     /* optune_dim_arg, optune_output_dim_arg; its run-time value, as INT */
    OPTUNE_ARG_TENSOR_MAP, /* index: what optune_plan_tensor_map returned */
    OPTUNE_ARG_FUNCTION,   /* symbol: a function of module `index`, see optune_function_arg */
    OPTUNE_ARG_DIMS,       /* index: what optune_plan_dims returned; value: how many */
} optune_arg_kind;

typedef struct optune_arg {
    optune_arg_kind kind;
    int index;
    int64_t value;
    double real;
    const char *symbol;
} optune_arg;

#define optune_input_arg(i) ((optune_arg){.kind = OPTUNE_ARG_INPUT, .index = (i)})
#define optune_output_arg(i) ((optune_arg){.kind = OPTUNE_ARG_OUTPUT, .index = (i)})
#define optune_scratch_arg(i) ((optune_arg){.kind = OPTUNE_ARG_SCRATCH, .index = (i)})
/* The size that dim `d` of input `i` has in the call at hand. For dims that the implementation
 * takes at run time (its `symbolic`); not in a PREPACK stage, which runs before any call. */
#define optune_dim_arg(i, d)                                                                   \
    ((optune_arg){.kind = OPTUNE_ARG_DIM, .index = (i)*OPTUNE_MAX_RANK + (d)})
/* The same of output `o`: what the type relation makes of the sizes at hand. */
#define optune_output_dim_arg(o, d) optune_dim_arg(OPTUNE_MAX_INPUTS + (o), d)
/* Many dims as one argument: the address, in memory that the stage can read, of as many 64-bit
 * integers as there are dims in the list. A call's dims are more than a stage's arguments. */
#define optune_dims_arg(i, n)                                                                  \
    ((optune_arg){.kind = OPTUNE_ARG_DIMS, .index = (i), .value = (n)})
#define optune_int_arg(v) ((optune_arg){.kind = OPTUNE_ARG_INT, .value = (v)})
#define optune_symbol_arg(s) ((optune_arg){.kind = OPTUNE_ARG_SYMBOL, .symbol = (s)})
/* The same of a function that only major version `v` of the library has; NULL where it is not. */
#define optune_version_symbol_arg(s, v)                                                        \
    ((optune_arg){.kind = OPTUNE_ARG_SYMBOL, .value = (v), .symbol = (s)})
#define optune_tensor_map_arg(i) ((optune_arg){.kind = OPTUNE_ARG_TENSOR_MAP, .index = (i)})
/* On CPUs: the address of another module's function, an entry point like that of a stage. A module
 * is compiled once for all configs that define the same macros in it, so what few knobs decide
 * (a transform around the loops that most of them are about) costs next to nothing when it lies in
 * a module of its own. */
#define optune_function_arg(m, f)                                                              \
    ((optune_arg){.kind = OPTUNE_ARG_FUNCTION, .index = (m), .symbol = (f)})

enum {
    OPTUNE_MAX_MODULES = 6,
    OPTUNE_MAX_DEFINES = 448, /* of one module */
    OPTUNE_MAX_SCRATCH = 16,
    OPTUNE_MAX_STAGES = 16,
    OPTUNE_MAX_ARGS = 80, /* of one stage */
    OPTUNE_MAX_TENSOR_MAPS = 6,
    OPTUNE_MAX_DIM_LISTS = 8,
    OPTUNE_TENSOR_MAP_RANK = 5,
};

/* How a copy engine sees a tensor: the box that one copy brings into shared memory, anywhere in
 * it, with zeros for what lies outside. CUDA bodies receive the driver's encoding of it by
 * value (TENSOR_MAP of kernels/common/wgmma_gpu.kernel.h), from compute capability 9.0 on. */
typedef struct optune_tensor_map {
    optune_arg tensor; /* optune_input_arg, optune_output_arg or optune_scratch_arg */
    optune_dtype dtype;
    int rank;
    int swizzle; /* bytes: 0, or 32, 64, 128, which the box's first dim must fit in */
    bool tf32;   /* float32 is rounded on its way */
    /* Innermost first. `stride` is in bytes, from one index of that dim to the next: that of dim 0
     * is not looked at, the others are multiples of 16. A box has at most 256 of a dim. */
    int64_t dim[OPTUNE_TENSOR_MAP_RANK];
    int64_t stride[OPTUNE_TENSOR_MAP_RANK];
    int64_t box[OPTUNE_TENSOR_MAP_RANK];
    /* Where `pixels` is not 0 a copy brings no box but box[0] channels of so many pixels, as
     * windows that slide over images meet them (im2col). Dims are channels, x, y and images then.
     * Pixels go along x, then y, then images, by `step`, 1 to 8, from `low` to dim - 1 + `high`,
     * -128 to 127 (x, y); a copy says where the first one is, and by how much all are moved
     * behind that. */
    int pixels; /* at most 1024 */
    int low[2], high[2], step[2];
    void *buffer; /* in a launch: the tensor's `buffer` handle; plans leave it NULL */
} optune_tensor_map;

typedef struct optune_stage {
    optune_phase phase;
    int module;
    const char *function; /* static text: a function in the module */
    int n_args;
    optune_arg arg[OPTUNE_MAX_ARGS];
    /* GPU launches; zero on cpu. `block` in threads, `grid` in blocks, a 0 counts as 1; `shared` is
     * the bytes of the body's SHARED pool (kernels/common/gpu.kernel.h) */
    int64_t grid[3];
    int64_t block[3];
    int64_t shared;
} optune_stage;

/* Adds a module made of the implementation's body; returns its index. */
OPTUNE_API int optune_plan_module(optune_plan *plan);
/* A macro of the module, once each: a number, or one line of C. Texts are copied. */
OPTUNE_API void optune_plan_define(optune_plan *plan, int module, const char *macro,
                                   int64_t value);
OPTUNE_API void optune_plan_define_text(optune_plan *plan, int module, const char *macro,
                                        const char *text);
/* Compiler flags this module needs beyond the target's, e.g. "-fno-tree-vectorize". */
OPTUNE_API void optune_plan_flag(optune_plan *plan, int module, const char *flag);
/* Adds a scratch buffer, 64-byte aligned. `constant`: zeroed once, then written by PREPACK
 * stages only and kept. Any other holds anything when a run begins: kernels that take turns
 * share it. Returns its index. */
OPTUNE_API int optune_plan_scratch(optune_plan *plan, const char *name, int64_t bytes,
                                   bool constant);
/* Adds a stage behind those of its phase; it is copied. */
OPTUNE_API void optune_plan_stage(optune_plan *plan, const optune_stage *stage);
/* The plan is of one image: what it times, all in one module, runs once for each place along dim 0
 * of input `input`, which is known at run time; `along` has a bit for each input that goes along,
 * as every output does. Called behind the last stage. CPUs only: a GPU's grid counts images. */
OPTUNE_API void optune_plan_repeat(optune_plan *plan, int input, uint64_t along);
/* Adds a list of `n` dims known at run time, each from optune_dim_arg or optune_output_dim_arg;
 * returns its index, for optune_dims_arg. */
OPTUNE_API int optune_plan_dims(optune_plan *plan, const optune_arg *dim, int n);
/* Adds a tensor map; returns its index, for optune_tensor_map_arg. */
OPTUNE_API int optune_plan_tensor_map(optune_plan *plan, const optune_tensor_map *map);
/* Offers to compute what is fused behind the call in the registers of the module's body, with
 * kernels/common/epilogue.kernel.h (for GPUs, epilogue_gpu.kernel.h, where lanes do not
 * matter): call it once the stage that writes output[0] has all its own arguments; it appends
 * the extra inputs. The lanes of a vector that the body passes to epilogue() are consecutive
 * elements within the output's dims `lanes_from` and up. Behind an output of 16-bit floats a CPU's
 * body must know extra inputs of 16 bits, by epilogue_half.kernel.h. False, and nothing is added:
 * nothing is fused, or not in this way; the harness then adds a stage behind the others, as it does
 * for implementations that never offer. */
OPTUNE_API bool optune_plan_fuse(const optune_task *task, optune_plan *plan,
                                 optune_stage *stage, int lanes_from);
/* Says, behind optune_plan_fuse, that an operand of what was fused that has output[0]'s own type
 * may lie in its memory: each element of the output is written once in a run, and whoever writes it
 * has read the operand's element at that place before, which nobody reads again. So sums are kept
 * elsewhere until they are finished, and no tile reaches into another one. A graph then lays a
 * residual that nobody else reads where the sum will be. Says nothing where nothing was fused. */
OPTUNE_API void optune_plan_in_place(optune_plan *plan);

#ifdef __cplusplus
}

/* The same words where there are no compound literals. */
#undef optune_input_arg
#undef optune_output_arg
#undef optune_scratch_arg
#undef optune_dim_arg
#undef optune_dims_arg
#undef optune_int_arg
#undef optune_symbol_arg
#undef optune_version_symbol_arg
#undef optune_tensor_map_arg
#undef optune_function_arg
#define optune_input_arg(i) (optune_arg{OPTUNE_ARG_INPUT, (int)(i), 0, 0, nullptr})
#define optune_output_arg(i) (optune_arg{OPTUNE_ARG_OUTPUT, (int)(i), 0, 0, nullptr})
#define optune_scratch_arg(i) (optune_arg{OPTUNE_ARG_SCRATCH, (int)(i), 0, 0, nullptr})
#define optune_dim_arg(i, d)                                                                   \
    (optune_arg{OPTUNE_ARG_DIM, (int)((i)*OPTUNE_MAX_RANK + (d)), 0, 0, nullptr})
#define optune_dims_arg(i, n)                                                                  \
    (optune_arg{OPTUNE_ARG_DIMS, (int)(i), (int64_t)(n), 0, nullptr})
#define optune_int_arg(v) (optune_arg{OPTUNE_ARG_INT, 0, (int64_t)(v), 0, nullptr})
#define optune_symbol_arg(s) (optune_arg{OPTUNE_ARG_SYMBOL, 0, 0, 0, (s)})
#define optune_version_symbol_arg(s, v) (optune_arg{OPTUNE_ARG_SYMBOL, 0, (int64_t)(v), 0, (s)})
#define optune_tensor_map_arg(i)                                                               \
    (optune_arg{OPTUNE_ARG_TENSOR_MAP, (int)(i), 0, 0, nullptr})
#define optune_function_arg(m, f) (optune_arg{OPTUNE_ARG_FUNCTION, (int)(m), 0, 0, (f)})
#endif
#endif
