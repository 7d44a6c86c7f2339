/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and graphs. A call is an operator with attributes and input types, built from code
 * instead of from text. A graph joins calls by their values: variables, constants, calls and
 * tuples are nodes, known by small integers from 0 on; a node is made after what it uses, so a
 * graph has no cycles. Types are inferred over the whole graph, in both directions.
 *
 * Functions that make a node return its number, or a negative optune_status with `err` filled.
 * Names may be NULL: then the node gets one. Nothing here measures or knows a machine. A graph
 * belongs to one thread. Other arguments that are NULL, and numbers of nodes that there are not,
 * are met as optune/optune.h says.
 */
#ifndef OPTUNE_GRAPH_H
#define OPTUNE_GRAPH_H

#include "optune/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls from code --------------------------------------------------------------------- */

/* Starts a call of an operator: attributes at their defaults, no inputs. */
OPTUNE_API int optune_call_start(optune_call *call, const char *op, optune_err *err);
/* The next input: "f32[1,64]", "const f32[10,64]", "f32[?m:1..64,768]", "?" for unknown. Constness
 * is the operator's default unless the text says `const` or `var`. */
OPTUNE_API int optune_call_add_input(optune_call *call, const char *type, optune_err *err);
/* An attribute as it would be written in a workload. */
OPTUNE_API int optune_call_set(optune_call *call, const char *name, const char *value,
                               optune_err *err);
/* The same, typed: an INT or BOOL; a FLOAT; a list. */
OPTUNE_API int optune_call_set_int(optune_call *call, const char *name, int64_t value,
                                   optune_err *err);
OPTUNE_API int optune_call_set_float(optune_call *call, const char *name, double value,
                                     optune_err *err);
OPTUNE_API int optune_call_set_ints(optune_call *call, const char *name, int n,
                                    const int64_t *values, optune_err *err);
/* Infers types and brings the call to its canonical form: what optune_call_read gives for the same
 * words. Required inputs and attributes must be there. */
OPTUNE_API int optune_call_settle(optune_call *call, optune_err *err);
/* From text, settled. */
OPTUNE_API int optune_call_read(optune_call *call, const char *text, optune_err *err);
/* The canonical text of a settled call: its identity. ELIMIT when it does not fit. */
OPTUNE_API int optune_call_write(const optune_call *call, char *text, size_t size,
                                 optune_err *err);
/* What one run of a settled call of constant sizes does: operations, 0: they are not counted; bytes
 * that it reads and writes at least. 0 of any other call. */
OPTUNE_API double optune_call_flops(const optune_call *call);
OPTUNE_API double optune_call_bytes(const optune_call *call);
/* A call by its address, for languages that know no structs of C: from text, settled; the caller
 * closes it. Every function that takes a call takes this one. */
OPTUNE_API int optune_call_open(const char *text, optune_call **call, optune_err *err);
OPTUNE_API void optune_call_close(optune_call *call); /* NULL is fine */

/* ---- graphs ------------------------------------------------------------------------------ */

typedef struct optune_graph optune_graph;

OPTUNE_API int optune_graph_open(optune_graph **graph, optune_err *err); /* an empty one */
OPTUNE_API void optune_graph_close(optune_graph *graph);                 /* NULL is fine */
/* From a file, or from text; `name` is what messages call the text. The types are not inferred
 * yet. A failure names line and column and shows the place. */
OPTUNE_API int optune_graph_read(const char *path, optune_graph **graph, optune_err *err);
OPTUNE_API int optune_graph_parse(const char *text, const char *name, optune_graph **graph,
                                  optune_err *err);

/* The same with symbolic dims given values, as optune_graph_bind does. A path that ends in ".onnx"
 * is a model file, see docs/onnx.md: its dims are bound while it is read, which lets shapes that
 * are computed from them be constants, and its types are inferred already. EUNSUPPORTED names
 * every node that has no counterpart. */
typedef struct optune_binding {
    const char *dim;
    int64_t value;
} optune_binding;
OPTUNE_API int optune_graph_read_bound(const char *path, const optune_binding *bind, int n,
                                       optune_graph **graph, optune_err *err);
