/* SPDX-License-Identifier: Apache-2.0 */
/* Which implementations a workload is searched with, an arm for each; why others are left out. */
#include <string.h>

#include "tuner/tuning.h"

enum { MOST_ASKED = 4096 }; /* configs */

static bool wanted(const ot_run *run, const optune_impl *impl)
{
    const char *const *only = run->options->impls;
    for (int i = 0; only && only[i]; i++)
        if (!strcmp(only[i], impl->name))
            return true;
    return !only || !only[0];
}

/* Libraries that -libs does not name are measured as baselines. */
static bool measurable(const ot_candidate *c)
{
    return c->refusal == OT_VALID || c->refusal == OT_REFUSED_LIBRARY;
}

/* Once in a run; loudly where -libs asks for the library, or the environment names it. */
static void say_left_out(ot_run *run, const ot_candidate *c, const char *why)
{
    char name[OPTUNE_NAME_SIZE + 2];
    const size_t n = strlen(run->left_out);
    const bool wanted = c->refusal == OT_VALID || (strcmp(run->o->target.kind, "cpu") == 0 &&
                                                   ot_cpu_library_named(c->impl->library));
    snprintf(name, sizeof name, "%s ", c->impl->name);
    if (strstr(run->left_out, name))
        return;
    if (n + strlen(name) < sizeof run->left_out)
        memcpy(run->left_out + n, name, strlen(name) + 1);
    ot_context_log(run->o, wanted ? OPTUNE_LOG_WARNING : OPTUNE_LOG_INFO, "%s is left out: %s",
                   c->impl->name, why);
}

/* One whose library is missing here costs no trial. */
static bool is_there(ot_run *run, ot_candidate *c)
{
    char text[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    if (!c->impl->library || !run->o->row->dependencies ||
        run->o->row->dependencies(&run->o->target, c->impl, text, sizeof text, &err) >= 0)
        return true;
    say_left_out(run, c, err.text);
    c->refusal = OT_REFUSED_LIBRARY;
    snprintf(c->why, sizeof c->why, "%.*s", (int)sizeof c->why - 1, err.text);
    return false;
}

/* Bodies are GNU C, which other compilers read in part. */
static void say_compiler(ot_run *run, const optune_impl *impl)
{
    static const char key[] = "compiler=", gcc[] = "compiler=gcc ";
    char text[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    if (impl->library || strcmp(run->o->target.kind, "cpu") != 0 ||
        run->o->row->dependencies(&run->o->target, impl, text, sizeof text, &err) < 0 ||
        strncmp(text, key, strlen(key)) != 0 || strncmp(text, gcc, strlen(gcc)) == 0)
        return;
    const char *name = text + strlen(key);
    ot_context_warn_once(
        run->o,
        "the C compiler is %.*s: kernels here are written for gcc, and most do "
        "not compile with another; install it with: apt-get install gcc",
        (int)strcspn(name, "\n"), name);
}

static void say_idle_knobs(ot_run *run, const optune_task *task, const ot_arm *arm)
{
    const uint32_t idle = ot_space_idle_of_plugin(task, arm->space);
    for (int k = 0; k < optune_space_knobs(arm->space); k++)
        if (idle >> k & 1)
            ot_context_warn_once(run->o,
                                 "knob '%s' of '%s' changes nothing that is built or launched, "
                                 "so all of its %lld values are tried as if they differed",
                                 ot_space_knob_name(arm->space, k), arm->impl->name,
                                 (long long)optune_space_radix(arm->space, k));
}

/* Somebody's own constraints were counted before a device was known, which may refuse more: where
 * these are few enough to ask for each, how many are left, and why one is not. */
static void say_refused(ot_run *run, const optune_task *task, const ot_arm *arm)
{
    const int64_t counted = ot_space_counted(arm->space);
    const int64_t all = counted < 0 ? optune_space_size(arm->space) : counted;
    optune_config config, refused;
    char why[OPTUNE_WHY_SIZE], first[OPTUNE_WHY_SIZE] = "";
    int64_t fit = 0;
    if (!task->call->op->standard || all > MOST_ASKED)
        return;
    for (int64_t i = 0; i < all; i++) {
        ot_space_nth(arm->space, counted < 0 ? i : ot_space_valid_nth(arm->space, i), &config);
        const bool fits = ot_space_valid(arm->space, &config, why);
        fit += fits;
        if (fits || *first)
            continue;
        refused = config;
        ot_copy(first, sizeof first, why);
    }
    if (!fit || !*first)
        return;
    ot_text text = {0};
    ot_config_print_short(&refused, &text);
    ot_context_warn_once(run->o, "%s: %lld of these %lld configs can be run here; %s: %s",
                         arm->impl->name, (long long)fit, (long long)all, ot_text_str(&text),
                         first);
    ot_text_release(&text);
}

int ot_tuning_open_arms(ot_tuning *t, optune_err *err)
{
    ot_run *run = t->run;
    int n = 0;
    int status = ot_candidates(&t->task, t->candidate, &n, err);
    for (int i = 0; i < n && status >= 0; i++) {
        if (!measurable(&t->candidate[i]) || !wanted(run, t->candidate[i].impl) ||
            !is_there(run, &t->candidate[i]))
            continue;
        say_compiler(run, t->candidate[i].impl);
        status = ot_arm_open(&t->arm[t->n_arms], &t->task, &t->candidate[i], run->search,
                             run->options->seed, err);
        if (status < 0 && t->arm[t->n_arms].spaceless) {
            /* One row's mistake is not that of the others. */
            const char *why = err ? err->text : "";
            ot_context_warn_once(run->o, "%s is left out: %s", t->candidate[i].impl->name, why);
            t->candidate[i].refusal = OT_REFUSED_APPLIES;
            snprintf(t->candidate[i].why, sizeof t->candidate[i].why, "%.*s",
                     (int)sizeof t->candidate[i].why - 1, why);
            status = OPTUNE_OK;
            continue;
        }
        if (status < 0)
            break;
        if (!t->arm[t->n_arms].has_fallback)
            ot_context_log(run->o, OPTUNE_LOG_WARNING,
                           "%s refuses its own fallback config, so its first trial is another: "
                           "%s",
                           t->arm[t->n_arms].impl->name, t->arm[t->n_arms].fallback_why);
        say_idle_knobs(run, &t->task, &t->arm[t->n_arms]);
        say_refused(run, &t->task, &t->arm[t->n_arms]);
        const int64_t size = optune_space_size(t->arm[t->n_arms].space);
        t->tuned->space += size;
        /* A graph is tuned to be used: what a library would take is told where there is time. */
        t->arm[t->n_arms].waits =
            run->options->graph && t->candidate[i].refusal == OT_REFUSED_LIBRARY;
        t->n_arms++;
    }
    if (status >= 0 && !t->n_arms) {
        ot_text why = {0};
        for (int i = 0; i < n; i++)
            if (t->candidate[i].refusal != OT_VALID)
                ot_text_printf(&why, "; %s: %s", t->candidate[i].impl->name,
                               t->candidate[i].why);
        status =
            optune_fail(err, OPTUNE_ENOENT, "no implementation to tune%s", ot_text_str(&why));
        ot_text_release(&why);
    }
    return status;
}
