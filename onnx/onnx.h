/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX models as graphs. Reading a file and its bounds, names to values, what a node of a model
 * becomes. May use base, call and graph; knows no target, no store and no clock.
 *
 * A value is a constant, whose elements are known, or something in the graph. Calls on constants
 * alone are computed at once, by the operators' references, and constants enter the graph when
 * something uses them: what is folded away leaves nothing behind.
 */
#ifndef OPTUNE_ONNX_ROOM_H
#define OPTUNE_ONNX_ROOM_H

#include "graph/graph.h"
#include "onnx/schema.h"

/* The newest opset whose operators are known; files of newer ones are refused. */
enum { OT_ONNX_OPSET = 28 };

typedef struct ot_onnx_nbits ot_onnx_nbits;
typedef struct ot_onnx_sequence ot_onnx_sequence;
typedef struct ot_onnx_integers ot_onnx_integers;
typedef struct ot_onnx_value {
    optune_tensor type;  /* of a constant; else ot_onnx_type knows */
    void *data;          /* a constant's elements, or NULL */
    ot_backing *backing; /* has `data`, which ot_onnx_look makes readable; or NULL */
    int depth;           /* of what is computed from what, whenever somebody holds it */
    bool held;
    bool lent;   /* they are the graph's */
    bool failed; /* made by a node that could not be read */
    /* A constant of 4 bits, an element a byte here, which few operators read. */
    bool nibbles;
    const optune_dim *sizes;    /* a list of sizes without `data`: numbers, and what only a run
                                knows; or NULL */
    const ot_onnx_nbits *nbits; /* a product's right side, and nothing else; or NULL */
    const ot_onnx_integers *integers; /* that it was dequantised from; or NULL */
    bool later;                       /* it is not computed yet: see ot_onnx_settle */
    struct ot_onnx_value *last;       /* the same image with channels last; or NULL */
    ot_onnx_sequence *sequence;       /* several values, and no tensor; or NULL */
    struct ot_onnx_value *
        *more;  /* of what a call gives on constants: outputs 1, 2 ...; or NULL */
    int node;   /* in the graph; -1: not there yet */
    int number; /* its row */
} ot_onnx_value;

/* How often a name is used, and by which node last. */
typedef struct ot_onnx_use {
    int count, node;
} ot_onnx_use;

/* Elements that stay in a file: at least so many bytes of them; less is read with the model. */
enum { OT_ONNX_LARGE = 1 << 16, OT_ONNX_SECRET = 12 };
typedef struct ot_onnx_file ot_onnx_file;
typedef struct ot_onnx_piece {
    ot_onnx_file *file;
    int64_t offset, bytes;
    uint64_t digest;
    bool known; /* the digest; else the file's time of change tells */
    bool bools; /* any byte but 0 is true */
} ot_onnx_piece;
typedef struct ot_onnx_pieces {
    ot_onnx_file *file; /* the model's */
    uint8_t secret[OT_ONNX_SECRET];
    int n, capacity;
    ot_onnx_piece *piece;
} ot_onnx_pieces; /* zero to start */

/* Nodes that could not be read: those of one operator with one reason are one line. */
typedef struct ot_onnx_failure {
    const char *op, *reason, *node; /* node: the first */
    int count;
} ot_onnx_failure;
typedef struct ot_onnx_failures {
    int n, capacity, nodes;
    int status; /* of the first */
    ot_onnx_failure *all;
} ot_onnx_failures; /* zero to start; the arena's */

/* A graph while it is read: the model's, or a body in one of its nodes, which sees what is around
 * it. */
typedef struct ot_onnx_scope {
    const struct ot_onnx_scope *outer; /* NULL: the model's */
    const ot_onnx_graph *graph;
    ot_rows nodes;  /* its own, with those of functions in place of their calls */
    ot_names names; /* of values, to rows of the model's `values` */
    ot_names used;  /* names that nodes or outputs read, to `use` */
    ot_onnx_use *use;
    ot_names makers; /* names to the nodes that make them */
    bool *done;      /* nodes that were read together with one before them */
} ot_onnx_scope;

/* A symbolic dim of the inputs: what it is called here, and by the file; NULL: by nobody. */
typedef struct ot_onnx_dim_name {
    char name[OPTUNE_DIM_NAME_SIZE];
    const char *whole;
} ot_onnx_dim_name;

typedef struct ot_onnx {
    const char *path;
    ot_onnx_pieces pieces;
    ot_rows outside; /* external files that were read: their names ... */
    ot_rows files;   /* ... and the files */
    ot_onnx_model *model;
    ot_onnx_scope *at; /* what is read now */
    int n_nodes;       /* of all that was read */
    int n_bodies;      /* that were read */
    int depth;         /* of those inside each other */
    int calls;         /* of functions */
    int64_t opset;
    const optune_binding *bind;
    int n_bind;
    bool partial; /* what cannot be read is left out */
    optune_graph *g;
    ot_arena arena;
    ot_rows values;     /* all of them, constants without a name, too */
    ot_names dim_names; /* of symbolic dims, as the file has them, to rows of `dims` */
    ot_rows dims;       /* ot_onnx_dim_name */
    double computed;    /* bytes of elements that no file holds */
    ot_onnx_failures failures;
} ot_onnx;

/* ---- family_*.c: the table of ONNX operators ---------------------------------------------- */

