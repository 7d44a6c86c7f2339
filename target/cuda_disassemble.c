/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module uses, as ptxas said, and what its machine code tells where NVIDIA's nvdisasm is
 * here: a program of the toolkit, or of a package of Python's, that is started for each module.
 * Without it the lines are as they were, and one says why.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/cuda.h"
#include "target/sass/sass.h"

enum { LISTING_LIMIT = 64 << 20, LISTING_SECONDS = 20 };

static atomic_bool hangs; /* it did once, and is not waited for again */

/* ---- where it is -------------------------------------------------------------------------- */

static bool runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The newest: versions follow the name. */
static bool try_pattern(const char *pattern, char *path, size_t size)
{
    glob_t found = {0};
    bool there = false;
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !there;)
            there = runs(found.gl_pathv[i]) && ot_copy(path, size, found.gl_pathv[i]);
    globfree(&found);
    return there;
}

static bool try_home(const char *variable, char *path, size_t size)
{
    char file[PATH_MAX];
    const char *home = getenv(variable);
    if (!home || !*home)
        return false;
    snprintf(file, sizeof file, "%s/bin/nvdisasm", home);
    return runs(file) && ot_copy(path, size, file);
}

static bool try_python(char *path, size_t size)
{
    char place[2][OT_CUDA_PLACE];
    const int n = ot_cuda_python("bin/nvdisasm", place);
    for (int i = 0; i < n; i++)
        if (try_pattern(place[i], path, size))
            return true;
    return false;
}

int ot_cuda_disassembler(char *path, size_t size, optune_err *err)
{
    static const char *const patterns[] = {
        "/usr/local/cuda/bin/nvdisasm",
        "/usr/local/cuda-*/bin/nvdisasm",
        "/opt/cuda*/bin/nvdisasm",
        "/usr/{lib,local/lib}/python3*/{site,dist}-packages/nvidia/*/bin/nvdisasm",
    };
    const char *named = getenv("OPTUNE_NVDISASM");
    if (named && *named) {
        if (runs(named) && ot_copy(path, size, named))
            return OPTUNE_OK;
        return optune_fail(err, OPTUNE_ETOOL,
                           "OPTUNE_NVDISASM names '%.200s', which is no program", named);
    }
    if (ot_find_program("nvdisasm", path, size) || try_home("CUDA_HOME", path, size) ||
        try_home("CUDA_PATH", path, size))
        return OPTUNE_OK;
    for (int i = 0; i < OT_COUNT(patterns); i++)
        if (try_pattern(patterns[i], path, size))
            return OPTUNE_OK;
    if (try_python(path, size))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_ETOOL,
                       "no nvdisasm: it is in CUDA's toolkit and in Python's package "
                       "nvidia-cuda-nvdisasm; OPTUNE_NVDISASM names it elsewhere");
}

/* ---- the listing -------------------------------------------------------------------------- */

/* Ends it when its time is over or it has printed more than anybody reads. */
static int wait_for(pid_t pid, int fd, const char *program, optune_err *err)
{
    const double until = ot_now() + LISTING_SECONDS;
    const struct timespec pause = {0, 2000000};
    struct stat st;
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        const bool large = fstat(fd, &st) == 0 && st.st_size > LISTING_LIMIT;
        if (large || ot_now() > until) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            hangs = true;
            return optune_fail(err, OPTUNE_ETOOL, "'%s' %s", program,
                               large ? "prints without an end" : "does not end");
        }
        nanosleep(&pause, NULL);
    }
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return optune_fail(err, OPTUNE_ETOOL, "'%s' fails on this module", program);
    return OPTUNE_OK;
}

int ot_cuda_listing(const void *binary, size_t n, ot_text *listing, optune_err *err)
{
    char program[PATH_MAX], folder[PATH_MAX], module[PATH_MAX + 16], out[PATH_MAX + 16];
    int status = ot_cuda_disassembler(program, sizeof program, err);
    if (status >= 0 && hangs)
        status = optune_fail(err, OPTUNE_ETOOL, "'%s' did not end before", program);
    if (status >= 0)
        status = ot_temp_dir(folder, sizeof folder, err);
    if (status < 0)
        return status;
    snprintf(module, sizeof module, "%s/module.cubin", folder);
    snprintf(out, sizeof out, "%s/listing", folder);
    status = ot_write_file(module, binary, n, err);
    const int fd = status < 0 ? -1 : open(out, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (status >= 0 && fd < 0)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s'", out);
    if (status >= 0) {
        char *const argv[] = {program, "-c", "-hex", module, NULL};
        const int file[] = {-1, fd, -1};
        pid_t pid;
        if (ot_spawn(&pid, argv, NULL, file, OT_COUNT(file)))
            status = optune_fail(err, OPTUNE_ETOOL, "cannot start '%s'", program);
        else
            status = wait_for(pid, fd, program, err);
    }
    if (fd >= 0)
        close(fd);
    if (status >= 0)
        status = ot_read_file(out, listing, LISTING_LIMIT, err);
    ot_remove_tree(folder);
    return status;
}

/* ---- lines -------------------------------------------------------------------------------- */

static void add_figures(const char *listing, const char *name, size_t length, ot_text *to)
{
    ot_sass_code code = {0};
    bool found = false;
    while (!found && ot_sass_read(&listing, &code)) {
        found = (size_t)code.name.n == length && memcmp(code.name.s, name, length) == 0;
        if (found) {
            ot_sass_figures figures;
            ot_sass_figures_of(&code, &figures);
            ot_text_add(to, " machine_code");
            ot_sass_figures_print(&figures, to);
        }
    }
    ot_sass_release(&code);
}

void ot_cuda_add_figures(const char *lines, const char *listing, ot_text *to)
{
    static const char kernel[] = "kernel=";
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + sizeof kernel - 1;
        ot_text_add_n(to, line, strcspn(line, "\n"));
        if (strncmp(line, kernel, sizeof kernel - 1) == 0)
            add_figures(listing, name, strcspn(name, " \n"), to);
        ot_text_add(to, "\n");
    }
}

int ot_cuda_resources(const char *path, char *text, size_t size, optune_err *err)
{
    ot_text all = {0}, listing = {0}, lines = {0};
    const void *binary;
    size_t n = 0;
    optune_err unread = {0};
    int status = ot_gpu_module_resources(path, text, size, err);
    if (status >= 0)
        status = ot_gpu_module_read(path, &all, &binary, &n, err);
    if (status >= 0) {
        if (ot_cuda_listing(binary, n, &listing, &unread) >= 0) {
            ot_cuda_add_figures(text, ot_text_str(&listing), &lines);
        } else {
            ot_text_add(&lines, text);
            ot_text_printf(&lines, "unread=%s\n", unread.text);
        }
        if (!ot_copy(text, size, ot_text_str(&lines)))
            status = optune_fail(err, OPTUNE_ELIMIT, "'%s' has too many kernels", path);
    }
    ot_text_release(&all);
    ot_text_release(&listing);
    ot_text_release(&lines);
    return status;
}
