/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a body runs a team of threads, as its source tells: apart from the macro's definition and
 * from comments, it names PARALLEL_FOR. */
#include <string.h>

#include "strategy/inside.h"

bool ot_team_runs(const char *source)
{
    static const char word[] = "PARALLEL_FOR", defined[] = "#define PARALLEL_FOR";
    for (const char *p = strstr(source, word); p; p = strstr(p + 1, word)) {
        const char *line = p;
        while (line > source && line[-1] != '\n')
            line--;
        if (strncmp(line, defined, strlen(defined)) != 0 && strncmp(line, "/*", 2) != 0 &&
            strncmp(line, " *", 2) != 0)
            return true;
    }
    return false;
}
