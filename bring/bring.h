/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that somebody brings: one file that says of itself which knobs, constraints, arguments
 * and launch it has becomes rows like those in tree: an operator, an implementation with its space
 * and plan, a strategy. From there on nobody asks whose kernel it is.
 *
 * The one idea: a file is read to the same rows in every process that is told its path, as a
 * plugin is loaded, so nothing but the path travels. Its notation is docs/tune.md's.
 */
#ifndef OPTUNE_BRING_H
#define OPTUNE_BRING_H

#include "base/expr.h"
#include "base/program.h"
#include "base/where.h"
#include "strategy/strategy.h"

typedef enum ot_language {
    OT_LANGUAGE_C,
    OT_LANGUAGE_OPENCL,
    OT_LANGUAGE_CUDA,
    OT_LANGUAGE_PROGRAM, /* none: a command that is run */
} ot_language;
/* The target that a language is for, as a call names it: "cpu", "program". */
const char *ot_language_target(ot_language language);

enum {
    OT_BROUGHT_ARGS = OPTUNE_MAX_ARGS, /* a stage's, those of a call among them */
    OT_BROUGHT_SIZES = 16,
    OT_BROUGHT_WHERE = 64,
    OT_BROUGHT_FLAGS = 8,
    OT_BROUGHT_VALUES = OT_BROUGHT_SIZES + OPTUNE_MAX_KNOBS,
};

/* An expression over sizes and knobs; `slot` says which value each of its names is. */
typedef struct ot_formula {
    ot_expr *expr; /* NULL: there is none */
    uint8_t slot[OT_EXPR_MOST_NAMES];
} ot_formula;

/* A number that the call decides: a dim of an input, where one has it as its name alone, else an
 * attribute of the call with this default. */
typedef struct ot_brought_size {
    const char *name;
    ot_spot spot;
    bool list; /* several, and always an attribute: T1's ProblemSize */
    int n;
    int64_t value[OPTUNE_MAX_LIST];
    int input, dim; /* input -1: attribute `dim` */
} ot_brought_size;

typedef struct ot_brought_knob {
    const char *name;
    ot_spot spot;
    ot_expr_value list;      /* its values */
    const char *const *text; /* how each is written in source */
    uint8_t scalar;          /* optune_scalar_kind, as the space keeps it */
    int standard;            /* which one is used untuned */
} ot_brought_knob;

typedef enum ot_brought_role {
    OT_ROLE_IN,
    OT_ROLE_OUT,
    OT_ROLE_INOUT, /* one parameter of the kernel, an input and an output of the call */
    OT_ROLE_SCALAR
} ot_brought_role;
typedef struct ot_brought_arg {
    const char *name;
    ot_spot spot;
    ot_brought_role role;
    optune_dtype dtype;
    int rank;
    ot_formula dim[OPTUNE_MAX_RANK];
    ot_formula value;     /* SCALAR */
    ot_formula low, high; /* of an input: what it may hold; without an expression: anything */
    int input, output;    /* which of the call's it is; -1: none */
    /* Files of elements, as they are named, then as paths: what an input holds and what is right of
     * an output that is computed of such; NULL: nothing says so. */
    const char *held, *expected;
    const char *restore; /* INOUT: the function of its module that gives it what it holds */
} ot_brought_arg;

/* A program: commands with places for knobs and sizes, see base/program.h. */
enum { OT_PROGRAM_TEXTS = 32 };
typedef struct ot_program {
    ot_words run, build, check, depends;
    int n_env, n_read;
    char *env[OT_PROGRAM_TEXTS];
    ot_pattern read[OT_PROGRAM_TEXTS];
    const char *objective, *folder, *path; /* NULL: not said; the program's file */
    double timeout_s;                      /* of one run; 0: not said */
    bool same_output;                      /* each config prints what the default one does */
    json_t *files; /* [path, digest] of each that it depends on, while it is settled */
    bool built[OT_BROUGHT_VALUES]; /* by slot: it has a place in the build command */
} ot_program;