typedef struct ot_onnx_node ot_onnx_node;
typedef struct ot_onnx_op {
    const char *name; /* the operator's, as files call it; domain::name of others than ONNX's */
    int (*make)(
        ot_onnx_node *node); /* gives the node's outputs values; fails with the reason; 1: it
                                failed by a node of its body, which is noted */
    const char *arg;         /* what `make` wants to know: an operator of ours, usually */
} ot_onnx_op;
/* A file's text, which may be absent. */
static inline const char *ot_onnx_text_of(const char *s)
{
    return s ? s : "";
}

/* Node i of what is read now. */
static inline const ot_onnx_proto *ot_onnx_proto_at(const ot_onnx *m, int i)
{
    return m->at->nodes.row[i];
}

typedef struct ot_onnx_family {
    const ot_onnx_op *ops; /* ends at a NULL name */
} ot_onnx_family;
extern const ot_onnx_family *const ot_family_table[];

#define OT_ONNX_FAMILY(id)                                                                     \
    extern const ot_onnx_family ot_onnx_family_##id;                                           \
    const ot_onnx_family ot_onnx_family_##id

/* A node while it is read. */
struct ot_onnx_node {
    ot_onnx *m;
    const ot_onnx_proto *proto;
    const ot_onnx_op *op;
    int index; /* of `nodes` */
    optune_err *err;
};

/* ---- failures.c: nodes that cannot be read --------------------------------------------------- */
const char *ot_onnx_node_name(const ot_onnx_proto *proto);
void ot_onnx_note(ot_onnx *m, const ot_onnx_proto *proto, const optune_err *why);
/* The same of an input or an initializer, which is no node. */
void ot_onnx_note_tensor(ot_onnx *m, const char *what, const char *name, const optune_err *why);
/* One message for as many as fit; its status. */
int ot_onnx_report(const ot_onnx *m, optune_err *err);
/* All of them, a line each, for what goes on without them; the graph's. */
const char *ot_onnx_lines(ot_onnx *m);

/* ---- file.c: reading and bounds ------------------------------------------------------------ */
/* The whole file; memory is bounded by its size. */
int ot_onnx_open(const char *path, ot_onnx_model **model, ot_onnx_pieces *pieces,
                 optune_err *err);
void ot_onnx_close(ot_onnx_model *model); /* NULL is fine */
/* A file in the model's own folder or below it, never over a link, that has `bytes` from `offset`
 * on. */
int ot_onnx_external(const char *model, const char *location, int64_t offset, int64_t bytes,
                     ot_onnx_file **file, optune_err *err);

/* ---- pieces.c: elements that stay in their file ------------------------------------------- */
ot_onnx_file *ot_onnx_file_new(int fd, const char *path); /* takes `fd` over */
void ot_onnx_file_close(ot_onnx_file *file);              /* NULL is fine */
int ot_onnx_file_read(const ot_onnx_file *file, int64_t offset, int64_t bytes, void *to,
                      optune_err *err);
/* Fills `digest`, where only reading it can tell later whether it was changed. */
int ot_onnx_piece_digest(ot_onnx_piece *piece, optune_err *err);
ot_backing *ot_onnx_piece_backing(const ot_onnx_piece *piece, optune_err *err);
/* What stands in a message in place of elements, and the piece that it stands for, or NULL. */
int ot_onnx_piece_add(ot_onnx_pieces *pieces, const ot_onnx_piece *piece, ot_text *message);
const ot_onnx_piece *ot_onnx_piece_of(const ot_onnx_pieces *pieces,
                                      const ot_onnx_tensor *tensor);
void ot_onnx_pieces_release(ot_onnx_pieces *pieces);
/* skim.c: the message without them; false: it is not one that can be walked. */
bool ot_onnx_skim(ot_onnx_pieces *pieces, int64_t bytes, ot_text *message);

/* One attribute; the arena's. NULL: it cannot be read. */
const ot_onnx_attr *ot_onnx_attr_read(ot_onnx *m, const uint8_t *bytes, size_t n);

/* ---- inline.c: functions of a model ---------------------------------------------------------- */
/* Fills the scope's `nodes`. EDAMAGED: a function calls itself; ELIMIT: they take too much. */
int ot_onnx_inline(ot_onnx *m, optune_err *err);

/* ---- tensor.c: elements of a file ----------------------------------------------------------- */
int ot_onnx_dtype(int code, optune_dtype *dtype, optune_err *err);
/* A constant; elements that the file holds as they are needed move out of the message, unless it
 * has bodies that are read again: functions, or attributes of nodes. */
int ot_onnx_take(ot_onnx *m, ot_onnx_tensor *tensor, ot_onnx_value **value, optune_err *err);
/* sparse.c: the same of one of which the file keeps what is not 0, with all its elements. */
int ot_onnx_take_sparse(ot_onnx *m, const ot_onnx_sparse *sparse, ot_onnx_value **value,
                        optune_err *err);
/* A constant of this type with room for its elements, all of them 0. ELIMIT: too large. */
int ot_onnx_room(ot_onnx *m, const optune_tensor *type, ot_onnx_value **value, optune_err *err);
/* The same without room: for what is computed whenever somebody holds it. */
int ot_onnx_count(ot_onnx *m, const optune_tensor *type, optune_err *err);
/* A constant with these elements, which it takes over; NULL: the failure is in `err` already. */
int ot_onnx_backed(ot_onnx *m, const optune_tensor *type, ot_backing *backing, int depth,
                   ot_onnx_value **value);

