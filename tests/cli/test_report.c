/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of `optune report`: one file that loads nothing, in which no text of a record is markup,
 * and, where a browser is installed, one that draws marks on every chart and complains of nothing.
 */
#include "support/command.h"
#include "support/forged.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define HOSTILE "</script><img src=x onerror=alert(1)><!-- & \xe2\x80\xa8 \" '"
#define DEBIAN_CHART "/usr/share/javascript/chart.js/chart.min.js"

/* Knob values and messages of whoever wrote the log. */
static void forge(optune_record *r)
{
    for (int i = 0; i < r->config.n; i++) {
        optune_entity *e = &r->config.entity[i];
        if (e->kind == OPTUNE_KNOB_OTHER && e->scalar == OPTUNE_SCALAR_WORD)
            snprintf(e->word, sizeof e->word, "</script><b>");
    }
    if (!r->final && r->low < r->cost) {
        r->outcome = OPTUNE_OUTCOME_WRONG;
        r->message = HOSTILE;
        r->cost = INFINITY;
        r->n_samples = 0;
        r->sample = NULL;
        r->low = r->high = 0;
    }
}

static int setup(void **state)
{
    command_setup(state);
    forged_setup(state);
    forged_db("hostile", forge, NULL);
    return 0;
}

static int teardown(void **state)
{
    forged_teardown(state);
    return command_teardown(state);
}

/* A library that is none, with what would end its script. */
static void stand_in(const char *version)
{
    optune_err err;
    char text[128];
    const int n =
        snprintf(text, sizeof text, "/* Chart.js v%s */ var s = '</script>';\n", version);
    check_ok(ot_write_file(command_path("chart.js"), text, (size_t)n, &err));
    setenv("OPTUNE_CHART_JS", command_path("chart.js"), 1);
}

static void page_of(const char *db, const char *path, ot_text *page)
{
    outcome o = optune("report", FORGED_WORKLOAD, "--threads", "1", "--db", tuning_path(db),
                       "-o", path);
    expect("report", &o, 0, "");
    command_slurp(path, page);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static json_t *data_of(const char *page)
{
    const char *from = strstr(page, "id=\"data\">");
    assert_non_null(from);
    from += strlen("id=\"data\">");
    json_t *json = json_loadb(from, (size_t)(strstr(from, "</script>") - from), 0, NULL);
    assert_non_null(json);
    return json;
}

static void texts_of_records_are_no_markup(void **state)
{
    (void)state;
    char path[512];
    ot_text page = {0};
    stand_in("3.9.1");
    snprintf(path, sizeof path, "%s", command_path("hostile.html"));
    page_of("hostile", path, &page);
    assert_int_equal(count(page.s, "</script"), 3); /* the library's, the data's, the page's */
    assert_int_equal(count(page.s, "<img"), 0);
    assert_int_equal(count(page.s, "<b>"), 0);
    json_t *json = data_of(page.s);
    const json_t *workload = json_array_get(json_object_get(json, "workloads"), 0);
    const json_t *wrong = json_object_get(json_object_get(workload, "failed"), "wrong");
    assert_non_null(wrong);
    assert_string_equal(tuning_text(wrong, "example"), HOSTILE);
    json_decref(json);
    ot_text_release(&page);
}

static void a_page_is_small_and_loads_nothing(void **state)
{
    (void)state;
    char path[512];
    ot_text page = {0};
    stand_in("4.4.0");
    snprintf(path, sizeof path, "%s", command_path("page.html"));
    page_of("tuned", path, &page);
    assert_true(page.n < 1000 * 1000);
    check_contains(page.s, "default-src 'none'");
    assert_int_equal(count(page.s, "src=\""), 0);
    assert_int_equal(count(page.s, "http://") + count(page.s, "https://"), 0);
    json_t *json = data_of(page.s);
    const json_t *workload = json_array_get(json_object_get(json, "workloads"), 0);
    assert_int_equal(json_array_size(json_object_get(workload, "trials")), forged_run.n);
    json_decref(json);
    ot_text_release(&page);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    const char *tuned = tuning_path("tuned");
    refused(2, "needs one of", "report");
    refused(2, "needs one of", "report", "dense", "--graph", "x.graph");
    refused(2, "--bind, --precision and --partial go with --graph", "report", "dense", "--bind",
            "m=1");
    refused(3, "no record of", "report", "dense(f32[3,5], f32[7,5])");
    refused(3, "no record of 'relu'", "report", "relu", "--db", tuned);
    refused(3, "no record of 'dense'", "report", "dense", "--target", "cpu -model=x -threads=1",
            "--db", tuned);
    refused(3, "no operator 'dens'; did you mean 'dense'", "report", "dens");
    refused(2, "constant sizes", "report", "dense(f32[?m:1..4,5], f32[7,5])");
    setenv("OPTUNE_CHART_JS", "/nowhere/chart.js", 1);
    refused(1, "/nowhere/chart.js", "report", FORGED_WORKLOAD, "--threads", "1", "--db", tuned,
            "-o", command_path("never.html"));
    assert_int_not_equal(access(command_path("never.html"), F_OK), 0);
    stand_in("2.9.4");
    refused(1, "is not Chart.js 3 or 4", "report", "dense", "--threads", "1", "--db", tuned,
            "-o", command_path("never.html"));
    stand_in("3.9.1");
    refused(1, "cannot write", "report", "dense", "--threads", "1", "--db", tuned, "-o",
            "/nowhere/report.html");
    outcome o = optune("report", "dense", "--threads", "1", "--db", tuned, "--json");
    json_t *json = json_of(&o);
    assert_int_equal(tuning_int(json, "optune_report"), 1);
    json_decref(json);
}

static void of_another_version(optune_record *r)
{
    r->call = "dense(f32[16,64], const f32[32,64], later=1)";
}

static void of_another_operator(optune_record *r)
{
    r->call = "relu(f32[16,64])";
}

/* Such records stay for whoever can read them, and what is beside them is reported. */
static void what_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    stand_in("3.9.1");
    forged_db("later", of_another_version, NULL);
    refused(3, "can be read here: no attribute 'later'", "report", "dense", "--threads", "1",
            "--db", tuning_path("later"));
    forged_db("later", of_another_operator, NULL);
    forged_put("later", forged_run.record, forged_run.n, NULL);
    outcome o = optune("report", "dense", "--threads", "1", "--db", tuning_path("later"), "-o",
                       command_path("later.html"));
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "2 left out, as they cannot be read here: ");
    release(&o);
    ot_text page = {0};
    command_slurp(command_path("later.html"), &page);
    json_t *json = data_of(page.s);
    assert_int_equal(tuning_int(json, "unread"), 2);
    assert_int_equal(json_array_size(json_object_get(json, "workloads")), 1);
    json_decref(json);
    ot_text_release(&page);
}

