/* SPDX-License-Identifier: Apache-2.0 */
/* A run for a command line: its options, its progress, its end. */
#include "cli/tuning.h"

#include "cli/board.h"

int ot_tuning_check(const ot_cli *cli, const ot_tuning_values *how)
{
    if (how->json + how->csv + how->markdown > 1)
        return ot_say_usage(cli->cmd, "--json, --csv and --markdown exclude each other");
    if (how->compile_only && (how->csv || how->markdown))
        return ot_say_usage(cli->cmd, "--compile-only prints text or --json");
    if (how->compile_only && how->metrics.n)
        return ot_say_usage(cli->cmd,
                            "--compile-only measures nothing that a --metric is over");
    return OT_EXIT_DONE;
}

void ot_long_ended(optune_result *result, bool print, bool json)
{
    ot_on_interrupt(NULL);
    ot_progress_end();
    if (result && print)
        ot_print_result(result, json);
    fflush(stdout); /* in front of why it ended, where both go to one terminal */
    optune_result_free(result);
}

/* What was measured is printed whatever ended it; the exit code says that something did. */
static int finish(int status, const optune_err *err, bool printed)
{
    if (status == OPTUNE_OK)
        return OT_EXIT_DONE;
    const int code = ot_say_failure(err);
    return printed && status != OPTUNE_EINTERRUPTED ? OT_EXIT_FAILED : code;
}

int ot_tuning_run(optune *handle, const ot_tuning_values *how, optune_run_options *options,
                  bool quiet)
{
    options->search = how->search;
    options->trials = how->trials;
    options->seconds = how->seconds;
    options->seed = how->seed;
    options->again = how->again;
    options->no_transfer = how->no_transfer;
    options->log = how->log;
    options->metrics = how->metrics.n ? how->metrics.item : NULL;
    ot_board *board = how->watch ? ot_board_open() : NULL;
    options->progress = ot_progress_show;
    options->progress_arg = board;
    options->compile_only = how->compile_only;
    options->table = how->csv ? "csv" : how->markdown ? "markdown" : "text";
    options->width = ot_output_width();
    optune_err err = {0};
    optune_result *result = NULL;
    ot_on_interrupt(handle);
    const int status = optune_run(handle, options, &result, &err);
    const bool printed = result != NULL;
    ot_long_ended(result, !quiet, how->json);
    ot_board_close(board);
    return finish(status, &err, printed);
}
