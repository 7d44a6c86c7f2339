/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that implementations call, opened by name at run time. Nothing is linked: a
 * machine without them builds and runs, and says what is missing when a candidate asks.
 *
 * The one idea: what a library will be is decided before it is loaded, and what it is, is asked
 * of itself (library_identity.c). OpenBLAS picks its kernels when it is opened and takes many a
 * virtual or new CPU for an old one, so it is opened once to see which it picked, and again with
 * OPENBLAS_CORETYPE when that is older than the CPU. Its threads inherit the binding of the one
 * that opens it, so they are bound one by one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/library.h"
#include "target/process.h"

typedef struct library {
    const char *name;
    const char *path;    /* the environment's word on which file it is */
    const char *symbol;  /* that any of them has */
    const char *file[8]; /* tried in order, fast ones first */
    const char *package;
    int oldest, newest; /* major versions whose functions are called; 0: any */
    /* NULL: what is loaded can be called. */
    bool (*starts)(void *handle, const ot_library_identity *is, ot_text *why);
} library;

/* A build for GPUs alone has all functions and no engine for the CPU. */
static bool onednn_starts(void *handle, const ot_library_identity *is, ot_text *why)
{
    enum { CPU = 1 };
    int (*create)(void **engine, int kind, size_t index), (*destroy)(void *engine);
    int (*set_verbose)(int level);
    void *engine = NULL;
    int status = -1;
    if (!getenv("ONEDNN_VERBOSE") && !getenv("DNNL_VERBOSE") &&
        ot_library_bind(handle, "dnnl_set_verbose", &set_verbose))
        set_verbose(0); /* from 3 on errors are printed unasked */
    if (ot_library_bind(handle, "dnnl_engine_create", &create) &&
        ot_library_bind(handle, "dnnl_engine_destroy", &destroy) &&
        (status = create(&engine, CPU, 0)) == 0)
        destroy(engine);
    ot_text_clear(why);
    ot_text_printf(why, "%s cannot start: its engine for the CPU has status %d", is->file,
                   status);
    return status == 0;
}

static const library known[] = {
    {.name = "cblas",
     .path = "OPTUNE_CBLAS",
     .symbol = "cblas_sgemm",
     .file = {"libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2", "libblis.so.4",
              "libflexiblas.so.3", "libcblas.so.3", "libblas.so.3"},
     .package = "libopenblas0-pthread"},
    /* Some distributions name it by its minor version, too: there the plain name serves. */
    {.name = "dnnl",
     .path = "OPTUNE_DNNL",
     .symbol = "dnnl_version",
     .file = {"libdnnl.so.3", "libdnnl.so", "libdnnl.so.2"},
     .package = "libdnnl-dev",
     .oldest = 2,
     .newest = 3,
     .starts = onednn_starts},
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

/* ---- opening a file ---------------------------------------------------------------------- */

/* Opens a file. What it needs and the system does not have is taken from beside it: libraries
 * that come as wheels bring what they need, and say nowhere that it lies in their folder. */
static void *open_file(const char *path, int depth, ot_text *why)
{
    enum { MOST_NEEDED = 64, DEEPEST = 8 };
    const char *slash = strrchr(path, '/');
    char last[256] = "";
    for (int i = 0; i < MOST_NEEDED; i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *said = handle ? NULL : dlerror(); /* "libtbb.so.12: cannot open ..." */
        if (handle)
            return handle;
        ot_text_clear(why);
        ot_text_add(why, said ? said : "cannot be opened");
        const size_t n = strcspn(ot_text_str(why), ":");
        char needed[256], beside[4096];
        snprintf(needed, sizeof needed, "%.*s", (int)n, ot_text_str(why));
        if (!slash || depth == DEEPEST || strchr(needed, '/') || strcmp(needed, last) == 0)
            return NULL;
        snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - path), path, needed);
        if (!ot_exists(beside) || !open_file(beside, depth + 1, why))
            return NULL;
        ot_copy(last, sizeof last, needed);
    }
    return NULL;
}

/* Whether its functions are the ones that bodies call. */
static bool usable(const library *lib, void *handle, const ot_library_identity *is,
                   ot_text *why)
{
    char wide[64];
    snprintf(wide, sizeof wide, "%s64_", lib->symbol);
    const bool there = ot_library_function(handle, lib->symbol) != NULL;
    const int major = atoi(is->version);
    const bool known_version = !lib->newest || (major >= lib->oldest && major <= lib->newest);
    if (there && !is->wide_integers && known_version)
        return true;
    ot_text_clear(why);
    if (there && !known_version)
        ot_text_printf(why, "%s is %s %s; versions %d to %d are called", is->file, is->name,
                       is->version, lib->oldest, lib->newest);
    else if (there || ot_library_function(handle, wide))
        ot_text_printf(why, "%s takes 64-bit sizes; its build with 32-bit ones is called",
                       is->file);
    else
        ot_text_printf(why, "%s has no %s", is->file, lib->symbol);
    return false;
}