typedef struct ot_brought {
    optune_op op; /* first: a call's op is this */
    optune_impl impl, checker;
    optune_strategy strategy;
    optune_strategy_row row[2];
    optune_preset preset[2];
    const char *workload[2];
    optune_op_input input[OPTUNE_MAX_INPUTS + 1];
    optune_op_attr attr[OPTUNE_MAX_ATTRS + 1];

    ot_arena arena;
    const char *path, *file; /* whole, and what messages call it, which is its last part */
    bool in_options;         /* nobody wrote it: what it says was said in a command's options */
    const char *function;
    ot_language language;
    ot_text source;  /* with quoted includes in place */
    char digest[33]; /* of all that was read */
    int n_args, n_sizes, n_knobs, n_where, n_flags;
    ot_brought_arg arg[OT_BROUGHT_ARGS];
    ot_brought_size size[OT_BROUGHT_SIZES];
    ot_brought_knob knob[OPTUNE_MAX_KNOBS];
    ot_formula where[OT_BROUGHT_WHERE];
    ot_formula grid, block, shared, flops, bytes;
    bool grid_in_threads; /* `grid` counts threads, as OpenCL's global size does */
    const char *flag[OT_BROUGHT_FLAGS];
    bool exemplified;             /* outputs are compared with files once, too */
    const char *reference;        /* a C function; NULL: the default config is what is right */
    const char *reference_source; /* of it, when it is not in the file itself */
    const char *reference_folder; /* that it must lie in; NULL: anywhere */
    double absolute, relative;    /* negative: not said */
    ot_program program;           /* of OT_LANGUAGE_PROGRAM */
    int n_remarks; /* what is odd in the file and refused nowhere, each with its place */
    const char *remark[OPTUNE_MAX_KNOBS + OT_BROUGHT_ARGS];
} ot_brought;

/* ---- load.c ------------------------------------------------------------------------------ */
/* Adds the rows of a plugin or of a kernel's file, by what it is called; all or none. ENOENT, EIO,
 * ESYNTAX with the place, ECONFLICT: an operator of that name exists. See ot_plugin_load. */
int ot_rows_load(const char *path, int (*add_target)(const optune_target_row *, optune_err *),
                 optune_err *err);
void ot_brought_free(ot_brought *b); /* one whose rows were not added */
/* Whether what was said in a command's options, written there, can be read: messages name these.
 * Its rows are not added. */
int ot_brought_check_options(const char *path, optune_err *err);
/* Whether it would be read as a kernel's file. */
bool ot_is_brought_path(const char *path);
/* What this process has read from that path, or as that operator; NULL: nothing. */
const ot_brought *ot_brought_of_path(const char *path);
const ot_brought *ot_brought_of_op(const char *op);
const ot_brought *ot_brought_of_kernel(const char *function); /* the first whose it is */

/* ---- source.c ---------------------------------------------------------------------------- */
/* The file's text with what it includes in quotes put in place, so that it is whole wherever it is
 * compiled, and says its own lines to compilers. `within`: a folder (real path) that nothing is
 * read outside of; NULL: anywhere. */
int ot_source_read(const char *path, const char *within, ot_text *to, optune_err *err);
/* ESYNTAX: it is no UTF-8, and a document, as the worker is told by, would lose it. */
int ot_path_check(const char *path, optune_err *err);
/* Of a file that is named as the kernel's folder sees it. */
const char *ot_path_beside(ot_brought *b, const char *name);

/* ---- array_file.c ------------------------------------------------------------------------ */
/* A file with just the elements of such a tensor of constant dims: .npy, or raw. ENOENT, EIO,
 * ESYNTAX, ETYPE: it is not, in words with its name. */
int ot_array_check(const char *path, const optune_tensor *type, optune_err *err);
/* The same, into as much memory as the tensor takes. */
int ot_array_read(const char *path, const optune_tensor *type, void *to, optune_err *err);

/* ---- arrays.c ---------------------------------------------------------------------------- */
/* Finds the files that parameters name, with a digest of each behind *digests. EUSAGE: some are
 * missing with which the others say something; what ot_array_check says of one. */
int ot_arrays_settle(ot_brought *b, ot_text *digests, optune_err *err);

/* ---- notation.c, t1.c: what a file says of itself ---------------------------------------- */
int ot_notation_read(ot_brought *b, const char *text, optune_err *err);
int ot_t1_read(ot_brought *b, const char *text, optune_err *err);

/* ---- program.c: programs ------------------------------------------------------------------ */
/* What a message calls a statement, or the option that it was said in. */
const char *ot_program_said(ot_brought *b, const char *word);
/* What begins a statement of programs only; ends with NULL. */
extern const char *const ot_program_words[];
bool ot_program_word(const char *word); /* it is one of them */
int ot_program_statement(ot_brought *b, const char *word, const char *rest, optune_err *err);
/* Its folder, program and digest, and the body of its modules. */
int ot_program_settle(ot_brought *b, optune_err *err);
/* How the knob's values are passed: as its list, a text, has them. program_rows.c */
void ot_program_spell(ot_brought *b, ot_brought_knob *knob, const char *list);
/* It is a program that tells a number of that name: measured, or read from what it prints. */
bool ot_program_measures(const ot_brought *b, const char *name);
/* Those of its numbers, sizes and knobs, behind what there is. */
void ot_brought_say_names(const ot_brought *b, ot_text *to);

