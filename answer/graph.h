/* SPDX-License-Identifier: Apache-2.0 */
/* A graph on a machine: what graph.c, function.c and program.c share. */
#ifndef OPTUNE_ANSWER_GRAPH_H
#define OPTUNE_ANSWER_GRAPH_H

#include "answer/answer.h"
#include "answer/dispatch/dispatch.h"
#include "answer/program/places.h"
#include "graph/layout.h"
#include "graph/sites.h"
#include "run/worker.h"

typedef struct ot_partition_row {
    const char *nodes;           /* names, separated by spaces */
    const char *text;            /* its workload's */
    int workload;                /* which of the distinct ones; -1: it does not run, or only a
                                    run knows its sizes */
    optune_selection *selection; /* NULL: not asked yet, or it does not run */
    ot_dispatch *table; /* what there is of its ranges, as the selection was made; NULL: none */
} ot_partition_row;

/* layouts.c: what is recorded of a graph in blocks of channels against the graph as it is. */
typedef struct ot_layouts {
    int block;             /* of so many channels; 0: nothing is known */
    int groups, in_blocks; /* of the graph as it is: that run; of these in blocks */
    int transforms;        /* between layouts */
    double plain, blocked; /* seconds of the whole, taken in turns */
    double transforms_s;   /* of the latter: in transforms */
    bool kept;             /* blocks are no slower: they are used */
} ot_layouts;

/* attend.c: the caller's graph with sites as calls. */
typedef struct ot_attended {
    int users; /* partitions; of one handle, so of one thread at a time */
    ot_relaid relaid;
} ot_attended;

/* What is known of the two ways to compute a graph's sites of one kind. */
typedef struct ot_attending {
    int sites, fused; /* found, and where a row computes it; of these as one call */
    /* Seconds of what differs, both measured in one situation; else 0. */
    double spelled, called;
    bool turned; /* turns of the whole graph decided, not these */
} ot_attending;

struct optune_partition {
    optune *o;
    optune_graph *given; /* the caller's */
    /* That, or with sites as calls: attended; or the same in blocks: relaid.graph. */
    optune_graph *graph;
    ot_attended *attended;  /* or NULL */
    ot_attending attending; /* attention */
    ot_attending chaining;  /* 1x1 convolutions in front of depthwise ones */
    const char *sites;      /* by kind of equal sites, in their order: '1', as one call; '0' */
    ot_relaid relaid;
    ot_layouts layouts;
    ot_groups groups;
    ot_places places;      /* of its values */
    ot_partition_row *row; /* of each group */
    bool selected;         /* all that run have a selection */
    int n_workloads, n_nodes;
    /* Distinct ones of groups that run; behind them those of the way that is not taken, which a
     * run measures, too; NULL-terminated. */
    const char **workloads;
    char policy[OPTUNE_NAME_SIZE]; /* "model-128M"; empty: the handle's */
    /* "graph-9c0e12f4": what was measured in this very graph. */
    char in_graph[OPTUNE_NAME_SIZE];
    const char *asked[3]; /* of these in turn, then the handle's; NULL-terminated */
    ot_arena arena;
    ot_text text;
};

/* graph.c: the caller's graph as it is. */
int ot_partition_open_given(optune *o, optune_graph *graph, optune_partition **partition,
                            optune_err *err);
/* attend.c: the same, or with sites as calls, where that is faster as far as is known; unmeasured,
 * attention is, and so are convolutions with more between them than a core's cache holds. Whatever
 * was recorded of its layouts. */
int ot_partition_open_plain(optune *o, optune_graph *graph, optune_partition **partition,
                            optune_err *err);
/* The same by some of what says which sites are calls. */
typedef enum ot_sites_by {
    OT_SITES_USED,     /* turns of the whole, else costs */
    OT_SITES_MEASURED, /* costs */
    OT_SITES_UNTUNED   /* as if nothing was measured */
} ot_sites_by;
int ot_partition_open_by(optune *o, optune_graph *graph, ot_sites_by by,
                         optune_partition **partition, optune_err *err);
