/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a contributor fills in: rows of the tables `op`, `strategy`, `impl`, `target`, `search`.
 * In tree, a file `<kind>_<name>.c` defines exactly one row with the macro of its kind, a file
 * `ops_`, `strategies_` or `impls_<name>.c` several that differ in little; the build finds it
 * by its name and a wrong name is a link error. Out of tree, a shared object
 * exports one `optune_plugin` with rows of any kind. Every field says what its absence means.
 *
 * kernels/ includes this header and kernels/ headers only.
 */
#ifndef OPTUNE_DEFINE_H
#define OPTUNE_DEFINE_H

#include "optune/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTUNE_ABI 9

/* ---- op: what an operator means ---------------------------------------------------------- */

/* TVM's TOpPattern, with its numbers. */
typedef enum optune_pattern {
    OPTUNE_ELEMWISE = 0,
    OPTUNE_BROADCAST = 1,
    OPTUNE_INJECTIVE = 2,
    OPTUNE_REDUCTION = 3,
    OPTUNE_OUT_FUSABLE = 4,
    OPTUNE_TUPLE = 7,
    OPTUNE_OPAQUE = 8,
} optune_pattern;

typedef struct optune_op_input {
    const char *name;
    const char *type; /* for people: "tensor [M,K]" */
    const char *description;
    bool optional; /* may be left out; only at the end */
    bool is_const; /* `const` unless the workload says `var` */
} optune_op_input;

typedef struct optune_op_attr {
    const char *name;
    optune_attr_kind kind;
    const char *value; /* default, as text; NULL: required */
    const char *description;
    int length;        /* INTS: required length; shorter lists repeat to fill it
                                ([1] -> [1,1], [p,q] -> [p,q,p,q]); 0: any length */
    int64_t min, max;  /* range of every integer; both 0: unbounded */
    const char *words; /* WORD: allowed words, separated by spaces; NULL: any */
    bool shown;        /* printed in canonical text even at its default */
    bool none;         /* INT: the word `none` is a value, too (an axis: all of them) */
} optune_op_attr;

/* A box in an output: [lo, hi) per dim. */
typedef struct optune_region {
    int rank;
    int64_t lo[OPTUNE_MAX_RANK], hi[OPTUNE_MAX_RANK];
} optune_region;

/* Named workloads of a real network, as canonical texts (defaults may be left out). */
typedef struct optune_preset {
    const char *name;
    const char *description;
    const char *const *workloads; /* NULL-terminated */
} optune_preset;

/* ---- what an op of a pattern declares ---------------------------------------------------- */

/*
 * One scalar expression, written once with OPTUNE_SCALAR and used twice: as text by templates on
 * every target, and as a function in double precision by references and fused epilogues.
 * `x0, x1 ...` are operands, `a0, a1 ...` the op's own attributes in order, as numbers (those of
 * other kinds are 0). The expression is in the C that C, CUDA and OpenCL share; functions go
 * through the s_ names of kernels/host/scalar.h, which it must include. It is computed in the
 * type of the op's last input (half types: float), the result is converted to the output's; an
 * operand of another dtype keeps its own type.
 */
typedef struct optune_scalar {
    const char *text; /* NULL: not declared */
    double (*value)(const double *x, const double *a);
    int ulps; /* error of one result over that of one rounding, on any target; 0: 1 */
} optune_scalar;

enum {
    OPTUNE_MAX_OPERANDS = 4, /* x0 .. x3 of a scalar expression */
    OPTUNE_MAX_NUMBERS = 8,  /* a0 .. a7 */
    OPTUNE_MAX_AXES = 12,    /* loops of a piece */
    OPTUNE_MAX_PIECES = 24,
};

