/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as words with places to fill, and numbers found in text (base/program.h). */
#include "base/program.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/note.h"

enum { MOST_HASHED = 256 << 20 };

/* ---- words ------------------------------------------------------------------------------- */

static int push(ot_words *words, const ot_text *word, ot_arena *arena, optune_err *err)
{
    if (words->n == OT_PROGRAM_WORDS)
        return optune_fail(err, OPTUNE_ELIMIT, "a command of more than %d words",
                           OT_PROGRAM_WORDS);
    words->word[words->n++] = ot_arena_copy(arena, ot_text_str(word));
    words->word[words->n] = NULL;
    return OPTUNE_OK;
}

/* What stands between two quotes, the first of which is at `p`; NULL: there is no second. */
static const char *take_quoted(const char *p, ot_text *to)
{
    const char quote = *p++;
    for (; *p && *p != quote; p++) {
        if (quote == '"' && *p == '\\' && (p[1] == '"' || p[1] == '\\'))
            p++;
        ot_text_add_n(to, p, 1);
    }
    return *p ? p + 1 : NULL;
}

/* The word that begins at `p`; returns what follows it, NULL: a quote has no end. */
static const char *take_word(const char *p, ot_text *to)
{
    while (*p && !isspace((unsigned char)*p)) {
        if (*p == '\'' || *p == '"') {
            p = take_quoted(p, to);
            if (!p)
                return NULL;
        } else {
            p += *p == '\\' && p[1];
            ot_text_add_n(to, p++, 1);
        }
    }
    return p;
}

int ot_words_add(ot_words *words, const char *text, ot_arena *arena, optune_err *err)
{
    ot_text word = {0};
    int status = OPTUNE_OK;
    for (const char *p = text; status >= 0;) {
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        ot_text_clear(&word);
        const char *start = p;
        p = take_word(p, &word);
        status = p ? push(words, &word, arena, err)
                   : optune_fail(err, OPTUNE_ESYNTAX, "a quote has no end: %.60s", start);
    }
    ot_text_release(&word);
    return status;
}

void ot_word_quote(const char *word, ot_text *to)
{
    const bool plain = *word && !strpbrk(word, " \t\r\n\v\f'\"\\");
    if (plain) {
        ot_text_add(to, word);
        return;
    }
    ot_text_add(to, "\"");
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            ot_text_add(to, "\\");
        ot_text_add_n(to, word, 1);
    }
    ot_text_add(to, "\"");
}

/* ---- files ------------------------------------------------------------------------------- */

/* Files by what they are, and what they hold. Asked for with every trial of a program. */
static struct {
    pthread_mutex_t lock;
    int next;
    struct {
        char identity[128], hex[33];
    } file[64];
} hashed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_hashed(const char *identity, char hex[33])
{
    bool found = false;
    pthread_mutex_lock(&hashed.lock);
    for (int i = 0; i < OT_COUNT(hashed.file) && !found; i++) {
        found = strcmp(hashed.file[i].identity, identity) == 0;
        if (found)
            ot_copy(hex, 33, hashed.file[i].hex);
    }
    pthread_mutex_unlock(&hashed.lock);
    return found;
}

static void keep_hashed(const char *identity, const char *hex)
{
    pthread_mutex_lock(&hashed.lock);
    const int i = hashed.next++ % OT_COUNT(hashed.file);
    if (ot_copy(hashed.file[i].identity, sizeof hashed.file[i].identity, identity))
        ot_copy(hashed.file[i].hex, sizeof hashed.file[i].hex, hex);
    pthread_mutex_unlock(&hashed.lock);
}

/* One that was written a moment ago may be written again within one tick of the clock of files. */
static bool is_settled(const struct stat *info)
{
    enum { SETTLED_S = 2 };
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - info->st_ctim.tv_sec > SETTLED_S;
}

void ot_file_digest(const char *path, char hex[33])
{
    struct stat info;
    ot_text bytes = {0}, before = {0}, after = {0};
    ot_copy(hex, 33, "absent");
    if (ot_file_identity(path, &before) && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        !is_hashed(before.s, hex)) {
        const int status = ot_read_file(path, &bytes, MOST_HASHED, NULL);
        if (status == OPTUNE_ELIMIT) /* what is behind shows by its length */
            ot_text_printf(&bytes, "%lld", (long long)info.st_size);
        if (status >= 0 || status == OPTUNE_ELIMIT) {
            ot_digest_hex(ot_digest_of(ot_text_str(&bytes), bytes.n), hex);
            if (is_settled(&info) && ot_file_identity(path, &after) &&
                strcmp(before.s, after.s) == 0)
                keep_hashed(before.s, hex);
        }
    }
    ot_text_release(&bytes);
    ot_text_release(&before);
    ot_text_release(&after);
}

/* ---- places ------------------------------------------------------------------------------ */

/* Of the place that begins at `p`, `{name}`; 0: none does. */
static size_t place_length(const char *p, char name[OPTUNE_NAME_SIZE])
{
    size_t n = 1;
    if (*p != '{' || !(isalpha((unsigned char)p[1]) || p[1] == '_'))
        return 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    if (p[n] != '}' || n > OPTUNE_NAME_SIZE)
        return 0;
    snprintf(name, OPTUNE_NAME_SIZE, "%.*s", (int)n - 1, p + 1);
    return n + 1;
}

