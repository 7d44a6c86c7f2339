/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the worker's protocol: plain values as JSON and back. Both sides are of one
 * version (hello checks it), so a missing field is a broken peer and not a case to handle.
 */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/device.h"
#include "base/record.h"
#include "run/worker.h"

int ot_wire_send(int fd, json_t *message, optune_err *err)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!text)
        return optune_fail(err, OPTUNE_EWORKER,
                           "a message to or from the worker has no JSON form");
    const int status = ot_message_send(fd, text, strlen(text), err);
    free(text);
    return status;
}

bool ot_wire_hung_up(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLRDHUP};
    return poll(&entry, 1, 0) > 0 && entry.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

int ot_wire_receive(int fd, double seconds, json_t **message, optune_err *err)
{
    ot_text text = {0};
    json_error_t problem;
    int status = ot_message_receive(fd, &text, seconds, err);
    if (status >= 0) {
        *message = json_loadb(ot_text_str(&text), text.n, 0, &problem);
        if (!json_is_object(*message)) {
            json_decref(*message);
            *message = NULL;
            status = optune_fail(err, OPTUNE_EWORKER, "the worker sent what is no JSON object");
        }
    }
    ot_text_release(&text);
    return status;
}

/* ---- a device ---------------------------------------------------------------------------- */

json_t *ot_wire_device(const optune_device *device)
{
    json_t *object = json_object();
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        json_object_set_new(object, f->name,
                            f->kind == OT_FIELD_TEXT
                                ? json_string(ot_device_text(device, f))
                                : json_integer(ot_device_number(device, f)));
    }
    return object;
}

int ot_wire_read_device(const json_t *object, optune_device *device, optune_err *err)
{
    *device = (optune_device){0};
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const json_t *value = json_object_get(object, f->name);
        if (f->kind == OT_FIELD_TEXT
                ? !ot_device_set_text(device, f, json_string_value(value))
                : !ot_device_set_number(device, f, json_integer_value(value)))
            return optune_fail(err, OPTUNE_EWORKER, "a device's '%s' cannot be", f->name);
    }
    return OPTUNE_OK;
}

/* ---- what came of a trial ---------------------------------------------------------------- */

json_t *ot_wire_told(const optune_record *record)
{
    json_t *object = json_object();
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->who == OT_RECORD_WORKER)
            json_object_set_new(object, f->name, ot_record_value(record, f));
    }
    return object;
}

int ot_wire_read_told(const json_t *object, ot_arena *arena, optune_record *record,
                      optune_err *err)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        const json_t *value = json_object_get(object, f->name);
        if (f->who != OT_RECORD_WORKER)
            continue;
        const char *problem = value ? ot_record_set(record, f, value, arena) : "it is missing";
        if (problem)
            return optune_fail(err, OPTUNE_EWORKER, "a trial's '%s' cannot be: %s", f->name,
                               problem);
    }
    return OPTUNE_OK;
}

#define COPY_ASKER(name)
#define COPY_WORKER(name) to->name = from->name;
#define COPY(kind, name, who, ...) COPY_##who(name)

void ot_trial_result_of(const optune_record *from, ot_trial_result *to)
{
    OPTUNE_RECORD_MAP(COPY)
    to->n_samples = from->n_samples;
}

void ot_trial_result_put(const ot_trial_result *from, optune_record *to)
{
    OPTUNE_RECORD_MAP(COPY)
    to->n_samples = from->n_samples;
}

/* ---- a policy ---------------------------------------------------------------------------- */

json_t *ot_wire_policy(const ot_measure_policy *policy)
{
    return json_pack("{s:s, s:f, s:i, s:i, s:f, s:f, s:f, s:b, s:I}", "name", policy->name,
                     "sample_s", policy->sample_s, "min_samples", policy->min_samples,
                     "max_samples", policy->max_samples, "width", policy->width, "budget_s",
                     policy->budget_s, "give_up", policy->give_up, "cold", policy->cold,
                     "footprint", (json_int_t)policy->footprint);
}

int ot_wire_read_policy(const json_t *object, ot_measure_policy *policy, optune_err *err)
{
    *policy = (ot_measure_policy){0};
    if (json_unpack((json_t *)object, "{s:F, s:i, s:i, s:F, s:F, s:F}", "sample_s",
                    &policy->sample_s, "min_samples", &policy->min_samples, "max_samples",
                    &policy->max_samples, "width", &policy->width, "budget_s",
                    &policy->budget_s, "give_up", &policy->give_up) < 0)
        return optune_fail(err, OPTUNE_EWORKER, "a measuring policy lacks a number");
    policy->cold = json_is_true(json_object_get(object, "cold"));
    policy->footprint = json_integer_value(json_object_get(object, "footprint"));
    ot_copy(policy->name, sizeof policy->name, ot_wire_text(object, "name"));
    return OPTUNE_OK;
}

/* ---- values ------------------------------------------------------------------------------ */

json_t *ot_wire_u64(uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

uint64_t ot_wire_read_u64(const json_t *text)
{
    const char *s = json_string_value(text);
    return s ? strtoull(s, NULL, 10) : 0;
}

const char *ot_wire_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

double ot_wire_real(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : INFINITY;
}
