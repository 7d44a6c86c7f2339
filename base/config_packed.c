/* SPDX-License-Identifier: Apache-2.0 */
/* See config_packed.h. */
#include "base/config_packed.h"

#include <string.h>

static char *put(char *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* What is short is copied as what is as long as it may be, which is a few instructions; there is
 * room behind it, as an entity takes less than it has. */
static char *put_name(char *to, const char name[OPTUNE_KNOB_NAME_SIZE], size_t n)
{
    memcpy(to, name, OPTUNE_KNOB_NAME_SIZE);
    return to + n;
}

static char *put_value(char *to, const optune_entity *e, size_t n)
{
    if (n > sizeof e->v[0])
        return put(to, e->v, n);
    memcpy(to, e->v, sizeof e->v[0]);
    return to + n;
}

static const char *take(const char *from, void *to, size_t n)
{
    memcpy(to, from, n);
    return from + n;
}

/* Bytes of its value that mean something. */
static size_t value_of(const optune_entity *e)
{
    if (e->kind != OPTUNE_KNOB_OTHER)
        return e->n * sizeof e->v[0];
    return e->scalar == OPTUNE_SCALAR_WORD ? strlen(e->word) + 1 : sizeof e->v[0];
}

size_t ot_config_pack(const optune_config *config, void *to)
{
    char *at = put(to, &config->n, sizeof config->n);
    at = put(at, &config->index, sizeof config->index);
    for (int i = 0; i < config->n; i++) {
        const optune_entity *e = &config->entity[i];
        const uint8_t head[] = {e->kind, e->scalar, e->n, (uint8_t)strlen(e->name),
                                (uint8_t)value_of(e)};
        at = put(at, head, sizeof head);
        at = put_name(at, e->name, head[3]);
        at = put_value(at, e, head[4]);
    }
    return (size_t)(at - (char *)to);
}

void ot_config_unpack(const void *packed, optune_config *config)
{
    const char *at = take(packed, &config->n, sizeof config->n);
    at = take(at, &config->index, sizeof config->index);
    for (int i = 0; i < config->n; i++) {
        optune_entity *e = &config->entity[i];
        uint8_t head[5];
        at = take(at, head, sizeof head);
        *e = (optune_entity){.kind = head[0], .scalar = head[1], .n = head[2]};
        at = take(at, e->name, head[3]);
        at = take(at, e->v, head[4]);
    }
}
