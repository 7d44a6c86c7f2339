/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator means: its row, what it declares by its pattern, and what its functions
 * are given. Part of define.h.
 */
#ifndef OPTUNE_DEFINE_OP_H
#define OPTUNE_DEFINE_OP_H

#include "optune/types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * One scalar expression, written once with OPTUNE_SCALAR and used as text by templates on every
 * target, and as a function by references and fused epilogues: in double precision, and of integers
 * of 64 bits in integers, with a sign or without, modulo 2^64 (so one that divides is for floating
 * dtypes, or guards its divisor: s_select(x1 == 0, 1, x1)).
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
    int64_t (*with_sign)(const int64_t *x, const int64_t *a); /* NULL: `value` serves */
    uint64_t (*without_sign)(const uint64_t *x, const uint64_t *a);
} optune_scalar;

/* Holds what one operation makes of integers of 64 bits with a sign. */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 optune_wide;
#else
typedef int64_t optune_wide;
#endif

enum {
    OPTUNE_MAX_OPERANDS = 4, /* x0 .. x3 of a scalar expression */
    OPTUNE_MAX_NUMBERS = 8,  /* a0 .. a7 */
    OPTUNE_MAX_AXES = 12,    /* loops of a piece */
    OPTUNE_MAX_PIECES = 80,
};

#define OPTUNE_SCALAR_FUNCTION(name, type, wide, ...)                                          \
    static type name(const type *ot_x, const type *ot_a)                                       \
    {                                                                                          \
        const wide x0 = ot_x[0], x1 = ot_x[1], x2 = ot_x[2], x3 = ot_x[3];                     \
        const wide a0 = ot_a[0], a1 = ot_a[1], a2 = ot_a[2], a3 = ot_a[3];                     \
        const wide a4 = ot_a[4], a5 = ot_a[5], a6 = ot_a[6], a7 = ot_a[7];                     \
        (void)x0, (void)x1, (void)x2, (void)x3, (void)a0, (void)a1, (void)a2, (void)a3;        \
        (void)a4, (void)a5, (void)a6, (void)a7;                                                \
        return (type)(__VA_ARGS__);                                                            \
    }
/* Without a sign `x0 < 0` is never, as in a kernel of such elements: no mistake of who wrote it. */
#define OPTUNE_SCALAR_WITHOUT_SIGN(name, ...)                                                  \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wtype-limits\"")         \
        _Pragma("GCC diagnostic ignored \"-Wsign-compare\"")                                   \
            OPTUNE_SCALAR_FUNCTION(name, uint64_t, uint64_t, __VA_ARGS__)                      \
                _Pragma("GCC diagnostic pop")
/* Defines `id`, a const optune_scalar, from `error` (its ulps) and the expression. */
#define OPTUNE_SCALAR(id, error, ...)                                                          \
    OPTUNE_SCALAR_FUNCTION(id##_value, double, double, __VA_ARGS__)                            \
    OPTUNE_SCALAR_FUNCTION(id##_with_sign, int64_t, optune_wide, __VA_ARGS__)                  \
    OPTUNE_SCALAR_WITHOUT_SIGN(id##_without_sign, __VA_ARGS__)                                 \
    static const optune_scalar id = {.text = #__VA_ARGS__,                                     \
                                     .value = id##_value,                                      \
                                     .ulps = (error),                                          \
                                     .with_sign = id##_with_sign,                              \
                                     .without_sign = id##_without_sign}

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
    /* Calls over neighbouring inputs, and one over what they give, mean the same as one call: a
     * graph makes these of more inputs than one call can have. */
    bool joins;
    /* `reference` of an output of 64-bit integers exactly: the words of them, modulo 2^64. NULL:
     * what `reference` gives is below 2^53, or the operator is of a pattern. */
    void (*whole)(const optune_call *call, const void *const *in, int out_index,
                  const optune_region *region, uint64_t *out);
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
/* The i-th fused operator as a call of its own, the value it is applied to among its inputs. What
 * lies in `step` behind its counts is left as it was. */
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

#ifdef __cplusplus
}
#endif
#endif
