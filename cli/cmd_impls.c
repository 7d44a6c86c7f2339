/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune impls`: the ways to compute an operator, with the strategies that name them and the
 * digest that their records depend on. Reads tables only, never the database.
 */
#include "cli/cli.h"

/* Where it stands: "cpu, plevel 10 when m > 1; gpu, plevel 5". */
static void print_strategies(optune *handle, const char *impl)
{
    int i = 0;
    optune_listed_strategy row = {.size = sizeof row};
    for (; optune_list_strategy(handle, impl, i, &row, NULL) == OPTUNE_OK; i++) {
        printf("%s%s, plevel %d", i ? "; " : "", row.key, row.plevel);
        if (row.when)
            printf(" when %s", row.when);
        if (row.condition)
            printf(row.when ? " and its condition holds" : " when its condition holds");
    }
    if (!i)
        printf("in no strategy");
}

static int print(optune *handle, const char *op, optune_err *err)
{
    int status;
    optune_listed_impl row = {.size = sizeof row};
    for (int i = 0; (status = optune_list_impl(handle, op, i, &row, err)) == OPTUNE_OK; i++) {
        printf("%-28s %-13s %s\n%-28s ", row.name, row.op, row.summary, "");
        print_strategies(handle, row.name);
        if (row.library)
            printf("; calls %s", row.library);
        if (row.math)
            printf("; math %s", row.math);
        printf("; digest %.8s\n", row.digest);
    }
    return status;
}

static int run(const ot_cli *cli)
{
    return ot_list_run(cli, print);
}

OT_CMD(impls) = {
    .name = "impls",
    .summary = "list the implementations, or those of one operator",
    .arguments = "[OP]",
    .max_words = 1,
    .list = "ops",
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = run,
};