/* The same graph with group i of `plain` in form[i], asked about under the same model's policy. */
int ot_partition_open_relaid(const optune_partition *plain, const ot_blocks *form,
                             optune_partition **partition, optune_err *err);
/* The same graph with some of its sites as calls, asked about likewise. */
int ot_partition_open_attended(const optune_partition *plain, const ot_site *sites, int n,
                               optune_partition **partition, optune_err *err);
/* Whether a row that is no last resort computes a call here. */
bool ot_partition_accepts(void *o, const optune_call *call);
/* Whether what was measured since it was opened says something else. */
bool ot_partition_outdated(const optune_partition *p);
/* graph_workloads.c: a workload of a group that runs and whose dims are ranges. */
typedef struct ot_ranged {
    const char *workload;
    const char
        *problem; /* why there can be no dispatch table, and the remedy; NULL: there can */
} ot_ranged;
/* The distinct ones; `all` has room for one a group. Returns how many. */
int ot_partition_ranges(const optune_partition *p, ot_arena *arena, ot_ranged *all);
/* attend_told.c: a line for each kind; nothing without sites. */
void ot_attending_say(const optune_partition *p, ot_text *to);
json_t *ot_attending_json(const ot_attending *told, ot_site_kind kind); /* new reference */
/* Constants have the elements that the caller's graph has now. */
void ot_partition_share(optune_partition *p);

/* Names of lines of a record that say how a graph was laid out, beside OT_LAYOUTS. */
#define OT_LAYOUTS_PLAIN "layouts_plain"
#define OT_LAYOUTS_BLOCKED "layouts_blocked"
#define OT_LAYOUTS_TRANSFORMS "layouts_transforms"
#define OT_LAYOUTS_TRANSFORMS_S "layouts_transforms_s"

/* anchor.c: the group whose records in the graph say what was found of the whole; -1: none. */
int ot_layouts_anchor(const optune_partition *plain);
/* Of these the newest that has a line of this name, its lines; NULL: none, or a kernel has changed
 * since. The caller frees it. */
char *ot_anchor_lines(optune_partition *plain, const char *name);
/* What they say: of a graph as it is, and in which forms it was faster. */
bool ot_layouts_recall(optune_partition *plain, ot_blocks *form, ot_layouts *told);
/* Each group that runs has been measured. */
bool ot_partition_measured(optune_partition *p);
/* layouts_told.c: as lines of such a record. */
void ot_layouts_lines(const ot_layouts *told, const ot_blocks *form, int n, ot_text *to);
/* How many of the graph's groups run, and which of these are in blocks. */
void ot_layouts_count(const optune_partition *plain, const ot_blocks *form, ot_layouts *told);
void ot_layouts_say(const ot_layouts *told,
                    ot_text *to);                /* a line; nothing if nothing is known */
json_t *ot_layouts_json(const ot_layouts *told); /* new reference */

/* machine.c: a target opened in this process, and what compiles for it. */
typedef struct ot_machine {
    optune *o;
    const optune_target_worker *row; /* the target's */
    void *state;
    ot_builder *builder;
    ot_shared scratch; /* of all its kernels: they run one behind the other */
    /* As they were when it was opened. */
    optune_target target;
    optune_device device;
    ot_calls calls; /* of kernels whose asker keeps none */
} ot_machine;
int ot_machine_open(optune *o, ot_machine *m, optune_err *err);
void ot_machine_close(ot_machine *m);

/* One workload by one config on a machine, over buffers of the machine. In three steps, so that
 * many compile at once: choose or take, then put the buffers into session.in and
 * session.out [OT_ALIGNED], and load. */
