/* SPDX-License-Identifier: Apache-2.0 */
/* A whole graph as source: what emit_graph.c decides and the files beside it write. */
#ifndef OPTUNE_ANSWER_EMIT_GRAPH_H
#define OPTUNE_ANSWER_EMIT_GRAPH_H

#include "answer/graph.h"
#include "answer/emit/source.h"

/* Where a value is while the model runs. */
typedef enum ot_emitted_where {
    OT_AT_NONE, /* inside a group */
    OT_AT_INPUT,
    OT_AT_OUTPUT,
    OT_AT_WEIGHTS, /* `at` is an offset in the file */
    OT_AT_ARENA,
} ot_emitted_where;
typedef struct ot_emitted_spot {
    ot_emitted_where kind;
    int64_t at;     /* which input or output, or an offset */
    int64_t offset; /* in an input or output */
} ot_emitted_spot;

typedef struct ot_emitted_kernel { /* one for each distinct workload, or row of its table */
    ot_source source;
    optune_call *row; /* the row's call, the kernel's own; NULL: the group's */
    optune_config config;
    const char *tier;
    const char *instead_of; /* the library's implementation that was selected; NULL: none */
} ot_emitted_kernel;

/* What computes a distinct workload: a kernel, or those of a dispatch table's rows in turn. */
typedef struct ot_emitted_choice {
    const char *text;
    ot_dispatch *table; /* NULL: none */
    ot_symbols *over;   /* what dims are computed of; of a table, and without ranges, NULL */
    ot_source_names names; /* what the names of dims are in C */
    int n;
    int *kernel;
    const char **when; /* over the names of dims; NULL: always, the last */
} ot_emitted_choice;

typedef struct ot_emitted_use { /* of a kernel by a group */
    int kernel;
    const char *when;
    int64_t packed; /* offset of what it packs */
    bool packs;     /* what an earlier one packed is not packed again */
} ot_emitted_use;

typedef struct ot_emitted_group {
    int n; /* 0: it does not run */
    ot_emitted_use *use;
    const ot_source_names *names; /* of dims in `when` */
    int64_t workspace;            /* offset of its kernels' memory */
} ot_emitted_group;

/* A dim that only a run knows, under its name in the graph. */
typedef struct ot_emitted_dim {
    const char *name;
    int64_t min, max;
    const char *formula; /* over those in front of it, in C; NULL: it is given */
} ot_emitted_dim;

typedef struct ot_emission {
    optune_partition *partition;
    const optune_graph *graph;
    const char *name; /* prefix of everything */
    char upper[OPTUNE_NAME_SIZE];
    optune_target target; /* the handle's, libraries left out */
    int n_kernels, kernels_capacity, n_choices;
    ot_emitted_kernel *kernel;
    ot_emitted_choice *choice; /* at most one a group */
    int n_sizes, n_dims, dims_capacity; /* given; with those that follow */
    ot_emitted_dim *dim;
    ot_arena arena;
    ot_emitted_group *group; /* of each group of the partition */
    int n_inputs, n_outputs;
    int *input; /* nodes */
    ot_value *output;
    ot_emitted_spot *home; /* by home of the partition's places */
    int n_weights;
    int *weight; /* constants in the order of the file */
    int64_t only_packed, weights_bytes, packed_bytes, arena_bytes;
    uint64_t layout;
} ot_emission;

/* ---- emit_graph_place.c ------------------------------------------------------------------- */
/* Where a value is, once the homes are placed. */
ot_emitted_spot ot_emitted_place(const ot_emission *e, ot_value value);
bool ot_emitted_runs(const ot_emission *e, int group); /* false: it costs nothing */

/* ---- emit_graph_kernels.c ----------------------------------------------------------------- */
/* Which kernels compute each group. */
int ot_emitted_choose(ot_emission *e, optune_err *err);

/* ---- emit_graph_sizes.c: dims that only a run knows ---------------------------------------- */
extern const ot_source_names ot_emitted_names; /* of the graph's dims, where a run knows them */
/* Of a call of a dispatch table: names that the graph has not (ot_call_rename). */
int ot_emitted_renamed(ot_emission *e, const optune_call *call, ot_source_names *names,
                       optune_err *err);
/* The graph's dims that a call's inputs are computed of. */
void ot_emitted_symbols(const ot_emission *e, const optune_call *call, ot_symbols *to);
/* The sizes that are given, and what follows of them. Errors name the dim, and what to do. */
int ot_emitted_sizes(ot_emission *e, optune_err *err);
/* Whether the types of all groups fit at the ends of the ranges and at sizes drawn in between. */
int ot_emitted_sizes_fit(const ot_emission *e, optune_err *err);
void ot_emitted_add_dim(const optune_dim *dim, ot_text *to);       /* as an expression of C */
void ot_emitted_add_bytes(const optune_tensor *type, ot_text *to); /* likewise, a size_t */

/* ---- emit_graph_sizes_text.c -------------------------------------------------------------- */
/* What the word of a pattern stands for, nothing in a graph without sizes; false: it is no word of
 * these. */
bool ot_emitted_size_word(const ot_emission *e, const char *word, size_t n, ot_text *to);

/* ---- emit_graph_text.c: files of text ---------------------------------------------------- */
enum { OT_EMITTED_TEXTS = 5 };
typedef struct ot_emitted_text {
    const char *path; /* in the folder; with @NAME@ for the model's name */
    const char *pattern;
} ot_emitted_text;
extern const ot_emitted_text ot_emitted_texts[OT_EMITTED_TEXTS];
void ot_emitted_path(const ot_emission *e, int text, ot_text *to);
void ot_emitted_fill(const ot_emission *e, int text, ot_text *to);
/* The file of one module of a kernel: its path and what is in it. */
void ot_emitted_kernel_path(const ot_emission *e, int kernel, int module, ot_text *to);
void ot_emitted_kernel_text(const ot_emission *e, int kernel, int module, ot_text *to);
/* emit_graph_told.c: everything about it but its files; a new reference. */
json_t *ot_emitted_json(const ot_emission *e);
const char *ot_emitted_value_name(const ot_emission *e, ot_value value, ot_text *to);

/* ---- emit_graph_files.c: the folder ------------------------------------------------------ */
/* Writes all of it beside `dir`, then in its place. `files` gets the paths. */
int ot_emitted_write(const ot_emission *e, const char *dir, bool force, json_t *files,
                     optune_err *err);

#endif
