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

static int bind_one(optune_graph *graph, const char *word, optune_err *err)
{
    char dim[OPTUNE_DIM_NAME_SIZE];
    const char *from = word + (*word == '?');
    const size_t n = strcspn(from, "=");
    char *end = NULL;
    if (n == 0 || n >= sizeof dim || !from[n])
        return refuse(err, word);
    memcpy(dim, from, n);
    dim[n] = '\0';
    errno = 0;
    const long long value = strtoll(from + n + 1, &end, 10);
    if (end == from + n + 1 || *end || errno || value < 0)
        return refuse(err, word);
    return optune_graph_bind(graph, dim, value, err);
}

int ot_open_graph(const char *path, const ot_repeats *bind, optune_graph **graph,
                  optune_err *err)
{
    *graph = NULL;
    int status = optune_graph_read(path, graph, err);
    if (status >= 0)
        status = optune_graph_infer(*graph, err);
    for (int i = 0; i < bind->n && status >= 0; i++)
        status = bind_one(*graph, bind->item[i], err);
    if (status >= 0 && bind->n)
        status = optune_graph_infer(*graph, err);
    if (status < 0) {
        optune_graph_close(*graph);
        *graph = NULL;
    }
    return status;
}