/* ---- declare.c: what both of them say ---------------------------------------------------- */
int ot_declare_size(ot_brought *b, const char *name, ot_spot spot, const ot_expr_value *value,
                    optune_err *err);
/* `standard` NULL: its first value. The list may belong to anyone. */
int ot_declare_knob(ot_brought *b, const char *name, ot_spot spot, const ot_expr_value *list,
                    const ot_expr_value *standard, optune_err *err);
int ot_declare_where(ot_brought *b, const char *text, ot_spot spot, optune_err *err);
/* The value of a text that knows only the sizes declared so far. */
int ot_declared_value(ot_brought *b, const char *text, ot_spot spot, ot_expr_value *value,
                      optune_err *err);

/* ---- settle.c ---------------------------------------------------------------------------- */
/* Once all is declared: what names mean, which sizes are dims and which attributes; and the
 * rows. */
int ot_brought_settle(ot_brought *b, optune_err *err);

/* ---- parameters.c ------------------------------------------------------------------------- */
/* Whether the function, where it is defined in this text, takes what is declared. ETYPE, ECONFLICT:
 * certainly not, with the place of the parameter's declaration. */
int ot_parameters_check(const ot_brought *b, const char *source, const char *function,
                        ot_language language, optune_err *err);
/* Whether the function, where it is defined in this text, has a parameter of this name. */
bool ot_parameters_name(const char *source, const char *function, const char *word);
/* Appends the text with a mark in front of each of the function's declarations. False: they are not
 * all plain to a reader, and nothing is appended. */
bool ot_declarations_mark(const char *source, const char *function, const char *mark,
                          ot_text *to);

/* ---- entry.c ----------------------------------------------------------------------------- */
/* The one function that the harness calls, and in it the kernel with its own parameters. */
void ot_entry_add(const ot_brought *b, const char *function, ot_text *to);
/* What a stage in front of each run calls, for parameters that are read and written. Who calls it
 * with one memory for both wants it changed where it is. */
void ot_restores_add(const ot_brought *b, ot_language language, ot_text *to);

/* ---- values.c ---------------------------------------------------------------------------- */
/* What names mean for a call and a config. */
typedef struct ot_values {
    ot_expr_value value[OT_BROUGHT_VALUES];
    ot_expr_value item[OPTUNE_MAX_LIST]; /* of sizes that are lists */
} ot_values;
/* config NULL: knobs have their defaults. */
void ot_values_of(const ot_brought *b, const optune_call *call, const optune_config *config,
                  ot_values *values);
/* In dims of the call of the file's own sizes: a knob is the list of its values. */
void ot_own_values(const ot_brought *b, ot_values *values);
/* Of the size or knob of that name; false: there is none. A list's items are in *values. */
bool ot_value_called(const ot_brought *b, const char *name, const ot_values *values,
                     ot_expr_value *value);
/* The entity is of a knob of this file, and one of its real values. */
bool ot_brought_real(const ot_brought *b, const optune_entity *entity);
int ot_formula_value(const ot_formula *f, const ot_values *values, ot_arena *arena,
                     ot_expr_value *value, optune_err *err);
/* As an integer; ETYPE with the place. */
int ot_formula_int(const ot_formula *f, const ot_values *values, int64_t *value,
                   optune_err *err);
/* An integer, or a list of up to three; the others are 1. */
int ot_formula_three(const ot_formula *f, const ot_values *values, int64_t value[3],
                     optune_err *err);

/* ---- rows.c: hooks of the rows; they find the file's declaration at the call's op ---------- */
void ot_brought_rows(ot_brought *b);

/* program_rows.c: what is other in those of a program; at the end. */
void ot_program_rows(ot_brought *b);

/* The constraints of a call; NULL: there are none. */
ot_where *ot_brought_where(const ot_brought *b, const optune_call *call);

/* ---- count.c ----------------------------------------------------------------------------- */
typedef struct ot_brought_count {
    double combinations;
    int64_t valid;
    bool whole;                        /* false: time was up, there are at least so many */
    int64_t refused[OT_BROUGHT_WHERE]; /* by each constraint, those before it having agreed */
    int64_t undefined;                 /* of those: it could not be computed, by a zero say */
} ot_brought_count;
/* By constraints alone, each tested as soon as its last knob has a value. */
void ot_brought_count_valid(const ot_brought *b, const optune_call *call, double seconds,
                            ot_brought_count *count);
/* ENOENT: there is no valid config, with the constraints that leave none. */
int ot_brought_check_count(const ot_brought *b, const ot_brought_count *count, optune_err *err);

#endif
