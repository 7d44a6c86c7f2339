/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as C text; shared by what writes one kernel and what writes several. */
#ifndef OPTUNE_ANSWER_SOURCE_H
#define OPTUNE_ANSWER_SOURCE_H

#include "answer/answer.h"
#include "run/run.h"

typedef struct ot_source {
    optune_task task;
    const optune_impl *impl;
    const optune_config *config;
    optune_plan *plan;
    char name[OPTUNE_NAME_SIZE * 2]; /* prefix of all its functions */
    bool shared; /* constant scratch lies in `packed`, which others use, too; else all of it in
                    `workspace` */
    int64_t offset[OPTUNE_MAX_SCRATCH], workspace, packed;
    const ot_symbols *over; /* what dims are computed of; NULL: the call's own symbols */
    const struct ot_source_names *dims; /* what names of dims are in C; NULL: what they are */
} ot_source;

/* A name is `front` and the name, or what it stands for. */
typedef struct ot_source_names {
    const char *front;
    int n;
    const char *const *name, *const *is;
} ot_source_names;
/* An expression over dims as C has it. */
void ot_source_expression(const char *text, const ot_source_names *names, ot_text *to);
/* EUNSUPPORTED: a kernel is told a dim of an output that has no expression in C. */
int ot_source_sized(const ot_source *kernel, optune_err *err);
void ot_source_layout(ot_source *kernel); /* places scratch */
/* "-O3 ... -std=gnu17 -fopenmp": what it was compiled with for measuring, as far as that decides
 * the instructions; a module's own flags are not among them. */
void ot_source_flags(const ot_source *kernel, ot_text *to);
/* Whether one command builds all its modules: they fit one file. */
bool ot_source_is_one(const ot_source *kernel);
/* " * Build: cc ...": the command that built it for measuring. */
void ot_source_build(const ot_source *kernel, ot_text *to);
/* In front of modules in a file that is compiled with flags of others: no warnings about what is
 * meant. */
void ot_source_quiet(ot_text *to);
/* Later modules and what follows must undo its macros. */
void ot_source_module(const ot_source *kernel, int module, ot_text *to);
/* One module, whose names at file scope become <name>_m<module>_<name of it>, as its stages call
 * them; no macro is left behind. */
void ot_source_module_apart(const ot_source *kernel, int module, ot_text *to);
/* All modules, leaving neither macros nor names behind but those of its stages. */
void ot_source_apart(const ot_source *kernel, ot_text *to);
void ot_source_prototypes(const ot_source *kernel, ot_text *to);
/* linked.c: declarations of the library's functions. */
void ot_source_symbols(const ot_source *kernel, ot_text *to);
/* Of a kernel with a library: "calls the library 'dnnl' and is linked with it, ...\n". */
void ot_source_linked(const ot_source *kernel, ot_text *to);
/* The text in which a module says what its library refused, by the name that ot_source_module and
 * ot_source_apart give it; false: it says nothing. */
bool ot_source_failure(const ot_source *kernel, int module, ot_text *to);
/* The calls of one phase, as statements over `workspace`, `packed` where it is shared, `input`,
 * `output` and the dims. */
void ot_source_phase(const ot_source *kernel, optune_phase phase, ot_text *to);

#endif