/* The same without the nodes of a model that have no counterpart: what they would give becomes a
 * variable where the file tells its type, else what depends on it is left out, too; what nothing
 * reads any more becomes an output. For tuning what there is; it computes something else than the
 * model. EUNSUPPORTED: nothing is left. */
OPTUNE_API int optune_graph_read_partial(const char *path, const optune_binding *bind, int n,
                                         optune_graph **graph, optune_err *err);
/* What was left out, a line for each reason, "Loop 'around' and 2 more: this operator ..."; "":
 * nothing. The graph's. */
OPTUNE_API const char *optune_graph_left_out(const optune_graph *graph);

/* `type` as in a call's text; "?" when it is to be inferred from the consumers. */
OPTUNE_API int optune_graph_variable(optune_graph *graph, const char *name, const char *type,
                                     optune_err *err);
/* Never changes. `data` NULL: its elements are known to whoever executes the graph; otherwise
 * they are copied, and the type must be a known one. */
OPTUNE_API int optune_graph_constant(optune_graph *graph, const char *name, const char *type,
                                     const void *data, optune_err *err);
/* A call of `op` on `n` values; a tuple among them stands for its fields. `attrs` as in a
 * call's text, "strides=[1,1], groups=1"; NULL: none. Of several outputs the node is a tuple. */
OPTUNE_API int optune_graph_call(optune_graph *graph, const char *name, const char *op,
                                 const int *inputs, int n, const char *attrs, optune_err *err);
/* The same with operator and attributes from a started call. */
OPTUNE_API int optune_graph_call_like(optune_graph *graph, const char *name,
                                      const optune_call *call, const int *inputs, int n,
                                      optune_err *err);
/* `n` values as one, and field 0 .. n-1 of a tuple. */
OPTUNE_API int optune_graph_tuple(optune_graph *graph, const char *name, const int *fields,
                                  int n, optune_err *err);
OPTUNE_API int optune_graph_get(optune_graph *graph, const char *name, int tuple, int index,
                                optune_err *err);
/* Adds an output of the whole graph. A tuple stands for its fields. */
OPTUNE_API int optune_graph_output(optune_graph *graph, int node, optune_err *err);
/* What is known of a node's type; joined with what is known already. ETYPE names both. */
OPTUNE_API int optune_graph_annotate(optune_graph *graph, int node, const char *type,
                                     optune_err *err);

/* ---- types ------------------------------------------------------------------------------- */

/* Runs every type relation, forwards and backwards, until nothing changes. Equal names of dims
 * are one dim in the whole graph. OK: all is known; 1: something is still unknown or symbolic;
 * ETYPE: a conflict, with node, argument, both types and the place in the file. */
OPTUNE_API int optune_graph_infer(optune_graph *graph, optune_err *err);
/* Gives a symbolic dim a value: `?m` becomes 128 everywhere. ENOENT: no dim has this name;
 * ETYPE: outside its range. Infer again afterwards. */
OPTUNE_API int optune_graph_bind(optune_graph *graph, const char *dim, int64_t value,
                                 optune_err *err);
/* Narrows a symbolic dim to low..high, and with it what is computed of it; high -1: no upper end.
 * ENOENT, ETYPE as above. Infer again afterwards. */
OPTUNE_API int optune_graph_bound(optune_graph *graph, const char *dim, int64_t low,
                                  int64_t high, optune_err *err);

/* ---- looking ----------------------------------------------------------------------------- */

OPTUNE_API int optune_graph_size(const optune_graph *graph); /* nodes are 0 .. size-1 */
OPTUNE_API int optune_graph_find(const optune_graph *graph, const char *name); /* or -1 */
OPTUNE_API const char *optune_graph_name(const optune_graph *graph, int node);
OPTUNE_API int optune_graph_inputs(const optune_graph *graph); /* variables, in order */
OPTUNE_API int
optune_graph_outputs(const optune_graph *graph); /* tensors, tuples taken apart */
OPTUNE_API int optune_graph_input_node(const optune_graph *graph, int i);
/* The type of a node that is one tensor, of variable i, of output i; NULL for a tuple. */
OPTUNE_API const optune_tensor *optune_graph_type(const optune_graph *graph, int node);
OPTUNE_API const optune_tensor *optune_graph_input_type(const optune_graph *graph, int i);
OPTUNE_API const optune_tensor *optune_graph_output_type(const optune_graph *graph, int i);
/* The graph as a file; `types`: with every inferred type. Both read back as the same graph. Owned
 * by the graph and valid until the next call of this. */
