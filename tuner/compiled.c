/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a config that was built and not measured, as JSON, and the table that a person
 * reads of it. A kernel's line says first what its compiler told and, behind the word machine_code,
 * what was read of it; both are taken as they are, "a.b=1" as a part of "a".
 */
#include "tuner/compiled.h"

#include <stdlib.h>
#include <string.h>

#include "target/gpu.h"

json_t *ot_compiled_config(const optune_config *config, bool fallback)
{
    ot_text text = {0};
    ot_config_print(config, &text);
    json_t *entities = json_loads(ot_text_str(&text), 0, NULL);
    ot_text_release(&text);
    return json_pack("{s:o, s:b, s:[]}", "config", entities ? entities : json_null(),
                     "fallback", fallback, "kernels");
}

static json_t *value_json(const char *text)
{
    int64_t whole;
    double real;
    if (strcmp(text, "null") == 0)
        return json_null();
    if (ot_parse_int(text, &whole))
        return json_integer(whole);
    return ot_parse_real(text, &real) ? json_real(real) : json_string(text);
}

/* `name=value` or `part.name=value` into an object. */
static void set(json_t *object, char *pair)
{
    char *equals = strchr(pair, '='), *point = memchr(pair, '.', (size_t)(equals - pair));
    *equals = '\0';
    if (point) {
        *point = '\0';
        if (!json_is_object(json_object_get(object, pair)))
            json_object_set_new(object, pair, json_object());
        object = json_object_get(object, pair);
        pair = point + 1;
    }
    json_object_set_new(object, pair, value_json(equals + 1));
}

static void set_occupancy(json_t *kernel, const ot_launched *launch, int n,
                          const optune_device *device)
{
    const char *name = json_string_value(json_object_get(kernel, "kernel"));
    const json_t *registers = json_object_get(kernel, "registers");
    double occupancy = -1;
    for (int i = 0; i < n && name && registers && occupancy < 0; i++) {
        if (strcmp(launch[i].function, name) != 0)
            continue;
        const int64_t own = json_integer_value(json_object_get(kernel, "shared"));
        json_object_set_new(kernel, "threads", json_integer(launch[i].threads));
        json_object_set_new(kernel, "shared", json_integer(own + launch[i].shared));
        occupancy = ot_gpu_occupancy(device, launch[i].threads, json_integer_value(registers),
                                     own + launch[i].shared);
    }
    json_object_set_new(kernel, "occupancy",
                        occupancy < 0 ? json_null() : json_real(occupancy));
}

static json_t *kernel_json(char *line, const ot_launched *launch, int n,
                           const optune_device *device)
{
    json_t *kernel = json_pack("{s:n}", "machine_code"), *to = kernel;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "machine_code") == 0) {
            json_object_set_new(kernel, word, json_object());
            to = json_object_get(kernel, word);
        } else if (strchr(word, '=')) {
            set(to, word);
        }
    }
    set_occupancy(kernel, launch, n, device);
    return kernel;
}

void ot_compiled_add(json_t *config, const char *lines, const ot_launched *launch, int n,
                     const optune_device *device)
{
    char *own = ot_strdup(lines), *rest = NULL;
    for (char *line = strtok_r(own, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "kernel=", 7) == 0)
            json_array_append_new(json_object_get(config, "kernels"),
                                  kernel_json(line, launch, n, device));
        else if (strncmp(line, "unread=", 7) == 0)
            json_object_set_new(config, "unread", json_string(line + 7));
    }
    free(own);
}

const char *ot_compiled_unread(const json_t *workloads)
{
    size_t i, j, k;
    const json_t *workload, *impl, *config;
    json_array_foreach(workloads, i, workload)
    {
        json_array_foreach(json_object_get(workload, "impls"), j, impl)
        {
            json_array_foreach(json_object_get(impl, "configs"), k, config)
            {
                const json_t *why = json_object_get(config, "unread");
                if (why)
                    return json_string_value(why);
            }
        }
    }
    return NULL;
}

/* ---- the table ---------------------------------------------------------------------------- */

static double number(const json_t *code, const char *name)
{
    return json_number_value(json_object_get(code, name));
}

