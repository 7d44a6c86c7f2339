/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See askable.h. A log has a few questions and many lines of each, so what was found out of one is
 * kept by its texts, in a table that forgets.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/exchange/askable.h"
#include "call/cursor.h"
#include "run/run.h"

enum { PLACES = 1024 };

typedef struct known {
    uint64_t name; /* of the texts; 0: none */
    char *why;     /* NULL: they can be asked */
} known;

struct ot_askable {
    known of[PLACES];
    ot_text text, known_call;
    optune_call call;
};

ot_askable *ot_askable_new(void)
{
    return ot_alloc(sizeof(ot_askable));
}

void ot_askable_free(ot_askable *a)
{
    if (!a)
        return;
    for (int i = 0; i < PLACES; i++)
        free(a->of[i].why);
    ot_text_release(&a->text);
    ot_text_release(&a->known_call);
    free(a);
}

/* An operator that was brought may have had other words when that was measured. */
static bool is_brought(const char *call)
{
    char name[OPTUNE_NAME_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)ot_identifier(call), call);
    const optune_op *op = ot_op_find(name);
    const char *next = strstr(call, "->");
    if (op && !ot_op_in_tree(op))
        return true;
    return next && is_brought(next + 2 + strspn(next + 2, " "));
}

/* ---- attributes of a newer version ------------------------------------------------------- */

static bool has_attr(const optune_op *op, const char *name)
{
    for (int i = 0; i < ot_op_attr_count(op); i++)
        if (!strcmp(ot_op_attr_at(op, i)->name, name))
            return true;
    return false;
}

/* Behind the value that begins there. */
static const char *behind_value(const char *p)
{
    int depth = 0;
    for (; *p && (depth > 0 || (*p != ',' && *p != ')')); p++)
        depth += (*p == '[') - (*p == ']');
    return p;
}

/* The length of `name =` there, the name in `word`; 0: something else is. */
static size_t attribute_at(const char *p, char word[OPTUNE_NAME_SIZE])
{
    const size_t n = ot_identifier(p);
    const char *after = p + n + strspn(p + n, " ");
    snprintf(word, OPTUNE_NAME_SIZE, "%.*s", (int)n, p);
    return n && n < OPTUNE_NAME_SIZE && *after == '=' ? (size_t)(after + 1 - p) : 0;
}

/* The call without attributes that its operators do not have here; false: it has none of these.
 * `why`: of the first one. */
static bool without_unknown(const char *call, ot_text *to, char *why)
{
    char word[OPTUNE_NAME_SIZE];
    const optune_op *op = NULL;
    bool found = false;
    ot_text_clear(to);
    for (const char *p = call; *p;) {
        const size_t n = ot_identifier(p), assigns = attribute_at(p, word);
        if (op && assigns && !has_attr(op, word)) {
            if (!found)
                optune_refuse(why,
                              "operator '%s' has no attribute '%s' here: kept for a version "
                              "that knows it, and never selected",
                              op->name, word);
            found = true;
            p = behind_value(p + assigns);
            while (to->n && strchr(", ", to->s[to->n - 1]))
                to->s[--to->n] = '\0';
            if (*p == ',' && to->n && to->s[to->n - 1] == '(')
                p += 1 + strspn(p + 1, " ");
            continue;
        }
        if (n && p[n] == '(')
            op = ot_op_find(word);
        const size_t step = n ? n : 1;
        ot_text_add_n(to, p, step);
        p += step;
    }
    return found;
}

/* True: what it cannot be asked for may be that it is of a newer version, which `why` says. */
static bool is_newer(ot_askable *a, const char *call, char *why)
{
    return without_unknown(call, &a->known_call, why) &&
           ot_call_parse(ot_text_str(&a->known_call), &a->call, NULL) != OPTUNE_ESYNTAX;
}

/* ---- questions --------------------------------------------------------------------------- */

/* `why` also of one that can only be kept; else empty. */
static bool can_be_asked(ot_askable *a, const optune_record *r, char *why)
{
    optune_err err = {0};
    optune_target target;
    ot_measure_policy policy;
    char word[OPTUNE_NAME_SIZE], newer[OPTUNE_WHY_SIZE] = "";
    *why = '\0';
    if (ot_call_parse(r->call, &a->call, &err) == OPTUNE_ESYNTAX && !is_brought(r->call) &&
        !is_newer(a, r->call, newer)) {
        err.text[strcspn(err.text, "\n")] = '\0';
        return optune_refuse(why, "its call '%.80s' cannot be read: %s", r->call, err.text);
    }
    if (ot_target_parse(r->target, &target, &err) == OPTUNE_ESYNTAX)
        return optune_refuse(why, "its target '%.80s' cannot be read: %s", r->target, err.text);
    /* Behind the first word stands at which size a plan for a range was measured. */
    snprintf(word, sizeof word, "%.*s", (int)strcspn(r->policy, " "), r->policy);
    if (ot_policy_find(word, &policy, &err) < 0)
        return optune_refuse(why, "%s", err.text);
    ot_copy(why, OPTUNE_WHY_SIZE, newer);
    return true;
}

static void add(ot_text *to, const char *text)
{
    ot_text_add_n(to, text, strlen(text) + 1);
}

bool ot_askable_record(ot_askable *a, const optune_record *r, char *why)
{
    char found[OPTUNE_WHY_SIZE];
    *why = '\0';
    if (!r->call || !r->target || !r->policy)
        return optune_refuse(why, "its call, target or policy is missing");
    ot_text_clear(&a->text);
    add(&a->text, r->call);
    add(&a->text, r->target);
    add(&a->text, r->policy);
    const uint64_t name = ot_hash64(a->text.s, a->text.n) | 1;
    known *const k = &a->of[name / 2 % PLACES];
    if (k->name != name) {
        free(k->why);
        *k = (known){.name = name};
        if (!can_be_asked(a, r, found))
            k->why = ot_strdup(found);
        else
            ot_copy(why, OPTUNE_WHY_SIZE, found);
    }
    return !k->why || optune_refuse(why, "%s", k->why);
}