OPTUNE_API const char *optune_graph_text(optune_graph *graph, bool types);
/* The same as one JSON document; see docs/formats.md. Valid like the text. */
OPTUNE_API const char *optune_graph_json(optune_graph *graph);

/* ---- gradients --------------------------------------------------------------------------- */

/* Reverse mode: a new graph that computes the outputs of this one and then, for each node of `wrt`
 * (NULL: every variable and constant of a floating type, in order), the gradient of the sum of all
 * elements of all floating outputs. The nodes of this graph keep their numbers and names in it.
 * EUNSUPPORTED names an operator without a gradient rule that stands between. */
OPTUNE_API int optune_graph_gradient(const optune_graph *graph, const int *wrt, int n,
                                     optune_graph **gradient, optune_err *err);

/* ---- precision --------------------------------------------------------------------------- */

/* A new graph that computes the same in fewer bits, its inputs and outputs of the same types:
 * products of float32 (convolutions, dense and batched ones, attention) take and give `dtype`,
 * "bfloat16" or "float16", and what only maps or moves their results stays in it; sums and
 * means, norms, softmax, what says where something is and what has a constant that `dtype` cannot
 * hold stay in float32, with casts between. Weights are rounded. It needs nothing of this graph
 * any longer. EUSAGE: another dtype. */
OPTUNE_API int optune_graph_narrow(const optune_graph *graph, const char *dtype,
                                   optune_graph **narrow, optune_err *err);

/* ---- meaning ----------------------------------------------------------------------------- */

/* The same nodes; `wide`: every floating type becomes f64, so that evaluation shows what exact
 * arithmetic would give. */
OPTUNE_API int optune_graph_copy(const optune_graph *graph, bool wide, optune_graph **copy,
                                 optune_err *err);
/* The elements of a constant, copied; its type must be known. NULL: none, as at first. */
OPTUNE_API int optune_graph_set_data(optune_graph *graph, int node, const void *data,
                                     optune_err *err);

/* Computes the outputs by the operators' references: slowly, in double precision, each result
 * rounded to its dtype. `inputs` are the variables' elements in order, dense; `types` are theirs
 * where the graph leaves dims open, NULL: it does not. Shapes that depend on values come out. */
typedef struct optune_values optune_values;
OPTUNE_API int optune_graph_evaluate(const optune_graph *graph, const void *const *inputs,
                                     const optune_tensor *types, optune_values **values,
                                     optune_err *err);
/* Of output 0 .. outputs-1: its type, all known, and its elements, dense and row-major; both belong
 * to the values. */
OPTUNE_API const optune_tensor *optune_values_type(const optune_values *values, int output);
OPTUNE_API const void *optune_values_data(const optune_values *values, int output);
OPTUNE_API void optune_values_free(optune_values *values); /* before the graph is closed */

/* ---- on a machine ------------------------------------------------------------------------ */

struct optune;
struct optune_selection;
struct optune_result;

/* What is computed as one: an operator and the elementwise ones that can be fused behind it on
 * the handle's target. Groups are in an order of evaluation. */
typedef struct optune_partition optune_partition;
/* Infers the types. The graph must stay as it is while the partition is used. */
OPTUNE_API int optune_partition_open(struct optune *handle, optune_graph *graph,
                                     optune_partition **partition, optune_err *err);
OPTUNE_API void optune_partition_close(optune_partition *partition); /* NULL is fine */
OPTUNE_API int optune_partition_size(const optune_partition *partition);
/* Of group i: its workload's canonical text, and its nodes' names, separated by spaces. */
OPTUNE_API const char *optune_partition_workload(const optune_partition *partition, int i);
OPTUNE_API const char *optune_partition_nodes(const optune_partition *partition, int i);
/* Why group i need not run: "view", its output is its input or a part of it as it lies in memory
 * (a reshape, a copy); "in place", those who make its inputs write them into its output (a
 * concatenation of dense parts). NULL: it runs. */