/* The kernel that computes most. */
static const json_t *main_kernel(const json_t *config)
{
    size_t i;
    const json_t *kernel, *best = NULL;
    double most = -1;
    json_array_foreach(json_object_get(config, "kernels"), i, kernel)
    {
        const json_t *code = json_object_get(kernel, "machine_code");
        if (json_is_object(code) && number(code, "math") > most) {
            most = number(code, "math");
            best = kernel;
        }
    }
    return best;
}

static void put_real(ot_text *text, int width, int digits, const json_t *value)
{
    char cell[32] = "-";
    if (json_is_number(value))
        ot_format(cell, sizeof cell, "%.*f", digits, json_number_value(value));
    ot_text_printf(text, "%*s", width, cell);
}

/* Cycles to the first use: least/median. */
static void put_distance(ot_text *text, const json_t *code, const char *of)
{
    const json_t *part = json_object_get(code, of), *least = json_object_get(part, "least");
    const json_t *copies = json_object_get(code, "copies");
    char cell[40] = "-";
    if (json_is_number(least))
        ot_format(cell, sizeof cell, "%.0f/%.0f", json_number_value(least),
                  number(part, "median"));
    else if (strcmp(of, "global") == 0 &&
             number(copies, "16") + number(copies, "less") + number(copies, "tensor") > 0)
        ot_copy(cell, sizeof cell, "copies");
    ot_text_printf(text, "  %10s", cell);
}

/* `4x16 1x4`: how many of which width. */
static void put_widths(ot_text *text, const json_t *part)
{
    ot_text cell = {0};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)part, name, value)
    {
        if (json_number_value(value) > 0)
            ot_text_printf(&cell, "%s%.0fx%s", cell.n ? " " : "", json_number_value(value),
                           strcmp(name, "less") ? name : "<");
    }
    ot_text_printf(text, "  %-10s", cell.n ? ot_text_str(&cell) : "-");
    ot_text_release(&cell);
}

static void put_config(ot_text *text, const json_t *config)
{
    optune_config own;
    ot_text shown = {0};
    char *entities = json_dumps(json_object_get(config, "config"), JSON_COMPACT);
    if (entities && ot_config_parse(entities, &own, NULL) >= 0)
        ot_config_print_short(&own, &shown);
    ot_text_printf(text, "  %s%s\n",
                   json_is_true(json_object_get(config, "fallback")) ? "fallback: " : "",
                   ot_text_str(&shown));
    ot_text_release(&shown);
    free(entities);
}

void ot_compiled_table(const json_t *configs, ot_text *text)
{
    size_t i;
    const json_t *config;
    bool headed = false;
    json_array_foreach(configs, i, config)
    {
        const json_t *kernel = main_kernel(config);
        if (!kernel)
            continue;
        const json_t *code = json_object_get(kernel, "machine_code");
        if (!headed)
            ot_text_printf(text, "    %5s%8s  %10s  %10s  %-10s  %-10s%6s%6s%7s%6s%6s  %s\n",
                           "share", "cycles", "global", "shared", "loads", "stores", "local",
                           "a bar", "flight", "regs", "occ", "config");
        headed = true;
        ot_text_add(text, "    ");
        put_real(text, 5, 3, json_object_get(code, "share"));
        put_real(text, 8, 2, json_object_get(code, "cycles"));
        put_distance(text, code, "global");
        put_distance(text, code, "shared");
        const json_t *copies = json_object_get(code, "copies");
        const bool copied =
            number(copies, "16") + number(copies, "less") + number(copies, "tensor") > 0;
        put_widths(text, copied ? copies : json_object_get(code, "loads"));
        put_widths(text, json_object_get(code, "stores"));
        put_real(text, 6, 0, json_object_get(code, "local"));
        put_real(text, 6, 0, json_object_get(code, "per_barrier"));
        const json_t *flight = json_object_get(code, "copies_in_flight");
        put_real(text, 7, 0,
                 json_is_number(flight) ? flight : json_object_get(code, "products_in_flight"));
        put_real(text, 6, 0, json_object_get(kernel, "registers"));
        put_real(text, 6, 2, json_object_get(kernel, "occupancy"));
        put_config(text, config);
    }
}
