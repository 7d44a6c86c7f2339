/* SPDX-License-Identifier: Apache-2.0 */
/* See plants.h. */
#include "support/plants.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "support/check.h"
#include "support/plugin.h"

char plants_dir[1024];
static int each_plant(int signal);
char plants_plugin[1100];
static char report[1100], call_text[256];
static optune_target target;
static optune_device device;
static optune_call call;
static const optune_task task = {&call, &target, &device};
static ot_builder *builder;
static ot_worker *worker;
static char *plugins[] = {plants_plugin, NULL};

/* Of this test program alone: others may run beside it. */
static const char *mark(void)
{
    return plants_dir + strlen(plants_dir) - 6;
}

static void folder(const char *variable, const char *name)
{
    char path[1100];
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", plants_dir, name);
    check_ok(ot_make_dirs(path, &err));
    setenv(variable, path, 1);
}

/* Nobody else measures under this lock: whoever holds it was left behind. */
static int waits;
static void waiting(void *arg, double seconds)
{
    (void)arg;
    if (seconds < 2)
        waits++;
}

int plants_setup(const char *kind)
{
    optune_err err = {0};
    char what[64];
    check_ok(ot_temp_dir(plants_dir, sizeof plants_dir, &err));
    snprintf(plants_plugin, sizeof plants_plugin, "%s/plants.so", plants_dir);
    snprintf(what, sizeof what, "-D%s", kind);
    plugin_build_with("plants/plants.c", plants_plugin,
                      (const char *const[]){what,
                                            "-DPLANTS=\"" OT_SOURCE_DIR "/tests/data/plants\"",
                                            "-lm", NULL});
    /* All that bodies are told of the outside; a lock of our own, too. */
    snprintf(report, sizeof report, "%s/report", plants_dir);
    setenv("OPTUNE_PLANT_REPORT", report, 1);
    setenv("OPTUNE_PLANT_NAME", mark(), 1);
    folder("OPTUNE_CACHE", "cache");
    folder("XDG_RUNTIME_DIR", "run");
    folder("TMPDIR", "tmp");
    folder("OPTUNE_DB", "db");
    check_ok(ot_plugin_load(plants_plugin, ot_target_add, &err));
    check_ok(ot_target_parse("cpu -threads=1", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    const ot_build_options build = {.target = &target,
                                    .device = &device,
                                    .row = ot_target_find("cpu"),
                                    .cache_dir = getenv("OPTUNE_CACHE")};
    const ot_worker_options options = {.target_text = "cpu -threads=1",
                                       .target = &target,
                                       .device = &device,
                                       .plugins = plugins,
                                       .waiting = waiting};
    check_ok(ot_builder_open(&build, &builder, &err));
    check_ok(ot_worker_open(&options, &worker, &err));
    return 0;
}

int plants_teardown(void **state)
{
    (void)state;
    char shm[1200];
    each_plant(SIGKILL);
    ot_worker_close(worker);
    ot_builder_close(builder);
    snprintf(shm, sizeof shm, "/dev/shm/optune-plant-%s", mark());
    unlink(shm);
    ot_remove_tree(plants_dir);
    return 0;
}

void plants_workload(const char *text)
{
    optune_err err = {0};
    snprintf(call_text, sizeof call_text, "%s", text);
    check_ok(ot_call_parse(text, &call, &err));
}

/* ---- candidates -------------------------------------------------------------------------- */

typedef struct candidate {
    optune_config config;
    ot_job job;
    ot_trial trial;
} candidate;

static bool build(const char *name, candidate *c, char *message)
{
    static optune_plan plan;
    optune_err err = {0};
    optune_space *space = NULL;
    const optune_impl *impl = ot_impl_find(name);
    assert_non_null(impl);
    check_ok(ot_space_open(&task, impl, &space, &err));
    char why[OPTUNE_WHY_SIZE] = "";
    assert_true(ot_space_fallback(space, &c->config, why));
    ot_space_close(space);
    c->trial = (ot_trial){
        .impl = impl, .config = &c->config, .job = &c->job, .best = INFINITY, .limit_s = 20};
    if (ot_plan_make(&task, impl, &c->config, &plan, &err) < 0) {
        ot_copy(message, OPTUNE_ERR_SIZE, err.text);
        return false;
    }
    check_ok(ot_builder_submit(builder, &task, &plan, &c->job, &err));
    ot_builder_wait(builder, &c->job, 120);
    if (c->job.outcome != OPTUNE_OUTCOME_OK)
        print_error("%s: %s\n", name, c->job.message);
    assert_int_equal(c->job.outcome, OPTUNE_OUTCOME_OK);
    return true;
}

static plant_result result_of(const ot_trial_result *r)
{
    plant_result result = {.outcome = r->outcome, .cost = r->cost};
    ot_copy(result.message, sizeof result.message, r->message ? r->message : "");
    return result;
}

/* No outcome, which is what a run of these would end with. */
static plant_result failure(int status, const optune_err *err)
{
    plant_result result = {.outcome = status};
    ot_copy(result.message, sizeof result.message, err->text);
    return result;
}

const char *plants_word(int outcome)
{
    return outcome < 0 ? "the run would end" : ot_outcome_name(outcome);
}

plant_result plants_trial(const char *impl, double limit_s)
{
    static candidate c;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result r = {0};
    plant_result result = {.outcome = OPTUNE_OUTCOME_INSTANTIATION};
    if (!build(impl, &c, result.message))
        return result;
    c.trial.limit_s = limit_s;
    int status = ot_worker_workload(worker, call_text, 7, &err);
    if (status >= 0)
        status = ot_worker_trial(worker, &c.trial, &ot_policy_warm, &arena, &r, &err);
    result = status < 0 ? failure(status, &err) : result_of(&r);
    ot_arena_release(&arena);
    return result;
}

void plants_finals(const char *const *impl, int n, plant_result *result)
{
    static candidate c[8];
    ot_trial trial[8];
    ot_trial_result r[8];
    optune_err err = {0};
    ot_arena arena = {0};
    assert_true(n <= 8);
    for (int i = 0; i < n; i++) {
        assert_true(build(impl[i], &c[i], result[i].message));
        trial[i] = c[i].trial;
    }
    const int status =
        ot_worker_finals(worker, trial, n, &ot_policy_warm, 0.1, &arena, r, &err);
    for (int i = 0; i < n; i++)
        result[i] = status < 0 ? failure(status, &err) : result_of(&r[i]);
    ot_arena_release(&arena);
}

/* ---- what is left ------------------------------------------------------------------------ */

const char *plants_report(void)
{
    static ot_text text;
    optune_err err = {0};
    ot_text_clear(&text);
    if (ot_exists(report))
        check_ok(ot_read_file(report, &text, 1 << 20, &err));
    unlink(report);
    const char *all = ot_text_str(&text), *last = all;
    for (const char *end = strchr(all, '\n'); end && end[1]; end = strchr(last, '\n'))
        last = end + 1;
    return last;
}

static int each_plant(int signal)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    int n = 0;
    while ((e = readdir(dir))) {
        char path[300], name[64] = "", state = 'Z';
        const int pid = atoi(e->d_name);
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = fopen(path, "r");
        const int got = file ? fscanf(file, "%*d (%63[^)]) %c", name, &state) : 0;
        if (file)
            fclose(file);
        if (got == 2 && strncmp(name, "plant-", 6) == 0 && strcmp(name + 6, mark()) == 0 &&
            state != 'Z') {
            n++;
            if (signal)
                kill(pid, signal);
        }
    }
    closedir(dir);
    return n;
}

int plants_left(void)
{
    int n = each_plant(0);
    for (int i = 0; n > 0 && i < 40; i++) {
        usleep(50000);
        n = each_plant(0);
    }
    each_plant(SIGKILL);
    return n;
}

static int files_in(const char *path, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir))) {
        char name[2048];
        if (e->d_name[0] == '.' ||
            snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= (int)sizeof name)
            continue;
        if (strncmp(e->d_name, "plant-", 6) == 0 &&
            strncmp(e->d_name + 6, mark(), strlen(mark())) == 0) {
            n++;
            unlink(name);
        } else if (depth > 0 && e->d_type == DT_DIR) {
            n += files_in(name, depth - 1);
        }
    }
    if (dir)
        closedir(dir);
    return n;
}