/* Defines `id`, a const optune_scalar, from `error` (its ulps) and the expression. */
#define OPTUNE_SCALAR(id, error, ...)                                                          \
    static double id##_value(const double *ot_x, const double *ot_a)                           \
    {                                                                                          \
        const double x0 = ot_x[0], x1 = ot_x[1], x2 = ot_x[2], x3 = ot_x[3];                   \
        const double a0 = ot_a[0], a1 = ot_a[1], a2 = ot_a[2], a3 = ot_a[3];                   \
        const double a4 = ot_a[4], a5 = ot_a[5], a6 = ot_a[6], a7 = ot_a[7];                   \
        (void)x0, (void)x1, (void)x2, (void)x3, (void)a0, (void)a1, (void)a2, (void)a3;        \
        (void)a4, (void)a5, (void)a6, (void)a7;                                                \
        return (double)(__VA_ARGS__);                                                          \
    }                                                                                          \
    static const optune_scalar id = {.text = #__VA_ARGS__, .value = id##_value, .ulps = (error)}

/* A reduction over the axes that `axis`, `keepdims` and `exclude` name. */
typedef struct optune_reduce {
    const optune_scalar *identity; /* of combine: no operands */
    const optune_scalar *map;      /* x0: one value of the input */
    const optune_scalar *combine;  /* x0, x1: associative and commutative */
    const optune_scalar *finish;   /* x0: all combined, x1: how many there were */
    bool rounds; /* combine rounds, so that the error grows with the number of values */
} optune_reduce;

/* A part of an injective op's output: for every point p of a box of `rank` loops,
 * output[out_offset + sum out_stride*p] = input[in_offset + sum in_stride*p]. Offsets and strides
 * count elements; outermost loop first. The pieces of one output cover it once. */
typedef struct optune_piece {
    int input;   /* which; -1: all of it is `fill` */
    double fill; /* where there is no input */
    int rank;
    int64_t extent[OPTUNE_MAX_AXES];
    int64_t in_offset, in_stride[OPTUNE_MAX_AXES];
    int64_t out_offset, out_stride[OPTUNE_MAX_AXES];
} optune_piece;

/* Reverse mode under construction: what an operator's gradient rule adds to. */
typedef struct optune_grad optune_grad;

/* How an operator of [N,C,H,W] computes the same over blocks of c channels, [N,C/c,H,W,c]. What
 * declares a scalar expression needs none. */
typedef struct optune_op_blocks {
    int inputs;      /* the first so many are in blocks, others stay as they are; 0: all are */
    const char *in;  /* its attribute that says their layout: NCHW or NCHW<c>c; NULL: none */
    const char *out; /* the output's, which may then be another one; NULL: it is in `in`'s */
    const char
        *axis; /* its attribute that names a dim, which must be the channels; NULL: none */
} optune_op_blocks;

typedef struct optune_op {
    const char *name;
    const char *summary;
    const optune_op_input *inputs; /* ends at a NULL name */
    const optune_op_attr *attrs;   /* ends at a NULL name; NULL: none. `math` is added to all */
    int n_outputs;                 /* the most there can be */
    const char *const *output_names; /* NULL: "output" */
    optune_pattern pattern;
    int support_level;

    /* Type relation: sees inputs and outputs together, fills what it can in both, in either
     * direction. Returns OPTUNE_OK when all is known, 1 when something is still unknown, or a
     * negative status with a message that names the argument and both types. Where attributes can
     * say one thing in several ways (an axis counted from the end), it writes one of them. */
    int (*types)(optune_call *call, optune_err *err);

    double (*flops)(const optune_call *call); /* NULL: 0, and no rate is shown */
    double (*bytes)(const optune_call *call); /* compulsory traffic; NULL: sum of all tensors */
    /* Number of products or values accumulated into one output element; NULL: 1. The error
     * bound grows with it. */
    double (*terms)(const optune_call *call);

    /* Double precision reference. Writes `region` of output `out_index`, dense and row-major
     * in the region's own extents: values to `out`, and to `magnitude` the sum of absolute
     * products, or |value| where nothing accumulates; the error bound is
     * scale * growth(terms) * eps * magnitude. in[i] is NULL for an input left out. The whole
     * output is the region 0..dim. Never fails for a call whose types are solved. */
    void (*reference)(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude);

    const optune_preset
        *presets;               /* ends at a NULL name; the first is the default; NULL: none */
    const char *const *samples; /* small workloads for contract tests, odd sizes among them;
                                        NULL-terminated; required */
    /* How many outputs a call with these attributes has, 1 .. n_outputs; sees attributes only.
     * NULL: n_outputs, always. */
    int (*outputs)(const optune_call *call);

    /* What an op of a pattern declares, at most one of the three; it then gets every
     * implementation and strategy row of that pattern. NULL: none. */
    const optune_scalar *scalar; /* OPTUNE_ELEMWISE, OPTUNE_BROADCAST: one per input of xk */
    const optune_reduce *reduce; /* OPTUNE_REDUCTION */
    /* OPTUNE_INJECTIVE: the pieces of a call whose types are solved; returns how many there
     * are, at most OPTUNE_MAX_PIECES, or a negative status: too many. */
    int (*pieces)(const optune_call *call, optune_piece piece[OPTUNE_MAX_PIECES]);

    /* Shape function of an op whose output dims depend on the inputs' values: fills the unknown
     * dims of call->output[] from the data (in[i] is dense, row-major, of the input's type, in the
     * calling process's memory); what the values do not allow (a step of 0) it refuses. The type
     * relation bounds these dims by ranges. Kernels and the reference see the bounds as dims, and
     * an output is filled whole: the elements of the true shape, dense, then zeros. NULL: the type
     * relation over concrete input dims tells all. */
    int (*shape)(optune_call *call, const void *const *in, optune_err *err);
    /* Adds to the adjoints of the inputs, with the functions below. NULL: it has no gradient,
     * which is an error that names it when one is asked for. */
    int (*gradient)(optune_grad *grad, const optune_call *call, optune_err *err);
    /* Sums of 16-bit floats are kept in float32, on any target, and rounded once at the end:
     * the bound grows with float32's rounding. False: every addition may round to the output's
     * type. */
    bool float32_sums;
    /* Instead of `reference`, for an operator whose meaning is somebody's code: the implementation
     * whose outputs are right, with its fallback config. It is built for `standard_target` (NULL:
     * the target at hand) and run once for each set of inputs, in a process of its own. A result is
     * right within absolute + relative * |right|, integers where they are equal; negative: what is
     * usual for each output's type. */
    const char *standard, *standard_target;
    double absolute, relative;
    /* The values that an input may hold, both ends included, where a kernel cannot take any, or
     * others make no sense. False: any. NULL: any for all of them. With a shape function only whole
     * numbers are drawn. */
    bool (*range)(const optune_call *call, int input, double *low, double *high);
    /* What else says whether a run is right, for people: "its exit status". NULL: nothing. */
    const char *judge;
    /* Operators that are computed by the same schedules, one word: rows of implementations and of
     * strategies that name it serve all of them. NULL: none. */
    const char *family;
    const optune_op_blocks *blocks; /* NULL: it has no such form */
    /* What a cost is, for people: "its wall time", "1/rate". NULL: the time of one run. */
    const char *minimised;
    bool unitless; /* it is not in seconds */
} optune_op;

/* The rest of such a row, from its declaration: `OPTUNE_OP(add) = {.name = "add", ...,
 * OPTUNE_BROADCAST_OP(add_scalar)};`. Relations over unknown and symbolic dims: elementwise has
 * inputs and output of one shape, broadcast NumPy's rule, reduce the attributes `axis`,
 * `keepdims` and `exclude`. All inputs have one dtype, the output too; write `types` where that
 * is not so. An injective op gives its own. */
#define OPTUNE_ELEMWISE_OP(declared)                                                           \
    .pattern = OPTUNE_ELEMWISE, .n_outputs = 1, .scalar = &(declared),                         \
    .types = optune_elemwise_types, .flops = optune_pattern_flops,                             \
    .terms = optune_pattern_terms, .reference = optune_pattern_reference
#define OPTUNE_BROADCAST_OP(declared)                                                          \
    .pattern = OPTUNE_BROADCAST, .n_outputs = 1, .scalar = &(declared),                        \
    .types = optune_broadcast_types, .flops = optune_pattern_flops,                            \
    .terms = optune_pattern_terms, .reference = optune_pattern_reference
#define OPTUNE_INJECTIVE_OP(function)                                                          \
    .pattern = OPTUNE_INJECTIVE, .n_outputs = 1, .pieces = (function),                         \
    .reference = optune_pattern_reference
#define OPTUNE_REDUCTION_OP(declared)                                                          \
    .pattern = OPTUNE_REDUCTION, .n_outputs = 1, .reduce = &(declared),                        \
    .types = optune_reduce_types, .flops = optune_pattern_flops,                               \
    .terms = optune_pattern_terms, .reference = optune_pattern_reference
/* One whose meaning is code, with one output behind which elementwise operators may be fused: its
 * type relation, what counts operations and terms (NULL: as above), its reference. */
#define OPTUNE_OUT_FUSABLE_OP(relation, operations, summands, meaning)                         \
    .pattern = OPTUNE_OUT_FUSABLE, .n_outputs = 1, .types = (relation), .flops = (operations), \
    .terms = (summands), .reference = (meaning)

#define OPTUNE_OP(id)                                                                          \
    extern const optune_op optune_op_##id;                                                     \
    const optune_op optune_op_##id
/* A file ops_<id>.c: as many as there are, and {0} behind the last. */
#define OPTUNE_OPS(id)                                                                         \
    extern const optune_op optune_ops_##id[];                                                  \
    const optune_op optune_ops_##id[]

/* What op code needs of calls and types. Bad names are our bug: they assert. An attribute by name:
 * itself; an INT that is not `none`, or a BOOL; whether an INT is `none`; the values of INTS; a
 * WORD. What is returned by address belongs to the call. */
OPTUNE_API const optune_attr *optune_call_attr(const optune_call *call, const char *name);
OPTUNE_API int64_t optune_call_int(const optune_call *call, const char *name);
OPTUNE_API bool optune_call_none(const optune_call *call, const char *name);
OPTUNE_API const int64_t *optune_call_ints(const optune_call *call, const char *name);
OPTUNE_API const char *optune_call_word(const optune_call *call, const char *name);
/* Inputs of the whole call: its operator's and those of what is fused behind it. */
OPTUNE_API int optune_call_inputs(const optune_call *call);
/* The i-th fused operator as a call of its own, the value it is applied to among its inputs. */
OPTUNE_API void optune_call_step(const optune_call *call, int i, optune_call *step);
/* Fuses `next`, applied to output[0] through its input `chain`, behind the call. ETYPE: it is
 * neither elementwise nor broadcast, declares no `scalar`, or changes shape or dtype; ELIMIT.
 * The call is untouched on failure. */
OPTUNE_API int optune_call_fuse(optune_call *call, const optune_call *next, int chain,
                                optune_err *err);
OPTUNE_API bool optune_dim_known(const optune_dim *dim); /* it is a constant */
OPTUNE_API optune_dim optune_dim_of(int64_t value);      /* a constant */
OPTUNE_API bool
optune_tensor_known(const optune_tensor *type); /* dtype, rank, all dims constant */
OPTUNE_API int64_t optune_tensor_elements(const optune_tensor *type); /* of a known type */
OPTUNE_API int64_t optune_tensor_bytes(const optune_tensor *type);    /* of a known type */
OPTUNE_API bool optune_dtype_equal(optune_dtype a, optune_dtype b);
/* Make both describe the same: narrows ranges, copies names, fills unknowns. Returns false on a
 * conflict and leaves both as they were. */
OPTUNE_API bool optune_dim_unify(optune_dim *a, optune_dim *b);
OPTUNE_API bool optune_dtype_unify(optune_dtype *a, optune_dtype *b);
/* Of a relation that computes a dim of others, so that two dims which are computed alike are known
 * to be one: names `to`, where it has no name and is no constant, floor((plus + sum of times[i] *
 * from[i]) / over); times NULL: 1 each. The same of the product of all over a number. Left alone
 * where one of `from` has neither name nor value, or no text of an expression would hold it. The
 * range is the relation's to narrow; what is named must hold for every size in it. */
OPTUNE_API void optune_dim_compute(optune_dim *to, int n, const optune_dim *const *from,
                                   const int64_t *times, int64_t plus, int64_t over);
OPTUNE_API void optune_dim_multiply(optune_dim *to, int n, const optune_dim *const *from,
                                    int64_t over);
/* The dim's name as texts of types have it: "m", "(m+1)/2". A name that begins with '#' stands for
 * a longer text. Valid for good, or as long as the dim where it is the name itself. */
OPTUNE_API const char *optune_dim_text(const optune_dim *dim);
/* Gives an unknown type this rank with unknown dims; false when it has another rank. */
OPTUNE_API bool optune_tensor_set_rank(optune_tensor *type, int rank);
/* Formats into err and returns status, so that a failure is one line. err may be NULL. */
OPTUNE_API int optune_fail(optune_err *err, int status, const char *format, ...)
    OPTUNE_PRINTF(3, 4);
/* Formats one sentence into why[OPTUNE_WHY_SIZE] and returns false. why may be NULL. */
OPTUNE_API bool optune_refuse(char *why, const char *format, ...) OPTUNE_PRINTF(2, 3);

/* Of ops that declare a pattern (strategy/pattern_*.c): their type relation (OK, 1 while something
 * is unknown, ETYPE), operations, terms of the error bound, and reference. */
OPTUNE_API int optune_elemwise_types(optune_call *call, optune_err *err);
OPTUNE_API int optune_broadcast_types(optune_call *call, optune_err *err);
OPTUNE_API int optune_reduce_types(optune_call *call, optune_err *err);
OPTUNE_API double optune_pattern_flops(const optune_call *call);
OPTUNE_API double optune_pattern_terms(const optune_call *call);
OPTUNE_API void optune_pattern_reference(const optune_call *call, const void *const *in,
                                         int out_index, const optune_region *region,
                                         double *out, double *magnitude);
/* Shapes only, dtypes left alone: for relations of ops whose dtypes differ. Inputs first..last
 * broadcast to the output. OK, 1 or ETYPE. */
OPTUNE_API int optune_broadcast_shapes(optune_call *call, int first, int last, optune_err *err);
/* "'data' is f32[4,?], 'output' is f32[3,4]: why": ETYPE. */
OPTUNE_API int optune_types_differ(optune_err *err, const char *why, const char *a_name,
                                   const optune_tensor *a, const char *b_name,
                                   const optune_tensor *b);
/* a0, a1 ...: the op's own attributes as numbers; all OPTUNE_MAX_NUMBERS are written. */
OPTUNE_API void optune_call_numbers(const optune_call *call, double *number);
/* The nearest value that an integer type has: a limit beyond all of them is no limit. Of bool 0, or
 * 1 for all above it. Of other types the value as it is. */
OPTUNE_API double optune_number_in(optune_dtype dtype, double value);
/* Which dims of the first input a reduction reduces, as bits; its rank must be known. */
OPTUNE_API uint32_t optune_reduce_axes(const optune_call *call);

/* True when the target names this library in -libs. */
OPTUNE_API bool optune_target_has_lib(const optune_target *target, const char *lib);

/* What a gradient rule is made of. Values are numbers: the call's own inputs and outputs, the
 * adjoints of its outputs (of the same type), and what optune_grad_call makes of them. A negative
 * value is a failure that was noted; passing it on is fine, and the rule's caller reports it. */
OPTUNE_API int optune_grad_input(optune_grad *grad, int i);
OPTUNE_API int optune_grad_output(optune_grad *grad, int i);
OPTUNE_API int optune_grad_adjoint(optune_grad *grad,
                                   int i); /* zeros when nothing depends on it */
/* A call in the graph of gradients: `attrs` is a format, "axis=%d, keepdims=true", or NULL. */
OPTUNE_API int optune_grad_call(optune_grad *grad, const char *op, int n, const int *inputs,
                                const char *attrs, ...) OPTUNE_PRINTF(5, 6);
/* The same with the attributes of the rule's own call that `op` has, too, but for those in `attrs`
 * and words that `op` does not know. */
OPTUNE_API int optune_grad_same(optune_grad *grad, const char *op, int n, const int *inputs,
                                const char *attrs, ...) OPTUNE_PRINTF(5, 6);
/* Calls of one and of two inputs without attributes. */
OPTUNE_API int optune_grad_unary(optune_grad *grad, const char *op, int a);
OPTUNE_API int optune_grad_binary(optune_grad *grad, const char *op, int a, int b);
/* Output i of a call that has several. */
OPTUNE_API int optune_grad_get(optune_grad *grad, int value, int i);
/* A constant of a value's dtype and no dims. */
OPTUNE_API int optune_grad_scalar(optune_grad *grad, int like, double number);
/* The value with the shape of another of as many elements. */
OPTUNE_API int optune_grad_reshape(optune_grad *grad, int value, const optune_tensor *shape);
/* The type of a value; it belongs to the graph. */
OPTUNE_API const optune_tensor *optune_grad_type(const optune_grad *grad, int value);
/* True when the adjoint of input i is wanted: what only it needs can be left out. */
OPTUNE_API bool optune_grad_wants(const optune_grad *grad, int i);
/* Adds `value` to the adjoint of input i. Where the input was broadcast, the value is summed down
 * to its shape. An input that nothing is added to does not change the output. */
OPTUNE_API void optune_grad_add(optune_grad *grad, int i, int value);

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
     * it knows of none of them is refused. NULL: only named symbolic dims of the call itself. */
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

    /* Whether it can compute this at all; false with a sentence in `why`. NULL: always. */
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
 * number is looked at: when nothing is found the choice stays as it is, and selection passes
 * the implementation over. */
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
    OPTUNE_ARG_SYMBOL,  /* symbol: a function of the implementation's library, by name */
    OPTUNE_ARG_DIM,     /* optune_dim_arg, optune_output_dim_arg; its run-time value, as INT */
    OPTUNE_ARG_TENSOR_MAP, /* index: what optune_plan_tensor_map returned */
    OPTUNE_ARG_FUNCTION,   /* symbol: a function of module `index`, see optune_function_arg */
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
#define optune_int_arg(v) ((optune_arg){.kind = OPTUNE_ARG_INT, .value = (v)})
#define optune_symbol_arg(s) ((optune_arg){.kind = OPTUNE_ARG_SYMBOL, .symbol = (s)})
#define optune_tensor_map_arg(i) ((optune_arg){.kind = OPTUNE_ARG_TENSOR_MAP, .index = (i)})
/* On CPUs: the address of another module's function, an entry point like that of a stage. A module
 * is compiled once for all configs that define the same macros in it, so what few knobs decide
 * (a transform around the loops that most of them are about) costs next to nothing when it lies in
 * a module of its own. */
#define optune_function_arg(m, f)                                                              \
    ((optune_arg){.kind = OPTUNE_ARG_FUNCTION, .index = (m), .symbol = (f)})

enum {
    OPTUNE_MAX_MODULES = 6,
    OPTUNE_MAX_DEFINES = 96, /* of one module */
    OPTUNE_MAX_SCRATCH = 16,
    OPTUNE_MAX_STAGES = 16,
    OPTUNE_MAX_ARGS = 24, /* of one stage */
    OPTUNE_MAX_TENSOR_MAPS = 6,
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
OPTUNE_API void optune_plan_repeat(optune_plan *plan, int input, uint32_t along);
/* Adds a tensor map; returns its index, for optune_tensor_map_arg. */
OPTUNE_API int optune_plan_tensor_map(optune_plan *plan, const optune_tensor_map *map);
/* Offers to compute what is fused behind the call in the registers of the module's body, with
 * kernels/common/epilogue.kernel.h (for GPUs, epilogue_gpu.kernel.h, where lanes do not
 * matter): call it once the stage that writes output[0] has all its own arguments; it appends
 * the extra inputs. The lanes of a vector that the body passes to epilogue() are consecutive
 * elements within the output's dims `lanes_from` and up. False, and nothing is added: nothing
 * is fused, or not in this way; the harness then adds a stage behind the others, as it does for
 * implementations that never offer. */
OPTUNE_API bool optune_plan_fuse(const optune_task *task, optune_plan *plan,
                                 optune_stage *stage, int lanes_from);

/* ---- search: which config to try next ---------------------------------------------------- */

/* A trial of the same implementation elsewhere: of another workload, on another device, by an
 * earlier version of it. */
typedef struct optune_transfer {
    int64_t index; /* in the space at hand: the same values, or the nearest that it has */
    double cost;   /* seconds there; infinity: it failed */
} optune_transfer;

/* Trials elsewhere that were measured alike: only their costs compare. */
typedef struct optune_source {
    double likeness; /* to what is searched, as far as can be told before: 1, or less */
    int n;
    const optune_transfer *trial; /* ascending indices, each once */
} optune_source;

/* What a search may know. It never measures, sleeps or looks at the clock. */
typedef struct optune_search_view {
    const optune_space *space;
    uint64_t seed;
    void *state; /* `state_size` bytes, zeroed, aligned to 16, owned by the core */
    /* True when this config is known to be valid by arithmetic and was not asked before. */
    bool (*fresh)(const struct optune_search_view *view, int64_t index);
    void *core;
    int n_pending;          /* asked and not told yet; they are no longer fresh */
    const int64_t *pending; /* which, oldest first */
    double left;   /* how many more this search will be asked for, this one included, as
                               far as trials and time tell; 0: nothing is known */
    int n_sources; /* from the first ask on */
    const optune_source *source;
    /* The implementation's estimate of a valid config, which compares configs; NAN: it has none.
     * NULL where no config has. */
    double (*estimate)(const struct optune_search_view *view, int64_t index);
} optune_search_view;

/* How one trial ended. */
typedef struct optune_told {
    int64_t index;
    double cost;    /* seconds; infinity for a bad candidate */
    int outcome;    /* optune_outcome_kind: how it failed, where it did */
    double seconds; /* what the trial took, compiling and verifying included; 0: unknown */
} optune_told;

typedef struct optune_search {
    const char *name;
    const char *summary; /* what it is and what it is good for, one line */
    size_t state_size;
    int (*start)(optune_search_view *view); /* 0, or a negative status; NULL: nothing to do */
    /* One fresh index; -1 when nothing is left, which ends the search. Asked again before it is
     * told: what it gave is no longer fresh. */
    int64_t (*ask)(optune_search_view *view);
    /* One trial ended. Also called for configs the search did not ask for (hints from earlier
     * records). NULL: ignored. */
    void (*tell)(optune_search_view *view, const optune_told *told);
    void (*stop)(optune_search_view *view); /* NULL: nothing to release */
} optune_search;

#define OPTUNE_SEARCH(id)                                                                      \
    extern const optune_search optune_search_##id;                                             \
    const optune_search optune_search_##id

/* A fresh index drawn at random, each valid one as likely as the others however rare they are.
 * -1: nothing fresh is left, or so little in so large a space that it was not found. */
OPTUNE_API int64_t optune_search_draw(const optune_search_view *view, uint64_t *rng);

/* What a search needs of a space. Indices are 0 .. size-1; some may be invalid. */
OPTUNE_API int64_t optune_space_size(const optune_space *space); /* product of all radices */
/* How many knobs there are, how many entities one has, and an index as one digit per knob. */
OPTUNE_API int optune_space_knobs(const optune_space *space);
OPTUNE_API int64_t optune_space_radix(const optune_space *space, int knob);
OPTUNE_API void optune_space_digits(const optune_space *space, int64_t index, int64_t *digit);
OPTUNE_API int64_t optune_space_index(const optune_space *space, const int64_t *digit);
/* Whether the entities of a knob are numbers, of which more or less means something: sizes,
 * counts, words that are numbers. Not so for other words, annotations and permutations. */
OPTUNE_API bool optune_space_ordered(const optune_space *space, int knob);
/* The numbers that an entity is made of, the same count for every entity of the knob: the sizes
 * of a split, the value of a scalar, one for each axis of an annotation or a permutation; for a
 * word that is no number, its digit. Returns the count, at most OPTUNE_MAX_LIST. */
OPTUNE_API int optune_space_numbers(const optune_space *space, int knob, int64_t digit,
                                    double *number);
/* All indices, maybe invalid ones, that differ from this one by one step of one knob; returns
 * how many, at most `max`. */
OPTUNE_API int optune_space_neighbours(const optune_space *space, int64_t index, int64_t *out,
                                       int max);
/* A seeded generator; the only randomness in the house. */
OPTUNE_API uint64_t optune_random(uint64_t *state);                 /* advances; 64 bits */
OPTUNE_API int64_t optune_random_below(uint64_t *state, int64_t n); /* uniform 0 .. n-1 */
OPTUNE_API double optune_random_unit(uint64_t *state);              /* [0, 1) */

/* ---- target: where code runs ------------------------------------------------------------- */

typedef struct optune_argv { /* a command line under construction; no shell ever sees it */
    int n;
    char *word[128]; /* each from malloc, NULL-terminated list */
} optune_argv;
/* Adds a copy of the word; frees all words. */
OPTUNE_API void optune_argv_add(optune_argv *argv, const char *word);
OPTUNE_API void optune_argv_release(optune_argv *argv);

/* One stage with its arguments resolved to addresses or device pointers. */
typedef struct optune_launch {
    void *function; /* from `symbol` */
    const optune_stage *stage;
    void *arg[OPTUNE_MAX_ARGS]; /* buffers: `buffer` handles; INT, DIM, FLOAT: address of the
                                   value; SYMBOL: the function's address; TENSOR_MAP: a const
                                   optune_tensor_map with its buffer */
} optune_launch;

/* What runs in the process that loads modules, the worker's mostly: `state` is state_size
 * bytes, zeroed. Every slot is as wide as a pointer. */
typedef struct optune_target_worker {
    size_t state_size;
    int (*open)(void *state, const optune_target *target, const optune_device *device,
                optune_err *err);
    void (*close)(void *state);
    int (*load)(void *state, const char *module, void **handle, optune_err *err);
    void (*unload)(void *state, void *handle);
    void *(*symbol)(void *state, void *handle, const char *function);
    /* Opens the library an implementation calls and returns a function of it. */
    void *(*library)(void *state, const char *library, const char *function, optune_err *err);
    /* A buffer that kernels can use. `guarded`: a write past its end is caught (`intact`, or a
     * crash of the worker). */
    int (*alloc)(void *state, int64_t bytes, bool guarded, void **buffer, optune_err *err);
    void (*free)(void *state, void *buffer);
    int (*write)(void *state, void *buffer, const void *from, int64_t bytes);
    int (*read)(void *state, const void *buffer, void *to, int64_t bytes);
    bool (*intact)(void *state, void *buffer); /* false: written outside */
    /* Where this process can touch a buffer. NULL: it cannot. */
    void *(*address)(void *state, void *buffer);
    /* Runs the launches in order, once, and waits. */
    int (*run)(void *state, const optune_launch *launch, int n, optune_err *err);
    /* Runs them `count` times and returns the seconds this took, negative on failure. */
    double (*time)(void *state, const optune_launch *launch, int n, int64_t count,
                   optune_err *err);
    /* Hardware counters over one run, all threads: writes "name=value" lines, or an empty
     * text and the reason in `why`. NULL: none. */
    void (*counters)(void *state, const optune_launch *launch, int n, char *text, size_t size,
                     char *why);
    /* Makes *buffer (NULL: a new one) stand for memory of this process, which kernels then use as
     * it is. NULL: kernels cannot, and copies are made. */
    int (*alias)(void *state, void **buffer, void *memory);

    /* False when this process can run nothing more, as after a fault on the device: the worker
     * is started again. NULL: always true. */
    bool (*alive)(void *state);
    /* Replaces what the caches hold, for the measuring policy `cold`. NULL: it cannot be done. */
    int (*flush)(void *state);
    /* Not 0: what `time` returns is a cost of another kind, which this machine's clock says nothing
     * about: anything above 0. */
    intptr_t costs;
} optune_target_worker;

/* What needs no state: it runs in the asking process, `compile`'s command and `translate` in
 * processes of their own. Every slot is as wide as a pointer. */
typedef struct optune_target_row {
    const char *name; /* "cpu" */
    const char *summary;
    const char *const *keys;   /* strategy keys, most specific first; NULL-terminated */
    const char *source_suffix; /* ".c", ".cu" */
    const char *module_suffix; /* ".so", ".cubin" */

    /* Finds the device. ENODEV with what is missing and where it was looked for. Called in
     * the process that tunes, never by one that only selects for a stored key. */
    int (*probe)(const optune_target *target, optune_device *device, optune_err *err);
    /* What generated code depends on here: "compiler=gcc 12.2.0". Writes "name=value" lines. */
    int (*dependencies)(const optune_target *target, const optune_impl *impl, char *text,
                        size_t size, optune_err *err);
    /* Command that turns `source` into `module`; runs in parallel in processes of its own. */
    int (*compile)(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err);
    /* The device that the target's options describe (-arch=sm_90), for building where there is
     * none. NULL, or ENODEV: its options do not. */
    int (*assume)(const optune_target *target, optune_device *device, optune_err *err);
    /* The inside of a compiler process that is the worker program itself: what `compile` put
     * after `--compile NAME`. Says what is wrong on stdout; returns the exit code. NULL: none. */
    int (*translate)(char **word, int n);
    /* What a module uses, as its compiler said: a line "kernel=f registers=32 shared=512
     * spilled=0" for each kernel. NULL: nothing is known. */
    int (*resources)(const char *module, char *text, size_t size, optune_err *err);
    double patience_s; /* that building a module may take, and a trial; 0: 20 */

    const char *like; /* another target's name: each slot that this row leaves out, the worker's
                         too, is as there. They share the other's state. NULL: this row is
                         whole */
    optune_target_worker worker;
} optune_target_row;

/* The row of a target as it is used, so that one that is `like` it can call its hooks. NULL:
 * none. */
OPTUNE_API const optune_target_row *optune_target_find(const char *name);

#define OPTUNE_TARGET(id)                                                                      \
    extern const optune_target_row optune_target_##id;                                         \
    const optune_target_row optune_target_##id

/* ---- plugins ----------------------------------------------------------------------------- */

/* A shared object exports one of these, named `optune_plugin`: `OPTUNE_PLUGIN = {.abi =
 * OPTUNE_ABI, ...};` defines it. All lists end with NULL and may be NULL. A name that exists
 * already is an error, except a strategy: it overrides. */
struct optune_plugin {
    uint32_t abi; /* OPTUNE_ABI */
    const char *name;
    const optune_op *const *ops;
    const optune_strategy *const *strategies;
    const optune_impl *const *impls;
    const optune_target_row *const *targets;
    const optune_search *const *searches;
};

#define OPTUNE_PLUGIN                                                                          \
    OPTUNE_API extern const struct optune_plugin optune_plugin;                                \
    const struct optune_plugin optune_plugin

#ifdef __cplusplus
}
#endif
#endif
