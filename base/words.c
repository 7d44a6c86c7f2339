/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person may have meant by a word that names nothing: one that differs by a slip of the
 * fingers, those that it begins or is a part of, or one that is described by it.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

enum { WORD_LIMIT = 64, MOST_MEANT = 6 };

/* Edits (insert, delete, replace, swap two neighbours) from a to b, case aside. */
static int edit_distance(const char *a, const char *b)
{
    int na = (int)strlen(a), nb = (int)strlen(b);
    int row[3][WORD_LIMIT + 1];
    int *before = row[0], *last = row[1], *now = row[2];
    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = last[j - 1] + (ca != cb);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        int *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[nb];
}

/* A slip or two; of a short word nearly all must be right. */
static int most_edits(int length)
{
    return length < 2 ? 0 : length < 5 ? 1 : (length + 2) / 3;
}

static const char *by_distance(const char *word, const char *const *names, int n, int limit)
{
    const char *nearest = NULL;
    for (int i = 0; i < n; i++) {
        if (strlen(names[i]) > WORD_LIMIT)
            continue;
        const int distance = edit_distance(word, names[i]);
        if (distance <= limit) {
            nearest = names[i];
            limit = distance - 1; /* the first of equally near ones stays */
        }
    }
    return nearest;
}

/* The word begins the name or a part of it behind '_', '-' or '.': "conv", "pool2d", "weight". */
static bool begins_part(const char *name, const char *word, size_t length)
{
    for (const char *p = name; *p; p += strcspn(p, "_-."), p += *p != '\0')
        if (strncasecmp(p, word, length) == 0)
            return true;
    return false;
}

/* One of the words of `about`, which anything separates that is neither letter nor digit. */
static bool describes(const char *about, const char *word, size_t length)
{
    for (const char *p = about; *p;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (n == length && strncasecmp(p, word, n) == 0)
            return true;
        p += n ? n : 1;
    }
    return false;
}

/* The names that are meant most likely, into meant[MOST_MEANT]; returns how many. */
static int find_meant(const char *word, const char *const *names, const char *const *about,
                      int n, const char **meant)
{
    const size_t length = strlen(word);
    if (length < 2 || length > WORD_LIMIT)
        return 0;
    int found = 0;
    for (int i = 0; i < n && found < MOST_MEANT; i++)
        if (begins_part(names[i], word, length) ||
            (about && about[i] && describes(about[i], word, length)))
            meant[found++] = names[i];
    for (int i = 0; i < n && !found; i++) { /* "conv2d_nchw" */
        const size_t n_name = strlen(names[i]);
        if (n_name > 2 && n_name < length && strncasecmp(word, names[i], n_name) == 0 &&
            !isalnum((unsigned char)word[n_name]))
            meant[found++] = names[i];
    }
    if (!found && (meant[0] = by_distance(word, names, n, most_edits((int)length))))
        found = 1;
    return found;
}

const char *ot_nearest(const char *word, const char *const *names, int n)
{
    const char *meant[MOST_MEANT] = {NULL};
    return find_meant(word, names, NULL, n, meant) ? meant[0] : NULL;
}

int ot_no_such(optune_err *err, const char *kind, const char *word, const char *const *names,
               int n)
{
    return ot_no_such_about(err, kind, word, names, NULL, n);
}

int ot_no_such_about(optune_err *err, const char *kind, const char *word,
                     const char *const *names, const char *const *about, int n)
{
    enum { SHOWN = 100 }; /* characters of names */
    const char *meant[MOST_MEANT] = {NULL};
    const int n_meant = find_meant(word, names, about, n, meant);
    ot_text said = {0};
    for (int i = 0; i < n_meant; i++)
        ot_text_printf(&said, "%s'%s'%s",
                       i == 0             ? "; did you mean "
                       : i == n_meant - 1 ? " or "
                                          : ", ",
                       meant[i], i == n_meant - 1 ? "?" : "");
    int i = n_meant ? n : 0;
    for (; i < n && said.n < SHOWN; i++)
        ot_text_printf(&said, "%s%s",
                       i        ? ", "
                       : n == 1 ? "; there is "
                                : "; there are ",
                       names[i]);
    if (i < n)
        ot_text_printf(&said, " and %d more", n - i);
    if (!n)
        ot_text_add(&said, "; there is none");
    optune_fail(err, OPTUNE_ENOENT, "no %s '%.200s'%s", kind, word, ot_text_str(&said));
    ot_text_release(&said);
    return OPTUNE_ENOENT;
}