int plants_files(void)
{
    return files_in(plants_dir, 2) + files_in(".", 0);
}

/* ---- vandals ----------------------------------------------------------------------------- */

#define WITNESS "plant_honest.cpu"

static char clean[1 << 14];

/* The words of one line that are not in the other. */
static void print_new_words(const char *line, const char *other)
{
    char copy[1 << 14], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
        if (!strstr(other, word))
            print_error("    %s\n", word);
}

static int check_good(const char *vandal, const char *impl)
{
    const plant_result r = plants_trial(impl, 20);
    if (r.outcome == OPTUNE_OUTCOME_OK)
        return 0;
    print_error("%s after %s: %s: %s\n", impl, vandal, plants_word(r.outcome), r.message);
    return 1;
}

static int check_witness(const char *vandal)
{
    int n = check_good(vandal, WITNESS);
    const char *now = plants_report();
    if (strcmp(now, clean) != 0) {
        print_error("after %s a process is like this:\n", vandal);
        print_new_words(now, clean);
        n++;
    }
    return n;
}

static int check_finals(const char *vandal)
{
    const char *all[] = {WITNESS, vandal, "dense_nopack.x86"};
    plant_result result[3];
    int n = 0;
    plants_finals(all, 3, result);
    for (int i = 0; i < 3; i += 2)
        if (result[i].outcome != OPTUNE_OUTCOME_OK) {
            print_error("%s in the finals with %s: %s: %s\n", all[i], vandal,
                        plants_word(result[i].outcome), result[i].message);
            n++;
        }
    return n;
}

void plants_harm_nobody(const char *id, double limit_s)
{
    char name[64];
    snprintf(name, sizeof name, "plant_%s.cpu", id);
    if (!clean[0]) {
        check_good("nobody", WITNESS);
        snprintf(clean, sizeof clean, "%s", plants_report());
        assert_int_not_equal(clean[0], '\0');
    }
    const plant_result own = plants_trial(name, limit_s);
    print_message("%s: %s: %s\n", name, plants_word(own.outcome), own.message);
    int n = own.outcome < 0;
    n += check_witness(name) + check_good(name, "dense_nopack.x86");
    /* Whoever passes its trial comes to the finals. */
    if (own.outcome == OPTUNE_OUTCOME_OK)
        n += check_finals(name) + check_witness(name);
    const int left = plants_left(), files = plants_files();
    if (waits)
        print_error("%s keeps the lock of the device\n", name);
    n += waits;
    waits = 0;
    if (left || files)
        print_error("%s leaves %d processes and %d files\n", name, left, files);
    assert_int_equal(n + left + files, 0);
}
