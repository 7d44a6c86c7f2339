/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of texts. Never learns what stands in them. The one idea: what there is no room for goes
 * by importance, whole columns first, so that every line that is printed is a line on the terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

enum { FIRST_LEAST = 16, INDENT = 2 };

int ot_table_form_named(const char *name, ot_table_form *form, optune_err *err)
{
    static const char *const names[] = {"text", "csv", "markdown"};
    for (int i = 0; i < OT_COUNT(names); i++)
        if (!name || !strcmp(name, names[i])) {
            *form = (ot_table_form)i;
            return OPTUNE_OK;
        }
    return optune_fail(err, OPTUNE_EUSAGE,
                       "no form of tables '%s': there are text, csv and "
                       "markdown",
                       name);
}

void ot_table_release(ot_table *table)
{
    for (int i = 0; i < table->n_rows; i++) {
        for (int k = 0; k < table->n_columns; k++)
            free(table->row[i].cell[k]);
        free(table->row[i].rest);
        free(table->row[i].below);
    }
    free(table->row);
    *table = (ot_table){0};
}

int ot_table_column(ot_table *table, const ot_column *column)
{
    table->column[table->n_columns] = *column;
    return table->n_columns++;
}

void ot_table_row(ot_table *table)
{
    if (table->n_rows == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 16;
        struct ot_table_row *more = ot_alloc((size_t)table->capacity * sizeof *more);
        for (int i = 0; i < table->n_rows; i++)
            more[i] = table->row[i];
        free(table->row);
        table->row = more;
    }
    table->n_rows++;
}

static void set(char **to, const char *text)
{
    free(*to);
    *to = ot_strdup(text);
}

void ot_table_cell(ot_table *table, int column, const char *text)
{
    set(&table->row[table->n_rows - 1].cell[column], text);
}

void ot_table_rest(ot_table *table, const char *text)
{
    set(&table->row[table->n_rows - 1].rest, text);
}

void ot_table_below(ot_table *table, const char *text)
{
    set(&table->row[table->n_rows - 1].below, text);
}

/* ---- for a terminal ---------------------------------------------------------------------- */

void ot_table_wrap(const char *line, int width, int indent, ot_text *to)
{
    int at = 0;
    for (const char *p = line; *p;) {
        const int n = (int)strcspn(p, " "), gap = (int)strspn(p + n, " ");
        if (width > 0 && at > indent && at + n > width) {
            while (to->n && to->s[to->n - 1] == ' ')
                to->s[--to->n] = '\0';
            ot_text_printf(to, "\n%*s", indent, "");
            at = indent;
        }
        ot_text_add_n(to, p, (size_t)(n + gap));
        at += n + gap;
        p += n + gap;
    }
    ot_text_add(to, "\n");
}

typedef struct layout {
    bool shown[OT_TABLE_COLUMNS];
    int width[OT_TABLE_COLUMNS];
} layout;

static int total(const ot_table *table, const layout *l)
{
    int sum = -1;
    for (int k = 0; k < table->n_columns; k++)
        sum += l->shown[k] ? l->width[k] + 1 : 0;
    return sum;
}

static void fit(const ot_table *table, int width, layout *l)
{
    for (int k = 0; k < table->n_columns; k++) {
        l->shown[k] = !table->column[k].aside;
        l->width[k] = (int)strlen(table->column[k].name);
        for (int i = 0; i < table->n_rows; i++) {
            const char *cell = table->row[i].cell[k];
            const int n = cell && (k == 0 || !table->row[i].rest) ? (int)strlen(cell) : 0;
            l->width[k] = n > l->width[k] ? n : l->width[k];
        }
    }
    while (width > 0 && total(table, l) > width) {
        int least = -1;
        for (int k = 0; k < table->n_columns; k++)
            if (l->shown[k] && table->column[k].least &&
                (least < 0 || table->column[k].least < table->column[least].least))
                least = k;
        /* The label is the longest; some of it says enough to keep what would go next. */
        const int over = total(table, l) - width, spare = l->width[0] - FIRST_LEAST;
        if (spare >= over && (least < 0 || over <= l->width[0] / 3)) {
            l->width[0] -= over;
            return;
        }
        if (least < 0) {
            l->width[0] = spare > 0 ? FIRST_LEAST : l->width[0];
            return;
        }
        l->shown[least] = false;
    }
}

