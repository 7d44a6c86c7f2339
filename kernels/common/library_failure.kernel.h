/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a body that calls a library says that the library refused: the harness looks at
 * `ot_failure` after every run, and anything in it ends the trial as `runtime` with that text.
 * Without it an output that nobody wrote would be found wrong, which says nothing.
 */
#ifndef OPTUNE_KERNELS_COMMON_LIBRARY_FAILURE_H
#define OPTUNE_KERNELS_COMMON_LIBRARY_FAILURE_H

char ot_failure[384];

static void add_to_failure(const char *text)
{
    unsigned n = 0;
    while (ot_failure[n])
        n++;
    while (*text && n + 1 < sizeof ot_failure)
        ot_failure[n++] = *text++;
    ot_failure[n] = 0;
}

/* Says "call: why (status)", and what to do about it. What was said first stays. */
static void fail(const char *call, int status, const char *why, const char *remedy)
{
    char number[16];
    unsigned at = sizeof number - 1,
             left = status < 0 ? 0u - (unsigned)status : (unsigned)status;
    if (ot_failure[0])
        return;
    number[at] = 0;
    do
        number[--at] = (char)('0' + left % 10);
    while (left /= 10);
    add_to_failure(call);
    add_to_failure(": ");
    add_to_failure(why);
    add_to_failure(status < 0 ? " (status -" : " (status ");
    add_to_failure(number + at);
    add_to_failure(")");
    add_to_failure(remedy[0] ? "; " : "");
    add_to_failure(remedy);
}

#endif
