/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is brought: the statements of a .tune file, what must hold between its knobs and
 * the places of its commands, and the document that the target `program` runs.
 *
 *     run ./app --threads {threads}
 *     build gcc {O} -o app app.c
 *     knob threads = [1, 2, 4], O = ['-O2', '-O3']
 *     read 'time: {time} s'
 *
 * The one idea: what a config means stays open until the plan's macros fill the places, so the
 * declaration is a body like any other and a config a list of macros.
 */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bring/bring.h"

static const double TIMEOUT_S = 10, MOST_TIMEOUT_S = 600;

/* ---- statements -------------------------------------------------------------------------- */

const char *ot_program_said(ot_brought *b, const char *word)
{
    return !b->in_options             ? word
           : strcmp(word, "run") == 0 ? "the command"
                                      : ot_arena_printf(&b->arena, "--%s", word);
}

static int said_twice(const char *word, optune_err *err)
{
    return optune_fail(err, OPTUNE_ESYNTAX, "'%s' is said already", word);
}

static int take_words(ot_brought *b, const char *word, const char *rest, ot_words *to,
                      optune_err *err)
{
    if (to->n && to != &b->program.depends)
        return said_twice(word, err);
    OT_RETURN_UNLESS_OK(ot_words_add(to, rest, &b->arena, err));
    return to->n ? OPTUNE_OK
                 : optune_fail(err, OPTUNE_ESYNTAX, "words are expected behind '%s'", word);
}

/* One word, which may hold blanks in quotes. */
static int take_one(ot_brought *b, const char *word, const char *rest, const char **to,
                    optune_err *err)
{
    ot_words words = {0};
    if (*to)
        return said_twice(word, err);
    OT_RETURN_UNLESS_OK(take_words(b, word, rest, &words, err));
    *to = words.word[0];
    return words.n == 1
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ESYNTAX,
                             "one text is expected behind '%s': put it in quotes", word);
}

static int take_env(ot_brought *b, const char *rest, optune_err *err)
{
    ot_words words = {0};
    OT_RETURN_UNLESS_OK(take_words(b, "env", rest, &words, err));
    for (int i = 0; i < words.n; i++) {
        const char *equals = strchr(words.word[i], '=');
        if (!equals || equals == words.word[i])
            return optune_fail(err, OPTUNE_ESYNTAX, "'%s' is no NAME=VALUE", words.word[i]);
        if (b->program.n_env == OT_PROGRAM_TEXTS)
            return optune_fail(err, OPTUNE_ELIMIT, "more than %d variables", OT_PROGRAM_TEXTS);
        b->program.env[b->program.n_env++] = words.word[i];
    }
    return OPTUNE_OK;
}

static int take_read(ot_brought *b, const char *rest, optune_err *err)
{
    ot_program *p = &b->program;
    const char *text = NULL;
    if (p->n_read == OT_PROGRAM_TEXTS)
        return optune_fail(err, OPTUNE_ELIMIT, "more than %d patterns", OT_PROGRAM_TEXTS);
    OT_RETURN_UNLESS_OK(take_one(b, "read", rest, &text, err));
    ot_pattern *pattern = &p->read[p->n_read++];
    OT_RETURN_UNLESS_OK(ot_pattern_read(text, pattern, err));
    for (int i = 0; i < p->n_read - 1; i++)
        for (int k = 0; k < pattern->n; k++)
            for (int m = 0; m < p->read[i].n; m++)
                if (strcmp(pattern->name[k], p->read[i].name[m]) == 0)
                    return optune_fail(err, OPTUNE_ECONFLICT,
                                       "the patterns '%s' and '%s' both read {%s}",
                                       p->read[i].text, text, pattern->name[k]);
    return OPTUNE_OK;
}

