/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files behind optune_list share: small JSON helpers, and the lists that live in files
 * of their own. A list adds its members to the document.
 */
#ifndef OPTUNE_ANSWER_LIST_H
#define OPTUNE_ANSWER_LIST_H

#include "answer/answer.h"
#include "run/run.h"

void ot_set_text(json_t *to, const char *name, const char *value); /* NULL becomes null */
void ot_set_int(json_t *to, const char *name, int64_t value);
void ot_set_bool(json_t *to, const char *name, bool value);
/* A list of words separated by spaces; NULL gives null. */
json_t *ot_words_json(const char *words);
json_t *ot_names_json(const char *const *names); /* NULL-terminated; NULL gives an empty list */
json_t *ot_wrap(const char *name, json_t *list); /* {name: list}; takes the list */

/* list_op.c */
int ot_list_ops(optune *o, const char *name, json_t *json, optune_err *err);

#endif
