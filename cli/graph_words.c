/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that take a graph share: reading it, and `--bind DIM=N` or `DIM=LOW..HIGH`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph_words.h"

static int refuse(optune_err *err, const char *word)
{
    err->status = OPTUNE_EUSAGE;
    snprintf(err->text, sizeof err->text,
             "--bind takes DIM=N or DIM=LOW..HIGH, such as m=128 or m=1..512, not '%.80s'",
             word);
    return err->status;
}

static bool read_size(const char *from, char **end, int64_t *value)
{
    errno = 0;
    *value = strtoll(from, end, 10);
    return *end != from && !errno && *value >= 0;
}

/* The name and the number, or the range up to *high, else -1, at the last '=': a model's names may
 * hold one. `dim` has room for the word; the binding borrows it. */
static int read_binding(const char *word, char *dim, optune_binding *bind, int64_t *high,
                        optune_err *err)
{
    const char *from = word + (*word == '?'), *at = strrchr(from, '=');
    char *end = NULL;
    *bind = (optune_binding){dim, 0};
    *high = -1;
    if (!at || at == from || !read_size(at + 1, &end, &bind->value))
        return refuse(err, word);
    if (strncmp(end, "..", 2) == 0 && !read_size(end + 2, &end, high))
        return refuse(err, word);
    if (*end)
        return refuse(err, word);
    memcpy(dim, from, (size_t)(at - from));
    return OPTUNE_OK;
}

typedef int read_function(const char *path, const optune_binding *bind, int n,
                          optune_graph **graph, optune_err *err);

static int open_by(read_function *read, const char *path, const ot_repeats *bind,
                   optune_graph **graph, optune_err *err)
{
    char **dim = calloc((size_t)bind->n + 1, sizeof *dim);
    optune_binding *binding = calloc(2 * (size_t)bind->n + 1, sizeof *binding);
    optune_binding *range = binding + bind->n; /* from its value to `high` */
    int64_t *high = calloc((size_t)bind->n + 1, sizeof *high), most = -1;
    int status = OPTUNE_OK, n = 0, n_ranges = 0;
    *graph = NULL;
    for (int i = 0; i < bind->n && status >= 0; i++) {
        dim[i] = calloc(strlen(bind->item[i]) + 1, 1);
        status = read_binding(bind->item[i], dim[i], &binding[n], &most, err);
        if (status >= 0 && most >= 0) {
            high[n_ranges] = most;
            range[n_ranges++] = binding[n];
        } else {
            n++;
        }
    }
    if (status >= 0)
        status = read(path, binding, n, graph, err);
    if (status >= 0)
        status = optune_graph_infer(*graph, err);
    for (int i = 0; i < n_ranges && status >= 0; i++)
        status = optune_graph_bound(*graph, range[i].dim, range[i].value, high[i], err);
    if (status >= 0 && n_ranges)
        status = optune_graph_infer(*graph, err);
    if (status < 0) {
        optune_graph_close(*graph);
        *graph = NULL;
    }
    for (int i = 0; i < bind->n; i++)
        free(dim[i]);
    free(dim);
    free(binding);
    free(high);
    return status;
}

static void say_left_out(const optune_graph *graph)
{
    const char *line = optune_graph_left_out(graph);
    while (*line) {
        const int n = (int)strcspn(line, "\n");
        ot_say("left out: %.*s", n, line);
        line += n + (line[n] == '\n');
    }
}

/* The graph becomes the one that computes the same in fewer bits. */
static int narrow(optune_graph **graph, const char *precision, optune_err *err)
{
    optune_graph *made = NULL;
    const int status = optune_graph_narrow(*graph, precision, &made, err);
    optune_graph_close(*graph);
    *graph = made;
    return status;
}

int ot_open_graph(const char *path, const ot_graph_words *words, optune_graph **graph,
                  optune_err *err)
{
    int status = open_by(words->partial ? optune_graph_read_partial : optune_graph_read_bound,
                         path, &words->bind, graph, err);
    if (status >= 0 && words->partial)
        say_left_out(*graph);
    if (status >= 0 && words->precision && strcmp(words->precision, "float32") != 0)
        status = narrow(graph, words->precision, err);
    return status;
}

bool ot_graph_words_given(const ot_graph_words *words)
{
    return words->bind.n || words->precision || words->partial;
}

bool ot_is_file(const char *word)
{
    return strpbrk(word, "./") && !strchr(word, '(');
}