static void an_answer_is_a_row(void **state)
{
    (void)state;
    outcome o = optune("query", FORGED_WORKLOAD, "--threads", "1", "--db", tuning_path("tuned"),
                       "--csv");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "call,impl,tier,cost,low,high\n\"dense(f32[16,64], ");
    release(&o);
}

/* ---- in a browser ------------------------------------------------------------------------ */

static bool has_browser(void)
{
    return system("command -v chromium >/dev/null") == 0 && access(DEBIAN_CHART, R_OK) == 0;
}

/* The document after its scripts ran; what the console said is in `console`. */
static void open_page(const char *path, const char *anchor, ot_text *document, ot_text *console)
{
    ot_text line = {0};
    ot_text_printf(&line,
                   "timeout 120 chromium --headless=new --no-sandbox --disable-gpu "
                   "--user-data-dir=%s/browser --enable-logging=stderr "
                   "--virtual-time-budget=5000 --dump-dom 'file://%s%s' >%s/dom 2>%s/console",
                   command_dir, path, anchor, command_dir, command_dir);
    if (!has_browser()) {
        ot_text_release(&line);
        skip();
    }
    assert_int_equal(system(line.s), 0);
    ot_text_release(&line);
    command_slurp(command_path("dom"), document);
    command_slurp(command_path("console"), console);
}

static void check_drawn(const char *path, const char *anchor, int charts)
{
    ot_text document = {0}, console = {0};
    open_page(path, anchor, &document, &console);
    if (strstr(console.s ? console.s : "", "CONSOLE"))
        fail_msg("the console says: %s", console.s);
    assert_true(count(document.s, "<canvas") >= charts);
    assert_int_equal(count(document.s, "data-marks="), count(document.s, "<canvas"));
    assert_int_equal(count(document.s, "data-marks=\"0\""), 0);
    assert_int_equal(count(document.s, "<img"), 0);
    ot_text_release(&document);
    ot_text_release(&console);
}

static void a_browser_draws_every_chart(void **state)
{
    (void)state;
    char path[512];
    ot_text page = {0};
    unsetenv("OPTUNE_CHART_JS");
    if (!has_browser()) /* before anything is kept that nobody would release */
        skip();
    snprintf(path, sizeof path, "%s", command_path("seen.html"));
    page_of("tuned", path, &page);
    check_drawn(path, "", 4);
    ot_text_clear(&page);
    page_of("hostile", path, &page);
    check_drawn(path, "", 3);
    ot_text_release(&page);
}

static const char graph[] = "x = var f32[16,64]\ny = dense(x, const f32[32,64])\noutput y\n";

static void a_browser_draws_a_graph(void **state)
{
    (void)state;
    optune_err err;
    char path[512], page[512];
    unsetenv("OPTUNE_CHART_JS");
    if (!has_browser())
        skip();
    snprintf(path, sizeof path, "%s", command_path("small.graph"));
    snprintf(page, sizeof page, "%s", command_path("graph.html"));
    check_ok(ot_write_file(path, graph, sizeof graph - 1, &err));
    outcome o = optune("report", "--graph", path, "--threads", "1", "--policy", "warm", "--db",
                       tuning_path("tuned"), "-o", page);
    expect("report --graph", &o, 0, "");
    check_drawn(page, "#all", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_records_are_no_markup),
        cmocka_unit_test(a_page_is_small_and_loads_nothing),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(what_cannot_be_read_is_left_out),
        cmocka_unit_test(an_answer_is_a_row),
        cmocka_unit_test(a_browser_draws_every_chart),
        cmocka_unit_test(a_browser_draws_a_graph),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
