/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune devices`: what was found on this machine, what is missing where nothing was, and the
 * devices that the database has records of. Their keys are what --device takes.
 */
#include "cli/cli.h"

static void print_size(const char *name, int64_t bytes)
{
    const bool small = bytes < 1 << 20;
    if (bytes)
        printf(", %s %.4g %s", name, (double)bytes / (small ? 1 << 10 : 1 << 20),
               small ? "KiB" : "MiB");
}

static void print_device(const optune_listed_device *row)
{
    const optune_device *d = row->device;
    printf("%s\n  %s%s: %s%s%s\n  %d cores", d->key, row->here ? "this machine" : "stored",
           row->here && row->stored ? ", with records" : "", d->name, *d->arch ? ", " : "",
           d->arch, d->cores);
    print_size("L1", d->l1);
    print_size("L2", d->l2);
    print_size("L3", d->l3);
    print_size("memory", d->memory);
    if (d->vector_bytes)
        printf(", %d-bit vectors", 8 * d->vector_bytes);
    printf("\n");
    if (row->unmade)
        printf("  not used: %s\n", row->unmade);
}

static int print(optune *handle, const char *name, optune_err *err)
{
    (void)name;
    optune_devices *devices = NULL;
    optune_listed_device row = {.size = sizeof row};
    const int status = optune_devices_open(handle, &devices, err);
    if (status < 0)
        return status;
    for (int i = 0; optune_list_device(devices, i, &row, NULL) == OPTUNE_OK; i++) {
        if (row.device)
            print_device(&row);
        else
            printf("no %s device: %s\n", row.target, row.why);
    }
    optune_devices_close(devices);
    return OPTUNE_OK;
}

static int run(const ot_cli *cli)
{
    return ot_list_run(cli, print);
}

OT_CMD(devices) = {
    .name = "devices",
    .summary = "list this machine's devices and those in the database",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = run,
};
