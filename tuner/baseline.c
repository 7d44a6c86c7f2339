/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries as baselines of a run's table: under the names that they gave themselves when they
 * were measured (their records say so), never under the name that somebody looked for. The
 * reference BLAS computes, but nobody wrote it to be fast: what is said over it is kept apart.
 */
#include <math.h>
#include <string.h>

#include "answer/figures.h"
#include "tuner/tune.h"

static const char REFERENCE[] = "reference BLAS";

bool ot_baseline_is_reference(const optune_record *library)
{
    char name[OPTUNE_TEXT_SIZE];
    ot_record_library(library, name, sizeof name);
    return strncmp(name, REFERENCE, sizeof REFERENCE - 1) == 0;
}

void ot_baseline_add(ot_baselines *b, const optune_record *library, double ratio)
{
    char name[sizeof b->item[0].name];
    ot_record_library(library, name, sizeof name);
    int i = 0;
    while (i < b->n && strcmp(b->item[i].name, name) != 0)
        i++;
    if (i == OT_COUNT(b->item))
        return;
    ot_baseline *one = &b->item[i];
    if (i == b->n) {
        b->n++;
        ot_copy(one->name, sizeof one->name, name);
        if (!ot_lines_get(library->depends, "library_core", one->core, sizeof one->core))
            one->core[0] = '\0';
        one->reference = ot_baseline_is_reference(library);
    }
    one->log_sum += log(ratio);
    one->rows++;
}

void ot_baseline_means(const ot_baselines *b, bool first, ot_text *line)
{
    for (int i = 0; i < b->n; i++) {
        const ot_baseline *one = &b->item[i];
        ot_text_printf(line, "%s %s: %.2fx", i || !first ? "; over" : "geometric mean over",
                       one->name, exp(one->log_sum / one->rows));
    }
}

void ot_baseline_note(const ot_baseline *one, ot_text *line)
{
    if (one->reference)
        ot_text_printf(line, "\"r\": over %s, which is no baseline: %s", one->name,
                       ot_cpu_library_named("cblas")
                           ? "OPTUNE_CBLAS names it"
                           : "no tuned BLAS was found; install libopenblas0-pthread, or name a "
                             "file in OPTUNE_CBLAS");
    else if (strchr(one->core, ' '))
        ot_text_printf(line, "%s: kernels of %s", one->name, one->core);
}