/* ---- dims.c: dims of inputs ------------------------------------------------------------------ */
/* Names the symbolic dims of all inputs; fails where a binding names none of them, and no input
 * that is one integer. */
int ot_onnx_name_dims(ot_onnx *m, optune_err *err);
/* The dim of the inputs that is called so here: others follow from values. NULL: none. What to
 * call it to people: `whole`, where the file names it. */
const ot_onnx_dim_name *ot_onnx_dim_named(const ot_onnx *m, const char *name);
static inline const char *ot_onnx_called(const ot_onnx_dim_name *dim)
{
    return dim->whole ? dim->whole : dim->name;
}
/* What is bound to this name, or NULL. */
const optune_binding *ot_onnx_bound(const ot_onnx *m, const char *name);
/* The dims of an input: rank and dims of `type`, those that are bound as numbers. */
int ot_onnx_shape(ot_onnx *m, const Onnx__TensorShapeProto *shape, const char *input,
                  optune_tensor *type, optune_err *err);

/* ---- scope.c: who reads and who makes -------------------------------------------------------- */
/* Puts the nodes of the scope that is read now in an order of evaluation, and fills what it says of
 * their readers. */
void ot_onnx_count_uses(ot_onnx *m);
void ot_onnx_leave(ot_onnx_scope *scope); /* frees what it holds */
/* Each name that a graph gives: to its inputs, constants and what nodes make. */
void ot_onnx_each_own(const ot_onnx_graph *g, void (*use)(void *to, const char *name),
                      void *to);
/* What bodies have themselves, whatever is called so around them; around NULL: the outermost. */
typedef struct ot_onnx_shade {
    const struct ot_onnx_shade *around;
    ot_names own; /* to be released */
} ot_onnx_shade;
void ot_onnx_shade_by(ot_onnx_shade *shade, const ot_onnx_graph *body);
bool ot_onnx_shaded(const ot_onnx_shade *by, const char *name); /* by NULL: it is not */

/* ---- import.c: a model as a graph ------------------------------------------------------------ */
int ot_onnx_read(const char *path, const optune_binding *bind, int n, bool partial,
                 optune_graph **graph, optune_err *err);
/* Reads a body that is an attribute of the node, given its inputs; what it gives. 1: a node of the
 * body failed, and is noted. */
int ot_onnx_body(ot_onnx_node *n, const ot_onnx_graph *body, int n_in, ot_onnx_value *const *in,
                 int n_out, ot_onnx_value **out);

/* ---- value.c: names, values, and what nodes have --------------------------------------------- */
ot_onnx_value *ot_onnx_new(ot_onnx *m);
ot_onnx_value *ot_onnx_named(const ot_onnx *m, const char *name); /* NULL: none yet */
void ot_onnx_name(ot_onnx *m, const char *name, ot_onnx_value *value);
/* The value's node in the graph; a constant enters it. `stem`: what it is called after. */
int ot_onnx_put(ot_onnx *m, ot_onnx_value *value, const char *stem, optune_err *err);
/* Letters, digits and '_' of a file's name. */
const char *ot_onnx_stem(ot_onnx *m, const char *name);

/* Input i, or NULL when it is left out; the same or NULL and a failure. */
ot_onnx_value *ot_onnx_in(const ot_onnx_node *n, int i);
ot_onnx_value *ot_onnx_need(ot_onnx_node *n, int i);
bool ot_onnx_wants(const ot_onnx_node *n, int i); /* output i is read by something */
/* The one node that reads the node's first output; false: there are others, or none. */
bool ot_onnx_reader(const ot_onnx_node *n, ot_onnx_node *reader);
/* Output i is this value. NULL: the node has failed already. */
int ot_onnx_give(ot_onnx_node *n, int i, ot_onnx_value *value);
const optune_tensor *ot_onnx_type(const ot_onnx *m, const ot_onnx_value *value);
const char *ot_onnx_type_text(const optune_tensor *type,
                              ot_text *text); /* in place of what it had */
bool ot_onnx_floating(const ot_onnx_node *n, const ot_onnx_value *value); /* of a float dtype */
/* A constant's elements; NULL: they cannot be read, and the node has failed. */
const void *ot_onnx_look(ot_onnx_node *n, ot_onnx_value *value);
/* Its rank; or -1 and a failure. */
int ot_onnx_rank(ot_onnx_node *n, const ot_onnx_value *value);
/* Its dims; false and a failure that says what to bind, when one of them is not known. */
bool ot_onnx_dims(ot_onnx_node *n, const ot_onnx_value *value, int64_t dim[OPTUNE_MAX_RANK]);
/* Likewise, but only those whose bits are in `wanted` must be known: others are -1 then, which is
 * what ot_onnx_reshape takes for one of them. */
bool ot_onnx_dims_at(ot_onnx_node *n, const ot_onnx_value *value, unsigned wanted,
                     int64_t dim[OPTUNE_MAX_RANK]);
/* Fails: a number is needed for this dim, which says what to bind. `at`: which dim of an input it
 * is, or -1. */