static int take_timeout(ot_brought *b, const char *rest, optune_err *err)
{
    const char *text = NULL;
    if (b->program.timeout_s > 0)
        return said_twice("timeout", err);
    OT_RETURN_UNLESS_OK(take_one(b, "timeout", rest, &text, err));
    if (!ot_parse_real(text, &b->program.timeout_s) || b->program.timeout_s <= 0 ||
        b->program.timeout_s > MOST_TIMEOUT_S)
        return optune_fail(err, OPTUNE_ESYNTAX, "a timeout is seconds, above 0 and up to %g",
                           MOST_TIMEOUT_S);
    return OPTUNE_OK;
}

const char *const ot_program_words[] = {"run",       "build",       "check",  "depends",
                                        "env",       "read",        "folder", "timeout",
                                        "objective", "same_output", NULL};

/* Stored files of 2026-11-27 say so; it means nothing any more. */
#define READ_OVER "options"

bool ot_program_word(const char *word)
{
    const char *const *known = ot_program_words;
    if (strcmp(word, READ_OVER) == 0)
        return true;
    while (*known && strcmp(word, *known) != 0)
        known++;
    return *known != NULL;
}

int ot_program_statement(ot_brought *b, const char *word, const char *rest, optune_err *err)
{
    ot_program *p = &b->program;
    rest += strspn(rest, " \t");
    if (strcmp(word, "run") == 0)
        return take_words(b, word, rest, &p->run, err);
    if (strcmp(word, "build") == 0)
        return take_words(b, word, rest, &p->build, err);
    if (strcmp(word, "check") == 0)
        return take_words(b, word, rest, &p->check, err);
    if (strcmp(word, "depends") == 0)
        return take_words(b, word, rest, &p->depends, err);
    if (strcmp(word, "env") == 0)
        return take_env(b, rest, err);
    if (strcmp(word, "read") == 0)
        return take_read(b, rest, err);
    if (strcmp(word, "folder") == 0)
        return take_one(b, word, rest, &p->folder, err);
    if (strcmp(word, "timeout") == 0)
        return take_timeout(b, rest, err);
    if (strcmp(word, "objective") == 0) {
        p->objective = ot_arena_copy(&b->arena, rest);
        return OPTUNE_OK;
    }
    p->same_output = strcmp(word, READ_OVER) != 0 || p->same_output;
    return *rest ? optune_fail(err, OPTUNE_ESYNTAX, "nothing is expected behind '%s'", word)
                 : OPTUNE_OK;
}

/* ---- places ------------------------------------------------------------------------------ */

typedef struct places {
    const ot_brought *b;
    bool met[OT_BROUGHT_VALUES];
} places;

static int slot_of(const ot_brought *b, const char *name)
{
    for (int i = 0; i < b->n_sizes; i++)
        if (strcmp(b->size[i].name, name) == 0 && !b->size[i].list)
            return i;
    for (int i = 0; i < b->n_knobs; i++)
        if (strcmp(b->knob[i].name, name) == 0)
            return OT_BROUGHT_SIZES + i;
    return -1;
}

static bool meet(void *arg, const char *name, ot_text *to)
{
    places *p = arg;
    const int slot = slot_of(p->b, name);
    if (slot >= 0)
        p->met[slot] = true;
    ot_text_add(to, "x");
    return slot >= 0;
}

static int meet_words(ot_brought *b, const char *word, const ot_words *words, places *met,
                      optune_err *err)
{
    optune_err inner = {0};
    ot_text text = {0};
    int status = OPTUNE_OK;
    for (int i = 0; i < words->n && status >= 0; i++)
        status = ot_fill(words->word[i], meet, met, &text, &inner);
    ot_text_release(&text);
    return status < 0 ? optune_fail(err, status, "%s: %s", ot_program_said(b, word), inner.text)
                      : status;
}

