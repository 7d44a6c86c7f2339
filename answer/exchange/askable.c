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
    ot_text text;
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

static bool can_be_asked(ot_askable *a, const optune_record *r, char *why)
{
    optune_err err = {0};
    optune_target target;
    ot_measure_policy policy;
    char word[OPTUNE_NAME_SIZE];
    if (ot_call_parse(r->call, &a->call, &err) == OPTUNE_ESYNTAX && !is_brought(r->call)) {
        err.text[strcspn(err.text, "\n")] = '\0';
        return optune_refuse(why, "its call '%.80s' cannot be read: %s", r->call, err.text);
    }
    if (ot_target_parse(r->target, &target, &err) == OPTUNE_ESYNTAX)
        return optune_refuse(why, "its target '%.80s' cannot be read: %s", r->target, err.text);
    /* Behind the first word stands at which size a plan for a range was measured. */
    snprintf(word, sizeof word, "%.*s", (int)strcspn(r->policy, " "), r->policy);
    return ot_policy_find(word, &policy, &err) >= 0 || optune_refuse(why, "%s", err.text);
}

static void add(ot_text *to, const char *text)
{
    ot_text_add_n(to, text, strlen(text) + 1);
}

bool ot_askable_record(ot_askable *a, const optune_record *r, char *why)
{
    char found[OPTUNE_WHY_SIZE];
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
    }
    return !k->why || optune_refuse(why, "%s", k->why);
}