int ot_onnx_ask(ot_onnx_node *n, const optune_dim *dim, int at);
/* An axis counted from the front, or -1 and a failure. */
int ot_onnx_axis(ot_onnx_node *n, int64_t axis, int rank);
/* Fails with the reason; returns its status. */
int ot_onnx_refuse(ot_onnx_node *n, const char *format, ...) OPTUNE_PRINTF(2, 3);

/* ---- call.c: calls of our operators --------------------------------------------------------- */
/* A call of an operator of ours; `attrs`: a format, or NULL. Takes and gives NULL for what has
 * failed, so that calls can be written inside each other. */
ot_onnx_value *ot_onnx_call(ot_onnx_node *n, const char *op, int n_in, ot_onnx_value *const *in,
                            const char *attrs, ...) OPTUNE_PRINTF(5, 6);
ot_onnx_value *ot_onnx_1(ot_onnx_node *n, const char *op, ot_onnx_value *a);
ot_onnx_value *ot_onnx_2(ot_onnx_node *n, const char *op, ot_onnx_value *a, ot_onnx_value *b);
/* The same value in another dtype; NULL for NULL. */
ot_onnx_value *ot_onnx_as(ot_onnx_node *n, ot_onnx_value *value, optune_dtype dtype);
/* The same value in float32 where its floats are narrower, whose squares and sums may have no room
 * in its own dtype; NULL for NULL. */
ot_onnx_value *ot_onnx_wide(ot_onnx_node *n, ot_onnx_value *value);
/* A constant of a value's dtype and no dims. */
ot_onnx_value *ot_onnx_number(ot_onnx_node *n, const ot_onnx_value *like, double number);
/* A constant of these dims, one of which is 0. */
ot_onnx_value *ot_onnx_nothing(ot_onnx_node *n, optune_dtype dtype, int rank,
                               const int64_t *dim);
/* Output i of a call that has several. */
ot_onnx_value *ot_onnx_get(ot_onnx_node *n, const ot_onnx_value *value, int i);
/* Of two dims that become one; of an open one -1, which ot_onnx_reshape takes for what follows. */
static inline int64_t ot_onnx_times(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a * b;
}
enum { OT_ONNX_FROM_LAST = -2 }; /* the dim that a value has there, counted from the last */
/* As these dims, of which one may follow (-1), and others be OT_ONNX_FROM_LAST. */
ot_onnx_value *ot_onnx_reshape(ot_onnx_node *n, ot_onnx_value *value, int rank,
                               const int64_t *dim);
/* Likewise, but a dim of 0 is what the value has in its place. */
ot_onnx_value *ot_onnx_reshape_keeping(ot_onnx_node *n, ot_onnx_value *value, int rank,
                                       const int64_t *dim);
ot_onnx_value *ot_onnx_transpose(ot_onnx_node *n, ot_onnx_value *value, int rank,
                                 const int *axes);
/* The part from `begin` to before `end` of one axis. */
ot_onnx_value *ot_onnx_part(ot_onnx_node *n, ot_onnx_value *value, int axis, int64_t begin,
                            int64_t end);
ot_onnx_value *ot_onnx_join(ot_onnx_node *n, int axis, int n_in, ot_onnx_value *const *in);

/* ---- family_index.c: places as numbers ------------------------------------------------------ */
/* A constant 0, step, 2 step ... along one of `rank` dims. */
ot_onnx_value *ot_onnx_count_up(ot_onnx_node *n, int rank, int axis, int64_t extent,
                                int64_t step);
/* As 64-bit integers from 0 on: those below 0 count from the end. */
ot_onnx_value *ot_onnx_from_start(ot_onnx_node *n, ot_onnx_value *index, int64_t extent);
/* Where in the flattened data [dim] each of the indices [some] points that count along one axis. */
ot_onnx_value *ot_onnx_place_along(ot_onnx_node *n, ot_onnx_value *index, int axis, int rank,
                                   const int64_t *dim, const int64_t *some);
/* ---- heads.c: attention -------------------------------------------------------------------- */
/* Which keys a query sees: query i stands at i + past, or i + offset [B,1,1,1]. */
typedef struct ot_onnx_view {
    bool causal;         /* none behind its own place */
    int64_t left, right; /* at most so far before and behind it; negative: however far */
    int64_t past;
    ot_onnx_value *offset,
        *length; /* 64-bit integers; length [B,1,1,1]: keys before it; NULL */
} ot_onnx_view;
/* As truths that are broadcast to [B,H,rows,columns]; NULL: all of them, or the node has failed. */
ot_onnx_value *ot_onnx_seen(ot_onnx_node *n, const ot_onnx_view *view, int64_t rows,
                            int64_t columns);
/* What of the scores is given: q k scaled, bent, with the mask, behind the softmax. */
typedef enum ot_onnx_stage {
    OT_ONNX_NOTHING,
    OT_ONNX_SCORES,
    OT_ONNX_CAPPED,
    OT_ONNX_MASKED,
    OT_ONNX_WEIGHTS,
} ot_onnx_stage;
typedef struct ot_onnx_heads {
    ot_onnx_value *q, *k, *v; /* [B,H,S,D]; what a cache holds is among keys and values */
    ot_onnx_value *mask;      /* added, or truths that keep; of 1 to 4 dims; or NULL */
    ot_onnx_value *sink;      /* [1,H,1,1], a score of nothing; or NULL */
    double scale, softcap;    /* 0: by D; none */
    ot_onnx_view view;
    ot_onnx_stage stage;
    ot_onnx_value **given; /* for what `stage` says */
} ot_onnx_heads;
ot_onnx_value *ot_onnx_attended(ot_onnx_node *n, const ot_onnx_heads *heads);
/* [B,H,S,D] of [B,S,H*D], or as it is, and its dims (-1: a batch that is open); and back. */
ot_onnx_value *ot_onnx_split_heads(ot_onnx_node *n, ot_onnx_value *x, int64_t heads,
                                   int64_t dim[OPTUNE_MAX_RANK]);
