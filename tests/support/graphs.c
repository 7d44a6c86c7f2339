/* SPDX-License-Identifier: Apache-2.0 */
#include "support/graphs.h"

#include "support/check.h"

optune_graph *graph_named(const char *text, const char *name)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    int status = optune_graph_parse(text, name, &g, &err);
    if (status >= 0)
        status = optune_graph_infer(g, &err);
    if (status < 0)
        print_error("%s\n", text);
    check_ok(status);
    return g;
}

optune_graph *graph_of(const char *text)
{
    return graph_named(text, "test");
}
