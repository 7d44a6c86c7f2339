/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that computes a batch: PROGRAM BATCH_WORD FILE FIRST. The file has lines of
 * words with tabs between them: "target TEXT", then of each plan "left out", or "plan CALL IMPL
 * CONFIG PREFIX MODULE ...", followed by "at CALL" for each of its sizes. What it does is in the
 * file beside it, FILE.progress, as it happens; what is wrong goes to stdout.
 */
#include "support/batch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support/check.h"

enum { MOST_MODULES = 4096, MOST_WORDS = 5 + OPTUNE_MAX_MODULES };

typedef struct inside {
    ot_session *session;
    const char *program, *file;
    char target[OPTUNE_TEXT_SIZE];
    batch_progress *progress;
    int n_modules;
    char *path[MOST_MODULES];
    void *handle[MOST_MODULES];
    /* The plan at hand */
    ot_loaded *loaded;
    optune_call *call;
    char *word[MOST_WORDS];
    ot_text said; /* names of functions */
    bool wrong;   /* it cannot be loaded */
} inside;

void batch_function(const char *prefix, int module, const char *function, ot_text *to)
{
    ot_text_printf(to, "%s_m%d_%s", prefix, module, function);
}

/* A library may not be there, and serves what it wants. */
static void fails(inside *in, const char *at, int outcome, const char *message)
{
    if (in->loaded->impl && in->loaded->impl->library) {
        in->progress->skipped++;
        return;
    }
    in->progress->failed++;
    printf("%s at %s: %s\n    %s \"%s\" '%s' %s '%s'\n", ot_outcome_name(outcome), at, message,
           in->program, in->target, in->word[1], in->word[2], in->word[3]);
    fflush(stdout);
}

static int load(inside *in, const char *path, void **handle, optune_err *err)
{
    for (int i = 0; i < in->n_modules; i++)
        if (strcmp(in->path[i], path) == 0) {
            *handle = in->handle[i];
            return OPTUNE_OK;
        }
    assert_true(in->n_modules < MOST_MODULES);
    OT_RETURN_UNLESS_OK(in->session->row->load(in->session->state, path, handle, err));
    in->path[in->n_modules] = ot_strdup(path);
    in->handle[in->n_modules++] = *handle;
    return OPTUNE_OK;
}

/* A GPU's module has a number of kernel objects, one for each time that one is bound. */
static void forget_modules(inside *in)
{
    for (; in->n_modules; in->n_modules--) {
        free(in->path[in->n_modules - 1]);
        in->session->row->unload(in->session->state, in->handle[in->n_modules - 1]);
    }
}

static const char *renamed(inside *in, int module, const char *function)
{
    ot_text text = {0};
    batch_function(in->word[4], module, function, &text);
    return text.s; /* as long as the process */
}

static int open_plan(inside *in, int words, optune_err *err)
{
    ot_loaded *l = in->loaded;
    optune_plan *plan = &l->plan;
    const optune_task task = {in->call, &in->session->target, &in->session->device};
    memset(l, 0, sizeof *l);
    if (in->session->device.warp > 0)
        forget_modules(in);
    l->impl = ot_impl_find(in->word[2]);
    if (!l->impl)
        return optune_fail(err, OPTUNE_ENOENT, "there is no implementation '%s'", in->word[2]);
    OT_RETURN_UNLESS_OK(ot_call_parse(in->word[1], in->call, err));
    OT_RETURN_UNLESS_OK(ot_config_parse(in->word[3], &l->config, err));
    OT_RETURN_UNLESS_OK(ot_plan_make(&task, l->impl, &l->config, plan, err));
    if (plan->n_modules != words - 5)
        return optune_fail(err, OPTUNE_EUSAGE, "the plan has %d modules, %d were built",
                           plan->n_modules, words - 5);
    for (int i = 0; i < plan->n_modules; i++)
        OT_RETURN_UNLESS_OK(load(in, in->word[5 + i], &l->module[i], err));
    for (int s = 0; s < plan->n_stages; s++) {
        optune_stage *stage = &plan->stage[s];
        stage->function = renamed(in, stage->module, stage->function);
        for (int a = 0; a < stage->n_args; a++)
            if (stage->arg[a].kind == OPTUNE_ARG_FUNCTION)
                stage->arg[a].symbol = renamed(in, stage->arg[a].index, stage->arg[a].symbol);
    }
    return OPTUNE_OK;
}

