/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets between keeper and runner, with open files in them: both ends of what the kernel calls
 * SCM_RIGHTS. And the seal of a report, which both ends compute.
 */
#include <string.h>
#include <sys/socket.h>

#include "run/worker/worker_keeper.h"

typedef union control {
    struct cmsghdr head; /* aligns it */
    char bytes[CMSG_SPACE(OPTUNE_MAX_MODULES * sizeof(int))];
} control;

bool ot_packet_send(int fd, const void *packet, size_t n, const int *file, int n_files)
{
    control files = {0};
    struct iovec piece = {.iov_base = (void *)(uintptr_t)packet, .iov_len = n};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (n_files) {
        const size_t bytes = (size_t)n_files * sizeof *file;
        message.msg_control = files.bytes;
        message.msg_controllen = CMSG_SPACE(bytes);
        files.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(bytes)};
        memcpy(CMSG_DATA(&files.head), file, bytes);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

ssize_t ot_packet_take(int fd, void *packet, size_t size, int flags, int *file, int *n_files)
{
    control files;
    struct iovec piece = {.iov_base = packet, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = files.bytes,
                             .msg_controllen = sizeof files.bytes};
    const ssize_t n = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *n_files = 0;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        const size_t bytes = head->cmsg_len - CMSG_LEN(0);
        memcpy(file, CMSG_DATA(head), bytes);
        *n_files = (int)(bytes / sizeof *file);
    }
    return n;
}

uint64_t ot_seal_of(const ot_seal *seal)
{
    const size_t before = sizeof seal->key + sizeof seal->report.seal;
    const uint64_t rest = ot_hash64((const char *)seal + before, sizeof *seal - before);
    uint64_t both[5];
    memcpy(both, seal->key, sizeof seal->key);
    both[4] = rest;
    return ot_hash64(both, sizeof both);
}
