/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of targets and the text of one. A target is written like TVM's: a kind, then
 * `-name=value` options in any order. This file never touches a device: rows do.
 *
 * The one idea: text -> struct -> canonical text is stable, and its `measured` form holds
 * exactly what changes a measurement, because that form is part of every record's identity.
 */
#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "target/target.h"

static ot_rows all = {.kind = "target", .name = offsetof(optune_target_row, name)};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Each slot that says something, whatever it is: all are as wide as a pointer. */
static void lay_over(optune_target_row *made, const optune_target_row *row)
{
    enum { SLOT = sizeof(void *) };
    static const char nothing[SLOT];
    _Static_assert(sizeof *row % SLOT == 0 && sizeof(void (*)(void)) == SLOT &&
                       sizeof(size_t) == SLOT,
                   "every slot of a target's row is as wide as a pointer");
    for (size_t at = 0; at < sizeof *row; at += SLOT)
        if (memcmp((const char *)row + at, nothing, SLOT) != 0)
            memcpy((char *)made + at, (const char *)row + at, SLOT);
}

/* A row that is `like` another becomes that one with its own slots laid over it. Lives for ever,
 * as rows do; NULL: there is no such other. */
static const optune_target_row *whole_locked(const optune_target_row *row)
{
    if (!row->like)
        return row;
    const optune_target_row *base = ot_rows_find(&all, row->like);
    if (!base)
        return NULL;
    optune_target_row *made = ot_alloc(sizeof *made);
    *made = *base;
    lay_over(made, row);
    return made;
}

static int add_locked(const optune_target_row *row, optune_err *err)
{
    const optune_target_row *whole = whole_locked(row);
    if (!whole)
        return optune_fail(err, OPTUNE_ENOENT, "target '%s' is like '%s', which does not exist",
                           row->name, row->like);
    ot_rows_push(&all, whole);
    if (whole->worker.costs)
        ot_costs_add(whole->name);
    return OPTUNE_OK;
}

/* Rows in tree are taken in once, whole ones first, so that plugins can follow them in one
 * list. */
static void fill_locked(void)
{
    if (all.n)
        return;
    for (int like = 0; like < 2; like++)
        for (const optune_target_row *const *row = ot_target_table; *row; row++)
            if (!(*row)->like == !like) {
                const int status = add_locked(*row, NULL);
                assert(status >= 0);
                (void)status;
            }
}

const optune_target_row *const *ot_targets(int *n)
{
    pthread_mutex_lock(&lock);
    fill_locked();
    *n = all.n;
    pthread_mutex_unlock(&lock);
    return (const optune_target_row *const *)all.row;
}

int ot_target_add(const optune_target_row *row, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_row_check_name("target", row->name, err));
    if (!row->like && (!row->keys || !row->probe || !row->compile))
        return optune_fail(err, OPTUNE_EUSAGE, "target '%s' lacks keys, probe or compile",
                           row->name);
    for (const char *const *key = row->keys; key && *key; key++)
        if (!ot_is_row_name(*key))
            return optune_fail(err, OPTUNE_EUSAGE,
                               "target '%s': '%s' is no key: letters, digits and '_-.+'",
                               row->name, *key);
    if (row->like && row->worker.state_size)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "target '%s' is like '%s', whose state its hooks share: leave out "
                           "state_size",
                           row->name, row->like);
    if (ot_target_find(row->name))
        return optune_fail(err, OPTUNE_ECONFLICT, "target '%s' exists already", row->name);
    pthread_mutex_lock(&lock);
    const int status = add_locked(row, err);
    pthread_mutex_unlock(&lock);
    return status;
}

const optune_target_row *optune_target_find(const char *name)
{
    return ot_target_find(name);
}

/* TVM calls its CPU target after its compiler. */
static const char *kind_of(const char *word)
{
    return strcmp(word, "llvm") == 0 ? "cpu" : word;
}

const optune_target_row *ot_target_find(const char *kind)
{
    pthread_mutex_lock(&lock);
    fill_locked();
    const optune_target_row *row = ot_rows_find(&all, kind_of(kind));
    pthread_mutex_unlock(&lock);
    return row;
}

