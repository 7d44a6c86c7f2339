/* SPDX-License-Identifier: Apache-2.0 */
/* From here on the system refuses this process the tiles of AMX, as it does where signal stacks are
 * too small for them. */
#ifndef OPTUNE_TESTS_REFUSED_TILES_H
#define OPTUNE_TESTS_REFUSED_TILES_H

#ifdef __x86_64__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* False where that cannot be arranged. */
static inline bool refuse_tiles(void)
{
    enum { ASKS_FOR_STATE = 0x1023 };
    struct sock_filter step[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ASKS_FOR_STATE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof step / sizeof step[0], .filter = step};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

#endif
