/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many questions in one process: a workload a line on stdin, one line of JSON for each on stdout,
 * in order. What cannot be answered is a line, too, so that who asks can go on. Where a program
 * may be waiting for the answer before it asks again, every line is sent at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* What some editors begin a file with. */
#define MARK "\xef\xbb\xbf"

enum { LINE_LIMIT = 64 << 10, SKIP_LIMIT = 64 << 20 };

/* ---- JSON on one line -------------------------------------------------------------------- */

void ot_json_text(const char *text, FILE *to)
{
    putc_unlocked('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < ' ')
            fprintf(to, "\\u%04x", *c);
        else
            putc_unlocked(*c, to);
    putc_unlocked('"', to);
}

void ot_json_line(const char *json, FILE *to)
{
    bool inside = false;
    for (const char *c = json; *c; c++) {
        if (*c == '\n' && !inside) {
            while (c[1] == ' ')
                c++;
            continue;
        }
        if (inside && *c == '\\')
            putc_unlocked(*c++, to);
        else if (*c == '"')
            inside = !inside;
        putc_unlocked(*c, to);
    }
}

static const char *status_word(int status)
{
    switch (status) {
#define STATUS_WORD(name, value, sentence)                                                     \
    case OPTUNE_##name:                                                                        \
        return #name;
        OPTUNE_STATUS_MAP(STATUS_WORD)
#undef STATUS_WORD
    default:
        return "?";
    }
}

/* Bytes that are no UTF-8 would be no JSON. */
static bool is_text(const char *line)
{
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c >= 0x80)
            return false;
    return true;
}

static void say_error(const char *line, const optune_err *err)
{
    fputs("{\"workload\":", stdout);
    ot_json_text(is_text(line) ? line : "", stdout);
    printf(",\"status\":\"%s\",\"error\":", status_word(err->status));
    /* The first line says what is wrong; those behind it show the place to a person. */
    char first[OPTUNE_ERR_SIZE];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(err->text, "\n"), err->text);
    ot_json_text(is_text(first) ? first : "not understood", stdout);
    putchar('}');
}

/* ---- lines ------------------------------------------------------------------------------- */

typedef enum line_kind { LINE_END, LINE_GOOD, LINE_LONG, LINE_ZERO, LINE_ENDLESS } line_kind;

static line_kind next_line(char line[LINE_LIMIT + 1])
{
    size_t n = 0;
    line_kind kind = LINE_GOOD;
    int c = getc_unlocked(stdin);
    if (c == EOF)
        return LINE_END;
    for (; c != EOF && c != '\n'; c = getc_unlocked(stdin)) {
        kind = kind == LINE_GOOD && !c ? LINE_ZERO : kind;
        if (n < LINE_LIMIT)
            line[n] = (char)c;
        else if (n == LINE_LIMIT)
            kind = LINE_LONG;
        else if (n > SKIP_LIMIT)
            return LINE_ENDLESS;
        n++;
    }
    n = n < LINE_LIMIT ? n : LINE_LIMIT;
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' '))
        n--;
    line[n] = '\0';
    return kind;
}

int ot_batch_run(const ot_cli *cli, ot_batch_answer answer)
{
    struct stat in;
    const bool waiting = fstat(STDIN_FILENO, &in) < 0 || !S_ISREG(in.st_mode);
    char *line = malloc(LINE_LIMIT + 1);
    line_kind kind = LINE_END;
    const char *said = line;
    for (bool first = true; line && !ferror(stdout) && (kind = next_line(line)) != LINE_END;
         first = false) {
        said = line + (first && !strncmp(line, MARK, strlen(MARK)) ? strlen(MARK) : 0);
        optune_err err = {.status = OPTUNE_ESYNTAX};
        int status = OPTUNE_ESYNTAX;
        if (kind == LINE_ENDLESS)
            break;
        if (kind != LINE_GOOD)
            snprintf(err.text, sizeof err.text, "%s",
                     kind == LINE_ZERO ? "a zero byte is in this line"
                                       : "this line has more than 64 KiB");
        else
            status = answer(cli, said, &err);
        if (status < 0)
            say_error(kind == LINE_GOOD ? said : "", &err);
        putchar('\n');
        if (waiting)
            fflush(stdout);
    }
    const int refused = errno;
    free(line);
    if (ferror(stdin)) {
        ot_say("cannot read standard input: %s", strerror(refused));
        return OT_EXIT_FAILED;
    }
    if (kind != LINE_ENDLESS)
        return OT_EXIT_DONE;
    ot_say("this input is no text: 64 MiB without the end of a line");
    return OT_EXIT_FAILED;
}
