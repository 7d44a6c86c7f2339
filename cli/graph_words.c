/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that take a graph share: reading it, and `--bind DIM=N`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph_words.h"

static int refuse(optune_err *err, const char *word)
{
    err->status = OPTUNE_EUSAGE;
    snprintf(err->text, sizeof err->text, "--bind takes DIM=N, such as m=128, not '%.80s'",
             word);
    return err->status;
}

/* The name and the number, at the last '=': a model's names may hold one. `dim` has room for the
 * word; the binding borrows it. */
static int read_binding(const char *word, char *dim, optune_binding *bind, optune_err *err)
{
    const char *from = word + (*word == '?'), *at = strrchr(from, '=');
    char *end = NULL;
    errno = 0;
    const long long value = at ? strtoll(at + 1, &end, 10) : -1;
    if (at == from || value < 0 || end == at + 1 || *end || errno)
        return refuse(err, word);
    memcpy(dim, from, (size_t)(at - from));
    *bind = (optune_binding){dim, value};
    return OPTUNE_OK;
}

typedef int read_function(const char *path, const optune_binding *bind, int n,
                          optune_graph **graph, optune_err *err);

static int open_by(read_function *read, const char *path, const ot_repeats *bind,
                   optune_graph **graph, optune_err *err)
{
    char **dim = calloc((size_t)bind->n + 1, sizeof *dim);
    optune_binding *binding = calloc((size_t)bind->n + 1, sizeof *binding);
    int status = OPTUNE_OK;
    *graph = NULL;
    for (int i = 0; i < bind->n && status >= 0; i++) {
        dim[i] = calloc(strlen(bind->item[i]) + 1, 1);
        status = read_binding(bind->item[i], dim[i], &binding[i], err);
    }
    if (status >= 0)
        status = read(path, binding, bind->n, graph, err);
    if (status >= 0)
        status = optune_graph_infer(*graph, err);
    if (status < 0) {
        optune_graph_close(*graph);
        *graph = NULL;
    }
    for (int i = 0; i < bind->n; i++)
        free(dim[i]);
    free(dim);
    free(binding);
    return status;
}

int ot_open_graph(const char *path, const ot_repeats *bind, optune_graph **graph,
                  optune_err *err)
{
    return open_by(optune_graph_read_bound, path, bind, graph, err);
}

int ot_open_partial(const char *path, const ot_repeats *bind, optune_graph **graph,
                    optune_err *err)
{
    const int status = open_by(optune_graph_read_partial, path, bind, graph, err);
    const char *line = status < 0 ? "" : optune_graph_left_out(*graph);
    while (*line) {
        const int n = (int)strcspn(line, "\n");
        ot_say("left out: %.*s", n, line);
        line += n + (line[n] == '\n');
    }
    return status;
}

bool ot_is_file(const char *word)
{
    return strpbrk(word, "./") && !strchr(word, '(');
}