ot_onnx_value *ot_onnx_join_heads(ot_onnx_node *n, ot_onnx_value *y);

/* family_rotary.c: x [B,H,S,D], as many elements in front as both tables [places,pairs] have,
 * turned by their rows at `positions` [1|B,S]. */
ot_onnx_value *ot_onnx_turned(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *cos,
                              ot_onnx_value *sin, ot_onnx_value *positions, bool between);
/* family_activation.c: of x, by the name that another operator gives it, with its first parameters
 * (alpha, beta) as far as they are given; "": x itself. */
ot_onnx_value *ot_onnx_activated(ot_onnx_node *n, ot_onnx_value *x, const char *name, int given,
                                 const double *of);
/* family_arithmetic.c: fails where an integer constant holds a 0, by which nothing is divided. */
int ot_onnx_divisor(ot_onnx_node *n, ot_onnx_value *by);
/* family_fused.c: the layer normalisation of a sum over its last dim, in this dtype. `shift` NULL:
 * 0. */
ot_onnx_value *ot_onnx_layer_normalised(ot_onnx_node *n, ot_onnx_value *sum,
                                        ot_onnx_value *scale, ot_onnx_value *shift,
                                        optune_dtype dtype);
/* family_product.c: as MatMul has it. */
ot_onnx_value *ot_onnx_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b);

/* ---- curve.c: activations that are spelled out --------------------------------------------- */
/* The node and those behind it are one call of an operator of ours; false: they are not, unless it
 * has failed. `read_ahead` reads a constant among their inputs that is made further on. */
bool ot_onnx_curve(ot_onnx_node *n, void (*read_ahead)(ot_onnx *m, int i));

/* ---- family_nbits.c: weights of 4 and 8 bits in groups --------------------------------------- */
/* The inputs of dense_nbits behind data, and its attributes. */
struct ot_onnx_nbits {
    ot_onnx_value *weight, *scale, *zero; /* zero: may be NULL */
    int bits;
    int64_t group, n;
};
/* a times it, over a's last dim. */
ot_onnx_value *ot_onnx_nbits_product(ot_onnx_node *n, ot_onnx_value *a,
                                     const ot_onnx_nbits *weight);
/* Constant integers of 4 bits, two a byte and the lower one first, in `rows` rows of `columns` that
 * begin at bytes, as one a byte [rows,columns]. */
ot_onnx_value *ot_onnx_unpacked(ot_onnx_node *n, ot_onnx_value *packed, int64_t rows,
                                int64_t columns);
/* What a DequantizeLinear gives, where a product alone reads it, with these inputs: a value with
 * `nbits`. NULL: it is something else, or the node has failed. `zero` may be NULL. */
ot_onnx_value *ot_onnx_dequantised(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *scale,
                                   ot_onnx_value *zero);

/* ---- family_sequence.c: lists of values ----------------------------------------------------- */
/* Whether the operator may have one as an input. */
bool ot_onnx_takes_sequences(const ot_onnx_op *op);

/* ---- attr.c: what a node says ---------------------------------------------------------------- */
enum { OT_ONNX_LIST = 512 };
typedef struct ot_onnx_list {
    int n;
    int64_t i[OT_ONNX_LIST];
} ot_onnx_list;
const ot_onnx_attr *ot_onnx_attr_of(const ot_onnx_node *n, const char *name); /* or NULL */
int64_t ot_onnx_int(const ot_onnx_node *n, const char *name, int64_t otherwise);
double ot_onnx_real(const ot_onnx_node *n, const char *name, double otherwise);
const char *ot_onnx_word(const ot_onnx_node *n, const char *name, const char *otherwise);
/* 1: it is there; 0: it is not; negative: the node has failed. */
int ot_onnx_ints(ot_onnx_node *n, const char *name, ot_onnx_list *list);
/* The integers of a constant; the node fails where it is none, or more than a list holds. */
int ot_onnx_list_of(ot_onnx_node *n, const ot_onnx_value *value, const char *what,
                    ot_onnx_list *list);
/* As an attribute of old opsets, or as input i of new ones; as ot_onnx_ints. */
int ot_onnx_list_at(ot_onnx_node *n, const char *name, int i, ot_onnx_list *list);
/* "1,2,3"; the arena's. */
const char *ot_onnx_text(ot_onnx *m, int n, const int64_t *list);

