/* SPDX-License-Identifier: Apache-2.0 */
/* What a shared object in memory consists of. */
#include <link.h>

#include "base/base.h"

typedef struct search {
    uintptr_t address, own;
    ot_digest *digest;
} search;

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD &&
            address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* 1: found, -1: it is the program's or this library's, 0: go on. */
static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
    const search *s = arg;
    ot_digest parts[16];
    int n = 0;
    (void)size;
    if (!holds(object, s->address))
        return 0;
    if (!object->dlpi_name || !object->dlpi_name[0] || holds(object, s->own))
        return -1;
    for (int i = 0; i < object->dlpi_phnum && n < OT_COUNT(parts); i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_R) && !(part->p_flags & PF_W))
            parts[n++] =
                ot_digest_of((const void *)(object->dlpi_addr + part->p_vaddr), part->p_filesz);
    }
    *s->digest = ot_digest_of(parts, (size_t)n * sizeof parts[0]);
    return 1;
}

bool ot_object_digest(const void *address, ot_digest *digest)
{
    search s = {(uintptr_t)address, (uintptr_t)look, digest};
    return dl_iterate_phdr(look, &s) > 0;
}
