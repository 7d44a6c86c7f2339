/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more of a program, for another thread. What never changes once a program is open (modules,
 * constants, what was packed of them) is the first one's; what a run writes is the clone's. Where
 * a library keeps what it needs in a run beside what it packed, the clone packs for itself.
 */
#include <string.h>

#include "answer/graph.h"

static int clone_kernel(optune_program *p, int i, optune_err *err)
{
    const ot_kernel *from = &p->origin->kernel[i];
    ot_kernel *k = &p->kernel[i];
    ot_kernel_like(&p->machine, from, k);
    ot_program_bind(p, i, k);
    return ot_kernel_load_like(k, from, true, err);
}

int optune_program_clone(optune_program *program, optune_program **clone, optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"program", program}, {"clone", clone}));
    *clone = NULL;
    optune_program *origin = program->origin ? program->origin : program;
    if (!origin->machine.row->address)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "kernels of '%s' do not run in the memory of this process: open a "
                           "program for each thread",
                           origin->machine.o->target.kind);
    if (origin->by_values)
        return optune_fail(
            err, OPTUNE_EUNSUPPORTED,
            "dims of this graph follow from values, which its kernels are set to in "
            "each run: open a program for each thread");
    optune_program *p = ot_program_new(origin->partition);
    atomic_fetch_add(&origin->users, 1);
    p->origin = origin;
    p->machine = (ot_machine){
        .o = origin->machine.o, .row = origin->machine.row, .state = origin->machine.state};
    p->machine.scratch.n_wanted = origin->machine.scratch.n_wanted;
    memcpy(p->machine.scratch.wanted, origin->machine.scratch.wanted,
           sizeof p->machine.scratch.wanted);
    int status = ot_program_make_buffers(p, err);
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++)
        if (p->partition->places.idle[i] == OT_RUNS)
            status = clone_kernel(p, i, err);
    if (status < 0) {
        optune_program_close(p);
        return status;
    }
    *clone = p;
    return OPTUNE_OK;
}
