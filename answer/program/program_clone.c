/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more of a program, for another thread. What never changes once a program is open (modules,
 * constants, what was packed of them, dispatch tables) is the first one's; what a run writes is the
 * clone's, sizes of dims that only a run knows among it. Where a library keeps what it needs in a
 * run beside what it packed, the clone packs for itself.
 */
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"

static int clone_kernel(optune_program *p, int i, optune_err *err)
{
    const ot_kernel *from = &p->origin->kernel[i];
    ot_kernel *k = &p->kernel[i];
    ot_kernel_like(&p->machine, from, k);
    ot_program_bind(p, i, k);
    return ot_kernel_load_like(k, from, true, err);
}

static int clone_rows(optune_program *p, int group, optune_err *err)
{
    const ot_program_rows *from = &p->origin->rows[group];
    ot_program_rows *rows = &p->rows[group];
    int status = OPTUNE_OK;
    *rows = (ot_program_rows){.table = from->table, .of_row = from->of_row};
    rows->kernel = ot_alloc((size_t)from->n * sizeof *rows->kernel);
    while (rows->n < from->n && status >= 0) {
        ot_kernel *k = &rows->kernel[rows->n];
        ot_kernel_like(&p->machine, &from->kernel[rows->n], k);
        ot_program_bind(p, group, k);
        status = ot_kernel_load_like(k, &from->kernel[rows->n++], true, err);
    }
    return status;
}

int optune_program_clone(optune_program *program, optune_program **clone, optune_err *err)
{
    OT_ENTER(err, {"program", program}, {"clone", clone});
    *clone = NULL;
    optune_program *origin = program->origin ? program->origin : program;
    if (!origin->machine.row->address)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "kernels of '%s' do not run in the memory of this process: open a "
                           "program for each thread",
                           origin->machine.o->target.kind);
    optune_program *p = ot_program_new(origin->partition);
    atomic_fetch_add(&origin->users, 1);
    p->origin = origin;
    p->machine = (ot_machine){.o = origin->machine.o,
                              .row = origin->machine.row,
                              .state = origin->machine.state,
                              .target = origin->machine.target,
                              .device = origin->machine.device};
    p->machine.scratch.n_wanted = origin->machine.scratch.n_wanted;
    memcpy(p->machine.scratch.wanted, origin->machine.scratch.wanted,
           sizeof p->machine.scratch.wanted);
    int status = ot_program_make_buffers(p, err);
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++)
        if (p->partition->places.idle[i] == OT_RUNS)
            status = origin->rows[i].table ? clone_rows(p, i, err) : clone_kernel(p, i, err);
    if (status >= 0)
        status = ot_program_arrange(p, NULL, NULL, err);
    if (status < 0) {
        optune_program_close(p);
        return status;
    }
    *clone = p;
    return OPTUNE_OK;
}
