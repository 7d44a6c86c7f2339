/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune ops`: what operators there are; with a name, everything registered about one:
 * arguments, attributes, presets, samples. Reads tables only, never the database.
 */
#include <string.h>

#include "cli/cli.h"
#include "optune/graph.h"

static void print_declaration(const optune_listed_op *op)
{
    const char *const declared[][2] = {
        {"scalar", op->scalar}, {"identity", op->identity},
        {"map", op->map},       {"combine", op->combine},
        {"finish", op->finish}, {"pieces", op->pieces ? "a map of the call" : NULL},
    };
    const char *before = "  declares ";
    for (size_t i = 0; i < sizeof declared / sizeof declared[0]; i++) {
        if (!declared[i][1])
            continue;
        printf("%s%s: %s", before, declared[i][0], declared[i][1]);
        before = "; ";
    }
    if (*before == ';')
        printf("\n");
}

/* All that is said of both is the same, so that one line does for a row of them. */
static bool alike(const optune_listed_input *a, const optune_listed_input *b)
{
    return a->is_const == b->is_const && a->optional == b->optional &&
           strcmp(a->type, b->type) == 0 && strcmp(a->description, b->description) == 0;
}

static void print_inputs(optune *handle, const char *op)
{
    optune_listed_input row = {.size = sizeof row};
    printf("  inputs:\n");
    for (int i = 0; optune_list_input(handle, op, i, &row, NULL) == OPTUNE_OK; i++) {
        char name[2 * OPTUNE_NAME_SIZE];
        optune_listed_input last = row, next = {.size = sizeof next};
        while (optune_list_input(handle, op, i + 1, &next, NULL) == OPTUNE_OK &&
               alike(&last, &next)) {
            last = next;
            i++;
        }
        snprintf(name, sizeof name, last.name == row.name ? "%s" : "%s .. %s", row.name,
                 last.name);
        printf("    %-14s %s, %s%s: %s\n", name, row.type, row.is_const ? "const" : "var",
               row.optional ? ", optional" : "", row.description);
    }
}

static void print_attrs(optune *handle, const char *op)
{
    optune_listed_attr row = {.size = sizeof row};
    printf("  attributes:\n");
    for (int i = 0; optune_list_attr(handle, op, i, &row, NULL) == OPTUNE_OK; i++) {
        char kind[32];
        snprintf(kind, sizeof kind, row.length ? "%s x%d" : "%s", row.kind, row.length);
        printf("    %-14s %-8s ", row.name, kind);
        if (row.value)
            printf("default %s", row.value);
        else
            printf("required");
        if (row.min || row.max)
            printf(", %lld to %lld", (long long)row.min, (long long)row.max);
        if (row.none)
            printf(", or none");
        if (row.words)
            printf(", one of %s", row.words);
        printf("%s: %s\n", row.shown ? ", always printed" : "", row.description);
    }
}

/* With what it costs; one that does not parse as it is written. */
static void print_workload(const char *workload)
{
    optune_call *call = NULL;
    char text[OPTUNE_CALL_TEXT_SIZE];
    if (optune_call_open(workload, &call, NULL) < 0 ||
        optune_call_write(call, text, sizeof text, NULL) < 0)
        printf("      %s\n", workload);
    else
        printf("      %s  %.4g GFLOP, %.4g MB\n", text, optune_call_flops(call) * 1e-9,
               optune_call_bytes(call) * 1e-6);
    optune_call_close(call);
}

static void print_presets(optune *handle, const char *op)
{
    optune_listed_preset row = {.size = sizeof row};
    for (int i = 0; optune_list_preset(handle, op, i, &row, NULL) == OPTUNE_OK; i++) {
        printf("%s    %s%s: %s\n", i ? "" : "  presets:\n", row.name, i ? "" : " (default)",
               row.description);
        for (const char *const *workload = row.workloads; *workload; workload++)
            print_workload(*workload);
    }
}

static void print_in_full(optune *handle, const optune_listed_op *op)
{
    printf("%s: %s\n", op->name, op->summary);
    printf("  pattern %s (%d), support level %d\n", op->pattern, op->pattern_number,
           op->support_level);
    print_declaration(op);
    printf("  operations %s; bytes %s; error bound %s\n",
           op->flops ? "counted" : "not counted, so no rate is shown",
           op->bytes ? "by a rule of its own" : "of all tensors",
           op->standard ? "said by whoever brought it"
           : op->scalar ? "of the expression's roundings"
           : op->terms  ? "grows with the terms of a sum"
                        : "of a single rounding");
    printf("  gradient %s; output dims %s\n", op->gradient ? "by its rule" : "not known",
           op->shape_function ? "by a shape function that sees the values"
                              : "by the type relation");
    print_inputs(handle, op->name);
    printf("  outputs%s:\n", op->outputs_by_attribute ? " (some of them, by attribute)" : "");
    for (int i = 0; i < op->n_outputs; i++)
        printf("    %s\n", op->outputs[i]);
    print_attrs(handle, op->name);
    print_presets(handle, op->name);
    printf("  samples:\n");
    for (const char *const *sample = op->samples; sample && *sample; sample++)
        printf("    %s\n", *sample);
}

static void print_line(optune *handle, const optune_listed_op *op)
{
    int i = 0;
    optune_listed_preset row = {.size = sizeof row};
    printf("%-16s %s\n", op->name, op->summary);
    for (; optune_list_preset(handle, op->name, i, &row, NULL) == OPTUNE_OK; i++) {
        if (!i)
            printf("%-16s presets:", "");
        printf(" %s", row.name);
    }
    if (i)
        printf("\n");
}

static int print(optune *handle, const char *name, optune_err *err)
{
    int status;
    optune_listed_op row = {.size = sizeof row};
    for (int i = 0; (status = optune_list_op(handle, name, i, &row, err)) == OPTUNE_OK; i++) {
        if (name)
            print_in_full(handle, &row);
        else
            print_line(handle, &row);
    }
    return status;
}

typedef struct ops_values {
    ot_list_values list; /* first, so that it is what ot_list_run() reads */
    bool presets;
} ops_values;

static const ot_option options[] = {
    {.name = "presets",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(ops_values, presets),
     .help = "the presets alone, with what each is"},
    OT_FORM_OPTIONS(ot_list_values),
    OT_FORM_OPTION(ot_list_values, names, "what each is called, one a line"),
    {.name = NULL},
};

/* Of one operator, or of all. */
static int presets_of(optune *handle, const char *name, bool names, optune_err *err)
{
    int status;
    optune_listed_op op = {.size = sizeof op};
    for (int i = 0; (status = optune_list_op(handle, name, i, &op, err)) == OPTUNE_OK; i++) {
        optune_listed_preset row = {.size = sizeof row};
        for (int k = 0; optune_list_preset(handle, op.name, k, &row, NULL) == OPTUNE_OK; k++)
            if (names)
                printf("%s\n", row.name);
            else
                printf("%-16s %-16s %s\n", op.name, row.name, row.description);
    }
    return status;
}

static int run(const ot_cli *cli)
{
    const ops_values *values = cli->values;
    const ot_form *form = &values->list.form;
    optune_err err = {0};
    if (!values->presets)
        return ot_list_run(cli, print);
    if (form->json || form->csv || form->markdown)
        return ot_say_usage(cli->cmd, "--presets prints text or --names; --json has them all");
    return presets_of(cli->handle, cli->n_words ? cli->words[0] : NULL, form->names, &err) < 0
               ? ot_say_failure(&err)
               : OT_EXIT_DONE;
}

OT_CMD(ops) = {
    .name = "ops",
    .summary = "list the operators, or print one in full",
    .arguments = "[NAME]",
    .max_words = 1,
    .list = "ops",
    .options = options,
    .values_size = sizeof(ops_values),
    .run = run,
};
