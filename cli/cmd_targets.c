/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune targets`: the kinds of places where code can run, and the strategy keys each
 * inherits. It probes nothing: `optune devices` does.
 */
#include "cli/cli.h"

static int print(optune *handle, const char *name, optune_err *err)
{
    (void)name;
    int status;
    optune_listed_target row = {.size = sizeof row};
    for (int i = 0; (status = optune_list_target(handle, i, &row, err)) == OPTUNE_OK; i++) {
        printf("%-10s %s; keys:", row.name, row.summary);
        for (const char *const *key = row.keys; *key; key++)
            printf(" %s", *key);
        printf("\n");
    }
    return status;
}

static int run(const ot_cli *cli)
{
    return ot_list_run(cli, print);
}

OT_CMD(targets) = {
    .name = "targets",
    .summary = "list the kinds of targets",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .notes =
        "A target is a kind and its options: 'cpu -threads=2 -libs=cblas'. The default is "
        "cpu.\n"
        "  -threads=N            cores of a CPU; 0: all of them (default)\n"
        "  -libs=A,B             libraries that may be selected: cblas, dnnl, cublas,\n"
        "                        cublaslt, cudnn; all that are found are measured\n"
        "  -mcpu=M, -arch=A      what is compiled for: x86-64-v3, sm_90; else the device\n"
        "  -device=D             which of several: its number, or a part of its name\n"
        "  -cflags='F'           in place of the compiler's default optimisation flags\n"
        "  -keys=K               strategy keys that are tried before the kind's own\n"
        "  -model=M              kept in records, and otherwise without a meaning\n",
    .run = run,
};
