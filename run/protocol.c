/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the worker's protocol: plain values as JSON and back. Both sides are of one
 * version (hello checks it), so a missing field is a broken peer and not a case to handle.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

#define TEXTS(X) X(key) X(name) X(kind) X(arch)
/* clang-format off */
#define INTS(X)                                                                                \
    X(cores) X(threads) X(vector_bytes) X(vector_registers) X(l1) X(l2) X(l3) X(memory)        \
    X(warp) X(max_threads_per_block) X(max_block[0]) X(max_block[1]) X(max_block[2])           \
    X(max_shared) X(registers) X(cc_major) X(cc_minor)
/* clang-format on */

json_t *ot_wire_device(const optune_device *device)
{
    json_t *object = json_object();
#define PUT_TEXT(field) json_object_set_new(object, #field, json_string(device->field));
    TEXTS(PUT_TEXT)
#undef PUT_TEXT
#define PUT_INT(field) json_object_set_new(object, #field, json_integer(device->field));
    INTS(PUT_INT)
#undef PUT_INT
    return object;
}

int ot_wire_read_device(const json_t *object, optune_device *device, optune_err *err)
{
    *device = (optune_device){0};
#define GET_TEXT(field)                                                                        \
    if (!ot_copy(device->field, sizeof device->field, ot_wire_text(object, #field)))           \
        return optune_fail(err, OPTUNE_EWORKER, "a device's '%s' is too long", #field);
    TEXTS(GET_TEXT)
#undef GET_TEXT
#define GET_INT(field)                                                                         \
    device->field =                                                                            \
        (__typeof__(device->field))json_integer_value(json_object_get(object, #field));
    INTS(GET_INT)
#undef GET_INT
    return OPTUNE_OK;
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
