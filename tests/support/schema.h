/* SPDX-License-Identifier: Apache-2.0 */
/* Validates JSON against the part of JSON Schema that docs/formats.md uses. */
#ifndef OPTUNE_TESTS_SCHEMA_H
#define OPTUNE_TESTS_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The first ```json block below a heading of docs/formats.md; fails the test when it is not there.
 * New reference. */
json_t *schema_of_docs(const char *heading);
/* False, with the place and the reason, when `json` is not as the schema says. Keywords: type,
 * enum, required, properties, additionalProperties, items, $ref; another one fails the test. */
bool schema_accepts(const json_t *schema, const json_t *json, char *why, size_t size);

#endif