/* A word that is nothing but a place becomes the words of a value, which have to be such. */
static int check_values(ot_brought *b, const ot_words *words, optune_err *err)
{
    for (int k = 0; k < b->n_knobs; k++) {
        const ot_brought_knob *knob = &b->knob[k];
        const char *place = ot_arena_printf(&b->arena, "{%s}", knob->name);
        int at = 0;
        while (at < words->n && strcmp(words->word[at], place) != 0)
            at++;
        for (int v = 0; v < knob->list.n && at < words->n; v++) {
            ot_words parts = {0};
            optune_err own = {0};
            if (knob->list.item[v].kind == OT_VALUE_WORD &&
                ot_words_add(&parts, knob->list.item[v].s, &b->arena, &own) < 0)
                return ot_fail_at(knob->spot, own.status, err,
                                  "a value of knob '%s', the words of which take the place of "
                                  "%s: %s",
                                  knob->name, place, own.text);
        }
    }
    return OPTUNE_OK;
}

static ot_words env_words(const ot_program *p)
{
    ot_words words = {.n = p->n_env};
    for (int i = 0; i < p->n_env; i++)
        words.word[i] = p->env[i];
    return words;
}

/* Whether a knob changes what is built, what is run, or nothing. */
static int meet_all(ot_brought *b, optune_err *err)
{
    ot_program *p = &b->program;
    places built = {.b = b}, run = {.b = b};
    const ot_words env = env_words(p);
    OT_RETURN_UNLESS_OK(meet_words(b, "build", &p->build, &built, err));
    OT_RETURN_UNLESS_OK(meet_words(b, "run", &p->run, &run, err));
    OT_RETURN_UNLESS_OK(meet_words(b, "check", &p->check, &run, err));
    OT_RETURN_UNLESS_OK(meet_words(b, "env", &env, &run, err));
    OT_RETURN_UNLESS_OK(check_values(b, &p->build, err));
    OT_RETURN_UNLESS_OK(check_values(b, &p->run, err));
    OT_RETURN_UNLESS_OK(check_values(b, &p->check, err));
    memcpy(p->built, built.met, sizeof p->built);
    for (int i = 0; i < b->n_knobs; i++)
        if (!built.met[OT_BROUGHT_SIZES + i] && !run.met[OT_BROUGHT_SIZES + i])
            return ot_fail_at(b->knob[i].spot, OPTUNE_EUSAGE, err,
                              "knob '%s' has no place: write {%s} in the command, in --env "
                              "NAME={%s} or in --build",
                              b->knob[i].name, b->knob[i].name, b->knob[i].name);
    return OPTUNE_OK;
}

/* ---- what it depends on ------------------------------------------------------------------ */

