/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the CUDA driver, NVRTC and NVML once for the process. The driver belongs to the system and
 * lies on the library path; the toolkit's libraries come in several ways and are looked for in all
 * of them.
 */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda_api.h"
#include "target/driver.h"

#define SYMBOL(name, symbol, args) symbol,
static const char *const cuda_symbols[] = {OT_CUDA_FUNCTIONS(SYMBOL)};
static const char *const nvrtc_symbols[] = {OT_NVRTC_FUNCTIONS(SYMBOL)};
static const char *const nvml_symbols[] = {OT_NVML_FUNCTIONS(SYMBOL)};

static const char *const cuda_files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                         "/usr/lib/wsl/lib/libcuda.so.1", NULL};
static const char *const nvml_files[] = {"libnvidia-ml.so.1",
                                         "/usr/local/nvidia/lib64/libnvidia-ml.so.1", NULL};

static ot_cuda cuda;
static ot_nvrtc nvrtc;
static ot_nvml nvml;

/* ---- the toolkit's libraries ------------------------------------------------------------- */

typedef struct search {
    const char *stem;
    void *handle;
    char path[PATH_MAX];
    ot_text looked;
} search;

static bool try_file(search *s, const char *file)
{
    s->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (s->handle)
        ot_copy(s->path, sizeof s->path, file);
    return s->handle != NULL;
}

/* What NVRTC opens by its bare name when it compiles: not every version of it looks for that beside
 * itself, and the loader gives what is loaded by a name to whoever asks for it. It stays. */
static void open_builtins(const char *path, const char *stem)
{
    const int n = (int)(strrchr(path, '/') - path);
    char pattern[PATH_MAX + 64];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%.*s/lib%s-builtins.so.*", n, path, stem);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
}

/* Newest first: versions follow the name, and the plain name comes before them all. */
static bool try_folder(search *s, const char *folder)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/lib%s.so.*", folder, s->stem);
    ot_text_printf(&s->looked, ", %s", folder);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !s->handle;)
            try_file(s, found.gl_pathv[i]);
    globfree(&found);
    if (s->handle)
        open_builtins(s->path, s->stem);
    return s->handle != NULL;
}

static bool try_home(search *s, const char *variable)
{
    const char *home = getenv(variable);
    char folder[PATH_MAX];
    if (!home || !*home)
        return false;
    snprintf(folder, sizeof folder, "%s/{lib64,lib,targets/*/lib}", home);
    return try_folder(s, folder);
}

int ot_cuda_python(const char *inside, char pattern[2][OT_CUDA_PLACE])
{
    char program[PATH_MAX], real[PATH_MAX];
    int n = 0;
    if (!ot_find_program("python3", program, sizeof program))
        return 0;
    const char *const place[] = {program, realpath(program, real) ? real : program};
    for (int i = 0; i < OT_COUNT(place); i++) {
        const char *bin = strstr(place[i], "/bin/");
        if (bin)
            snprintf(pattern[n++], OT_CUDA_PLACE,
                     "%.*s/{lib,local/lib}/python3*/{site,dist}-packages/nvidia/*/%s",
                     (int)(bin - place[i]), place[i], inside);
    }
    return n;
}

static bool try_python(search *s)
{
    char folder[2][OT_CUDA_PLACE];
    const int n = ot_cuda_python("lib", folder);
    for (int i = 0; i < n; i++)
        if (try_folder(s, folder[i]))
            return true;
    return false;
}

static bool find(search *s)
{
    static const char *const versions[] = {"", ".13", ".12", ".11.2", ".11", ".9", ".8"};
    static const char *const folders[] = {
        "/usr/local/cuda/{lib64,targets/*/lib}",
        "/usr/local/cuda-*/{lib64,targets/*/lib}",
        "/opt/cuda*/{lib64,targets/*/lib}",
        "/usr/{lib,local/lib}/python3*/{site,dist}-packages/nvidia/*/lib",
    };
    ot_text_add(&s->looked, "the library path");
    for (int i = 0; i < OT_COUNT(versions); i++) {
        char name[128];
        snprintf(name, sizeof name, "lib%s.so%s", s->stem, versions[i]);
        if (try_file(s, name))
            return true;
    }
    if (try_home(s, "CUDA_HOME") || try_home(s, "CUDA_PATH"))
        return true;
    for (int i = 0; i < OT_COUNT(folders); i++)
        if (try_folder(s, folders[i]))
            return true;
    return try_python(s);
}

int ot_cuda_library_open(const char *stem, void **handle, char *path, size_t size,
                         optune_err *err)
{
    search s = {.stem = stem};
    int status = OPTUNE_OK;
    if (!find(&s))
        status = optune_fail(err, OPTUNE_ETOOL,
                             "no lib%s: looked in %s; install NVIDIA's package for it, or name "
                             "the toolkit's folder in CUDA_HOME",
                             stem, ot_text_str(&s.looked));
    else if (path)
        ot_copy(path, size, s.path);
    *handle = s.handle;
    ot_text_release(&s.looked);
    return status;
}

