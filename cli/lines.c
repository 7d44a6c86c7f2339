/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text on a terminal: one that is longer goes on where its last column began, as a cell of
 * a table does. What stands in parentheses, a call above all, is left in one piece, so that it can
 * be copied; so is everything where stdout is no terminal.
 */
#include <string.h>

#include "cli/cli.h"

enum { LEAST = 24 }; /* columns that what goes on has at least */

/* Letters of `n` bytes: bytes that go on with one take no column. */
static int columns_of(const char *text, int n)
{
    int columns = 0;
    for (int i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Where a further line begins: behind the last two blanks that leave it room, else two further in
 * than the line itself. */
static int hanging(const char *line, int n, int width)
{
    int first = 0, column = 0;
    while (first < n && line[first] == ' ')
        first++;
    int at = first + 2;
    for (int i = 0; i < n; i++) {
        if (i > first + 1 && line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ' &&
            column + LEAST <= width)
            at = column;
        column += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return at + LEAST <= width ? at : 2;
}

/* Bytes of the piece that fits into `room` columns and ends before a blank outside of parentheses;
 * the first such piece where none fits; all of them where there is no such blank. */
static int piece(const char *text, int n, int room)
{
    int depth = 0, columns = 0, fits = 0;
    for (int i = 0; i < n; i++) {
        if (columns > room && fits)
            return fits;
        depth += (text[i] == '(' || text[i] == '[' || text[i] == '{') -
                 (depth && (text[i] == ')' || text[i] == ']' || text[i] == '}'));
        if (text[i] == ' ' && !depth && i) {
            if (columns > room)
                return i;
            fits = i;
        }
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns > room && fits ? fits : n;
}

static void print_line(const char *line, int n, int width)
{
    const int further = hanging(line, n, width);
    int lead = 0;
    while (lead < n && line[lead] == ' ')
        lead++;
    printf("%*s", lead, "");
    for (int at = lead, room = width - lead; at < n; room = width - further) {
        const int m =
            columns_of(line + at, n - at) <= room ? n - at : piece(line + at, n - at, room);
        int end = m; /* without the blanks in front of what goes on */
        while (end > 0 && line[at + end - 1] == ' ')
            end--;
        printf("%.*s", end, line + at);
        at += m;
        while (at < n && line[at] == ' ')
            at++;
        if (at < n)
            printf("\n%*s", further, "");
    }
}

void ot_print_lines(const char *text)
{
    const int width = ot_output_width();
    if (width)
        ot_print_lines_within(text, width);
    else
        ot_print_text(text);
}

void ot_print_lines_within(const char *text, int width)
{
    while (*text) {
        const int n = (int)strcspn(text, "\n");
        print_line(text, n, width);
        printf("\n");
        text += n + (text[n] == '\n');
    }
}