/* Over aligned buffers a body may take another path; its first run may leave something behind. */
static int verify_aligned(ot_session *s, ot_loaded *loaded, char *message, size_t size)
{
    optune_err err = {0};
    ot_bound *b = NULL;
    double error = 0;
    bool right = true;
    int status = ot_bound_open(s, loaded, OT_ALIGNED, &b, &err);
    if (status >= 0)
        status = ot_bound_prepack(b, &err);
    for (int turn = 0; turn < 2 && status >= 0 && right; turn++) {
        status = ot_bound_poison(b, &err);
        if (status >= 0)
            status = s->row->run(s->state, b->launch[OPTUNE_TIMED], b->n[OPTUNE_TIMED], &err);
        right =
            status < 0 || ot_verify_outputs(s, OT_ALIGNED, loaded->impl, &error, message, size);
    }
    if (status < 0)
        snprintf(message, size, "%.500s", err.text);
    ot_bound_close(b);
    return status < 0 ? OPTUNE_OUTCOME_RUNTIME
           : right    ? OPTUNE_OUTCOME_OK
                      : OPTUNE_OUTCOME_WRONG;
}

/* One reference for all plans of these sizes: they come one behind the other. */
static void compute_at(inside *in, const char *at)
{
    optune_err err = {0};
    ot_session *s = in->session;
    char path[4200], hex[33], message[512] = "";
    double error = 0;
    ot_digest_hex(ot_digest_of(at, strlen(at)), hex);
    snprintf(path, sizeof path, "%s.%s", in->file, hex);
    in->progress->since = ot_now();
    in->progress->working = true;
    int outcome = OPTUNE_OUTCOME_RUNTIME;
    if (ot_session_workload(s, at, BATCH_SEED, path, &err) < 0)
        snprintf(message, sizeof message, "%.500s", err.text);
    else
        outcome = ot_verify(s, in->loaded, &error, message, sizeof message);
    if (outcome == OPTUNE_OUTCOME_OK)
        outcome = verify_aligned(s, in->loaded, message, sizeof message);
    ot_session_forget(s);
    in->progress->working = false;
    in->progress->computed += outcome == OPTUNE_OUTCOME_OK;
    if (outcome != OPTUNE_OUTCOME_OK)
        fails(in, at, outcome, message);
}

static void take_line(inside *in, char *line, int first)
{
    optune_err err = {0};
    char *rest = NULL, *word[MOST_WORDS] = {0};
    int n = 0;
    for (char *w = strtok_r(line, "\t", &rest); w; w = strtok_r(NULL, "\t", &rest)) {
        assert_true(n < MOST_WORDS);
        word[n++] = w;
    }
    if (strcmp(word[0], "target") == 0) {
        optune_target target;
        optune_device device;
        assert_true(ot_copy(in->target, sizeof in->target, word[1]));
        check_ok(ot_target_parse(word[1], &target, &err));
        check_ok(ot_target_probe(&target, &device, &err));
        check_ok(ot_session_open(in->session, &target, &device, &err));
    } else if (strcmp(word[0], "plan") == 0) {
        in->progress->item++;
        in->progress->at = 0;
        memcpy(in->word, word, sizeof word);
        in->wrong = false;
        if (in->progress->item >= first && open_plan(in, n, &err) < 0) {
            in->wrong = true;
            fails(in, word[1], OPTUNE_OUTCOME_RUNTIME, err.text);
        }
    } else if (strcmp(word[0], "left out") == 0) {
        in->progress->item++;
        in->wrong = true;
    } else if (in->progress->item >= first && !in->wrong) {
        compute_at(in, word[1]);
        in->progress->at++;
    }
}

static void compute(const char *program, const char *file, int first)
{
    optune_err err = {0};
    ot_text text = {0}, path = {0};
    static inside in;
    in = (inside){.program = program,
                  .file = file,
                  .session = ot_alloc(sizeof *in.session),
                  .loaded = ot_alloc(sizeof *in.loaded),
                  .call = ot_alloc(sizeof *in.call)};
    ot_text_printf(&path, "%s.progress", file);
    const int fd = open(ot_text_str(&path), O_RDWR | O_CLOEXEC);
    in.progress = mmap(NULL, sizeof *in.progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(fd >= 0 && in.progress != MAP_FAILED);
    check_ok(ot_read_file(file, &text, (size_t)1 << 28, &err));
    in.progress->item = -1;
    char *rest = NULL;
    for (char *line = strtok_r(text.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&in, line, first);
    in.progress->item++;
}

void batch_inside(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], BATCH_WORD) != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    compute(argv[0], argv[2], atoi(argv[3]));
    fflush(stdout);
    _exit(0);
}