/* ---- window.c: convolutions and pooling slide over one or two dims --------------------------- */
typedef struct ot_onnx_window {
    int dims;      /* 1: the value was given a dim of 1 row; 3: see volume.c */
    int64_t depth; /* of volumes: the value has one image for each of these places */
    int64_t kernel[2], stride[2], dilation[2], pad[4]; /* pad: top, left, bottom, right */
    ot_onnx_value *data;                               /* with two dims to slide over */
    int64_t block; /* pooling: channels innermost, all of them in one block; 0: in front */
} ot_onnx_window;
/* From the node's attributes and its first input; `kernel` NULL: from `kernel_shape`. */
int ot_onnx_slide(ot_onnx_node *n, const int64_t *kernel, ot_onnx_window *w);
/* A result over two dims, with as many as the node's input had. */
ot_onnx_value *ot_onnx_unslide(ot_onnx_node *n, const ot_onnx_window *w, ot_onnx_value *value);
/* The same as attributes of conv2d, with the node's groups. */
const char *ot_onnx_window_text(const ot_onnx_node *n, const ot_onnx_window *w);

/* ---- volume.c: what slides over three dims [N,C,D,H,W] --------------------------------------- */
typedef struct ot_onnx_volume {
    int64_t kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t dim[OPTUNE_MAX_RANK]; /* of the data; the batch may be open (-1) */
} ot_onnx_volume;
/* From the node's attributes and its first input; `kernel` NULL: from `kernel_shape`. */
int ot_onnx_volume_of(ot_onnx_node *n, const int64_t *kernel, ot_onnx_volume *v);
ot_onnx_window ot_onnx_plane_of(const ot_onnx_volume *v); /* over its last two dims */
/* The window of a convolution over volumes, as one over images: its data have the planes under a
 * kernel in depth as channels, as a weight [O,I,KD,KH,KW] has them that is laid out as
 * [O,I*KD,KH,KW]; and what that gives, as volumes. */
int ot_onnx_slide_volume(ot_onnx_node *n, const int64_t *kernel, ot_onnx_window *w);
ot_onnx_value *ot_onnx_unslide_volume(ot_onnx_node *n, const ot_onnx_window *w,
                                      ot_onnx_value *value);

/* ---- fold.c: windows put back where they were cut out ---------------------------------------- */
/* [B,K,LH,LW], the K elements of each window, to [B,1,H,W], summed where they overlap. `added`:
 * rows and columns that no window reaches. */
ot_onnx_value *ot_onnx_fold(ot_onnx_node *n, ot_onnx_value *x, const ot_onnx_window *w,
                            const int64_t added[2]);
/* The node's first input [N,C,D,H,W] by a weight [C,M/groups*KD,KH,KW], to [N,M,OD,OH,OW]. */
ot_onnx_value *ot_onnx_transpose_volume(ot_onnx_node *n, const ot_onnx_volume *v,
                                        ot_onnx_value *weight, const int64_t added[3]);

/* ---- places.c: where the largest element of each window lies --------------------------------- */
enum { OT_ONNX_TAPS = 256 };
typedef struct ot_onnx_places {
    int dims;     /* to slide over: the last ones of the data, behind two */
    bool columns; /* the first of these dims varies fastest in what a place counts */
    int64_t kernel[3], stride[3], dilation[3], before[3], windows[3];
} ot_onnx_places;
/* As 64-bit integers, of the first one where several are as large; what is in pads is it only where
 * nothing in the window is finite or above the lowest number of the type. */
ot_onnx_value *ot_onnx_places_of(ot_onnx_node *n, ot_onnx_value *x, const ot_onnx_places *p);

/* family_pool.c: w->data pooled as the node's `ceil_mode` and `count_include_pad` say; may change
 * the pads. */
ot_onnx_value *ot_onnx_pooled(ot_onnx_node *n, const char *op, ot_onnx_window *w);
/* Pads of zeros behind, so that rounding down gives what `ceil_mode` asks for. */
int ot_onnx_pad_up(ot_onnx_node *n, ot_onnx_window *w);
/* family_softmax.c: along the node's axis; `flat`: over all from it on. */
ot_onnx_value *ot_onnx_softmax(ot_onnx_node *n, ot_onnx_value *x, bool flat);
/* x - max - log(sum(exp(x - max))) over these axes: the logarithm of what became 0 would be
 * lost. */
ot_onnx_value *ot_onnx_log_softmax(ot_onnx_node *n, ot_onnx_value *x, const char *axes);
/* Gives x and, where somebody reads it, a mask that is all true: outside training nothing is
 * dropped. Refused where this input asks for training, or may. */
int ot_onnx_dropped(ot_onnx_node *n, ot_onnx_value *x, int training_input);

/* ---- exact.c: sums of products of 8-bit integers -------------------------------------------- */
/* Of sides in 32-bit integers, each one of the node's of 8 bits less its zero: MatMul's, and that
 * of a convolution over images by conv2d's attributes. */
ot_onnx_value *ot_onnx_exact_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b);
ot_onnx_value *ot_onnx_exact_conv(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *weight,
                                  const char *attrs);

/* ---- narrow.c: the same by kernels of 8-bit integers --------------------------------------- */
/* A product of `a`, of 8 bits, less its zero (NULL: 0), and of `b` in 32-bit integers less its own,
 * and a bias of those for each column (NULL: 0). NULL: it is not for them, or the node has
 * failed. */
ot_onnx_value *ot_onnx_narrow_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *zero,
                                      ot_onnx_value *b, ot_onnx_value *bias);
/* Likewise a convolution of the window's data. */
ot_onnx_value *ot_onnx_narrow_conv(ot_onnx_node *n, const ot_onnx_window *slide,
                                   ot_onnx_value *zero, ot_onnx_value *weight,
                                   ot_onnx_value *bias);