/* ---- once for the process ---------------------------------------------------------------- */

static int cuda_status, nvrtc_status, nvml_status;
static optune_err cuda_problem, nvrtc_problem, nvml_problem;
static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;
static pthread_once_t nvrtc_once = PTHREAD_ONCE_INIT;
static pthread_once_t nvml_once = PTHREAD_ONCE_INIT;

static char driver[PATH_MAX]; /* the file that was opened; empty: none */

static int try_driver(const char *file, optune_err *err)
{
    enum { STUB_LIBRARY = 34 };
    const char *const files[] = {file, NULL};
    const int status =
        ot_bind(files, "NVIDIA's driver", cuda_symbols, OT_COUNT(cuda_symbols), &cuda, err);
    if (status < 0)
        return status;
    const int rc = cuda.cuInit(0);
    if (!rc) {
        ot_copy(driver, sizeof driver, file);
        return OPTUNE_OK;
    }
    optune_fail(err, OPTUNE_ENODEV, "the driver does not start: %s", ot_cuda_error(rc));
    cuda = (ot_cuda){0};
    /* NVIDIA's libraries would take a stub that stays for the driver. */
    void *const again = rc == STUB_LIBRARY ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (int i = 0; i < 2 && again; i++)
        dlclose(again);
    return OPTUNE_ENODEV;
}

/* $OPTUNE_CUDA_DRIVER names the driver's file where it lies elsewhere, or a stand-in for tests. One
 * that is found first and does not start (the toolkit's stub, say) does not hide the next, unless
 * it ends the process; where none starts, why not is told rather than what is missing. */
static void open_cuda(void)
{
    const char *named = getenv("OPTUNE_CUDA_DRIVER");
    const char *const own[] = {named, NULL};
    const char *const *files = named && *named ? own : cuda_files;
    cuda_status =
        ot_driver_try("cuda", files, "OPTUNE_CUDA_DRIVER names another one", &cuda_problem);
    if (cuda_status < 0)
        return;
    cuda_status = OPTUNE_ETOOL;
    for (int i = 0; files[i] && cuda_status < 0; i++) {
        optune_err problem = {0};
        const int status = try_driver(files[i], &problem);
        if (i == 0 || status != OPTUNE_ETOOL) {
            cuda_status = status;
            cuda_problem = problem;
        }
    }
}

static void open_nvrtc(void)
{
    char path[PATH_MAX];
    void *handle;
    nvrtc_status = ot_cuda_library_open("nvrtc", &handle, path, sizeof path, &nvrtc_problem);
    const char *const files[] = {path, NULL};
    if (nvrtc_status >= 0)
        nvrtc_status = ot_bind(files, "NVRTC", nvrtc_symbols, OT_COUNT(nvrtc_symbols), &nvrtc,
                               &nvrtc_problem);
}

static void open_nvml(void)
{
    nvml_status = ot_bind(nvml_files, "NVIDIA's driver", nvml_symbols, OT_COUNT(nvml_symbols),
                          &nvml, &nvml_problem);
    if (nvml_status >= 0 && nvml.nvmlInit())
        nvml_status = optune_fail(&nvml_problem, OPTUNE_ETOOL, "NVML does not start");
}

int ot_cuda_open(const ot_cuda **api, optune_err *err)
{
    pthread_once(&cuda_once, open_cuda);
    if (cuda_status < 0)
        return optune_fail(err, OPTUNE_ENODEV,
                           "CUDA does not run here: %s; looked for it on the "
                           "library path, at %s and %s, and in OPTUNE_CUDA_DRIVER",
                           cuda_problem.text, cuda_files[1], cuda_files[2]);
    *api = &cuda;
    return OPTUNE_OK;
}

void *ot_cuda_entry(const char *name)
{
    void *const handle = driver[0] ? dlopen(driver, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    void *const found = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle); /* ot_bind keeps it */
    return found;
}

int ot_nvrtc_open(const ot_nvrtc **api, optune_err *err)
{
    pthread_once(&nvrtc_once, open_nvrtc);
    if (nvrtc_status < 0)
        return optune_fail(err, OPTUNE_ETOOL, "%s", nvrtc_problem.text);
    *api = &nvrtc;
    return OPTUNE_OK;
}

int ot_nvml_open(const ot_nvml **api, optune_err *err)
{
    pthread_once(&nvml_once, open_nvml);
    if (nvml_status < 0)
        return optune_fail(err, OPTUNE_ETOOL, "%s", nvml_problem.text);
    *api = &nvml;
    return OPTUNE_OK;
}

const char *ot_cuda_error(int code)
{
    const char *name = NULL;
    if (cuda.cuGetErrorName && cuda.cuGetErrorName(code, &name) == 0 && name)
        return name;
    return "a CUDA error";
}