/* Its keys and its summary. */
static const char *about(const void *row, ot_arena *arena)
{
    const optune_target_row *target = row;
    ot_text text = {0};
    for (const char *const *key = target->keys; *key; key++)
        ot_text_printf(&text, "%s ", *key);
    ot_text_add(&text, target->summary ? target->summary : "");
    const char *kept = ot_arena_copy(arena, ot_text_str(&text));
    ot_text_release(&text);
    return kept;
}

/* ---- reading ----------------------------------------------------------------------------- */

static const char *const option_names[] = {"-threads", "-libs",  "-keys",   "-mcpu",
                                           "-arch",    "-model", "-device", "-cflags"};

/* The next word; quotes, single or double, keep spaces and are dropped. Returns 1, 0 at the
 * end, or a negative status. */
static int next_word(const char **at, char *word, size_t size, optune_err *err)
{
    const char *p = *at;
    while (isspace((unsigned char)*p))
        p++;
    if (!*p)
        return 0;
    size_t n = 0;
    char quote = '\0';
    for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
        if (quote ? *p == quote : (*p == '\'' || *p == '"')) {
            quote = quote ? '\0' : *p;
            continue;
        }
        if (n + 1 >= size)
            return optune_fail(err, OPTUNE_ELIMIT, "a word of the target is longer than %zu",
                               size - 1);
        word[n++] = *p;
    }
    if (quote)
        return optune_fail(err, OPTUNE_ESYNTAX, "a quote (%c) in the target is not closed",
                           quote);
    word[n] = '\0';
    *at = p;
    return 1;
}

/* A comma-separated list into rows of names, duplicates dropped. */
static int read_list(const char *option, const char *value, char (*to)[OPTUNE_NAME_SIZE],
                     int most, int *n, optune_err *err)
{
    while (*value) {
        const size_t length = strcspn(value, ",");
        char name[OPTUNE_NAME_SIZE];
        if (length >= sizeof name)
            return optune_fail(err, OPTUNE_ELIMIT, "a name in '-%s' is too long", option);
        memcpy(name, value, length);
        name[length] = '\0';
        if (!ot_is_row_name(name))
            return optune_fail(err, OPTUNE_ESYNTAX, "bad name '%s' in '-%s'", name, option);
        bool known = false;
        for (int i = 0; i < *n; i++)
            known = known || strcmp(to[i], name) == 0;
        if (!known && *n == most)
            return optune_fail(err, OPTUNE_ELIMIT, "more than %d names in '-%s'", most, option);
        if (!known)
            ot_copy(to[(*n)++], OPTUNE_NAME_SIZE, name);
        value += length + (value[length] == ',');
    }
    return OPTUNE_OK;
}

static int read_text(const char *option, const char *value, char *to, size_t size,
                     optune_err *err)
{
    for (const char *p = value; *p; p++)
        if (iscntrl((unsigned char)*p) || *p == '\'')
            return optune_fail(err, OPTUNE_ESYNTAX, "bad character in '-%s'", option);
    if (!ot_copy(to, size, value))
        return optune_fail(err, OPTUNE_ELIMIT, "the value of '-%s' is too long", option);
    return OPTUNE_OK;
}

static int read_option(const char *word, optune_target *target, optune_err *err)
{
    const char *equals = strchr(word, '=');
    char option[OPTUNE_NAME_SIZE] = "-", *const name = option + 1;
    const char *start = word + strspn(word, "-");
    const size_t length = equals ? (size_t)(equals - start) : strlen(start);
    if (word[0] != '-' || start - word > 2 || length + 1 >= sizeof option)
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "'%s' in the target is not an option; write -name=value", word);
    memcpy(name, start, length);
    name[length] = '\0';
    const char *value = equals ? equals + 1 : "";
    bool known = false;
    for (int i = 0; i < OT_COUNT(option_names); i++)
        known = known || strcmp(option_names[i], option) == 0;
    if (!known)
        return ot_no_such(err, "target option", option, option_names, OT_COUNT(option_names));
    if (!*value)
        return optune_fail(err, OPTUNE_ESYNTAX, "the target's option '-%s' needs a value",
                           name);
    if (strcmp(name, "threads") == 0) {
        int64_t threads;
        if (!ot_parse_int(value, &threads) || threads < 0 || threads > 4096)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "'-threads=%s' is not a number from 0 (all) to 4096", value);
        target->threads = (int)threads;
        return OPTUNE_OK;
    }
    if (strcmp(name, "libs") == 0)
        return read_list(name, value, target->lib, OPTUNE_MAX_LIBS, &target->n_libs, err);
    if (strcmp(name, "keys") == 0)
        return read_list(name, value, target->key, OPTUNE_MAX_KEYS, &target->n_keys, err);
    if (strcmp(name, "cflags") == 0)
        return read_text(name, value, target->cflags, sizeof target->cflags, err);
    if (!ot_is_row_name(value) && strcmp(name, "device") != 0 && strcmp(name, "model") != 0)
        return optune_fail(err, OPTUNE_ESYNTAX, "bad value '%s' of '-%s'", value, name);
    if (strcmp(name, "model") == 0)
        return read_text(name, value, target->model, sizeof target->model, err);
    if (strcmp(name, "device") == 0)
        return read_text(name, value, target->device, sizeof target->device, err);
    /* "native" is what an empty arch means: the device's own. */
    return read_text(name, strcmp(value, "native") == 0 ? "" : value, target->arch,
                     sizeof target->arch, err);
}