/* ---- quant.c: numbers as small integers ------------------------------------------------------ */
/* One number, or one for each place along the axis, against x. */
ot_onnx_value *ot_onnx_along(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *by,
                             int64_t axis);
/* Whole numbers as integers, cut to the range; NULL: the dtype's. */
ot_onnx_value *ot_onnx_cut(ot_onnx_node *n, ot_onnx_value *x, optune_dtype dtype,
                           const double range[2]);
/* round(x / scale) + zero, cut to the range; all in float32 and of shapes that fit each other.
 * `zero` NULL: 0. */
ot_onnx_value *ot_onnx_quantised(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *scale,
                                 ot_onnx_value *zero, optune_dtype dtype);

/* round(sum by[0] by[1] / by[2]) + zero of a sum of products of integers, the scales made one
 * factor first: what others round that way lies on ties, too. `zero` NULL: 0. `range`: the least
 * and the most it gives, NULL: the dtype's. */
ot_onnx_value *ot_onnx_requantised(ot_onnx_node *n, ot_onnx_value *sum,
                                   ot_onnx_value *const by[3], ot_onnx_value *zero,
                                   optune_dtype dtype, const double range[2]);

/* (x - zero) scale in the scale's dtype, by one scale or one for each place along the node's axis.
 * `zero` NULL: 0. */
ot_onnx_value *ot_onnx_real_of(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *scale,
                               ot_onnx_value *zero);

/* By what the values themselves span, 0 included: the integers; their scale and their zero. */
ot_onnx_value *ot_onnx_quantised_itself(ot_onnx_node *n, ot_onnx_value *x,
                                        ot_onnx_value **scale, ot_onnx_value **zero);

/* ---- settle.c: values that are computed when somebody reads them ----------------------------- */
/* Computes what was put off; needed before anything but ot_onnx_as_integers looks at the value,
 * which may be NULL. */
int ot_onnx_settle(ot_onnx *m, ot_onnx_value *value, optune_err *err);
/* An image with channels last, and the other way round: that is made when it is settled. */
ot_onnx_value *ot_onnx_last_of(ot_onnx_node *n, ot_onnx_value *x);
ot_onnx_value *ot_onnx_from_last(ot_onnx_node *n, ot_onnx_value *last);

/* ---- rounded.c: sums of 8-bit products that are 8 bits again -------------------------------- */
/* Constants but for what they are of: scales of float32 and zeros (NULL: 0), one, or of the weight
 * one for each output channel; a bias in 32 bits or NULL; what is given. */
typedef struct ot_onnx_rounded {
    ot_onnx_value *x_scale, *x_zero, *w, *w_scale, *w_zero, *bias, *y_scale, *y_zero;
    optune_dtype dtype;
    const double *range; /* the least and the most; NULL: the dtype's */
} ot_onnx_rounded;
/* A convolution of x, an image [N,C,H,W], by the node's attributes, which is there with channels
 * last; x [..,K] times w, [K,N] or, turned, [N,K]. NULL: it is not for them, or the node has
 * failed. */
ot_onnx_value *ot_onnx_rounded_conv(ot_onnx_node *n, ot_onnx_value *x,
                                    const ot_onnx_rounded *r);
ot_onnx_value *ot_onnx_rounded_product(ot_onnx_node *n, ot_onnx_value *x, bool turned,
                                       const ot_onnx_rounded *r);
/* By `op`, quantized_add or quantized_multiply, two that fit each other, each of 8 bits with a
 * scale and a zero (NULL: 0), rounded as the third says; at most one is a constant. NULL
 * likewise. */
typedef struct ot_onnx_side {
    ot_onnx_value *x, *scale, *zero;
} ot_onnx_side;
ot_onnx_value *ot_onnx_rounded_pair(ot_onnx_node *n, const char *op, bool merged,
                                    const ot_onnx_side side[3], optune_dtype dtype,
                                    const double range[2]);

/* ---- qdq.c: operators between DequantizeLinear and QuantizeLinear ---------------------------- */
/* What a value was dequantised from: constant scales and zeros (NULL: 0), one, or a list along the
 * axis; and the node that does it. `table`, unless NULL: a constant of what each integer became
 * since, from the least on. */
struct ot_onnx_integers {
    ot_onnx_value *x, *scale, *zero, *table;
    int64_t axis;
    const ot_onnx_proto *proto;
    const ot_onnx_op *op;
    int index;
};
/* What a DequantizeLinear with these inputs gives, which is computed when it is settled; NULL: it
 * must be computed now. */
ot_onnx_value *ot_onnx_dequantised_later(ot_onnx_node *n, ot_onnx_value *x,
                                         ot_onnx_value *scale, ot_onnx_value *zero);
/* Of a constant it was given `all`. */
void ot_onnx_note_integers(ot_onnx_node *n, ot_onnx_value *all, ot_onnx_value *x,
                           ot_onnx_value *scale, ot_onnx_value *zero);
/* The node, and what is behind it, on integers; false: it is computed on floats, or has failed. */
bool ot_onnx_as_integers(ot_onnx_node *n);

/* ---- family_quant_linear.c: products of small integers that are floats again ---------------- */
/* Which inputs of a node are what: its first one, 8-bit integers, times `right`, with the zeros and
 * scales of both and a bias of floats; zeros and the bias may be left out. */