static const char *path_in(ot_brought *b, const char *word)
{
    return word[0] == '/' ? word : ot_arena_printf(&b->arena, "%s/%s", b->program.folder, word);
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Its bytes, or that it is not there; a run looks again whether they are the same. */
static void digest_file(ot_brought *b, const char *path, ot_text *to)
{
    char hex[33];
    ot_file_digest(path, hex);
    json_array_append_new(b->program.files, json_pack("[s,s]", path, hex));
    ot_text_printf(to, "%s %s\n", path, hex);
}

/* Files among the words of the build command, but for what it makes. */
static void digest_sources(ot_brought *b, ot_text *to)
{
    const ot_program *p = &b->program;
    for (int i = 1; i < p->build.n; i++) {
        const char *path = path_in(b, p->build.word[i]);
        if (strcmp(p->build.word[i - 1], "-o") != 0 && strcmp(path, p->path) != 0 &&
            is_file(path))
            digest_file(b, path, to);
    }
}

static int digest_all(ot_brought *b, optune_err *err)
{
    const ot_program *p = &b->program;
    ot_text text = {0};
    int status = OPTUNE_OK;
    if (!p->build.n)
        digest_file(b, p->path, &text);
    if (!strchr(p->run.word[0], '/') && p->run.n > 1 && is_file(path_in(b, p->run.word[1])))
        digest_file(b, path_in(b, p->run.word[1]), &text); /* an interpreter's script */
    digest_sources(b, &text);
    for (int i = 0; i < p->depends.n && status >= 0; i++) {
        const char *path = path_in(b, p->depends.word[i]);
        if (is_file(path))
            digest_file(b, path, &text);
        else
            status = optune_fail(err, OPTUNE_ENOENT, "%s: it depends on '%s', which is no file",
                                 ot_program_said(b, "depends"), path);
    }
    ot_digest_hex(ot_digest_of(ot_text_str(&text), text.n), b->digest);
    ot_text_release(&text);
    return status;
}

/* ---- settling ---------------------------------------------------------------------------- */

static int find_folder(ot_brought *b, optune_err *err)
{
    char real[PATH_MAX];
    const char *slash = strrchr(b->path, '/');
    const char *own = ot_arena_printf(&b->arena, "%.*s/", (int)(slash - b->path), b->path);
    const char *folder = b->program.folder ? b->program.folder : own;
    folder = folder[0] == '/' ? folder : ot_arena_printf(&b->arena, "%s%s", own, folder);
    if (!realpath(folder, real))
        return optune_fail(err, OPTUNE_ENOENT, "there is no folder '%s' to run in", folder);
    b->program.folder = ot_arena_copy(&b->arena, real);
    return ot_path_check(real, err);
}

static int find_program(ot_brought *b, optune_err *err)
{
    ot_program *p = &b->program;
    char path[PATH_MAX];
    const char *word = p->run.word[0];
    const char *place = strchr(word, '{');
    if (!*word)
        return optune_fail(err, OPTUNE_EUSAGE, "%s has an empty word for its program",
                           ot_program_said(b, "run"));
    if (place && strchr(place, '}'))
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "the program itself, '%s', has a place in its name; 'env %s ...' runs "
            "one that a knob names",
            word, word);
    if (strchr(word, '/')) {
        const char *there = path_in(b, word);
        p->path = realpath(there, path) ? ot_arena_copy(&b->arena, path) : there;
        if (p->build.n)
            p->path = there; /* it may not be there yet */
    } else if (ot_find_program(word, path, sizeof path)) {
        p->path = ot_arena_copy(&b->arena, path);
    } else {
        return optune_fail(err, OPTUNE_ENOENT,
                           "there is no program '%s' on PATH; one in the folder is './%s'",
                           word, word);
    }
    if (!p->build.n && !is_file(p->path))
        return optune_fail(err, OPTUNE_ENOENT,
                           "there is no program '%s'; --build COMMAND says how it is made",
                           p->path);
    return ot_path_check(p->path, err);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static const char *const measured[] = {"time", "wall", "cpu", "memory"};

bool ot_program_measures(const ot_brought *b, const char *name)
{
    const ot_program *p = &b->program;
    if (b->language != OT_LANGUAGE_PROGRAM)
        return false;
    for (int k = 0; k < OT_COUNT(measured); k++)
        if (strcmp(name, measured[k]) == 0)
            return true;
    for (int k = 0; k < p->n_read; k++)
        for (int m = 0; m < p->read[k].n; m++)
            if (strcmp(name, p->read[k].name[m]) == 0)
                return true;
    return false;
}

void ot_brought_say_names(const ot_brought *b, ot_text *to)
{
    const ot_program *p = &b->program;
    const bool program = b->language == OT_LANGUAGE_PROGRAM;
    for (int k = 0; k < OT_COUNT(measured) && program; k++)
        ot_text_printf(to, "%s%s", to->n ? ", " : "", measured[k]);
    for (int k = 0; k < p->n_read && program; k++)
        for (int m = 0; m < p->read[k].n; m++)
            if (strcmp(p->read[k].name[m], "time") != 0)
                ot_text_printf(to, "%s%s", to->n ? ", " : "", p->read[k].name[m]);
    for (int k = 0; k < b->n_sizes; k++)
        ot_text_printf(to, "%s%s", to->n ? ", " : "", b->size[k].name);
    for (int k = 0; k < b->n_knobs; k++)
        ot_text_printf(to, "%s%s", to->n ? ", " : "", b->knob[k].name);
}

static bool objective_meaning(const void *arg, const char *name, ot_expr_value *value)
{
    const ot_brought *b = arg;
    (void)value;
    return ot_program_measures(b, name) || slot_of(b, name) >= 0;
}

/* A name is a number of the run's or one that was chosen, not both. */
static int check_meanings(const ot_brought *b, const ot_expr *expr, optune_err *err)
{
    const char *const *name;
    const int n = ot_expr_names(expr, &name);
    for (int i = 0; i < n; i++)
        if (ot_program_measures(b, name[i]) && slot_of(b, name[i]) >= 0)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "the objective '%s': '%s' is measured or read, and a knob or "
                               "size, too: give that another name",
                               b->program.objective, name[i]);
    return OPTUNE_OK;
}

