/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void ot_spark_add(ot_spark *spark, int trial, double best)
{
    if (!isfinite(best) || !(best > 0))
        return;
    spark->last = trial;
    if (spark->n && !(best < spark->best[spark->n - 1]))
        return;
    if (spark->n == OT_SPARK_POINTS) {
        memmove(spark->trial, spark->trial + 1, (OT_SPARK_POINTS - 1) * sizeof *spark->trial);
        memmove(spark->best, spark->best + 1, (OT_SPARK_POINTS - 1) * sizeof *spark->best);
        spark->n--;
    }
    spark->trial[spark->n] = trial;
    spark->best[spark->n++] = best;
}

static double best_at(const ot_spark *spark, double trial)
{
    int i = 0;
    while (i + 1 < spark->n && spark->trial[i + 1] <= trial)
        i++;
    return spark->best[i];
}

void ot_spark_print(const ot_spark *spark, char to[OT_SPARK_SIZE])
{
    static const char level[][4] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    to[0] = '\0';
    if (spark->n < 2)
        return;
    const double low = log(spark->best[spark->n - 1]), high = log(spark->best[0]);
    const double first = spark->trial[0], all = spark->last - first;
    for (int i = 0; i < OT_SPARK_COLUMNS; i++) {
        const double best = best_at(spark, first + all * i / (OT_SPARK_COLUMNS - 1));
        strcat(to, level[(int)lround(7 * (log(best) - low) / (high - low))]);
    }
}

bool ot_spark_fits(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !locale; i++) {
        locale = getenv(names[i]);
        locale = locale && *locale ? locale : NULL;
    }
    const char *letters = locale ? strchr(locale, '.') : NULL;
    return letters && (!strncasecmp(letters, ".utf-8", 6) || !strncasecmp(letters, ".utf8", 5));
}