typedef struct ot_onnx_quantised_product {
    int right, zero, right_zero, scale, right_scale, bias;
} ot_onnx_quantised_product;
ot_onnx_value *ot_onnx_quantised_sum(ot_onnx_node *n, const ot_onnx_quantised_product *p);

/* ---- family_norm.c ------------------------------------------------------------------------- */
/* (x - mean) / sqrt(variance + epsilon) over axes, of what is at least float32: squares leave the
 * range of 16 bits long before their root does. `epsilon`: what a node without the attribute adds.
 * `moments`, unless NULL: the mean and one over the deviation. */
ot_onnx_value *ot_onnx_standardised(ot_onnx_node *n, ot_onnx_value *x, const char *axes,
                                    double epsilon, ot_onnx_value *moments[2]);

/* ---- affine.c: batch normalisation as y = x * scale + shift ---------------------------------- */
/* Both [C], at least float32, constants where the node's parameters are. */
int ot_onnx_affine(ot_onnx_node *n, ot_onnx_value **scale, ot_onnx_value **shift);
/* The batch normalisation that alone reads this node's output, with constant parameters, as a node
 * of its own; false: there is none. */
bool ot_onnx_normalised(const ot_onnx_node *n, ot_onnx_node *norm);

/* ---- sizes.c: lists of sizes of which some only a run knows ---------------------------------- */
/* One of this type, of integers: `sizes`, or a constant, where all are numbers. */
ot_onnx_value *ot_onnx_sizes(ot_onnx_node *n, const optune_tensor *type, const optune_dim *dim);
bool ot_onnx_has_sizes(const ot_onnx_node *n); /* among its inputs */
int ot_onnx_make_sized(ot_onnx_node *n);       /* such a node, as far as that can be */
/* The elements of such a list, or of a constant of integers; how many, at most OT_ONNX_LIST; -1: it
 * is neither. */
int ot_onnx_sizes_of(const ot_onnx_value *value, optune_dim dim[OT_ONNX_LIST]);
/* Fails by the first one of such a list that is no number. */
int ot_onnx_ask_sizes(ot_onnx_node *n, const ot_onnx_value *value);
/* What reshaping a value of the type `from` to `shape` is, with 0 or OT_ONNX_FROM_LAST for dims
 * that stay and -1 for one that follows; 0 where several would, 1 else. */
int ot_onnx_shape_list(ot_onnx_node *n, const ot_onnx_value *shape, const optune_tensor *from,
                       ot_onnx_list *list);

/* ---- reshape.c: a shape of which several dims only a run knows ------------------------------- */
/* The data in such a shape: dims of both that are the same product are reshaped by themselves. */
ot_onnx_value *ot_onnx_reshape_open(ot_onnx_node *n, ot_onnx_value *data,
                                    const ot_onnx_value *shape);

/* ---- spread.c: values in shapes that only a run knows ----------------------------------- */
/* Ones of rank `rank`, along one axis as many as this dim, which some value of the graph must have:
 * else the node fails, and says what to bind. */
ot_onnx_value *ot_onnx_ones_along(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype,
                                  int rank, int axis);
bool ot_onnx_has_line(const ot_onnx_node *n,
                      const optune_dim *dim); /* whether some value has */
/* The value, repeated to these dims, which it must fit. */
ot_onnx_value *ot_onnx_spread(ot_onnx_node *n, ot_onnx_value *value, int rank,
                              const optune_dim *dim);

/* ---- confine.c --------------------------------------------------------------------------- */
/* The one name that a dim is, or is computed of; false: there are several, or none. */
bool ot_onnx_only_name(const optune_dim *dim, char only[OPTUNE_DIM_NAME_SIZE]);
/* From now on no run has more of this dim than `by`, or fewer: `most` says which. One of several
 * names has to be some value's, of which each run asks. False: the node has failed. */
bool ot_onnx_confine(ot_onnx_node *n, const optune_dim *dim, int64_t by, bool most);

/* ---- front.c: the front of an axis, as long as what only a run knows ------------------------- */
/* Numbers from one dim on to before another: 0, 1 ... of which the first of both is a number or
 * itself one that only a run knows. Some value has what is needed, as for ot_onnx_ones_along. */
ot_onnx_value *ot_onnx_count_open(ot_onnx_node *n, const optune_dim *from, const optune_dim *to,
                                  optune_dtype dtype);
/* How many it is as a number of a run, [1]. */
ot_onnx_value *ot_onnx_length_open(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype);
/* The part of the value's axis from one dim on to before another, which is bounded by how many
 * places there are. */
ot_onnx_value *ot_onnx_stretch(ot_onnx_node *n, ot_onnx_value *value, int axis,
                               const optune_dim *from, const optune_dim *to);
/* Whether every `step`th place of an open axis from `from` to before `to`, as Slice has them, is of
 * one formula for each size that it can have, which is bounded from below; else the node fails. */
bool ot_onnx_cut_open(ot_onnx_node *n, const ot_onnx_value *value, int axis, int64_t from,
                      int64_t to, int64_t step);
/* An open axis padded by its own elements in a mode of Pad other than `constant`, of a size that
 * has as many, which bounds it from below. */
ot_onnx_value *ot_onnx_pad_open(ot_onnx_node *n, ot_onnx_value *value, int axis,
                                const char *mode, int64_t before, int64_t after);

#endif
