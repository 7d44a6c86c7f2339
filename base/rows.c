/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rows that grow: what registries keep of rows in tree and of those of plugins. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

void ot_rows_push(ot_rows *rows, const void *row)
{
    if (rows->n == rows->capacity) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : 64;
        const void **more = ot_alloc((size_t)rows->capacity * sizeof *more);
        if (rows->n)
            memcpy(more, rows->row, (size_t)rows->n * sizeof *more);
        free(rows->row);
        rows->row = more;
    }
    rows->row[rows->n++] = row;
}

int ot_row_taken(optune_err *err, const char *kind, const char *name)
{
    return optune_fail(err, OPTUNE_ECONFLICT, "%s '%s' exists already", kind, name);
}

int ot_row_check_name(const char *kind, const char *name, optune_err *err)
{
    if (!name || !name[0])
        return optune_fail(err, OPTUNE_EUSAGE, "%s without a name", kind);
    if (strlen(name) >= OPTUNE_NAME_SIZE)
        return optune_fail(err, OPTUNE_ELIMIT, "name of %s '%s' is too long", kind, name);
    return OPTUNE_OK;
}