typedef struct ot_kernel {
    ot_machine *machine;
    const optune_impl *impl;
    const optune_config *config; /* `taken`, or that of one like it */
    optune_config *taken;        /* NULL: it is like another */
    int64_t scratch;             /* bytes, what is packed of constants included */
    int64_t kept;                /* of these, as they are laid out: what is packed */
    const optune_call *range; /* the call with dims that only a run knows; NULL: it has none */
    optune_call *sized;       /* that at the sizes at hand; NULL: likewise */
    optune_task task;         /* what it is compiled for */
    bool nothing;             /* its outputs are empty at the sizes at hand */
    ot_session *session;      /* borrows the machine's state; most of it is never touched */
    ot_job *job;              /* until it is loaded; NULL: it is like another */
    ot_loaded *loaded;
    ot_loaded *own; /* of one like another: its plan, as sizes are written there; or NULL */
    ot_bound *bound;
} ot_kernel;
/* What is selected; `policies` as in ot_answer_call_at. The call outlives the kernel. */
int ot_kernel_choose(ot_machine *m, const optune_call *call, const char *const *policies,
                     ot_kernel *kernel, optune_err *err);
/* What is named. */
int ot_kernel_take(ot_machine *m, const optune_call *call, const optune_impl *impl,
                   const optune_config *config, ot_kernel *kernel, optune_err *err);
int ot_kernel_load(ot_kernel *kernel, optune_err *err); /* waits, loads, packs */
/* A kernel on `m` for the same call by the same config as `like`, which is to be loaded before it
 * and to outlive it. Loading takes `like`'s modules and, with `same_constants`, what was packed,
 * unless a library packs. Of a call of ranges it is as large as it can be, and is resized by
 * itself. */
void ot_kernel_like(ot_machine *m, const ot_kernel *like, ot_kernel *kernel);
int ot_kernel_load_like(ot_kernel *kernel, const ot_kernel *like, bool same_constants,
                        optune_err *err);
/* Whether both groups, of one workload, pack the same constants. */
bool ot_groups_pack_alike(const optune_partition *p, const optune_plan *plan, int a, int b);
/* From now on it runs at the sizes of this call, all of them constants, within its ranges. */
int ot_kernel_resize(ot_kernel *kernel, const optune_call *sized, optune_err *err);
int ot_kernel_run(ot_kernel *kernel, optune_err *err);
void ot_kernel_release(ot_kernel *kernel);

/* program_rows.c: a group of ranges, as a dispatch table says: a kernel for each of its rows that
 * differ. */
typedef struct ot_program_rows {
    ot_dispatch *table; /* NULL: one kernel computes all sizes */
    int n;
    ot_kernel *kernel;
    int *of_row;   /* by row of the table: which kernel; -1: it is never used */
    int now;       /* the kernel for the sizes at hand */
} ot_program_rows; /* of a clone, table and of_row are its origin's */

/* program.c: a whole graph on a machine. */
struct optune_program {
    optune_partition *partition;
    struct optune_program *origin; /* whose constants and modules it uses; NULL: its own */
    atomic_int users;              /* of an origin: itself and its clones that are open */
    ot_machine machine;
    void ***buffer; /* by node, then by output: whose it is at its time; NULL inside a group */
    optune_tensor **type; /* by node, then by output: in the last run; before it, as large as it
                             can be */
    bool by_values;       /* some dims only a run knows */
    bool *settled;        /* by group: its dims follow from the inputs' sizes; NULL: none told */
    bool *sized;          /* by group: settled, and its kernel has these sizes */
    bool *written;        /* by home: a constant's elements are, or were, in it */
    ot_backing **held;    /* by home: of a constant that is used where the graph has it; NULL */
    bool *needed;         /* by home: a constant that stays */
    void **home;          /* by home of the partition's places: the buffer */
    int64_t arena;        /* bytes for what groups write */
    void *whole;          /* these, where it is one buffer; NULL: it is not, or not yet */
    int n_over;           /* of what groups write: laid over an operand */
    void **own;           /* every buffer once */
    int n_own;
    ot_kernel *kernel;     /* of each group, where no table says more */
    ot_program_rows *rows; /* of each group */
    int n_outputs;
    ot_value *output;
};
/* program_rows.c: the kernel that computes a group at the sizes at hand. */
ot_kernel *ot_program_kernel(const optune_program *p, int group);
/* What is selected for a group: by a table of its ranges, where there is one, else one kernel. */
int ot_program_choose(optune_program *p, int group, optune_err *err);
/* The kernel for the sizes of this call becomes the group's. */
int ot_program_take_row(optune_program *p, int group, const optune_call *sized,
                        optune_err *err);
