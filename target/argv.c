/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines as lists of words, and what rows ask of a target. No shell ever sees a word, so
 * nothing is quoted or split here.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

void optune_argv_add(optune_argv *argv, const char *word)
{
    assert(argv->n + 1 < OT_COUNT(argv->word) && "a command line is too long");
    argv->word[argv->n++] = ot_strdup(word);
    argv->word[argv->n] = NULL;
}

void optune_argv_release(optune_argv *argv)
{
    for (int i = 0; i < argv->n; i++)
        free(argv->word[i]);
    *argv = (optune_argv){0};
}

bool optune_target_has_lib(const optune_target *target, const char *lib)
{
    for (int i = 0; i < target->n_libs; i++)
        if (strcmp(target->lib[i], lib) == 0)
            return true;
    return false;
}
