/* SPDX-License-Identifier: Apache-2.0 */
/* Any file that holds a graph: our own text, or a model that a row of the table reads. */
#include <string.h>

#include "base/fenv.h"
#include "graph/model.h"

static const ot_model *model_of(const char *path)
{
    const size_t n = strlen(path);
    for (const ot_model *const *row = ot_model_table; *row; row++) {
        const size_t suffix = strlen((*row)->suffix);
        if (n > suffix && !strcmp(path + n - suffix, (*row)->suffix))
            return *row;
    }
    return NULL;
}

static int bind_all(optune_graph *g, const optune_binding *bind, int n, optune_err *err)
{
    int status = n ? optune_graph_infer(g, err) : OPTUNE_OK;
    for (int i = 0; i < n && status >= 0; i++)
        status = optune_graph_bind(g, bind[i].dim, bind[i].value, err);
    return status < 0 || !n ? status : optune_graph_infer(g, err);
}

static int read_file(const char *path, const optune_binding *bind, int n, bool partial,
                     optune_graph **graph, optune_err *err)
{
    OT_ENTER(err, {"path", path}, {"graph", graph});
    *graph = NULL;
    if (n < 0 || (n > 0 && !bind))
        return optune_fail(err, OPTUNE_EUSAGE, "%d bindings are no list of dims", n);
    const ot_model *model = model_of(path);
    if (model)
        return model->read(path, bind, n, partial, graph, err);
    int status = ot_graph_read_text(path, graph, err);
    if (status >= 0)
        status = bind_all(*graph, bind, n, err);
    if (status < 0) {
        optune_graph_close(*graph);
        *graph = NULL;
    }
    return status < 0 ? status : OPTUNE_OK;
}

int optune_graph_read_bound(const char *path, const optune_binding *bind, int n,
                            optune_graph **graph, optune_err *err)
{
    return read_file(path, bind, n, false, graph, err);
}

int optune_graph_read_partial(const char *path, const optune_binding *bind, int n,
                              optune_graph **graph, optune_err *err)
{
    return read_file(path, bind, n, true, graph, err);
}

const char *optune_graph_left_out(const optune_graph *graph)
{
    return !graph ? NULL : graph->left_out ? graph->left_out : "";
}

int optune_graph_read(const char *path, optune_graph **graph, optune_err *err)
{
    OT_ENTER(err, {"path", path}, {"graph", graph});
    return optune_graph_read_bound(path, NULL, 0, graph, err);
}