static void put(const char *cell, int width, bool left, bool last, ot_text *to)
{
    const int n = (int)strlen(cell);
    if (n > width)
        ot_text_printf(to, "%.*s...", width - 3, cell);
    else if (left && last)
        ot_text_add(to, cell);
    else
        ot_text_printf(to, left ? "%-*s" : "%*s", width, cell);
}

static void put_line(const ot_table *table, const layout *l, char *const *cell, ot_text *to)
{
    int last = 0;
    for (int k = 0; k < table->n_columns; k++)
        last = l->shown[k] ? k : last;
    for (int k = 0; k < table->n_columns; k++) {
        if (!l->shown[k])
            continue;
        const char *text = cell ? cell[k] : table->column[k].name;
        put(text ? text : "", l->width[k], table->column[k].left, k == last, to);
        ot_text_add(to, k == last ? "\n" : " ");
    }
}

static void print_text(const ot_table *table, int width, ot_text *to)
{
    layout l;
    fit(table, width, &l);
    put_line(table, &l, NULL, to);
    for (int i = 0; i < table->n_rows; i++) {
        const struct ot_table_row *row = &table->row[i];
        if (row->rest) {
            ot_text line = {0};
            put(row->cell[0] ? row->cell[0] : "", l.width[0], true, false, &line);
            ot_text_printf(&line, " %s", row->rest);
            ot_table_wrap(ot_text_str(&line), width, INDENT, to);
            ot_text_release(&line);
        } else {
            put_line(table, &l, row->cell, to);
        }
        if (row->below) {
            ot_text_printf(to, "%*s", INDENT, "");
            ot_table_wrap(row->below, width > INDENT ? width - INDENT : width, INDENT, to);
        }
    }
}

/* ---- for other programs ------------------------------------------------------------------ */

static void put_csv(const char *cell, ot_text *to)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        ot_text_add(to, cell);
        return;
    }
    ot_text_add(to, "\"");
    for (const char *p = cell; *p; p++)
        ot_text_printf(to, *p == '"' ? "\"\"" : "%c", *p);
    ot_text_add(to, "\"");
}

static void put_markdown(const char *cell, ot_text *to)
{
    for (const char *p = cell; *p; p++)
        ot_text_printf(to, *p == '|' ? "\\%c" : "%c", *p == '\n' ? ' ' : *p);
}

/* What stands beside or below a row is its last column. */
static void put_record(const ot_table *table, const struct ot_table_row *row, bool csv,
                       ot_text *to)
{
    const int n = table->n_columns + !table->no_notes;
    void (*put_cell)(const char *, ot_text *) = csv ? put_csv : put_markdown;
    for (int k = 0; k < n; k++) {
        const char *cell = k == table->n_columns ? "note" : table->column[k].name;
        if (row && k == table->n_columns)
            cell = row->rest ? row->rest : row->below;
        else if (row)
            cell = k && row->rest ? NULL : row->cell[k];
        ot_text_add(to, csv ? (k ? "," : "") : "| ");
        put_cell(cell ? cell : "", to);
        ot_text_add(to, csv ? "" : " ");
    }
    ot_text_add(to, csv ? "\n" : "|\n");
}

static void print_records(const ot_table *table, bool csv, ot_text *to)
{
    put_record(table, NULL, csv, to);
    for (int k = 0; k < table->n_columns + !table->no_notes && !csv; k++)
        ot_text_add(to, k < table->n_columns && !table->column[k].left ? "| ---: " : "| --- ");
    ot_text_add(to, csv ? "" : "|\n");
    for (int i = 0; i < table->n_rows; i++)
        put_record(table, &table->row[i], csv, to);
}

void ot_table_print(const ot_table *table, ot_table_form form, int width, ot_text *to)
{
    if (form == OT_TABLE_TEXT)
        print_text(table, width, to);
    else
        print_records(table, form == OT_TABLE_CSV, to);
}