int ot_fill(const char *text, ot_filler filler, void *arg, ot_text *to, optune_err *err)
{
    for (const char *p = text; *p;) {
        char name[OPTUNE_NAME_SIZE];
        const size_t n = place_length(p, name);
        if ((*p == '{' || *p == '}') && p[1] == *p) {
            ot_text_add_n(to, p, 1);
            p += 2;
        } else if (n == 0) {
            ot_text_add_n(to, p++, 1);
        } else if (filler(arg, name, to)) {
            p += n;
        } else {
            return optune_fail(err, OPTUNE_ENOENT,
                               "{%s} is the place of a knob or size that is not declared; a "
                               "brace itself is written {{",
                               name);
        }
    }
    return OPTUNE_OK;
}

int ot_words_fill(const ot_words *words, ot_filler filler, void *arg, ot_words *to,
                  ot_arena *arena, optune_err *err)
{
    ot_text text = {0};
    int status = OPTUNE_OK;
    *to = (ot_words){0};
    for (int i = 0; i < words->n && status >= 0; i++) {
        char name[OPTUNE_NAME_SIZE];
        const bool alone =
            place_length(words->word[i], name) == strlen(words->word[i]) && *words->word[i];
        ot_text_clear(&text);
        status = ot_fill(words->word[i], filler, arg, &text, err);
        if (status >= 0)
            status = alone ? ot_words_add(to, ot_text_str(&text), arena, err)
                           : push(to, &text, arena, err);
    }
    ot_text_release(&text);
    return status;
}

/* ---- patterns ---------------------------------------------------------------------------- */

/* The place of a number at `p`: `{}` or `{name}`; 0: none. */
static size_t number_place(const char *p, char name[OPTUNE_NAME_SIZE])
{
    if (p[0] == '{' && p[1] == '}') {
        ot_copy(name, OPTUNE_NAME_SIZE, "time");
        return 2;
    }
    return place_length(p, name);
}

int ot_pattern_read(const char *text, ot_pattern *pattern, optune_err *err)
{
    *pattern = (ot_pattern){.text = text};
    bool behind = false; /* another place */
    for (const char *p = text; *p;) {
        char name[OPTUNE_NAME_SIZE];
        const size_t n = number_place(p, name);
        if (n && behind)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "nothing stands between two numbers of the pattern '%s'", text);
        if (n && pattern->n == OT_PATTERN_NUMBERS)
            return optune_fail(err, OPTUNE_ELIMIT, "more than %d numbers in the pattern '%s'",
                               OT_PATTERN_NUMBERS, text);
        for (int i = 0; n && i < pattern->n; i++)
            if (strcmp(pattern->name[i], name) == 0)
                return optune_fail(err, OPTUNE_ESYNTAX, "the pattern '%s' has {%s} twice", text,
                                   name);
        if (n)
            ot_copy(pattern->name[pattern->n++], OPTUNE_NAME_SIZE, name);
        behind = n > 0;
        p += n ? n : 1;
    }
    return pattern->n
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ESYNTAX,
                             "the pattern '%s' has no place for a number: write {time}, as in "
                             "'took {time} s'",
                             text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Signs that other languages have within a number: blanks that do not break, a raised comma, those
 * of Arabic; in UTF-8. */
static const char *const within_numbers[] = {"\u00a0", "\u2009", "\u202f",
                                             "\u2019", "\u066b", "\u066c"};

/* `1,234`, `0,5` and `1.2.3` are no numbers that end at the first sign: half of one would be read
 * for the whole. `next`: what the pattern has there, which is no part of a number. */
static bool is_cut(const char *end, const char *next)
{
    for (int i = 0; i < OT_COUNT(within_numbers); i++) {
        const size_t n = strlen(within_numbers[i]);
        if (strncmp(end, within_numbers[i], n) == 0 && isdigit((unsigned char)end[n]))
            return strncmp(next, within_numbers[i], n) != 0;
    }
    return strchr(",.'_", *end) && *end != *next && isdigit((unsigned char)end[1]);
}

/* Whether it fits at `p`; returns what follows, or NULL. */
static const char *fits(const ot_pattern *pattern, const char *p, double *number)
{
    int k = 0;
    for (const char *t = pattern->text; *t;) {
        char name[OPTUNE_NAME_SIZE];
        size_t n = number_place(t, name);
        if (n) {
            const size_t length = strchr("+-.", *p) || isdigit((unsigned char)*p)
                                      ? ot_read_real(p, &number[k])
                                      : 0; /* no `nan`, which words begin with */
            if (length == 0 || !*p || (p[length] && is_cut(p + length, t + n)))
                return NULL;
            k++;
            p += length;
            t += n;
        } else if (is_blank(*t)) {
            if (!is_blank(*p))
                return NULL;
            while (is_blank(*t))
                t++;
            while (is_blank(*p))
                p++;
        } else if (*t++ != *p++) {
            return NULL;
        }
    }
    return p;
}

/* A number is not the end of another one or of a word. */
static bool begins(const char *text, const char *p)
{
    if (p == text)
        return true;
    if (strchr(",'", p[-1]) && p - text > 1 && isdigit((unsigned char)p[-2]))
        return false; /* the rest of `1,234` */
    for (int i = 0; i < OT_COUNT(within_numbers); i++) {
        const ptrdiff_t n = (ptrdiff_t)strlen(within_numbers[i]);
        if (p - text > n && strncmp(p - n, within_numbers[i], (size_t)n) == 0 &&
            isdigit((unsigned char)p[-n - 1]))
            return false;
    }
    return !(isalnum((unsigned char)p[-1]) || strchr("._-+", p[-1]));
}

const char *ot_pattern_find(const ot_pattern *pattern, const char *text, double *number,
                            const char **end)
{
    const bool first = pattern->text[0] == '{';
    for (const char *p = text; *p; p++) {
        *end = first && !begins(text, p) ? NULL : fits(pattern, p, number);
        if (*end)
            return p;
    }
    return NULL;
}
