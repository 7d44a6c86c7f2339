/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two measurements of one config at two times: whether the cost moved, and what else did. The
 * reason is nowhere written down: it is what the two records say of the machine, so it is there for
 * every older measurement, whoever made the newer one.
 */
#include <stdarg.h>
#include <string.h>

#include "strategy/strategy.h"

/* Within this they are as good as equal to a selection, too. */
static const double NEAR = 1.03;
/* Beyond this another clock explains something. */
static const double CLOCK = 1.05;

double ot_record_moved(const optune_record *then, const optune_record *now)
{
    const double factor = now->cost / then->cost;
    const bool overlap = now->low <= then->high && then->low <= now->high && then->high > 0;
    return overlap || (factor <= NEAR && factor >= 1 / NEAR) ? 1 : factor;
}

static void say(ot_text *to, const char *format, ...) OPTUNE_PRINTF(2, 3);
static void say(ot_text *to, const char *format, ...)
{
    char part[320];
    va_list args;
    va_start(args, format);
    vsnprintf(part, sizeof part, format, args);
    va_end(args);
    ot_text_printf(to, "%s%s", to->n ? ", " : "", part);
}

/* Of the lines of `names`, those that say another thing now; with `gone`, those alone that are only
 * there. */
static void differences(const char *names, const char *then, const char *now, bool gone,
                        ot_text *to)
{
    for (const char *line = names; *line;) {
        const size_t n = strcspn(line, "\n"), eq = strcspn(line, "=\n");
        char name[OPTUNE_NAME_SIZE], was[256] = "unknown", is[256] = "unknown";
        snprintf(name, sizeof name, "%.*s", (int)eq, line);
        const bool known = ot_lines_get(then, name, was, sizeof was);
        ot_lines_get(now, name, is, sizeof is);
        if (gone ? !known : strcmp(was, is) != 0)
            say(to, "%s was %.80s, is %.80s", name, was, is);
        line += n + (line[n] == '\n');
    }
}

static double counted(const optune_record *r, const char *name)
{
    char text[64];
    double value = 0;
    if (r->counters && ot_lines_get(r->counters, name, text, sizeof text))
        ot_parse_real(text, &value);
    return value;
}

static void clocks(const optune_record *then, const optune_record *now, ot_text *to)
{
    const double was_mhz = counted(then, "sm_mhz"), is_mhz = counted(now, "sm_mhz");
    const double was = counted(then, "cycles") / then->cost,
                 is = counted(now, "cycles") / now->cost;
    if (was_mhz > 0 && is_mhz > 0 && (is_mhz > CLOCK * was_mhz || was_mhz > CLOCK * is_mhz))
        say(to, "the clock was %.0f MHz, is %.0f MHz", was_mhz, is_mhz);
    else if (was > 0 && is > 0 && (is > CLOCK * was || was > CLOCK * is))
        say(to, "the clock ran %.2f times as fast", is / was);
}

/* What else had the machine: its record's counters say so. */
static const char *neighbours(const optune_record *r)
{
    static const char *const names[] = {"machine_waited", "machine_shared", "machine_stolen",
                                        "machine_throttled", "machine_hot"};
    for (int i = 0; i < OT_COUNT(names); i++)
        if (counted(r, names[i]) > 0)
            return names[i];
    return NULL;
}

void ot_record_apart(const optune_record *then, const optune_record *now, ot_text *to)
{
    ot_text own = {0};
    const char *was = then->host ? then->host : "", *is = now->host ? now->host : "";
    if (*was && *is) {
        differences(was, was, is, false, &own);
        differences(is, was, is, true, &own);
    }
    clocks(then, now, &own);
    const char *beside_then = neighbours(then), *beside_now = neighbours(now);
    if (beside_then)
        say(&own, "it had neighbours then (%s %.2f)", beside_then, counted(then, beside_then));
    if (beside_now)
        say(&own, "it has neighbours now (%s %.2f)", beside_now, counted(now, beside_now));
    if (then->tool && now->tool && strcmp(then->tool, now->tool))
        say(&own, "measured by %.40s, now by %.40s", then->tool, now->tool);
    if (!own.n)
        say(&own, "%s",
            *was && *is
                ? "nothing that is recorded differs: neighbours that left no trace, or heat"
                : "the older record does not say what machine it met");
    ot_text_add(to, ot_text_str(&own));
    ot_text_release(&own);
}

/* Few ask, and to write it takes as long as to choose. */
const char *ot_fact_why(const ot_fact *fact, char *why)
{
    if (!fact->remeasured)
        return fact->why;
    const ot_later *l = &fact->later;
    const optune_record newer = {.cost = l->cost,
                                 .low = l->low,
                                 .high = l->high,
                                 .host = l->host,
                                 .counters = l->counters,
                                 .tool = l->tool};
    ot_text apart = {0};
    if (ot_record_moved(&fact->record, &newer) != 1) {
        ot_text_add(&apart, "; ");
        ot_record_apart(&fact->record, &newer, &apart);
    }
    optune_refuse(why, "it was measured again later: %.4g us, not %.4g us%.150s",
                  newer.cost * 1e6, fact->record.cost * 1e6, ot_text_str(&apart));
    ot_text_release(&apart);
    return why;
}
