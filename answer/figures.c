/* SPDX-License-Identifier: Apache-2.0 */
/* What records are compared with: the untuned default, libraries, and what the machine can do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/figures.h"

/* ---- beside the winner ------------------------------------------------------------------- */

/* The best record of one config of one implementation, the interleaved one first. */
static const optune_record *record_of(const ot_fact *fact, int n, const optune_impl *impl,
                                      const optune_config *config)
{
    const optune_record *found = NULL;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i].record;
        if (fact[i].currency != OT_STALE && r->outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(r->impl, impl->name) && ot_config_equal(&r->config, config) &&
            (!found || (r->final && !found->final)))
            found = r;
    }
    return found;
}

void ot_choice_beside(const optune_task *task, const ot_choice *choice, const ot_fact *fact,
                      int n, ot_beside *beside)
{
    *beside = (ot_beside){0};
    const optune_impl *by_level = choice->row[ot_choice_default(task, choice)].candidate.impl;
    optune_space *space = NULL;
    if (ot_space_open(task, by_level, &space, NULL) >= 0) {
        optune_config fallback;
        if (ot_space_fallback(space, &fallback, NULL))
            beside->fallback = record_of(fact, n, by_level, &fallback);
        ot_space_close(space);
    }
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *c = &choice->row[i];
        if (c->candidate.impl->library && c->fact &&
            (!beside->library || c->fact->record.cost < beside->library->cost))
            beside->library = &c->fact->record;
    }
}

void ot_record_library(const optune_record *library, char *to, size_t size)
{
    if (!ot_lines_get(library->depends, "library", to, size))
        snprintf(to, size, "%s", library->impl);
}

/* ---- what could be at most --------------------------------------------------------------- */

bool ot_call_moves(const optune_call *call)
{
    return ot_call_flops(call) < ot_call_bytes(call);
}

/* A CPU does half as many operations in float64. Matrix units, a GPU's doubles, and narrow types
 * that some units multiply faster, have peaks of their own. */
double ot_call_units(const optune_device *device, const optune_call *call)
{
    int bits = 0;
    for (int i = 0; i < call->n_attrs; i++)
        if (!strcmp(call->attr[i].name, "math") && strcmp(call->attr[i].word, "ieee"))
            return 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const optune_dtype dtype = call->input[i].type.dtype;
        if (dtype.code != OPTUNE_DTYPE_FLOAT || dtype.bits < 32 || (bits && bits != dtype.bits))
            return 0;
        bits = dtype.bits;
    }
    return bits == 32 ? 1 : bits == 64 && device->threads > 0 ? 0.5 : 0;
}

bool ot_call_tensor(const optune_call *call)
{
    enum { OFTEN = 8 }; /* operations a byte: scores and sums of windows do fewer, products more */
    bool any = false;
    for (int i = 0; i < call->n_attrs; i++)
        if (!strcmp(call->attr[i].name, "math") && strcmp(call->attr[i].word, "ieee"))
            return false;
    for (int i = 0; i < call->n_inputs; i++) {
        const optune_dtype dtype = call->input[i].type.dtype;
        const bool real = dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
        if (real && dtype.bits != 16)
            return false;
        any = any || real;
    }
    return any && ot_call_flops(call) >= OFTEN * ot_call_bytes(call);
}

bool ot_call_fits_cache(const optune_device *device, const optune_call *call)
{
    const int64_t last = device->l3 > 0 ? device->l3 : device->l2;
    return last <= 0 || ot_call_bytes(call) <= (double)last;
}

void ot_peak_path(const optune *o, char *path, size_t size)
{
    ot_text target = {0};
    char hex[33];
    ot_target_print(&o->target, true, &target);
    const char *const part[] = {o->device.key, ot_text_str(&target)};
    ot_digest_hex(ot_digest_texts(part, OT_COUNT(part)), hex);
    snprintf(path, size, "%s/peaks/%s.json", o->db, hex);
    ot_text_release(&target);
}

static double positive(const json_t *object, const char *name)
{
    const double value = json_number_value(json_object_get(object, name));
    return isfinite(value) && value > 0 ? value : 0;
}

enum { LEAST_TOLD = 2, MOST_TOLD = 3 };

/* How many numbers it holds; 0: something else, too. */
static int told(double value[MOST_TOLD])
{
    char text[256], *rest = NULL;
    const char *given = getenv("OPTUNE_PEAK");
    int n = 0;
    if (!given || !ot_copy(text, sizeof text, given))
        return 0;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (n == MOST_TOLD || !ot_parse_real(word, &value[n]) || !(value[n++] > 0))
            return 0;
    return n < LEAST_TOLD ? 0 : n;
}

const char *ot_peak_untold(void)
{
    double value[MOST_TOLD] = {0};
    const char *given = getenv("OPTUNE_PEAK");
    return given && *given && !told(value)
               ? "OPTUNE_PEAK is no peak: write FLOPS,BYTES a second, as 2e11,4e10"
               : NULL;
}

bool ot_peak_told(void)
{
    double value[MOST_TOLD];
    return told(value) > 0;
}

/* A file that is not there, or no such file, is as good as none. */
ot_peak_known ot_peak_recall(const optune *o)
{
    ot_peak_known peak = {0};
    char path[4096 + 64];
    double value[MOST_TOLD] = {0};
    ot_text text = {0};
    if (told(value))
        return (ot_peak_known){value[0], value[1], value[2], .settled = true, .told = true};
    ot_peak_path(o, path, sizeof path);
    if (ot_read_file(path, &text, 1 << 16, NULL) >= 0) {
        json_t *json = json_loads(ot_text_str(&text), JSON_REJECT_DUPLICATES, NULL);
        if (json_integer_value(json_object_get(json, "optune_peak")) == OT_PEAK_VERSION)
            peak =
                (ot_peak_known){.flops = positive(json, "flops"),
                                .bandwidth = positive(json, "bandwidth"),
                                .tensor = positive(json, "tensor"),
                                .settled = !json_is_true(json_object_get(json, "disturbed"))};
        json_decref(json);
    }
    ot_text_release(&text);
    return peak;
}
