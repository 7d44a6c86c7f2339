/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts of replays. gnuplot draws them: it is started with a script of ours in a folder of ours,
 * with no shell and none of the user's settings, and what it leaves is copied to its place. The one
 * idea: nothing here knows of axes, ticks, fonts or SVG.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/simulate/curve.h"

enum { PANEL_WIDTH = 480, PANEL_HEIGHT = 330, MOST_CHART = 64 << 20, COLOURS = 8 };
static const double LIMIT_S = 120;

int ot_plot_check(const char *path, optune_err *err)
{
    char program[PATH_MAX], folder[PATH_MAX];
    if (!ot_find_program("gnuplot", program, sizeof program))
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "gnuplot, which draws charts, is not installed: apt-get install "
                           "gnuplot-nox; the JSON has the curves without it");
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash - path) + 1 : 0;
    if (snprintf(folder, sizeof folder, "%.*s.", n, path) >= (int)sizeof folder ||
        access(folder, W_OK) < 0 || !path[n])
        return optune_fail(err, OPTUNE_EIO, "cannot write '%s': no folder to write to", path);
    return OPTUNE_OK;
}

/* A text of gnuplot's, in quotes within which only quotes mean something. */
static void quote(const char *text, ot_text *to)
{
    ot_text_add(to, "'");
    for (const char *c = text; *c; c++)
        if (*c == '\'')
            ot_text_add(to, "''");
        else
            ot_text_add_n(to, (unsigned char)*c < ' ' || *c == 127 ? " " : c, 1);
    ot_text_add(to, "'");
}

static void add_number(double value, ot_text *to)
{
    ot_text_add(to, " ");
    ot_text_add_real(to, value);
}

/* Shares of the best there is: 1 is the optimum. */
static void add_data(const ot_panel *panel, int which, int n_names, ot_text *to)
{
    const ot_yardstick *y = panel->yardstick;
    for (int k = 0; k <= n_names; k++) {
        ot_text_printf(to, "$data_%d_%d << END\n", which, k);
        for (int i = 0; i < OT_CURVE_MOMENTS; i++) {
            const ot_curve *c = &panel->curve[k < n_names ? k : 0];
            const double other = y->random[ot_curve_step(i)];
            add_number(y->time[ot_curve_step(i)], to);
            add_number(y->best / (k < n_names ? c->mean[i] : other), to);
            add_number(y->best / (k < n_names ? c->high[i] : other), to);
            add_number(y->best / (k < n_names ? c->low[i] : other), to);
            ot_text_add(to, "\n");
        }
        ot_text_add(to, "END\n");
    }
}

static void add_panel(const ot_panel *panel, int which, const char *const *names, int n_names,
                      ot_text *to)
{
    add_data(panel, which, n_names, to);
    ot_text_add(to, "set title ");
    quote(ot_text_is_utf8(panel->title) ? panel->title : "a recorded space", to);
    ot_text_add(to, "\nplot \\\n");
    for (int k = 0; k < n_names; k++)
        ot_text_printf(to,
                       " $data_%d_%d using 1:3:4 with filledcurves fillstyle transparent solid "
                       "0.2 noborder linetype %d notitle, \\\n",
                       which, k, k % COLOURS + 1);
    for (int k = 0; k < n_names; k++) {
        ot_text_printf(to,
                       " $data_%d_%d using 1:2 with lines linewidth 2 linetype %d dashtype %d "
                       "title ",
                       which, k, k % COLOURS + 1, k / COLOURS % 5 + 1);
        quote(names[k], to);
        ot_text_add(to, ", \\\n");
    }
    ot_text_printf(to,
                   " $data_%d_%d using 1:2 with lines linecolor rgb 'gray40' dashtype 2 title "
                   "'expected of random search'\n",
                   which, n_names);
}

static void add_script(const char *output, const ot_panel *panel, int n,
                       const char *const *names, int n_names, ot_text *to)
{
    const int columns = (int)ceil(sqrt(n)), rows = (n + columns - 1) / columns;
    ot_text_printf(to,
                   "set terminal svg size %d,%d noenhanced background rgb 'white' font "
                   "'sans,10'\nset encoding utf8\nset output ",
                   columns * PANEL_WIDTH, rows * PANEL_HEIGHT);
    quote(output, to);
    ot_text_printf(to,
                   "\nset multiplot layout %d,%d\nset grid\nset key bottom right\n"
                   "set xlabel 'seconds of tuning'\nset ylabel 'the best there is / the best "
                   "found'\nset yrange [:1]\n",
                   rows, columns);
    for (int i = 0; i < n; i++)
        add_panel(&panel[i], i, names, n_names, to);
    ot_text_add(to, "unset multiplot\nunset output\n");
}

static int draw(const char *folder, const char *path, ot_text *script, optune_err *err)
{
    char in[PATH_MAX], out[PATH_MAX];
    snprintf(in, sizeof in, "%s/chart.gnuplot", folder);
    snprintf(out, sizeof out, "%s/chart.svg", folder);
    OT_RETURN_UNLESS_OK(ot_write_file(in, script->s, script->n, err));
    char *const argv[] = {"gnuplot", "-d", in, NULL};
    ot_text said = {0}, svg = {0};
    optune_err own = {0};
    int status = ot_run_program(argv, LIMIT_S, &said, &own);
    if (status < 0)
        status = optune_fail(err, OPTUNE_EIO, "gnuplot drew nothing: %s; it says: %.500s",
                             own.text, said.n ? said.s : "nothing");
    if (status >= 0)
        status = ot_read_file(out, &svg, MOST_CHART, err);
    if (status >= 0)
        status = ot_write_file(path, svg.s, svg.n, err);
    ot_text_release(&said);
    ot_text_release(&svg);
    return status;
}

int ot_plot(const char *path, const ot_panel *panel, int n, const char *const *names,
            int n_names, optune_err *err)
{
    char folder[PATH_MAX / 2], output[PATH_MAX];
    ot_text script = {0};
    OT_RETURN_UNLESS_OK(ot_temp_dir(folder, sizeof folder, err));
    snprintf(output, sizeof output, "%s/chart.svg", folder);
    add_script(output, panel, n, names, n_names, &script);
    const int status = draw(folder, path, &script, err);
    ot_text_release(&script);
    ot_remove_tree(folder);
    return status;
}