/* What is minimised is over what is measured, read, or chosen. */
static int check_objective(ot_brought *b, optune_err *err)
{
    ot_program *p = &b->program;
    ot_expr *expr;
    ot_text names = {0};
    const bool said = p->objective != NULL;
    if (!said)
        p->objective = "time";
    const ot_spot place = {
        .file = ot_arena_printf(&b->arena, "the objective '%s'", p->objective), .column = 1};
    OT_RETURN_UNLESS_OK(ot_expr_parse(p->objective, &place, &expr, err));
    ot_brought_say_names(b, &names);
    ot_text_add(&names, "; a --read pattern names what it prints");
    int status = ot_expr_check_names(expr, objective_meaning, b, ot_text_str(&names), err);
    if (status >= 0 && said)
        status = check_meanings(b, expr, err);
    ot_text_release(&names);
    ot_expr_free(expr);
    return status;
}

static json_t *words_json(const ot_words *words)
{
    json_t *array = json_array();
    for (int i = 0; i < words->n; i++)
        json_array_append_new(array, json_string(words->word[i]));
    return array;
}

/* The body: the key that begins it is what the target knows it by. */
static int write_body(ot_brought *b, optune_err *err)
{
    const ot_program *p = &b->program;
    const ot_words env = env_words(p);
    json_t *read = json_array();
    for (int i = 0; i < p->n_read; i++)
        json_array_append_new(read, json_string(p->read[i].text));
    json_t *doc = json_object();
    json_object_set_new(doc, "optune_program", json_integer(1));
    json_object_set_new(doc, "program", json_string(p->path));
    json_object_set_new(doc, "folder", json_string(p->folder));
    json_object_set_new(doc, "run", words_json(&p->run));
    json_object_set_new(doc, "env", words_json(&env));
    json_object_set_new(doc, "read", read);
    json_object_set_new(doc, "objective", json_string(p->objective));
    json_object_set_new(doc, "timeout", json_real(p->timeout_s));
    json_object_set_new(doc, "same_output", json_boolean(p->same_output));
    json_object_set_new(doc, "digest", json_string(b->digest));
    json_object_set(doc, "files", p->files);
    if (p->build.n)
        json_object_set_new(doc, "build", words_json(&p->build));
    if (p->check.n)
        json_object_set_new(doc, "check", words_json(&p->check));
    char *text = json_dumps(doc, JSON_COMPACT);
    b->impl.source = ot_arena_copy(&b->arena, text);
    free(text);
    json_decref(doc);
    return b->impl.source ? OPTUNE_OK
                          : optune_fail(err, OPTUNE_ESYNTAX, "%s is no text in UTF-8", b->file);
}

int ot_program_settle(ot_brought *b, optune_err *err)
{
    ot_program *p = &b->program;
    if (!p->run.n)
        return optune_fail(
            err, OPTUNE_ESYNTAX,
            "%s says nothing to run; a line like 'run ./app --threads {threads}' "
            "does",
            b->file);
    if (p->timeout_s <= 0)
        p->timeout_s = TIMEOUT_S;
    OT_RETURN_UNLESS_OK(find_folder(b, err));
    OT_RETURN_UNLESS_OK(find_program(b, err));
    OT_RETURN_UNLESS_OK(meet_all(b, err));
    OT_RETURN_UNLESS_OK(check_objective(b, err));
    p->files = json_array();
    int status = digest_all(b, err);
    if (status >= 0)
        status = write_body(b, err);
    json_decref(p->files);
    p->files = NULL;
    return status;
}
