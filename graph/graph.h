/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls joined by values: building, reading, printing, inference, groups, gradients, evaluation.
 * May use strategy and base; never knows a store, a target or a clock.
 *
 * A value is one tensor: output `output` of the node that makes it. Tuples and what is taken out
 * of them make nothing: they are followed to the node that does, so types live in one place.
 */
#ifndef OPTUNE_GRAPH_ROOM_H
#define OPTUNE_GRAPH_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "call/call.h"
#include "optune/graph.h"

typedef enum ot_node_kind {
    OT_NODE_VAR,
    OT_NODE_CONST,
    OT_NODE_CALL,
    OT_NODE_TUPLE,
    OT_NODE_GET,
} ot_node_kind;

typedef struct ot_value {
    int node, output;
} ot_value;

/* Where something stands in the file; line 0: made by code. */
typedef struct ot_text_spot {
    int line, column; /* from 1 on */
} ot_text_spot;

/* names.c: names, which outlive it, to numbers. */
typedef struct ot_named {
    const char *name; /* NULL: a free slot */
    int number;
} ot_named;
typedef struct ot_names {
    ot_named *slot;
    size_t n, capacity;
} ot_names; /* zero to start */
/* The number of a name, to be read or changed until the next is added; NULL: there is none. */
int *ot_names_find(const ot_names *names, const char *name);
/* The same; a name that is new gets `number`. */
int *ot_names_add(ot_names *names, const char *name, int number);
void ot_names_release(ot_names *names);

/* A tuple may hold tuples; more than this is refused, so that what walks them ends. */
enum { OT_TUPLE_DEPTH = 32, OT_TUPLE_TENSORS = 4096, OT_GRAPH_OUTPUTS = 1 << 20 };

/* backing.c: elements of a constant that can be had again, in memory only while they are held. */
typedef int ot_backing_read(void *from, void *to, size_t bytes, optune_err *err);
typedef struct ot_backing {
    atomic_int users; /* copies of a graph have the same ones */
    pthread_mutex_t lock;
    int held;
    void *data; /* may be touched while it is held */
    size_t bytes;
    void *map; /* the address space that it lies in */
    size_t map_bytes;
    ot_backing_read *read; /* into `data`: the same elements each time, or a failure */
    void (*close)(void *from);
    void *from;
} ot_backing;
/* Takes `from` over; NULL and ENOMEM: it did not. */
ot_backing *ot_backing_new(size_t bytes, ot_backing_read *read, void (*close)(void *from),
                           void *from, optune_err *err);
ot_backing *ot_backing_share(ot_backing *b); /* one more user */
void ot_backing_close(ot_backing *b);        /* one less; NULL is fine */
int ot_backing_hold(ot_backing *b, optune_err *err);
void ot_backing_let_go(ot_backing *b);

typedef struct ot_node {
    ot_node_kind kind;
    const char *name;
    const optune_call *call; /* CALL: operator, attributes; the graph's, types are kept below */
    int n_in;
    ot_value *in;           /* CALL: its inputs */
    ot_text_spot *in_place; /* of each; NULL: none */
    int n_fields;           /* CALL: its arguments as they were given */
    int *field;             /* TUPLE: its nodes; GET: the tuple */
    int index;              /* GET */
    int behind; /* GET: the node that makes what it takes, a call's output or a tuple ... */
    int behind_output; /* ... which output; -1: all of the node */
    int depth;         /* TUPLE: of tuples in it, itself included; others: 0 */
    int n_tensors;     /* that it stands for */
    int n_out;
    optune_tensor *out; /* VAR, CONST: one; CALL: its outputs; others: NULL */
    void *data; /* CONST: its elements, or NULL; owned. ot_graph_hold before they are read */
    ot_backing *backing; /* CONST: has `data`, which is only there while held; or NULL */
    bool borrowed;       /* CONST without backing: `data` is another graph's */
    bool nameless;       /* GET: printed where it is used */
    ot_text_spot place;
} ot_node;

