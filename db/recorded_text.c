/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a recorded space, plain or gzipped: whether it begins like one, all of it in memory,
 * and one JSON value after the other.
 */
#include <string.h>
#include <sys/stat.h>

#include "db/pack.h"
#include "db/recorded_inside.h"

enum { LIMIT = 1 << 30 }; /* bytes, uncompressed */

static int take_head(void *arg, const char *data, size_t n)
{
    ot_text_add_n(arg, data, n < 4096 ? n : 4096);
    return -1; /* enough was seen */
}

bool ot_recorded_begins(const char *path)
{
    static const char *const first[] = {
        "\"device_name\"",    "\"kernel_name\"", "\"tune_params_keys\"", "\"problem_size\"",
        "\"schema_version\"", "\"results\"",     "\"metadata\""};
    struct stat info;
    ot_text head = {0};
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        ot_gunzip(path, 0, take_head, &head, NULL);
    const char *p = ot_text_behind_mark(ot_text_str(&head));
    p += strspn(p, " \t\r\n");
    bool begins = false;
    if (*p == '{') {
        p += 1 + strspn(p + 1, " \t\r\n");
        for (int i = 0; i < OT_COUNT(first) && !begins; i++)
            begins = strncmp(p, first[i], strlen(first[i])) == 0;
    }
    ot_text_release(&head);
    return begins;
}

static int take_text(void *arg, const char *data, size_t n)
{
    ot_recording *r = arg;
    ot_text_add_n(&r->text, data, n);
    return r->text.n <= LIMIT ? OPTUNE_OK
                              : optune_fail(r->err, OPTUNE_ELIMIT,
                                            "'%s' is longer than %d MiB: replay a part of it",
                                            r->path, LIMIT >> 20);
}

/* NaN, Infinity and -Infinity, which Python writes for numbers that are none: null in JSON. */
static size_t no_number(const char *p)
{
    static const char *const word[] = {"NaN", "Infinity", "-Infinity"};
    for (int i = 0; i < OT_COUNT(word); i++)
        if (strncmp(p, word[i], strlen(word[i])) == 0)
            return strlen(word[i]);
    return 0;
}

static void put_nulls(ot_text *text)
{
    ot_text own = {0};
    const char *p = ot_text_str(text), *kept = p, *const end = p + text->n;
    for (bool quoted = false; p < end; p++) {
        const size_t n = !quoted && (*p == 'N' || *p == 'I' || *p == '-') ? no_number(p) : 0;
        if (*p == '"')
            quoted = !quoted;
        else if (quoted && *p == '\\')
            p++;
        else if (n) {
            ot_text_add_n(&own, kept, (size_t)(p - kept));
            ot_text_add(&own, "null");
            kept = p + n;
            p = kept - 1;
        }
    }
    if (kept != ot_text_str(text)) {
        ot_text_add_n(&own, kept, (size_t)(end - kept));
        ot_text_release(text);
        *text = own;
    }
}

int ot_recorded_text(ot_recording *r)
{
    OT_RETURN_UNLESS_OK(ot_gunzip(r->path, 0, take_text, r, r->err));
    put_nulls(&r->text);
    r->at = (size_t)(ot_text_behind_mark(ot_text_str(&r->text)) - ot_text_str(&r->text));
    return OPTUNE_OK;
}

char ot_recorded_next(ot_recording *r)
{
    while (r->at < r->text.n && strchr(" \t\r\n", r->text.s[r->at]))
        r->at++;
    return r->at < r->text.n ? r->text.s[r->at] : 0;
}

bool ot_recorded_take(ot_recording *r, char c)
{
    if (ot_recorded_next(r) != c)
        return false;
    r->at++;
    return true;
}

json_t *ot_recorded_value(ot_recording *r, const char *what)
{
    json_error_t fault;
    if (!ot_recorded_next(r)) {
        optune_fail(r->err, OPTUNE_ESYNTAX, "'%s' is truncated: it ends before %s", r->path,
                    what);
        return NULL;
    }
    json_t *json = json_loadb(r->text.s + r->at, r->text.n - r->at,
                              JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &fault);
    if (json)
        r->at += (size_t)fault.position;
    else if (json_error_code(&fault) == json_error_premature_end_of_input)
        optune_fail(r->err, OPTUNE_ESYNTAX, "'%s' is truncated: it ends within %s", r->path,
                    what);
    else
        optune_fail(r->err, OPTUNE_ESYNTAX, "'%s' is damaged in %s: %s", r->path, what,
                    fault.text);
    return json;
}

int ot_recorded_wrong(ot_recording *r, const char *what)
{
    return optune_fail(r->err, OPTUNE_ESYNTAX, "'%s', entry %d: %s", r->path, r->n_raw + 1,
                       what);
}
