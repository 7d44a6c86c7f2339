/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on a stream socket: a length of four bytes, big-endian, then that many bytes. What
 * the bytes mean is the business of the two ends. A peer that is gone is an ordinary answer
 * here, never a signal; a message cut off in the middle ends the conversation.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base.h"

static int gone(optune_err *err)
{
    return optune_fail(err, OPTUNE_EWORKER, "the process at the other end is gone");
}

/* Waits for `events`, or for ever when the deadline is 0. */
static int wait_for(int fd, short events, double deadline, optune_err *err)
{
    for (;;) {
        int milliseconds = -1;
        if (deadline > 0) {
            double left = deadline - ot_now();
            if (left < 0)
                left = 0;
            milliseconds = left > 1e6 ? 1000000000 : (int)ceil(left * 1000);
        }
        struct pollfd entry = {.fd = fd, .events = events};
        int n = poll(&entry, 1, milliseconds);
        if (n > 0)
            return OPTUNE_OK;
        if (n == 0 && ot_now() >= deadline)
            return optune_fail(err, OPTUNE_ETIMEOUT, "no message arrived in time");
        if (n < 0 && errno != EINTR)
            return optune_fail(err, OPTUNE_EIO, "poll failed: %s", strerror(errno));
    }
}

static int send_all(int fd, const char *data, size_t n, int flags, optune_err *err)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL | flags);
        if (sent >= 0) {
            data += sent;
            n -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int status = wait_for(fd, POLLOUT, 0, err);
            if (status < 0)
                return status;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return gone(err);
        } else if (errno != EINTR) {
            return optune_fail(err, OPTUNE_EIO, "sending failed: %s", strerror(errno));
        }
    }
    return OPTUNE_OK;
}

int ot_message_send(int fd, const char *data, size_t n, optune_err *err)
{
    if (n > OT_MESSAGE_LIMIT)
        return optune_fail(err, OPTUNE_ELIMIT, "a message of %zu bytes is too long", n);
    const char prefix[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    int status = send_all(fd, prefix, sizeof prefix, n ? MSG_MORE : 0, err);
    return status < 0 ? status : send_all(fd, data, n, 0, err);
}

static int receive_all(int fd, char *to, size_t n, double deadline, optune_err *err)
{
    while (n > 0) {
        int status = wait_for(fd, POLLIN, deadline, err);
        if (status < 0)
            return status;
        ssize_t got = recv(fd, to, n, MSG_DONTWAIT);
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        } else if (got == 0 || errno == ECONNRESET) {
            return gone(err);
        } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            return optune_fail(err, OPTUNE_EIO, "receiving failed: %s", strerror(errno));
        }
    }
    return OPTUNE_OK;
}

int ot_message_receive(int fd, ot_text *to, double seconds, optune_err *err)
{
    double deadline = seconds < 0 ? 0 : ot_now() + seconds;
    unsigned char prefix[4];
    ot_text_clear(to);
    int status = receive_all(fd, (char *)prefix, sizeof prefix, deadline, err);
    if (status < 0)
        return status;
    size_t n =
        (size_t)prefix[0] << 24 | (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];
    if (n > OT_MESSAGE_LIMIT)
        return optune_fail(err, OPTUNE_ELIMIT, "a message of %zu bytes was announced", n);
    char *body = ot_alloc(n);
    status = receive_all(fd, body, n, deadline, err);
    if (status == OPTUNE_OK)
        ot_text_add_n(to, body, n);
    free(body);
    return status;
}