/* What a model's file calls a symbolic dim whose name is another one here. */
typedef struct ot_dim_called {
    struct ot_dim_called *next;
    const char *whole;
    char name[OPTUNE_DIM_NAME_SIZE];
} ot_dim_called;

/* A dim that is a number since somebody bound it. */
typedef struct ot_dim_given {
    struct ot_dim_given *next;
    const char *name; /* that it had here */
    int64_t value;
} ot_dim_given;

struct optune_graph {
    ot_arena arena;
    ot_node *node; /* each is made after what it uses */
    int n, capacity;
    int n_named;    /* the first of them have names */
    ot_names names; /* of nodes */
    ot_rows calls;  /* what nodes say, each once */
    ot_names call_names;
    ot_names stems; /* the last number that was given behind each */
    int *output;    /* nodes, tuples as they were named */
    int n_outputs, outputs_capacity, n_output_tensors;
    bool reading;       /* names are given at the end, when those of the file are known */
    const char *file;   /* what messages call it; NULL: made by code */
    const char *source; /* its text; NULL: made by code */
    const char
        *left_out; /* the nodes that a model has and it has not, a line for each; or NULL */
    ot_dim_called *called; /* the arena's; NULL: none */
    ot_dim_given *given;   /* likewise */
    ot_text text;          /* what optune_graph_text gave last */
};

/* ---- value.c ----------------------------------------------------------------------------- */
/* The node behind what is taken out of tuples; *output: of a call's; -1: it is the whole node. */
int ot_graph_behind(const optune_graph *g, int id, int *output);
/* The tensors that a node stands for, in order, at most `most`; returns how many there are. */
int ot_graph_tensors(const optune_graph *g, int node, ot_value *value, int most);
/* The one tensor of a node; false when it is a tuple. */
bool ot_graph_tensor(const optune_graph *g, int node, ot_value *value);
optune_tensor *ot_graph_type_of(const optune_graph *g, ot_value value);
/* The tensors of all outputs of the graph; returns how many. */
int ot_graph_output_values(const optune_graph *g, ot_value *value, int most);
/* The call of a node with its types and its inputs' constness, as far as they are known. */
void ot_graph_call_of(const optune_graph *g, int node, optune_call *call);
/* True when a value is a constant. */
bool ot_value_constant(const optune_graph *g, ot_value value);
/* Where a node or one of its arguments (from 0 on; -1: the node) stands. */
ot_text_spot ot_graph_place(const optune_graph *g, int node, int argument);
/* backing.c: a constant's elements, to be read until they are let go; NULL: it has none. */
int ot_graph_hold(const optune_graph *g, int node, const void **data, optune_err *err);
void ot_graph_let_go(const optune_graph *g, int node);
void ot_graph_drop_data(ot_node *node); /* it has none any longer */
/* fail.c */
/* Fails with the place in the file, or the node's name: argument from 0 on; -1: the node. */
int ot_graph_fail(const optune_graph *g, int node, int argument, int status, const char *reason,
                  optune_err *err);
int ot_graph_fail_at(const optune_graph *g, ot_text_spot place, int status, const char *reason,
                     optune_err *err);
/* "f32[9,2] is not f32[?m:1..8,2]" */
void ot_graph_say_types(const optune_tensor *given, const optune_tensor *type, ot_text *to);
/* ": 'm' (dim 0) is 9, not 1 to 8"; false: dim `d`, which both have, is within its bounds, or its
 * size is not known. */
bool ot_graph_say_bounds(const optune_tensor *given, const optune_tensor *type, int d,
                         ot_text *to);
/* ---- build.c ----------------------------------------------------------------------------- */
optune_graph *ot_graph_new(void);
void ot_graph_name_all(optune_graph *g); /* gives names to nodes without one */
/* `stem`, or stem_2, stem_3 ...: a name that is free, in the graph's arena. */
const char *ot_graph_fresh_name(optune_graph *g, const char *stem);
int ot_graph_annotate_value(optune_graph *g, ot_value value, const char *name, const char *text,
                            optune_err *err);

