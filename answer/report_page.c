/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page from a report's document: answer/report.html with three places filled in. The charts are
 * drawn by Chart.js, which is read where it is installed and never kept here. Texts of records
 * reach the page as JSON alone, in which no `<` is left, and from there as text, never as markup.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/fenv.h"

extern const char ot_report_html[], ot_report_js[]; /* embedded by the build */

enum { MOST_BYTES = 4 << 20 };

static const char *const places[] = {
    "/usr/share/javascript/chart.js/chart.min.js", /* Debian's libjs-chart.js */
    "/usr/share/javascript/chart.js/Chart.min.js",
    "/usr/share/nodejs/chart.js/dist/chart.min.js",
    "/usr/share/nodejs/chart.js/dist/chart.umd.js",
};

/* What was named; what came with this library, as in a wheel; what the system has. */
static int find_library(char *path, size_t size, optune_err *err)
{
    const char *named = getenv("OPTUNE_CHART_JS");
    if (named && *named)
        return ot_copy(path, size, named) && access(path, R_OK) == 0
                   ? OPTUNE_OK
                   : optune_fail(err, OPTUNE_EUNSUPPORTED,
                                 "OPTUNE_CHART_JS names '%s', which cannot be read", named);
    char self[2048];
    if (ot_self_dir(self, sizeof self) >= 0) {
        snprintf(path, size, "%s/optune/chart.min.js", self);
        if (access(path, R_OK) == 0)
            return OPTUNE_OK;
    }
    for (int i = 0; i < OT_COUNT(places); i++)
        if (access(places[i], R_OK) == 0 && ot_copy(path, size, places[i]))
            return OPTUNE_OK;
    return optune_fail(
        err, OPTUNE_EUNSUPPORTED,
        "Chart.js is not installed: apt-get install libjs-chart.js, or let OPTUNE_CHART_JS "
        "name its chart.min.js; --json needs none");
}

/* Its interface changed with version 3. */
static int check_library(const char *text, const char *path, optune_err *err)
{
    const char *version = strstr(text, "Chart.js v");
    if (version && (version[10] == '3' || version[10] == '4') && version[11] == '.')
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EUNSUPPORTED, "'%s' is not Chart.js 3 or 4", path);
}

/* A script ends at the first `</script`, inside a string of it, too, where `<\/` is the same. */
static void write_script(const char *text, ot_text *to)
{
    for (const char *end; (end = strstr(text, "</")); text = end + 2) {
        ot_text_add_n(to, text, (size_t)(end - text));
        ot_text_add(to, "<\\/");
    }
    ot_text_add(to, text);
}

/* JSON in a script: `<`, `>` and `&` stand in strings alone and can all be written otherwise. */
static void write_data(const char *json, ot_text *to)
{
    for (const char *c = json; *c; c++)
        if (*c == '<' || *c == '>' || *c == '&')
            ot_text_printf(to, "\\u%04x", *c);
        else if (*c == '\n')
            c += strspn(c + 1, " "); /* an indent: a string has its line ends escaped */
        else
            ot_text_add_n(to, c, 1);
}

static void write_page(const char *json, const char *library, ot_text *to)
{
    const struct {
        const char *place, *text;
        void (*write)(const char *text, ot_text *to);
    } filled[] = {
        {"@CHART@", library, write_script},
        {"@DATA@", json, write_data},
        {"@PAGE@", ot_report_js, write_script},
    };
    const char *at = ot_report_html;
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        const char *place = strstr(at, filled[i].place);
        ot_text_add_n(to, at, (size_t)(place - at));
        filled[i].write(filled[i].text, to);
        at = place + strlen(filled[i].place);
    }
    ot_text_add(to, at);
}

int optune_report_write(const char *json, const char *path, size_t *bytes, optune_err *err)
{
    OT_ENTER(err, {"json", json}, {"path", path});
    char from[4096];
    OT_RETURN_UNLESS_OK(find_library(from, sizeof from, err));
    ot_text library = {0}, page = {0};
    int status = ot_read_file(from, &library, MOST_BYTES, err);
    if (status >= 0)
        status = check_library(ot_text_str(&library), from, err);
    if (status >= 0) {
        write_page(json, ot_text_str(&library), &page);
        status = ot_write_file(path, page.s, page.n, err);
    }
    if (bytes)
        *bytes = page.n;
    ot_text_release(&library);
    ot_text_release(&page);
    return status;
}
