/* SPDX-License-Identifier: Apache-2.0 */
/* Words that a program was given, beside those that it knows. */
#include "answer/answer.h"

const char *optune_nearest(const char *word, const char *const *names, int n)
{
    if (!word || !names || n < 0)
        return NULL;
    for (int i = 0; i < n; i++)
        if (!names[i])
            return NULL;
    return ot_nearest(word, names, n);
}