int ot_target_parse(const char *text, optune_target *target, optune_err *err)
{
    char word[OPTUNE_TEXT_SIZE];
    optune_target found = {0};
    const optune_target_row *row = NULL;
    int status;
    while ((status = next_word(&text, word, sizeof word, err)) == 1) {
        if (!row) {
            row = ot_target_find(word);
            if (!row)
                return ot_rows_absent(&all, word, about, err);
            ot_copy(found.kind, sizeof found.kind, row->name);
            continue;
        }
        status = read_option(word, &found, err);
        if (status < 0)
            return status;
    }
    if (status < 0)
        return status;
    if (!row)
        return optune_fail(err, OPTUNE_ESYNTAX, "the target is empty; write for example 'cpu'");
    for (const char *const *key = row->keys; *key; key++) {
        status = read_list("keys", *key, found.key, OPTUNE_MAX_KEYS, &found.n_keys, err);
        if (status < 0)
            return status;
    }
    *target = found;
    return OPTUNE_OK;
}

/* ---- printing ---------------------------------------------------------------------------- */

static void add_option(ot_text *to, const char *name, const char *value)
{
    if (*value)
        ot_text_printf(to, strpbrk(value, " \t\"") ? " -%s='%s'" : " -%s=%s", name, value);
}

static void add_list(ot_text *to, const char *name, const char (*word)[OPTUNE_NAME_SIZE], int n)
{
    for (int i = 0; i < n; i++) {
        if (i == 0)
            ot_text_printf(to, " -%s=%s", name, word[i]);
        else
            ot_text_printf(to, ",%s", word[i]);
    }
}

/* How many of the target's keys were given by hand: those before the row's own. */
static int given_keys(const optune_target *target)
{
    const optune_target_row *row = ot_target_find(target->kind);
    int own = 0;
    while (row && row->keys[own])
        own++;
    bool same = own <= target->n_keys;
    for (int i = 0; same && i < own; i++)
        same = strcmp(row->keys[i], target->key[target->n_keys - own + i]) == 0;
    return same ? target->n_keys - own : target->n_keys;
}

void ot_target_print(const optune_target *target, bool measured, ot_text *to)
{
    ot_text_add(to, target->kind);
    if (target->threads)
        ot_text_printf(to, " -threads=%d", target->threads);
    add_option(to, strcmp(target->kind, "cpu") == 0 ? "mcpu" : "arch", target->arch);
    add_option(to, "model", target->model);
    add_option(to, "cflags", target->cflags);
    if (measured)
        return;
    add_list(to, "keys", target->key, given_keys(target));
    add_list(to, "libs", target->lib, target->n_libs);
    add_option(to, "device", target->device);
}

int ot_target_probe(optune_target *target, optune_device *device, optune_err *err)
{
    const optune_target_row *row = ot_target_find(target->kind);
    if (!row)
        return optune_fail(err, OPTUNE_ENOENT, "no target '%s'", target->kind);
    optune_device found = {0};
    const int status = row->probe(target, &found, err);
    if (status < 0)
        return status;
    ot_copy(found.kind, sizeof found.kind, row->name);
    target->threads = found.threads;
    *device = found;
    return OPTUNE_OK;
}