OPTUNE_API const char *optune_partition_place(const optune_partition *partition, int i);
/* The distinct workloads of groups that run, NULL-terminated, for optune_run; behind them those of
 * another way to compute the graph that measuring may prefer (attention as one call or as
 * products, a 1x1 convolution and a depthwise one as one call or as two). ETYPE: one still has
 * unknown dims. */
OPTUNE_API int optune_partition_workloads(const optune_partition *partition,
                                          const char *const **workloads, optune_err *err);
/* The measuring policy for optune_run: on targets whose memory is the process's "model-<N>M", N the
 * MiB that the graph touches between two uses of a constant, unless the handle was opened with
 * another policy than warm; else the handle's. Groups are asked about as measured in this very
 * graph first (optune_run_options.graph), then under this policy, then under the handle's. Owned by
 * the partition. */
OPTUNE_API const char *optune_partition_policy(const optune_partition *partition);
/* Asks for every group that runs which implementation would be used. The answers are kept; asking
 * again renews them. ENOENT names the group that nothing computes. */
OPTUNE_API int optune_partition_select(optune_partition *partition, optune_err *err);
/* Of group i; owned by the partition. NULL before optune_partition_select, and where the group does
 * not run. */
OPTUNE_API struct optune_selection *
optune_partition_selection(const optune_partition *partition, int i);
/* What was selected, a line per group, or with `explain` every implementation of every distinct
 * workload; and the same as JSON. Valid until the next call of either. */
OPTUNE_API const char *optune_partition_text(optune_partition *partition, bool explain);
OPTUNE_API const char *optune_partition_json(optune_partition *partition);

/* What a settled call takes and gives, so that memory can be made for it: as text its canonical
 * form, as JSON the types of its inputs and outputs (docs/formats.md). The caller frees it. */
OPTUNE_API int optune_call_describe(const optune_call *call, struct optune_result **result,
                                    optune_err *err);

/* ---- computing in this process ----------------------------------------------------------- */

/*
 * What is selected, compiled and loaded into the calling process. Nothing shields the process from
 * it, as it would from a library. With several threads the first one to be opened sets OpenMP's
 * environment as trials have it. One thread at a time may use a function or a program; a program
 * has clones for others.
 */

/* The selected implementation of one call whose types are known. `constants`: the elements of its
 * constant inputs, by input, the others are not read; they are copied and packed. What has no
 * elements may be NULL, here and below, and so may a list of nothing else. */
typedef struct optune_function optune_function;
OPTUNE_API int optune_function_open(struct optune *handle, const optune_call *call,
                                    const void *const *constants, optune_function **function,
                                    optune_err *err);
/* inputs[i]: as the call's inputs, dense; those of constants are not read. */
OPTUNE_API int optune_function_run(optune_function *function, const void *const *inputs,
                                   void *const *outputs, optune_err *err);
/* The same for a workload's text. ESYNTAX, ETYPE: what is wrong in it, with its place. */
OPTUNE_API int optune_function_open_text(struct optune *handle, const char *workload,
                                         const void *const *constants,
                                         optune_function **function, optune_err *err);
/* Output `output` as it came out of the last run, before one, or after optune_program_resize, as
 * large as it can be in the next: its dims into
 * `dims`, room for OPTUNE_MAX_RANK of them; returns how many, or EUSAGE. Of an operator whose dims
 * follow from values (argwhere, unique ...) the call's types have the bounds, and so large every
 * output is: elements of the true shape, dense, then zeros. A run that the values do not allow (a
 * step of 0) is refused, and writes nothing. */
OPTUNE_API int optune_function_shape(const optune_function *function, int output, int64_t *dims,
                                     optune_err *err);
OPTUNE_API const char *optune_function_impl(const optune_function *function);
OPTUNE_API void optune_function_close(optune_function *function); /* NULL is fine */

/* Elements for the constants that have none: as trials make them, weights scaled down by the
 * square root of what is summed over. */
