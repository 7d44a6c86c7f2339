/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How failure is said: one line into an optune_err, one sentence into a `why`, and the names of
 * statuses and outcomes. Nothing here prints. A message always fits on one line and is UTF-8:
 * control characters become spaces, what is no character, or was cut, question marks, whatever a
 * compiler or a driver put into it.
 */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/base.h"

enum { LARGEST = OPTUNE_ERR_SIZE > OPTUNE_WHY_SIZE ? OPTUNE_ERR_SIZE : OPTUNE_WHY_SIZE };

static void mend_characters(char *line)
{
    for (char *c = line; *c;) {
        char letter[5] = "";
        int n = 0;
        do {
            letter[n] = c[n];
            n++;
        } while (n < 4 && c[n] && !ot_text_is_utf8(letter));
        if (ot_text_is_utf8(letter))
            c += n;
        else
            *c++ = '?';
    }
}

/* The arguments may point into the buffer that is written (an error that wraps an error), so
 * the text is made elsewhere first. */
static void write_line(char *to, size_t size, const char *format, va_list list)
{
    char line[LARGEST];
    if (ot_format_list(line, size, format, list) < 0)
        line[0] = 0;
    if (!ot_text_is_utf8(line))
        mend_characters(line);
    for (char *c = line; *c; c++)
        memset(c, ' ', ot_text_obeyed(c));
    memcpy(to, line, strlen(line) + 1);
}

int optune_fail(optune_err *err, int status, const char *format, ...)
{
    assert(status < 0);
    if (err) {
        va_list list;
        va_start(list, format);
        write_line(err->text, sizeof err->text, format, list);
        va_end(list);
        err->status = status;
    }
    return status;
}

int ot_check_given(optune_err *err, const char *function, const ot_given *given, int n)
{
    for (int i = 0; i < n; i++)
        if (!given[i].value)
            return optune_fail(err, OPTUNE_EUSAGE, "%s: %s is NULL", function, given[i].name);
    return OPTUNE_OK;
}

static _Thread_local bool quiet;

bool ot_refuse_quietly(bool quietly)
{
    const bool was = quiet;
    quiet = quietly;
    return was;
}

bool ot_refused_quietly(void)
{
    return quiet;
}

bool optune_refuse(char *why, const char *format, ...)
{
    if (why && !quiet) {
        va_list list;
        va_start(list, format);
        write_line(why, OPTUNE_WHY_SIZE, format, list);
        va_end(list);
    }
    return false;
}

/* ---- slips of rows ----------------------------------------------------------------------- */

static _Thread_local char slip[OPTUNE_WHY_SIZE];

void ot_slip(const char *format, ...)
{
    va_list list;
    if (*slip)
        return;
    va_start(list, format);
    write_line(slip, sizeof slip, format, list);
    va_end(list);
}

bool ot_slip_taken(char *why)
{
    if (!*slip)
        return false;
    optune_refuse(why, "%s", slip);
    slip[0] = 0;
    return true;
}

const char *ot_status_sentence(int status)
{
    switch (status) {
#define STATUS_CASE(name, value, sentence)                                                     \
    case OPTUNE_##name:                                                                        \
        return sentence;
        OPTUNE_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "unknown status";
    }
}

static const char *const outcome_text[] = {
#define OUTCOME_TEXT(name, value, text) [value] = (text),
    OPTUNE_OUTCOME_MAP(OUTCOME_TEXT)
#undef OUTCOME_TEXT
};

const char *ot_outcome_name(int outcome)
{
    if (outcome < 0 || outcome >= OT_COUNT(outcome_text))
        return outcome_text[OPTUNE_OUTCOME_UNKNOWN];
    return outcome_text[outcome];
}

int ot_outcome_named(const char *name)
{
    for (int i = 0; name && i < OT_COUNT(outcome_text); i++)
        if (strcmp(outcome_text[i], name) == 0)
            return i;
    return -1;
}
