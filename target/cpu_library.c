/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that implementations call, opened by name at run time. Nothing is linked: a
 * machine without them builds and runs, and says what is missing when a candidate asks.
 *
 * The one idea: what a library will be is decided before it is loaded. OpenBLAS picks its
 * kernels when it is opened and takes many a virtual or new CPU for an old one, so it is
 * opened once to see which it picked, and again with OPENBLAS_CORETYPE when that wastes
 * AVX-512. Its threads inherit the binding of the one that opens it, so they are bound one
 * by one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/target.h"

typedef struct library {
    const char *name;
    const char *file[4]; /* tried in order */
    const char *package;
} library;

static const library known[] = {
    {"cblas", {"libopenblas.so.0", "libcblas.so.3", "libblas.so.3"}, "libopenblas0-pthread"},
    {"dnnl", {"libdnnl.so.2", "libdnnl.so.3"}, "libdnnl-dev"},
};

static const library *find_known(const char *name, optune_err *err)
{
    const char *names[OT_COUNT(known)];
    for (int i = 0; i < OT_COUNT(known); i++) {
        names[i] = known[i].name;
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    }
    const char *near = ot_nearest(name, names, OT_COUNT(known));
    optune_fail(err, OPTUNE_ENOENT,
                near ? "no library '%s' on cpu; did you mean '%s'?" : "no library '%s' on cpu",
                name, near);
    return NULL;
}

static void *open_first(const library *lib, optune_err *err)
{
    ot_text tried = {0};
    void *handle = NULL;
    for (int i = 0; i < OT_COUNT(lib->file) && lib->file[i] && !handle; i++) {
        handle = dlopen(lib->file[i], RTLD_NOW | RTLD_LOCAL);
        ot_text_printf(&tried, "%s%s", i ? ", " : "", lib->file[i]);
    }
    if (!handle)
        optune_fail(err, OPTUNE_ENODEV, "library '%s' is not there (tried %s); install %s",
                    lib->name, ot_text_str(&tried), lib->package);
    ot_text_release(&tried);
    return handle;
}

/* A symbol as a function pointer of the caller's type, without a cast that ISO C forbids. */
static bool function(void *handle, const char *name, void *pointer)
{
    void *symbol = dlsym(handle, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool uses_avx512(const char *core)
{
    static const char *const cores[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen4",
                                        "Zen5"};
    for (int i = 0; i < OT_COUNT(cores); i++)
        if (strcasecmp(core, cores[i]) == 0)
            return true;
    return false;
}

/* Opens OpenBLAS with kernels that use this CPU. A baseline is the library at its best, so an
 * OPENBLAS_CORETYPE of the environment that wastes AVX-512 is overruled, and so is a cache size
 * meant for another core; OPTUNE_OPENBLAS_CORETYPE is the way to insist on one. */
static void *open_blas(const library *lib, optune_err *err)
{
    ot_cpu_features features;
    const char *(*core)(void) = NULL;
    const char *insisted = getenv("OPTUNE_OPENBLAS_CORETYPE");
    if (insisted)
        setenv("OPENBLAS_CORETYPE", insisted, 1);
    else
        unsetenv("OPENBLAS_L2_SIZE");
    void *handle = open_first(lib, err);
    ot_cpu_features_here(&features);
    if (!handle || !features.avx512 || insisted ||
        !function(handle, "openblas_get_corename", &core) || uses_avx512(core()))
        return handle;
    dlclose(handle);
    setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
    return open_first(lib, err);
}

/* ---- threads ----------------------------------------------------------------------------- */

enum { MOST_THREADS = 4096 };

static int list_threads(pid_t *thread)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && n < MOST_THREADS)
            thread[n++] = (pid_t)atoi(entry->d_name);
    if (dir)
        closedir(dir);
    return n;
}

static bool listed(const pid_t *thread, int n, pid_t one)
{
    for (int i = 0; i < n; i++)
        if (thread[i] == one)
            return true;
    return false;
}

int ot_cpu_library_open(const char *name, int threads, void **handle, optune_err *err)
{
    const library *lib = find_known(name, err);
    if (!lib)
        return OPTUNE_ENOENT;
    const bool blas = strcmp(name, "cblas") == 0;
    char count[16];
    snprintf(count, sizeof count, "%d", threads);
    setenv("OMP_NUM_THREADS", count, 1);
    setenv("OPENBLAS_NUM_THREADS", count, 1);
    /* Its idle threads sleep soon (2^20 cycles), so that they do not spin into what is
     * measured next. */
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
    pid_t *before = ot_alloc(2 * MOST_THREADS * sizeof *before), *after = before + MOST_THREADS;
    const int n_before = list_threads(before);
    optune_err bound;
    const bool bind = ot_cpu_bind(0, threads, &bound) >= 0;
    *handle = blas ? open_blas(lib, err) : open_first(lib, err);
    void (*set_threads)(int);
    if (*handle && blas && function(*handle, "openblas_set_num_threads", &set_threads))
        set_threads(threads);
    const int n_after = list_threads(after);
    int core = 1;
    for (int i = 0; bind && i < n_after && threads > 1; i++)
        if (!listed(before, n_before, after[i]))
            ot_cpu_bind_thread(after[i], core++ % threads, &bound);
    if (bind)
        ot_cpu_bind(0, 1, &bound); /* the first thread of every plan */
    free(before);
    return *handle ? OPTUNE_OK : OPTUNE_ENODEV;
}

