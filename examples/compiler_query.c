/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compiler asks: for each workload of a program, which implementation, with which knobs, and
 * what it costs, from what was measured on this machine. Built against the installed package:
 *
 *     cc compiler_query.c $(pkg-config --cflags --libs optune) -o compiler_query
 *     ./compiler_query 'dense(f32[128,768], const f32[3072,768])' ...
 *
 * or with CMake: find_package(optune REQUIRED), target_link_libraries(... optune::optune).
 */
#include <stdio.h>

#include <optune/optune.h>

static int failed(const optune_err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

/* A record where there is one, else what would be used without. */
static int ask(optune *o, const char *workload, optune_err *err)
{
    optune_found *found = NULL;
    optune_selection *chosen = NULL;
    char knobs[1024];
    int status = optune_query(o, workload, &found, err);
    if (status == OPTUNE_OK) {
        status = optune_config_write(&found->record.config, knobs, sizeof knobs, err);
        if (status == OPTUNE_OK)
            printf("%s\n  measured: %s, %.3g us [%.3g to %.3g], %s\n", workload,
                   found->record.impl, found->record.cost * 1e6, found->record.low * 1e6,
                   found->record.high * 1e6, knobs);
        optune_found_free(found);
        return status;
    }
    if (status != OPTUNE_ENOENT)
        return status;
    status = optune_select(o, workload, &chosen, err);
    if (status == OPTUNE_OK)
        printf("%s\n  not measured here: %s, by %s, %s\n", workload,
               optune_selection_impl(chosen), optune_selection_tier(chosen),
               optune_selection_config(chosen));
    optune_selection_free(chosen);
    return status;
}

int main(int argc, char **argv)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {.size = sizeof options};
    int bad = 0;
    if (optune_open(&options, &o, &err) < 0)
        return failed(&err);
    for (int i = 1; i < argc; i++)
        if (ask(o, argv[i], &err) < 0)
            bad = failed(&err);
    optune_close(o);
    return bad;
}
