/* SPDX-License-Identifier: Apache-2.0 */
/* A table of texts, printed for a terminal of some width, as CSV or as Markdown. */
#ifndef OPTUNE_TABLE_H
#define OPTUNE_TABLE_H

#include "base/base.h"

enum { OT_TABLE_COLUMNS = 32 };
typedef enum ot_table_form { OT_TABLE_TEXT, OT_TABLE_CSV, OT_TABLE_MARKDOWN } ot_table_form;
/* "text", "csv", "markdown"; NULL is text. EUSAGE: none of these. */
int ot_table_form_named(const char *name, ot_table_form *form, optune_err *err);

typedef struct ot_column {
    const char *name;
    bool left;  /* texts; numbers stand at the right */
    int least;  /* 0: always there; else the smaller the sooner it goes for want of room */
    bool aside; /* only where there is no line below the table that says it */
} ot_column;

typedef struct ot_table {
    int n_columns;
    ot_column column[OT_TABLE_COLUMNS];
    struct ot_table_row {
        char *cell[OT_TABLE_COLUMNS]; /* NULL: empty */
        char *rest;                   /* in place of the cells behind the first; NULL: none */
        char *below;                  /* a line below it; NULL: none */
    } * row;
    int n_rows, capacity;
    bool no_notes; /* as records: without the last column, which is `rest` or `below` */
} ot_table;
void ot_table_release(ot_table *table);
int ot_table_column(ot_table *table, const ot_column *column); /* its number */
void ot_table_row(ot_table *table);                            /* a new one, the last */
/* Of the last row; text is copied. */
void ot_table_cell(ot_table *table, int column, const char *text);
void ot_table_rest(ot_table *table, const char *text);
void ot_table_below(ot_table *table, const char *text);
/* `width`: columns of a terminal, 0: as wide as it wants. Columns go, then the first is cut, until
 * it fits; long texts are wrapped. */
void ot_table_print(const ot_table *table, ot_table_form form, int width, ot_text *to);
/* A line of text, wrapped. */
void ot_table_wrap(const char *line, int width, int indent, ot_text *to);

#endif
