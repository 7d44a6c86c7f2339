/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page from a report's document: cli/report.html with three places filled in. The charts are
 * drawn by Chart.js, which is read where it is installed and never kept here. Texts of records
 * reach the page as JSON alone, in which no `<` is left, and from there as text, never as markup.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"

extern const char ot_report_html[], ot_report_js[]; /* embedded by the build */

static const char *const places[] = {
    "/usr/share/javascript/chart.js/chart.min.js", /* Debian's libjs-chart.js */
    "/usr/share/javascript/chart.js/Chart.min.js",
    "/usr/share/nodejs/chart.js/dist/chart.min.js",
    "/usr/share/nodejs/chart.js/dist/chart.umd.js",
};

static int fail(optune_err *err, int status, const char *what, const char *path)
{
    snprintf(err->text, sizeof err->text, "%s '%s': %s", what, path, strerror(errno));
    return err->status = status;
}

int ot_report_library(const char **path, optune_err *err)
{
    *path = getenv("OPTUNE_CHART_JS");
    if (*path && **path)
        return OPTUNE_OK;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (access(*path = places[i], R_OK) == 0)
            return OPTUNE_OK;
    snprintf(
        err->text, sizeof err->text,
        "Chart.js is not installed: apt-get install libjs-chart.js, or let OPTUNE_CHART_JS "
        "name its chart.min.js; --json needs none");
    return err->status = OPTUNE_EUNSUPPORTED;
}

static char *read_all(const char *path, optune_err *err)
{
    enum { MOST = 4 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(MOST + 1) : NULL;
    const size_t n = text ? fread(text, 1, MOST, file) : 0;
    if (!text || ferror(file)) {
        fail(err, OPTUNE_EIO, "cannot read", path);
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
    }
    if (file)
        fclose(file);
    return text;
}

/* Its interface changed with version 3. */
static int check_library(const char *text, const char *path, optune_err *err)
{
    const char *version = strstr(text, "Chart.js v");
    if (version && (version[10] == '3' || version[10] == '4') && version[11] == '.')
        return OPTUNE_OK;
    snprintf(err->text, sizeof err->text, "'%s' is not Chart.js 3 or 4", path);
    return err->status = OPTUNE_EUNSUPPORTED;
}

/* A script ends at the first `</script`, inside a string of it, too, where `<\/` is the same. */
static void write_script(const char *text, FILE *to)
{
    for (const char *end; (end = strstr(text, "</")); text = end + 2) {
        fwrite(text, 1, (size_t)(end - text), to);
        fputs("<\\/", to);
    }
    fputs(text, to);
}

/* JSON in a script: `<`, `>` and `&` stand in strings alone and can all be written otherwise. */
static void write_data(const char *json, FILE *to)
{
    for (const char *c = json; *c; c++)
        if (*c == '<' || *c == '>' || *c == '&')
            fprintf(to, "\\u%04x", *c);
        else if (*c == '\n')
            c += strspn(c + 1, " "); /* an indent: a string has its line ends escaped */
        else
            putc(*c, to);
}

static void write_page(const char *json, const char *library, FILE *to)
{
    const struct {
        const char *place, *text;
        void (*write)(const char *text, FILE *to);
    } filled[] = {
        {"@CHART@", library, write_script},
        {"@DATA@", json, write_data},
        {"@PAGE@", ot_report_js, write_script},
    };
    const char *at = ot_report_html;
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        const char *place = strstr(at, filled[i].place);
        fwrite(at, 1, (size_t)(place - at), to);
        filled[i].write(filled[i].text, to);
        at = place + strlen(filled[i].place);
    }
    fputs(at, to);
}

static int write_file(const char *path, const char *json, const char *library, size_t *bytes,
                      optune_err *err)
{
    const size_t size = strlen(path) + 32;
    char *beside = malloc(size);
    if (!beside)
        return fail(err, OPTUNE_ENOMEM, "cannot write", path);
    snprintf(beside, size, "%s.%ld.new", path, (long)getpid());
    FILE *file = fopen(beside, "wb");
    bool bad = !file;
    if (file) {
        write_page(json, library, file);
        *bytes = (size_t)ftell(file);
        bad = ferror(file) != 0;
        bad = fclose(file) != 0 || bad || rename(beside, path) != 0;
    }
    const int status = bad ? fail(err, OPTUNE_EIO, "cannot write", path) : OPTUNE_OK;
    if (bad && file)
        remove(beside);
    free(beside);
    return status;
}

int ot_report_write(const char *path, const char *json, size_t *bytes, optune_err *err)
{
    const char *from;
    int status = ot_report_library(&from, err);
    char *library = status < 0 ? NULL : read_all(from, err);
    if (!library)
        return status < 0 ? status : err->status;
    status = check_library(library, from, err);
    if (status >= 0)
        status = write_file(path, json, library, bytes, err);
    free(library);
    return status;
}
