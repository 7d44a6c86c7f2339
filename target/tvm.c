/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets as TVM's logs hold them, both ways. TVM 0.6 to 0.19 write a kind and options; all take
 * JSON objects and tags, too. A good part of it (`-mtriple`, `-mattr`, `-keys`, `-link-params` ...)
 * says nothing here: what is not ours is passed over, and told to whoever counts it, because a
 * record must not be lost over a word about something else. In the other direction only words are
 * written that TVM 0.19 knows, since there an unknown one is an error.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "target/target.h"

typedef struct reading {
    ot_text text; /* ours, growing */
    optune_target *target;
    void (*ignored)(void *arg, const char *option);
    void *arg;
} reading;

/* TVM's kind and its option's name, and ours; an option of any kind has none. */
static const struct word {
    const char *kind, *theirs, *ours;
} words[] = {
    {"cpu", "mcpu", "mcpu"},         {"cuda", "arch", "arch"},      {NULL, "model", "model"},
    {"cpu", "num-cores", "threads"}, {"cpu", "threads", "threads"}, {NULL, "libs", "libs"},
    {NULL, "cflags", "cflags"},
};

/* Tags stand for targets of the maker's; what a record needs of one is its kind. */
static const struct tag {
    const char *start, *kind;
} tags[] = {
    {"nvidia/", "cuda"}, {"aws/cpu/", "cpu"}, {"intel/", "cpu"},
    {"amd/cpu/", "cpu"}, {"arm/cpu/", "cpu"}, {"raspberry-pi/", "cpu"},
};

static void pass_over(const reading *r, const char *option)
{
    if (r->ignored)
        r->ignored(r->arg, option);
}

static int start(reading *r, const char *kind, optune_err *err)
{
    for (int i = 0; i < OT_COUNT(tags) && strchr(kind, '/'); i++)
        if (strncmp(kind, tags[i].start, strlen(tags[i].start)) == 0)
            kind = tags[i].kind;
    ot_text_add(&r->text, kind);
    return ot_target_parse(ot_text_str(&r->text), r->target, err);
}

/* What our own reader takes is ours, and what it refuses is passed over. */
static void take(reading *r, const char *name, const char *value)
{
    const size_t before = r->text.n;
    const struct word *found = NULL;
    for (int i = 0; i < OT_COUNT(words) && !found; i++)
        if (strcmp(words[i].theirs, name) == 0 &&
            (!words[i].kind || strcmp(words[i].kind, r->target->kind) == 0))
            found = &words[i];
    if (found && *value && !strpbrk(value, "'\"")) {
        ot_text_printf(&r->text, " -%s='%s'", found->ours, value);
        if (ot_target_parse(ot_text_str(&r->text), r->target, NULL) >= 0)
            return;
        r->text.n = before;
        r->text.s[before] = 0;
        ot_target_parse(ot_text_str(&r->text), r->target, NULL);
    }
    pass_over(r, name);
}

/* ---- words ------------------------------------------------------------------------------- */

/* The next word, quotes kept out; false at the end. */
static bool next(const char **at, char *word, size_t size)
{
    const char *p = *at + strspn(*at, " \t");
    char quote = 0;
    size_t n = 0;
    if (!*p)
        return false;
    for (; *p && (quote || !strchr(" \t", *p)); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? 0 : *p;
        else if (n + 1 < size)
            word[n++] = *p;
    }
    word[n] = 0;
    *at = p;
    return true;
}

static int read_words(reading *r, const char *text, optune_err *err)
{
    char word[OPTUNE_TEXT_SIZE], value[OPTUNE_TEXT_SIZE];
    if (!next(&text, word, sizeof word))
        return optune_fail(err, OPTUNE_ESYNTAX, "its target is empty");
    int status = start(r, word, err);
    while (status >= 0 && next(&text, word, sizeof word)) {
        char *name = word + strspn(word, "-"), *equals = strchr(name, '=');
        if (name == word) {
            pass_over(r, word);
            continue;
        }
        value[0] = 0;
        if (equals) {
            *equals = 0;
            ot_copy(value, sizeof value, equals + 1);
        } else if (text[strspn(text, " \t")] != '-') {
            next(&text, value, sizeof value); /* -name value */
        }
        take(r, name, value);
    }
    return status;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_value(const json_t *value, ot_text *to)
{
    size_t i;
    const json_t *item;
    if (json_is_string(value))
        ot_text_add(to, json_string_value(value));
    else if (json_is_integer(value))
        ot_text_printf(to, "%lld", (long long)json_integer_value(value));
    json_array_foreach(value, i, item)
    {
        ot_text_add(to, i ? "," : "");
        add_value(item, to);
    }
}

static int read_json(reading *r, const char *text, optune_err *err)
{
    json_error_t problem;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem), *value;
    const char *kind = json_string_value(json_object_get(root, "kind")), *name;
    const char *tag = json_string_value(json_object_get(root, "tag"));
    int status = OPTUNE_OK;
    if (!root)
        status = optune_fail(err, OPTUNE_ESYNTAX, "its target is no JSON: %s", problem.text);
    else if (!kind && !(tag && *tag))
        status = optune_fail(err, OPTUNE_ESYNTAX, "its target has neither kind nor tag");
    else
        status = start(r, kind ? kind : tag, err);
    json_object_foreach(root, name, value)
    {
        ot_text one = {0};
        add_value(value, &one);
        if (status >= 0 && strcmp(name, "kind") != 0 &&
            !(value && !kind && strcmp(name, "tag") == 0))
            take(r, name, ot_text_str(&one));
        ot_text_release(&one);
    }
    json_decref(root);
    return status;
}

int ot_target_from_tvm(const char *text, optune_target *target,
                       void (*ignored)(void *arg, const char *option), void *arg,
                       optune_err *err)
{
    reading r = {.target = target, .ignored = ignored, .arg = arg};
    text += strspn(text, " \t\r\n");
    const int status = *text == '{' ? read_json(&r, text, err) : read_words(&r, text, err);
    ot_text_release(&r.text);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void add_option(ot_text *to, const char *name, const char *value)
{
    if (*value && !strpbrk(value, " \t'\"="))
        ot_text_printf(to, " -%s=%s", name, value);
}

bool ot_target_to_tvm(const optune_target *target, const optune_device *device, ot_text *to)
{
    /* The device's, which is what was compiled for, where the target left it open. */
    const char *arch = target->arch[0] ? target->arch : device ? device->arch : "";
    if (strcmp(target->kind, "cpu") == 0) {
        ot_text_add(to, "llvm");
        /* A machine's name, "aarch64", is none of LLVM's processors. */
        if (target->arch[0] || strncmp(arch, "x86-64", 6) == 0)
            add_option(to, "mcpu", arch);
        if (target->threads)
            ot_text_printf(to, " -num-cores=%d", target->threads);
    } else if (strcmp(target->kind, "cuda") == 0) {
        ot_text_add(to, "cuda");
        add_option(to, "arch", arch);
    } else if (strcmp(target->kind, "opencl") == 0) {
        ot_text_add(to, "opencl");
    } else {
        return false;
    }
    add_option(to, "model", target->model);
    return true;
}
