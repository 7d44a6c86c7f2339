/* SPDX-License-Identifier: Apache-2.0 */
/* The best time so far against trials, as one small picture of letters. */
#ifndef OPTUNE_CLI_SPARK_H
#define OPTUNE_CLI_SPARK_H

#include <stdbool.h>
#include <stddef.h>

enum { OT_SPARK_COLUMNS = 12, OT_SPARK_SIZE = 3 * OT_SPARK_COLUMNS + 1, OT_SPARK_POINTS = 64 };

/* Zero to start. Each time the best became better; of more than fit the latest. */
typedef struct ot_spark {
    int n, last; /* last: the newest trial */
    int trial[OT_SPARK_POINTS];
    double best[OT_SPARK_POINTS];
} ot_spark;

/* `best`: seconds, infinity where nothing is known yet. */
void ot_spark_add(ot_spark *spark, int trial, double best);
/* Empty while the best has not become better: a line says nothing. The tallest column is the first
 * time, the lowest the best, in between by their logarithms. */
void ot_spark_print(const ot_spark *spark, char to[OT_SPARK_SIZE]);
/* Whether the terminal's letters are UTF-8's, as the environment says. */
bool ot_spark_fits(void);

#endif