OPTUNE_API int optune_graph_fill(optune_graph *graph, uint64_t seed, optune_err *err);
/* A whole graph: selects for every group, compiles, packs the constants once. EUSAGE: a
 * constant has no elements. The partition and its graph must outlive the program. */
typedef struct optune_program optune_program;
OPTUNE_API int optune_program_open(optune_partition *partition, optune_program **program,
                                   optune_err *err);
/* inputs: the variables' elements in order; outputs: room for those of every output. Where dims of
 * an output's type are ranges, room is for their upper ends, or, once the inputs' sizes were told
 * (optune_program_resize), for what optune_program_shape says right after that; what is written is
 * the true shape, dense. */
OPTUNE_API int optune_program_run(optune_program *program, const void *const *inputs,
                                  void *const *outputs, optune_err *err);
/* How large the inputs of the runs that follow are, in a graph of variables with bounded ranges,
 * as an image of `?h:32..512` rows is: types[i] is the i-th variable's, known, in its range, and
 * dims of one name have one size. Before, they are as large as they can be. ETYPE: one does not
 * fit, and nothing changed. Outputs that follow from these sizes alone have their true shape then,
 * and need no more room; others are as large as they can be. */
OPTUNE_API int optune_program_resize(optune_program *program, const optune_tensor *types,
                                     optune_err *err);
/* Output `output` as it came out of the last run, before one, or after optune_program_resize, as
 * large as it can be in the next: its dims into
 * `dims`, room for OPTUNE_MAX_RANK of them; returns how many, or EUSAGE. */
OPTUNE_API int optune_program_shape(const optune_program *program, int output, int64_t *dims,
                                    optune_err *err);
/* Seconds of one run from the first group to the last, over the inputs of the run before: the
 * median and its 95 % interval. */
OPTUNE_API int optune_program_time(optune_program *program, double *median, double *low,
                                   double *high, optune_err *err);
/* The same program for one more thread: modules, constants and what was packed of them are shared,
 * everything that a run writes is its own. It runs, is timed, cloned and closed like any other, in
 * any order, while others run; what they share goes with the last. Where dims are ranges its sizes
 * are its own, too: until optune_program_resize tells some, the largest. EUNSUPPORTED: the target's
 * kernels do not run in the memory of this process. */
OPTUNE_API int optune_program_clone(optune_program *program, optune_program **clone,
                                    optune_err *err);
OPTUNE_API void optune_program_close(optune_program *program); /* NULL is fine */
/* All of it at once: select, compile, run, forget. */
OPTUNE_API int optune_graph_execute(struct optune *handle, optune_graph *graph,
                                    const void *const *inputs, void *const *outputs,
                                    optune_err *err);
/* For looking at: made-up elements, one run compared with the references, and its time. Returns 1
 * when some group's output is outside its error bound, or an output is infinite or no number where
 * the references' is not; the result names the group. */
OPTUNE_API int optune_partition_execute(optune_partition *partition, uint64_t seed,
                                        struct optune_result **result, optune_err *err);
/* Where its time goes, with made-up elements and nothing compared: what each group takes while the
 * whole runs, by itself right there, again and again, and as it was measured. Where dims are
 * ranges all of it is at sizes in their middle, which the result names. */
OPTUNE_API int optune_partition_profile(optune_partition *partition, uint64_t seed,
                                        struct optune_result **result, optune_err *err);

/* The whole graph, each group by what is selected for it, as C that builds without optune: see
 * docs/emit.md. All constants need elements. Writes the folder `dir` whole or not at all: beside
 * its place first, then over what an earlier call wrote there. EUSAGE: there are other files in it;
 * with `force` they stay, unless they have the name of one that is written. `name`: what its
 * functions begin with and its files are called, NULL: "model". EUNSUPPORTED: the target's kernels
 * do not run in the memory of a process. The result lists the files. */
OPTUNE_API int optune_partition_emit(optune_partition *partition, const char *dir,
                                     const char *name, bool force,
                                     struct optune_result **result, optune_err *err);

#ifdef __cplusplus
}
#endif
#endif