/* ---- what it is -------------------------------------------------------------------------- */

/* OpenBLAS's config text is `OpenBLAS 0.3.21 FLAG ... CoreName MAX_THREADS=64`. */
static void describe_blas(void *handle, ot_text *to)
{
    const char *(*config)(void), *(*core)(void);
    int (*parallel)(void);
    if (!function(handle, "openblas_get_config", &config) ||
        !function(handle, "openblas_get_corename", &core))
        return;
    static const char *const threading[] = {"serial", "pthread", "openmp"};
    const int kind = function(handle, "openblas_get_parallel", &parallel) ? parallel() : -1;
    char *copy = ot_strdup(config()), *rest = NULL;
    const char *name = strtok_r(copy, " ", &rest), *version = strtok_r(NULL, " ", &rest);
    ot_text_printf(to, "build=%s", kind >= 0 && kind < 3 ? threading[kind] : "unknown");
    for (const char *word; (word = strtok_r(NULL, " ", &rest));)
        if (strcmp(word, core()) != 0)
            ot_text_printf(to, " %s", word);
    ot_text_printf(to, "\ncore=%s\nlibrary=%s %s\n", core(), name ? name : "OpenBLAS",
                   version ? version : "unknown");
    free(copy);
}

typedef struct dnnl_version_info { /* the head of dnnl_version_t, stable since 1.0 */
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime;
} dnnl_version_info;

static void describe_dnnl(void *handle, ot_text *to)
{
    const dnnl_version_info *(*version)(void);
    int (*isa)(void);
    if (!function(handle, "dnnl_version", &version))
        return;
    const dnnl_version_info *v = version();
    ot_text_printf(to, "build=%s runtime %u\n", v->hash ? v->hash : "", v->cpu_runtime);
    if (function(handle, "dnnl_get_effective_cpu_isa", &isa))
        ot_text_printf(to, "core=isa 0x%x\n", (unsigned)isa());
    ot_text_printf(to, "library=oneDNN %d.%d.%d\n", v->major, v->minor, v->patch);
}

/* A library that cannot say its version is known by its file, links followed:
 * libblas.so.3.11.0. */
static void describe_file(void *handle, ot_text *to)
{
    struct link_map *map = NULL;
    char path[4096];
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) < 0 || !map || !realpath(map->l_name, path))
        return;
    const char *slash = strrchr(path, '/');
    ot_text_printf(to, "library=%s\n", slash ? slash + 1 : path);
}

int ot_cpu_library_describe(const char *name, char *text, size_t size, optune_err *err)
{
    void *handle;
    int status = ot_cpu_library_open(name, 1, &handle, err);
    if (status < 0)
        return status;
    ot_text lines = {0};
    describe_blas(handle, &lines);
    describe_dnnl(handle, &lines);
    if (!lines.n)
        describe_file(handle, &lines);
    if (!ot_copy(text, size, ot_text_str(&lines)))
        status = optune_fail(err, OPTUNE_ELIMIT, "the description of library '%s' is too long",
                             name);
    ot_text_release(&lines);
    return status;
}

/* ---- asking from a process that must not load it ----------------------------------------- */

static struct answer {
    bool known;
    int status;
    char text[OPTUNE_TEXT_SIZE];
} answers[OT_COUNT(known)];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ask(const char *name, struct answer *answer)
{
    char program[4096];
    ot_text said = {0};
    optune_err err = {0};
    answer->status = ot_worker_program(program, sizeof program, &err);
    if (answer->status >= 0) {
        char option[] = "--library", lib[OPTUNE_NAME_SIZE];
        ot_copy(lib, sizeof lib, name);
        char *argv[] = {program, option, lib, NULL};
        answer->status = ot_run_program(argv, 20, &said, &err);
        /* On failure the program prints its one line and exits with 4. */
        if (answer->status == OPTUNE_ETOOL && said.n) {
            answer->status = OPTUNE_ENODEV;
            snprintf(err.text, sizeof err.text, "%.*s", (int)strcspn(said.s, "\n"), said.s);
        }
    }
    const char *text = answer->status < 0 ? err.text : ot_text_str(&said);
    snprintf(answer->text, sizeof answer->text, "%s", text);
    answer->known = true;
    ot_text_release(&said);
}

int ot_cpu_library_ask(const char *name, char *text, size_t size, optune_err *err)
{
    const library *lib = find_known(name, err);
    if (!lib)
        return OPTUNE_ENOENT;
    struct answer *answer = &answers[lib - known];
    pthread_mutex_lock(&lock);
    if (!answer->known)
        ask(name, answer);
    pthread_mutex_unlock(&lock);
    if (answer->status < 0)
        return optune_fail(err, answer->status, "%s", answer->text);
    if (!ot_copy(text, size, answer->text))
        return optune_fail(err, OPTUNE_ELIMIT, "the description of library '%s' is too long",
                           name);
    return OPTUNE_OK;
}
