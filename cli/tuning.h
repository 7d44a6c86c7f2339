/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that tunes takes: how long, by which search, told in which form. */
#ifndef OPTUNE_CLI_TUNING_H
#define OPTUNE_CLI_TUNING_H

#include <stddef.h>

#include "cli/cli.h"

typedef struct ot_tuning_values {
    ot_repeats metrics;
    const char *search, *log;
    int trials;
    double seconds;
    uint64_t seed;
    bool again, no_transfer, json, csv, markdown, compile_only, watch;
} ot_tuning_values;

/* The rows of a command whose values have `ot_tuning_values how`. */
#define OT_TUNING_OPTIONS(values)                                                              \
    {.name = "search",                                                                         \
     .type = OT_OPTION_TEXT,                                                                   \
     .offset = offsetof(values, how.search),                                                   \
     .argument = "NAME",                                                                       \
     .help = "how configs are chosen (default forest), see 'optune searches'",                 \
     .list = "searches"},                                                                      \
        {.name = "trials",                                                                     \
         .type = OT_OPTION_COUNT,                                                              \
         .offset = offsetof(values, how.trials),                                               \
         .argument = "N",                                                                      \
         .help = "trials per workload, shared among its implementations (default 64)"},        \
        {.name = "time",                                                                       \
         .type = OT_OPTION_SECONDS,                                                            \
         .offset = offsetof(values, how.seconds),                                              \
         .argument = "SECONDS",                                                                \
         .help = "time for the whole run (default 150); 0: no limit"},                         \
        {.name = "seed",                                                                       \
         .type = OT_OPTION_SEED,                                                               \
         .offset = offsetof(values, how.seed),                                                 \
         .argument = "N",                                                                      \
         .help = "of the search (default 0)"},                                                 \
        {.name = "again",                                                                      \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.again),                                                \
         .help = "measure configs once more that have records"},                               \
        {.name = "no-transfer",                                                                \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.no_transfer),                                          \
         .help = "learn nothing from records of other workloads and devices"},                 \
        {.name = "log",                                                                        \
         .type = OT_OPTION_TEXT,                                                               \
         .offset = offsetof(values, how.log),                                                  \
         .argument = "FILE",                                                                   \
         .help = "also append every record to this file",                                      \
         .files = true},                                                                       \
        {.name = "metric",                                                                     \
         .type = OT_OPTION_REPEATS,                                                            \
         .offset = offsetof(values, how.metrics),                                              \
         .argument = "NAME=EXPR",                                                              \
         .help = "a column more: 'GFLOP/s=flops/time/1e9' (docs/tune.md); may be repeated"},   \
        {.name = "compile-only",                                                               \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.compile_only),                                         \
         .help = "build the candidates and say what they use; no device: 'cuda -arch=sm_90'"}, \
        {.name = "watch",                                                                      \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.watch),                                                \
         .help = "a row for each workload while it goes on; a line every 10 s in a pipe"},     \
        {.name = "json",                                                                       \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.json),                                                 \
         .help = "one JSON document on stdout instead of text"},                               \
        {.name = "csv",                                                                        \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.csv),                                                  \
         .help = "the table as comma-separated values"},                                       \
        {.name = "markdown",                                                                   \
         .type = OT_OPTION_FLAG,                                                               \
         .offset = offsetof(values, how.markdown),                                             \
         .help = "the table in Markdown"},                                                     \
    {                                                                                          \
        .name = NULL                                                                           \
    }

/* OT_EXIT_DONE, or what is wrong with the words, said. */
int ot_tuning_check(const ot_cli *cli, const ot_tuning_values *how);
/* A run of these, its progress and, unless `quiet`, its result on the screen; an exit code. Ctrl-C
 * ends it with what is there. */
int ot_tuning_run(optune *handle, const ot_tuning_values *how, optune_run_options *options,
                  bool quiet);
/* Behind any long call that showed its progress: ends that, and prints and frees its result (NULL:
 * there is none). */
void ot_long_ended(optune_result *result, bool print, bool json);

#endif
