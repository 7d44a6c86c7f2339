/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that includes PAPI: one event set, opened with whatever can be counted. No
 * clock is read through PAPI, and nothing else fails when there are no counters: that is an
 * answer with a reason.
 *
 * The one idea: counters are inherited by threads made after the set was opened, so whoever
 * wants all threads of a kernel counted opens the set in a fresh thread and lets the kernel
 * make its threads from there.
 */
#include <papi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

enum { MOST_EVENTS = 16 };

struct ot_counters {
    int set;
    int n;
    char name[MOST_EVENTS][PAPI_MAX_STR_LEN];
    long long value[MOST_EVENTS];
    bool inherited;
};

/* What is asked for by default: our name, and PAPI's names from the first choice to the
 * last. */
static const struct preset {
    const char *name;
    const char *event[3];
} presets[] = {
    {"cycles", {"PAPI_TOT_CYC", "perf::CYCLES"}},
    {"instructions", {"PAPI_TOT_INS", "perf::INSTRUCTIONS"}},
    {"l1_misses", {"PAPI_L1_DCM", "perf::L1-DCACHE-LOAD-MISSES"}},
    {"l2_misses", {"PAPI_L2_DCM", "PAPI_L2_TCM"}},
    {"l3_misses", {"PAPI_L3_TCM", "perf::CACHE-MISSES"}},
};

/* The functions used, opened with the first set. */
#define FUNCTIONS(X)                                                                           \
    X(PAPI_add_named_event)                                                                    \
    X(PAPI_assign_eventset_component)                                                          \
    X(PAPI_cleanup_eventset)                                                                   \
    X(PAPI_create_eventset)                                                                    \
    X(PAPI_destroy_eventset)                                                                   \
    X(PAPI_get_component_info)                                                                 \
    X(PAPI_library_init)                                                                       \
    X(PAPI_set_opt)                                                                            \
    X(PAPI_start)                                                                              \
    X(PAPI_stop)                                                                               \
    X(PAPI_strerror)                                                                           \
    X(PAPI_thread_init)
static struct {
    FUNCTIONS(OT_BIND_FIELD)
} api;
static const char *const symbols[] = {
    FUNCTIONS(OT_BIND_NAME)};
static const char *const files[] = {"libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7.2",
                                    "libpapi.so.6.0", "libpapi.so",     NULL};

static int bound;
static optune_err bound_err;
static int init_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
    bound = ot_bind(files, "libpapi-dev", symbols, OT_COUNT(symbols), &api, &bound_err);
    if (bound < 0)
        return;
    init_status = api.PAPI_library_init(PAPI_VER_CURRENT);
    if (init_status == PAPI_VER_CURRENT)
        api.PAPI_thread_init((unsigned long (*)(void))pthread_self);
}

/* Why the CPU's own component has nothing, and what the kernel allows. */
static void say_why(char *why)
{
    const PAPI_component_info_t *cpu = api.PAPI_get_component_info(0);
    const char *reason = cpu && cpu->disabled && cpu->disabled_reason[0]
                             ? cpu->disabled_reason
                             : "no event can be added";
    ot_text level = {0};
    optune_err err;
    if (ot_read_file("/proc/sys/kernel/perf_event_paranoid", &level, 64, &err) >= 0)
        optune_refuse(why, "no hardware counters: %s (perf_event_paranoid is %d)", reason,
                      atoi(ot_text_str(&level)));
    else
        optune_refuse(why, "no hardware counters: %s", reason);
    ot_text_release(&level);
}

static bool add(ot_counters *c, const char *name, const char *event)
{
    char code[PAPI_MAX_STR_LEN];
    if (c->n == MOST_EVENTS || !ot_copy(code, sizeof code, event) ||
        api.PAPI_add_named_event(c->set, code) != PAPI_OK)
        return false;
    ot_copy(c->name[c->n++], sizeof c->name[0], name);
    return true;
}

/* Before the first event is added, or PAPI refuses. */
static void inherit(ot_counters *c)
{
    PAPI_option_t option = {0};
    if (api.PAPI_assign_eventset_component(c->set, 0) != PAPI_OK)
        return;
    option.inherit.eventset = c->set;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    c->inherited = api.PAPI_set_opt(PAPI_INHERIT, &option) == PAPI_OK;
}

ot_counters *ot_counters_open(const char *const *events, int n, char *why)
{
    pthread_once(&once, init);
    if (bound < 0) {
        optune_refuse(why, "no hardware counters: %s", bound_err.text);
        return NULL;
    }
    if (init_status != PAPI_VER_CURRENT) {
        optune_refuse(why, "no hardware counters: PAPI cannot start (%s)",
                      init_status < 0 ? api.PAPI_strerror(init_status) : "another version");
        return NULL;
    }
    ot_counters *c = ot_alloc(sizeof *c);
    *c = (ot_counters){.set = PAPI_NULL};
    if (api.PAPI_create_eventset(&c->set) != PAPI_OK) {
        optune_refuse(why, "no hardware counters: PAPI cannot make an event set");
        free(c);
        return NULL;
    }
    if (events) {
        for (int i = 0; i < n; i++)
            if (!add(c, events[i], events[i]))
                optune_refuse(why, "event '%s' cannot be counted here", events[i]);
    } else {
        inherit(c);
        for (int i = 0; i < OT_COUNT(presets); i++)
            for (int k = 0; k < OT_COUNT(presets[i].event) && presets[i].event[k]; k++)
                if (add(c, presets[i].name, presets[i].event[k]))
                    break;
        if (!c->n)
            say_why(why);
    }
    if (c->n)
        return c;
    ot_counters_close(c);
    return NULL;
}

int ot_counters_start(ot_counters *c, optune_err *err)
{
    const int rc = api.PAPI_start(c->set);
    if (rc != PAPI_OK)
        return optune_fail(err, OPTUNE_EIO, "counters cannot be started: %s",
                           api.PAPI_strerror(rc));
    return OPTUNE_OK;
}

int ot_counters_stop(ot_counters *c, optune_err *err)
{
    const int rc = api.PAPI_stop(c->set, c->value);
    if (rc != PAPI_OK)
        return optune_fail(err, OPTUNE_EIO, "counters cannot be stopped: %s",
                           api.PAPI_strerror(rc));
    return OPTUNE_OK;
}

int ot_counters_read(const ot_counters *c, int64_t runs, char *text, size_t size)
{
    ot_text lines = {0};
    for (int i = 0; i < c->n; i++)
        ot_text_printf(&lines, "%s=%.15g\n", c->name[i],
                       (double)c->value[i] / (double)(runs > 0 ? runs : 1));
    ot_text_printf(&lines, "threads_counted=%s\n", c->inherited ? "all" : "first");
    const bool fits = ot_copy(text, size, ot_text_str(&lines));
    ot_text_release(&lines);
    return fits ? OPTUNE_OK : OPTUNE_ELIMIT;
}

void ot_counters_close(ot_counters *c)
{
    if (!c)
        return;
    api.PAPI_cleanup_eventset(c->set);
    api.PAPI_destroy_eventset(&c->set);
    free(c);
}