/* The file that the environment names and no other; else the first that can be called and is not
 * the reference BLAS, which counts only where nothing else does. */
static void *open_first(const library *lib, ot_library_identity *is, ot_library_look *look,
                        optune_err *err)
{
    const char *path = getenv(lib->path);
    const bool named = path && *path;
    ot_text tried = {0}, why = {0};
    void *handle = NULL, *slow = NULL;
    ot_library_identity reference = {0};
    for (int i = 0; !handle && (named ? i < 1 : i < OT_COUNT(lib->file) && lib->file[i]); i++) {
        const char *file = named ? path : lib->file[i];
        handle = open_file(file, 0, &why);
        ot_text_printf(&tried, "%s%s", i ? ", " : "", file);
        if (handle)
            ot_library_identify(handle, lib->symbol, is);
        if (handle && look)
            ot_library_look_opened(look, is);
        else if (look)
            ot_library_look_failed(look, file, ot_text_str(&why));
        bool good = handle && usable(lib, handle, is, &why);
        if (good && lib->starts && !lib->starts(handle, is, &why)) {
            good = false;
            if (look) /* what kept it from that may be gone tomorrow */
                look->told = false;
        }
        if (handle && !good) {
            ot_text_printf(&tried, " (%s)", why.s);
            dlclose(handle);
            handle = NULL;
        } else if (handle && is->reference && !named && !slow) {
            slow = handle;
            reference = *is;
            handle = NULL;
        }
    }
    if (handle && slow) {
        dlclose(slow);
    } else if (!handle && slow) {
        handle = slow;
        *is = reference;
    }
    if (!handle && named)
        optune_fail(err, OPTUNE_ENODEV, "library '%s' is not what %s names: %s", lib->name,
                    lib->path, ot_text_str(&why));
    else if (!handle)
        optune_fail(err, OPTUNE_ENODEV,
                    "library '%s' is not there (tried %s); install %s, or name a file in %s",
                    lib->name, ot_text_str(&tried), lib->package, lib->path);
    ot_text_release(&tried);
    ot_text_release(&why);
    return handle;
}

/* ---- its kernels ------------------------------------------------------------------------- */

/* Opens it with kernels that use this CPU. A baseline is the library at its best, so what the
 * environment says of kernels and cache sizes is taken away, its own choice comes first, and
 * OpenBLAS is opened once more where that is older than the CPU: `core` then says what it was.
 * OPTUNE_OPENBLAS_CORETYPE is the way to insist on one. */