void ot_program_release_rows(optune_program *p, int group);
/* Elements for constants that have none. */
int ot_partition_fill(optune_partition *p, uint64_t seed, optune_err *err);
/* With no kernels yet: its buffers, all constants written. */
int ot_program_prepare(optune_partition *partition, optune_program **program, optune_err *err);
/* Without a partition's and a machine's parts: the struct and its outputs. */
optune_program *ot_program_new(optune_partition *partition);
/* The buffers of group i become the kernel's. */
void ot_program_bind(const optune_program *p, int i, ot_kernel *kernel);
/* The same, and it is loaded. */
int ot_program_load(const optune_program *p, int i, ot_kernel *kernel, optune_err *err);
/* program_inputs.c: elements for the i-th variable, as large as `type`: what an operator that reads
 * it may be given. */
void ot_graph_fill_variable(const optune_graph *g, int i, const optune_tensor *type,
                            uint64_t seed, void *to);
/* The same for all variables of a program, in their buffers. */
int ot_program_fill_inputs(const optune_program *p, uint64_t seed, optune_err *err);
/* program_check.c: runs each group once more on what its inputs hold and judges it as a trial is
 * judged. Returns how many are wrong: a line for each in `text`, and { "nodes", "impl", "message" }
 * in `list`. */
int ot_program_check(optune_program *p, ot_text *text, json_t *list, optune_err *err);
/* program_memory.c: a buffer for every home that holds a variable, a constant or an output; what is
 * only used between groups shares buffers with what is no longer needed. */
int ot_program_make_buffers(optune_program *p, optune_err *err);
/* Before a run, and again when other kernels compute its groups: places what groups write by
 * their plans, those of p->kernel where `plan` is NULL. What was there before is lost. */
int ot_program_arrange(optune_program *p, ot_plan_of *plan, void *arg, optune_err *err);
void ot_program_free_buffers(optune_program *p);
/* Into their buffers, unless they were there before: constants that a group reads, that stay. */
int ot_program_write_constants(optune_program *p, int group, optune_err *err);
int ot_program_write_outputs(optune_program *p, optune_err *err);
/* Once this group has packed: of its constants, those that nobody reads again are the graph's
 * alone. */
void ot_program_drop_packed(optune_program *p, int group);
void *ot_program_buffer(const optune_program *p, ot_value value);
int64_t ot_program_bytes(const optune_program *p, ot_value value); /* as in p->type */
/* program_figures.c: bytes of the graph's constants; and of what a program holds: what was packed
 * of them, those that kernels read as they are, its inputs, what groups write, and scratch. Of a
 * clone what is its own. */
typedef struct ot_program_figures {
    int64_t constants, packed, kept, inputs, arena, scratch;
    int over; /* values that lie over an operand */
} ot_program_figures;
ot_program_figures ot_program_figures_of(const optune_program *p);
/* program_shapes.c: in front of an open group: true types of what it reads are known, those of what
 * it writes become known, and its kernel is set to them. */
int ot_program_shapes(optune_program *p, int group, optune_err *err);
/* program_sizes.c: a size for each dim of the variables, in the middle of its range, or below it
 * where what is computed of them has a limit; `given` has room for their types. *sized: some were
 * ranges. ETYPE: one has no bound. */
int ot_graph_choose_sizes(const optune_graph *g, optune_tensor *given, bool *sized,
                          optune_err *err);
/* What was computed of a graph with ranges: a line for each input, { "type", "range" } each. */
json_t *ot_graph_say_sizes(const optune_graph *g, const optune_tensor *given, ot_text *text);

#endif
