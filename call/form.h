/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of texts that differ in their sizes alone. */
#ifndef OPTUNE_CALL_FORM_H
#define OPTUNE_CALL_FORM_H

#include "call/call.h"

typedef struct ot_forms ot_forms;
ot_forms *ot_forms_open(void);
void ot_forms_close(ot_forms *forms); /* NULL is fine */
/* As ot_call_parse of a text of so many bytes; *text, empty before, becomes the canonical one, or
 * stays empty where that is the workload itself. Thread-safe. */
int ot_form_parse(ot_forms *forms, const char *workload, size_t n_workload, optune_call *call,
                  ot_text *text, optune_err *err);

/* How many texts were read so; for tests. */
int64_t ot_forms_served(const ot_forms *forms);

#endif