static void *open_best(const library *lib, ot_library_identity *is, char *was, size_t size,
                       ot_library_look *look, optune_err *err)
{
    static const char *const narrowing[] = {
        "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",   "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR",
        "BLIS_ARCH_TYPE",    "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
    };
    ot_cpu_features features;
    const char *insisted = getenv("OPTUNE_OPENBLAS_CORETYPE");
    *was = '\0';
    for (int i = 0; i < OT_COUNT(narrowing); i++)
        unsetenv(narrowing[i]);
    if (insisted)
        setenv("OPENBLAS_CORETYPE", insisted, 1);
    void *handle = open_first(lib, is, look, err);
    ot_cpu_features_here(&features);
    const char *better = handle ? ot_library_newer_core(is->core, &features) : NULL;
    if (!better || insisted || strcmp(is->name, "OpenBLAS") != 0)
        return handle;
    ot_copy(was, size, is->core);
    dlclose(handle);
    setenv("OPENBLAS_CORETYPE", better, 1);
    handle = open_first(lib, is, look, err);
    if (handle && strcmp(was, is->core) == 0)
        *was = '\0'; /* a build that has no other kernels */
    return handle;
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

/* The variables by which libraries learn how many threads there are. MKL takes the OpenMP that
 * candidates use, so that a process has one; idle threads of OpenBLAS sleep soon (2^20 cycles),
 * so that they do not spin into what is measured next. */
static void say_threads(int threads)
{
    static const char *const counts[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                         "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};
    char count[16];
    snprintf(count, sizeof count, "%d", threads);
    for (int i = 0; i < OT_COUNT(counts); i++)
        setenv(counts[i], count, 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
    setenv("MKL_INTERFACE_LAYER", "LP64", 1);
    setenv("MKL_THREADING_LAYER", threads > 1 ? "GNU" : "SEQUENTIAL", 1);
}

static int open_known(const library *lib, int threads, void **handle, ot_library_identity *is,
                      char *was, size_t size, ot_library_look *look, optune_err *err)
{
    say_threads(threads);
    pid_t *before = ot_alloc(2 * MOST_THREADS * sizeof *before), *after = before + MOST_THREADS;
    const int n_before = list_threads(before);
    optune_err bound;
    const bool bind = ot_process_claimed() && ot_cpu_bind(0, threads, &bound) >= 0;
    *handle = open_best(lib, is, was, size, look, err);
    void (*set_threads)(int);
    if (*handle && ot_library_bind(*handle, "openblas_set_num_threads", &set_threads))
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

int ot_cpu_library_open(const char *name, int threads, void **handle, optune_err *err)
{
    const library *lib = find_known(name, err);
    ot_library_identity is;
    char was[sizeof is.core];
    return lib ? open_known(lib, threads, handle, &is, was, sizeof was, NULL, err)
               : OPTUNE_ENOENT;
}

void *ot_cpu_library_function(const char *name, void *handle, const char *function,
                              optune_err *err)
{
    void *found = ot_library_function(handle, function);
    if (!found) {
        ot_library_identity is;
        char full[400];
        ot_library_identify(handle, NULL, &is);
        ot_library_name(&is, full, sizeof full);
        optune_fail(err, OPTUNE_ENOENT, "library '%s' (%s) has no function '%s'", name, full,
                    function);
    }
    return found;
}

/* ---- what it is -------------------------------------------------------------------------- */

static int describe(const library *lib, ot_library_look *look, char *text, size_t size,
                    optune_err *err)
{
    ot_library_identity is;
    char was[sizeof is.core], full[400];
    void *handle;
    int status = open_known(lib, 1, &handle, &is, was, sizeof was, look, err);
    if (status < 0)
        return status;
    ot_cpu_features features;
    ot_cpu_features_here(&features);
    const char *unused = ot_library_unused(is.core, &features);
    ot_text lines = {0};
    ot_library_name(&is, full, sizeof full);
    ot_text_printf(&lines, "library=%s\nlibrary_build=%s\n", full, is.build);
    if (*is.core)
        ot_text_printf(&lines, "library_core=%s%s%s%s%s\n", is.core, *was ? " instead of " : "",
                       was, unused ? ", which leaves this CPU unused: " : "",
                       unused ? unused : "");
    if (!ot_copy(text, size, ot_text_str(&lines)))
        status = optune_fail(err, OPTUNE_ELIMIT, "the description of library '%s' is too long",
                             lib->name);
    ot_text_release(&lines);
    return status;
}

int ot_cpu_library_describe(const char *name, char *text, size_t size, optune_err *err)
{
    const library *lib = find_known(name, err);
    ot_library_look look;
    optune_err why = {0};
    if (!lib)
        return OPTUNE_ENOENT;
    ot_library_look_begin(&look, name);
    const int status = describe(lib, &look, text, size, &why);
    ot_library_look_end(&look, status, status < 0 ? why.text : text);
    return status < 0 ? optune_fail(err, status, "%s", why.text) : status;
}

/* ---- asking from a process that must not load it ----------------------------------------- */

static struct answer {
    bool known;
    int status;
    char path[4096]; /* what the environment named */
    char text[OPTUNE_TEXT_SIZE];
} answers[OT_COUNT(known)];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ask(const char *name, struct answer *answer)
{
    char program[4096];
    ot_text said = {0};
    optune_err err = {0};
    answer->known = true;
    answer->status = ot_worker_program(program, sizeof program, &err);
    if (answer->status >= 0 &&
        ot_library_noted(name, program, &answer->status, answer->text, sizeof answer->text))
        return;
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
    ot_text_release(&said);
}

const char *ot_cpu_library_named(const char *name)
{
    const library *lib = find_known(name, NULL);
    const char *path = lib ? getenv(lib->path) : NULL;
    return path && *path ? lib->path : NULL;
}

int ot_cpu_library_ask(const char *name, char *text, size_t size, optune_err *err)
{
    const library *lib = find_known(name, err);
    if (!lib)
        return OPTUNE_ENOENT;
    struct answer *answer = &answers[lib - known];
    pthread_mutex_lock(&lock);
    const char *path = getenv(lib->path);
    if (!answer->known || strcmp(answer->path, path ? path : "") != 0) {
        snprintf(answer->path, sizeof answer->path, "%s", path ? path : "");
        ask(name, answer);
    }
    pthread_mutex_unlock(&lock);
    if (answer->status < 0)
        return optune_fail(err, answer->status, "%s", answer->text);
    if (!ot_copy(text, size, answer->text))
        return optune_fail(err, OPTUNE_ELIMIT, "the description of library '%s' is too long",
                           name);
    return OPTUNE_OK;
}
