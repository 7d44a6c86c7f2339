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

/* `dim` has room for the word; the binding borrows it. */
static int read_binding(const char *word, char dim[OPTUNE_DIM_NAME_SIZE], optune_binding *bind,
                        optune_err *err)
{
    const char *from = word + (*word == '?');
    const size_t n = strcspn(from, "=");
    char *end = NULL;
    if (n == 0 || n >= OPTUNE_DIM_NAME_SIZE || !from[n])
        return refuse(err, word);
    memcpy(dim, from, n);
    dim[n] = '\0';
    errno = 0;
    const long long value = strtoll(from + n + 1, &end, 10);
    if (end == from + n + 1 || *end || errno || value < 0)
        return refuse(err, word);
    *bind = (optune_binding){dim, value};
    return OPTUNE_OK;
}

typedef int read_function(const char *path, const optune_binding *bind, int n,
                          optune_graph **graph, optune_err *err);

static int open_by(read_function *read, const char *path, const ot_repeats *bind,
                   optune_graph **graph, optune_err *err)
{
    char(*dim)[OPTUNE_DIM_NAME_SIZE] = calloc((size_t)bind->n + 1, sizeof *dim);
    optune_binding *binding = calloc((size_t)bind->n + 1, sizeof *binding);
    int status = OPTUNE_OK;
    *graph = NULL;
    for (int i = 0; i < bind->n && status >= 0; i++)
        status = read_binding(bind->item[i], dim[i], &binding[i], err);
    if (status >= 0)
        status = read(path, binding, bind->n, graph, err);
    if (status >= 0)
        status = optune_graph_infer(*graph, err);
    if (status < 0) {
        optune_graph_close(*graph);
        *graph = NULL;
    }
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
