/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of bodies that call libraries: a module may define a text `ot_failure`
 * (kernels/common/library_failure.kernel.h), where it leaves what a library refused. Whoever
 * runs host code looks there after every run, so that a library that cannot start is told as
 * that, and not as a wrong answer.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

void ot_library_words_add(ot_library_words *words, void *module)
{
    char *text = dlsym(module, "ot_failure");
    if (!text)
        return;
    ot_library_word *word = ot_alloc(sizeof *word);
    *word = (ot_library_word){words->first, module, text};
    words->first = word;
}

void ot_library_words_drop(ot_library_words *words, const void *module)
{
    for (ot_library_word **at = &words->first; *at;) {
        ot_library_word *word = *at;
        if (word->module == module) {
            *at = word->next;
            free(word);
        } else {
            at = &word->next;
        }
    }
}

int ot_library_words_check(const ot_library_words *words, optune_err *err)
{
    int status = OPTUNE_OK;
    for (const ot_library_word *word = words->first; word; word = word->next)
        if (word->text[0]) {
            status = optune_fail(err, OPTUNE_EIO, "%s", word->text);
            word->text[0] = '\0';
        }
    return status;
}
