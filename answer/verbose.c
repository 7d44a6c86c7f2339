/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OPTUNE_VERBOSE: whoever runs a program that uses the library sees what it selects, a line each,
 * without the program's help. The library prints only because this variable asks for it: "1" is
 * stderr, anything else a file that lines are appended to. One write a line, so that processes
 * may share a file.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "run/run.h"

int ot_verbose_open(void)
{
    const char *asked = getenv("OPTUNE_VERBOSE");
    if (!asked || !*asked || !strcmp(asked, "0"))
        return 0;
    if (!strcmp(asked, "1"))
        return STDERR_FILENO;
    /* Of a pipe nobody's coming is waited for; who reads it is. */
    const int fd = open(asked, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd < 0 ? 0 : fd;
}

void ot_verbose_close(int fd)
{
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Fields are separated by tabs: workloads hold commas and spaces. */
void ot_verbose_say(const optune *o, const ot_answer *answer, double seconds)
{
    const ot_choice_row *row = &answer->choice.row[answer->choice.winner];
    const bool known = ot_choice_measured(&answer->choice) && row->fact;
    ot_text line = {0};
    ot_text_add(&line, "optune\tselect\t");
    ot_text_add(&line, answer->question.call);
    ot_text_printf(&line, "\t%s\t%s\t%s\t", row->candidate.impl->name,
                   ot_tier_name(answer->choice.tier), ot_answer_config(answer));
    if (known)
        ot_text_printf(&line, "%.4g us", row->fact->record.cost * 1e6);
    else
        ot_text_add(&line, "-");
    ot_text_printf(&line, "\tin %.4g us\n", seconds * 1e6);
    if (write(o->verbose, line.s, line.n) < 0) {
        /* Who asked to see lines and closed the place has nobody to be told. */
    }
    ot_text_release(&line);
}
