/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a process is: said once, before anything runs in it. */
#include <stdatomic.h>

#include "target/process.h"

static atomic_bool claimed;

void ot_process_claim(void)
{
    atomic_store(&claimed, true);
}

bool ot_process_claimed(void)
{
    return atomic_load(&claimed);
}