/* shared_call.c: the graph's own of this operator, these attributes and so many outputs, without
 * types. */
const optune_call *ot_graph_shared_call(optune_graph *g, const optune_call *call, int n_out);
void ot_graph_drop_calls(optune_graph *g);

/* read.c: a file of our own text. */
int ot_graph_read_text(const char *path, optune_graph **graph, optune_err *err);

/* copy.c: the same node numbers; `wide`: see optune_graph_copy. NULL: elements of a constant could
 * not be read. */
optune_graph *ot_graph_copy(const optune_graph *g, bool wide, optune_err *err);

/* ---- bounds.c ---------------------------------------------------------------------------- */
/* What a dim's name is in the graph, where its file calls it otherwise. */
const char *ot_graph_dim_here(const optune_graph *g, const char *name);
/* EUSAGE: a dim of this name became a number before. */
int ot_graph_bound_before(const optune_graph *g, const char *name, optune_err *err);
void ot_graph_note_bound(optune_graph *g, const char *name, int64_t value);
/* Whether there can be no memory for a value of this type as large as it can be. `why` gets what
 * its group has and the remedy: "has unknown dims: give them ...". */
bool ot_graph_unbounded(const optune_graph *g, const optune_tensor *type, ot_text *why);
/* ETYPE, at the node's place: its output of this number is such a value. */
int ot_graph_need_bound(const optune_graph *g, int node, int output, optune_err *err);
/* ETYPE where a size that a run finds is not within what the graph has as this value's type: that
 * may be less than what the sizes of its inputs allow, as that of a table's front is. */
int ot_graph_within(const optune_tensor *type, const optune_tensor *is, optune_err *err);

/* infer.c: one call, whose inputs are known already; its outputs become so. */
int ot_graph_infer_call(optune_graph *g, int node, optune_err *err);
/* Every dim of this one's name, which may be computed of others, is within these from now on. */
int ot_graph_narrow(optune_graph *g, const optune_dim *dim, int64_t low, int64_t high,
                    optune_err *err);

/* ---- partition.c: what is computed as one ------------------------------------------------ */
enum { OT_GROUP_NODES = 4 * OPTUNE_MAX_EPILOGUES + 1 };
typedef struct ot_group {
    int n_nodes; /* the anchor, then what is fused behind it, and views in between, in order */
    int node[OT_GROUP_NODES];
    const optune_call *call; /* settled; in the anchor's shape; one of `calls` */
    int n_in;                /* optune_call_inputs of the call */
    ot_value in[OPTUNE_MAX_INPUTS];
} ot_group; /* its outputs are those of its last node, dims of 1 in front of them aside */
typedef struct ot_groups {
    int n;
    ot_group *group; /* in an order of evaluation */
    ot_calls calls;
} ot_groups;
/* True when dims of the group's tensors follow from values. */
bool ot_group_is_open(const optune_graph *g, const ot_group *group);
/* Its input k, which is of this type in the graph, as its call has it: that may lack dims of 1 in
 * front. And its output o, which this call of it gives, as the graph has it. */
optune_tensor ot_group_input_type(const ot_group *group, int k, const optune_tensor *is);
optune_tensor ot_group_output_type(const optune_graph *g, const ot_group *group,
                                   const optune_call *call, int o);
/* Whether a fused call can be computed at all. */
typedef bool (*ot_accepts)(void *arg, const optune_call *call);
/* Of a graph whose types are inferred. accepts NULL: nothing is fused. */
int ot_graph_partition(const optune_graph *g, ot_accepts accepts, void *arg, ot_groups *groups,
                       optune_err *err);
void ot_groups_release(ot_groups *groups);

#endif
