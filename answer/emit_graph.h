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

typedef struct ot_emitted_kernel { /* one for each distinct workload */
    ot_source source;
    optune_config config;
    const char *tier;
    const char *instead_of; /* the library's implementation that was selected; NULL: none */
} ot_emitted_kernel;

typedef struct ot_emitted_group {
    int64_t packed, workspace; /* offsets of its kernel's memory */
    bool packs;                /* what an earlier one packed is not packed again */
} ot_emitted_group;

typedef struct ot_emission {
    optune_partition *partition;
    const optune_graph *graph;
    const char *name; /* prefix of everything */
    char upper[OPTUNE_NAME_SIZE];
    optune_target target; /* the handle's, libraries left out */
    int n_kernels;
    ot_emitted_kernel *kernel;
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
/* Everything about it but its files; a new reference. */
json_t *ot_emitted_json(const ot_emission *e);
const char *ot_emitted_value_name(const ot_emission *e, ot_value value, ot_text *to);

/* ---- emit_graph_files.c: the folder ------------------------------------------------------ */
/* Writes all of it beside `dir`, then in its place. `files` gets the paths. */
int ot_emitted_write(const ot_emission *e, const char *dir, bool force, json_t *files,
                     optune_err *err);

#endif
