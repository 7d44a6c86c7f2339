/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a process is: said once, before anything runs in it; and how its idle threads go. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "target/process.h"
#include "target/target.h"

static atomic_bool claimed;

void ot_process_claim(void)
{
    atomic_store(&claimed, true);
}

bool ot_process_claimed(void)
{
    return atomic_load(&claimed);
}

void ot_process_rest(void)
{
    enum { SOFT = 1 }; /* omp_pause_soft */
    if (ot_process_claimed())
        ot_cpu_team_rest();
    int (*rest)(int) = NULL;
    void *library =
        ot_process_claimed() ? dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, "omp_pause_resource_all") : NULL;
    if (found) { /* since OpenMP 5 */
        memcpy(&rest, &found, sizeof rest);
        rest(SOFT);
    }
    if (library)
        dlclose(library);
}
