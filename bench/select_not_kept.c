/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a select costs that is not kept: each of 200 questions is asked once of a handle that has
 * its store open, as text, so that it is parsed, typed, looked up and chosen. Times are the
 * thread's processor time; how many instructions it takes, which no neighbour changes, callgrind
 * tells of a single form and few handles. No peer.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/made_up.h"

enum { QUESTIONS = 200, RECORDS = 10, MOST = 400 };

typedef struct form {
    const char *name, *text; /* with a size of its own in each question */
    bool tuned;
} form;

static const form forms[] = {
    {"tuned", "dense(f32[%d,64], const f32[32,64])", true},
    {"never", "dense(f32[%d,64], const f32[32,64])", false},
    {"conv2d", "conv2d(f32[1,16,%d,14], const f32[32,16,3,3], padding=[1,1])", false},
    {"fused_tuned", "dense(f32[%d,64], const f32[32,64]) -> add(f32[32]) -> relu()", true},
    {"fused", "dense(f32[%d,64], const f32[32,64]) -> add(f32[32]) -> relu()", false},
};

/* Those that are tuned are multiples of 16, the others are not. */
static void text_of(const form *f, int q, char text[128])
{
    snprintf(text, 128, f->text, 16 * (q + 1) - (f->tuned ? 0 : 7));
}

/* Records of whoever serves the question untuned. */
static void tune(optune *o, const char *text)
{
    optune_err err = {0};
    ot_arena arena = {0};
    optune_selection *s = NULL;
    optune_space *space = NULL;
    optune_record r[RECORDS];
    double sample[RECORDS][MADE_UP_SAMPLES];
    uint64_t rng = 7;
    optune_call *call = ot_alloc(sizeof *call);
    const optune_task task = {call, &o->target, &o->device};
    if (ot_call_parse(text, call, &err) < 0 || optune_select(o, text, &s, &err) < 0)
        bench_die("%s", err.text);
    const optune_impl *impl = ot_impl_find(optune_selection_impl(s));
    optune_selection_free(s);
    if (!impl || ot_space_open(&task, impl, &space, &err) < 0)
        bench_die("%s", impl ? err.text : "no such implementation");
    for (int i = 0; i < RECORDS; i++)
        made_up_record(o, call, impl, space, &rng, i, &r[i], sample[i], &arena);
    if (ot_context_put(o, r, RECORDS, NULL, &err) < 0)
        bench_die("%s", err.text);
    ot_space_close(space);
    ot_arena_release(&arena);
    free(call);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, *y = b;
    return (x > *y) - (x < *y);
}

/* In microseconds, the clock's own part taken off; the first one opens what a handle needs. */
static void ask(const char *db, const form *f, double own, double *us)
{
    optune_err err = {0};
    optune *o = made_up_handle(db);
    for (int q = -1; q < QUESTIONS; q++) {
        char text[128];
        optune_selection *s = NULL;
        if (q < 0)
            strcpy(text, "relu(f32[8])");
        else
            text_of(f, q, text);
        const double start = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID);
        if (optune_select(o, text, &s, &err) < 0)
            bench_die("%s", err.text);
        const double used = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID) - start;
        if (f->tuned && q >= 0 && strcmp(optune_selection_tier(s), "tuned") != 0)
            bench_die("%s was not tuned", text);
        if (q >= 0)
            us[q] = 1e6 * used - own;
        optune_selection_free(s);
    }
    optune_close(o);
}

static double clock_us(void)
{
    enum { TIMES = 1001 };
    double us[TIMES];
    for (int i = 0; i < TIMES; i++) {
        const double start = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID);
        us[i] = 1e6 * (made_up_processor_s(CLOCK_THREAD_CPUTIME_ID) - start);
    }
    qsort(us, TIMES, sizeof *us, by_value);
    return us[TIMES / 2];
}

static double tell(const char *db, const form *f, int handles)
{
    const int n = handles * QUESTIONS;
    double *us = ot_alloc((size_t)n * sizeof *us);
    const double own = clock_us();
    for (int i = 0; i < handles; i++)
        ask(db, f, own, us + i * QUESTIONS);
    qsort(us, (size_t)n, sizeof *us, by_value);
    const double median = us[n / 2];
    printf("%-12s p50 %7.2f us, fastest tenth below %7.2f us\n", f->name, median, us[n / 10]);
    free(us);
    return median;
}

/* A folder that lasts, else one for this run. */
static void open_folder(const char *asked, char *db, size_t size)
{
    optune_err err = {0};
    if (asked)
        ot_copy(db, size, asked);
    else if (ot_temp_dir(db, size, &err) < 0)
        bench_die("%s", err.text);
}

static void fill(const char *db)
{
    optune *o = made_up_handle(db);
    for (int i = 0; i < OT_COUNT(forms); i++)
        for (int q = 0; forms[i].tuned && q < QUESTIONS; q++) {
            char text[128];
            text_of(&forms[i], q, text);
            tune(o, text);
        }
    optune_close(o);
}

int main(int argc, char **argv)
{
    const int handles = argc > 1 ? atoi(argv[1]) : 12;
    const char *only = argc > 2 ? argv[2] : NULL, *folder = argc > 3 ? argv[3] : NULL;
    char db[4096], store[4200];
    struct stat info;
    double first = 0;
    if (handles < 1 || handles > MOST)
        bench_die("select_not_kept [HANDLES [FORM|all [DB]]]: 1 to %d handles, 12 unless told; "
                  "DB is filled where it has no store, and stays",
                  MOST);
    open_folder(folder, db, sizeof db);
    snprintf(store, sizeof store, "%s/store", db);
    if (stat(store, &info) < 0)
        fill(db);
    for (int i = 0; i < OT_COUNT(forms); i++)
        if (!only || !strcmp(only, "all") || !strcmp(only, forms[i].name)) {
            const double us = tell(db, &forms[i], handles);
            first = first > 0 ? first : us;
        }
    if (!folder)
        ot_remove_tree(db);
    printf("select_not_kept: %.2f us\n", first);
    return first > 0 ? 0 : 1;
}
