/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. Durations come from the raw monotonic clock, which nobody sets or slews; the wall clock
 * is only for writing down when something happened.
 */
#include <time.h>

#include "base/base.h"

int64_t ot_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double ot_now(void)
{
    return (double)ot_now_ns() * 1e-9;
}

double ot_unix_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

const char *ot_age_text(double time, char text[32])
{
    const double age = ot_unix_time() - time;
    if (time <= 0)
        return "of unknown age";
    if (age < -86400)
        ot_format(text, 32, "dated %.0f days ahead", -age / 86400);
    else if (age < 90)
        ot_format(text, 32, "just now");
    else if (age < 90 * 60)
        ot_format(text, 32, "%.0f min old", age / 60);
    else if (age < 36 * 3600)
        ot_format(text, 32, "%.0f h old", age / 3600);
    else
        ot_format(text, 32, "%.0f days old", age / 86400);
    return text;
}
