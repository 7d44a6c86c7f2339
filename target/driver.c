/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a driver can be opened at all. One that crashes or hangs as it starts must not take a
 * compiler that links this library with it, so the worker program opens it first, as it does each
 * library of host code (library_note.c).
 *
 * The one idea: that it went well is noted and believed until something that decides which driver
 * it is has changed: a process is spent once, not in each command. That it did not is never noted.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/note.h"
#include "target/driver.h"

extern char **environ;

static bool expendable;

void ot_driver_expendable(void)
{
    expendable = true;
}

/* ---- circumstances ----------------------------------------------------------------------- */

void ot_driver_registered(const char **place, glob_t *file)
{
    char pattern[4096];
    *place = getenv("OCL_ICD_VENDORS");
    if (!*place || !**place)
        *place = "/etc/OpenCL/vendors";
    snprintf(pattern, sizeof pattern, "%s/*.icd", *place);
    glob(pattern, 0, NULL, file);
}

static bool add_environment(ot_text *to)
{
    static const char *const read_by_them[] = {
        "LD_", "OCL_", "OPENCL_", "POCL_", "CUDA_", "OPTUNE_CUDA_DRIVER=", "HSA_", "ROCR_",
    };
    for (char **at = environ; at && *at; at++)
        for (int i = 0; i < OT_COUNT(read_by_them); i++)
            if (strncmp(*at, read_by_them[i], strlen(read_by_them[i])) == 0) {
                if (strchr(*at, '\n'))
                    return false;
                ot_text_printf(to, "\n%s", *at);
                break;
            }
    return true;
}

/* Each file, "identity path"; "-": it is not there. */
static void add_file(const char *path, ot_text *to)
{
    ot_text_add(to, "\n");
    if (!ot_file_identity(path, to))
        ot_text_add(to, "-");
    ot_text_printf(to, " %s", path);
}

/* What the first line of a driver's file for OpenCL's loader names; empty: nothing, or by a name
 * that the loader's cache knows. */
static void named_by(const char *icd, char *path, size_t size)
{
    FILE *f = fopen(icd, "re");
    if (!f || !fgets(path, (int)size, f) || *path != '/')
        *path = '\0';
    path[strcspn(path, "\r\n")] = '\0';
    if (f)
        fclose(f);
}

/* The module of NVIDIA's in the kernel says which one it is. */
static void add_kernel_module(ot_text *to)
{
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "re");
    if (f && !fgets(line, sizeof line, f))
        *line = '\0';
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = '\0';
    ot_text_printf(to, "\n%s", line);
}

/* False: it cannot be told. The loader's cache is another one after each package. */
static bool circumstances(const char *target, const char *program, const char *const *files,
                          ot_text *to)
{
    const char *place;
    char named[4096];
    glob_t file = {0};
    bool told = true;
    ot_text_printf(to, "driver=%s", target);
    add_file(program, to);
    add_file("/etc/ld.so.cache", to);
    for (int i = 0; files && files[i]; i++)
        if (strchr(files[i], '/'))
            add_file(files[i], to);
    ot_driver_registered(&place, &file);
    for (size_t i = 0; i < file.gl_pathc; i++) {
        told = told && !strchr(file.gl_pathv[i], '\n');
        add_file(file.gl_pathv[i], to);
        named_by(file.gl_pathv[i], named, sizeof named);
        if (*named)
            add_file(named, to);
    }
    globfree(&file);
    add_kernel_module(to);
    ot_text_add(to, "\n");
    return told && ot_cpu_machine(to) && add_environment(to);
}

/* ---- asking ------------------------------------------------------------------------------ */

static const char tries[] = "tries\n", starts[] = "starts\n";

int ot_driver_tried(const char *target)
{
    optune_target parsed;
    optune_device device;
    optune_err err = {0};
    fputs(tries, stdout);
    fflush(stdout);
    /* What it is does not matter, only that this process is still there behind it. */
    if (ot_target_parse(target, &parsed, &err) >= 0)
        ot_target_probe(&parsed, &device, &err);
    fputs(starts, stdout);
    fflush(stdout);
    return 0;
}

static bool ends_with(const ot_text *text, const char *end)
{
    const size_t n = strlen(end);
    return text->n >= n && memcmp(text->s + text->n - n, end, n) == 0;
}

int ot_driver_try(const char *target, const char *const *files, const char *remedy,
                  optune_err *err)
{
    enum { LIMIT_S = 60 };
    static const char note_name[] = "driver";
    char program[4096], option[] = "--driver", name[OPTUNE_NAME_SIZE];
    ot_text as = {0}, said = {0};
    optune_err why = {0};
    int status = OPTUNE_OK;
    if (expendable || ot_worker_program(program, sizeof program, NULL) < 0)
        return OPTUNE_OK; /* without a worker nothing is ever run on it */
    const bool told = circumstances(target, program, files, &as);
    if (!told || !ot_note_read(note_name, as.s, &said)) {
        ot_copy(name, sizeof name, target);
        char *argv[] = {program, option, name, NULL};
        if (ot_run_program(argv, LIMIT_S, &said, &why) >= 0)
            snprintf(why.text, sizeof why.text, "'%.900s' ended", program);
        /* One that could not begin says nothing of a driver. */
        const char *at = said.n ? strstr(said.s, tries) : NULL;
        const bool well = at && ends_with(&said, starts);
        if (well && told)
            ot_note_write(note_name, as.s, starts);
        if (at && !well) {
            const char *word = at + strlen(tries);
            const int n = (int)strcspn(word, "\n");
            status = optune_fail(
                err, OPTUNE_ENODEV, "a driver of %s does not survive its start: %s%s%.*s%s; %s",
                target, why.text, n ? " after it said '" : "", n, word, n ? "'" : "", remedy);
        }
    }
    ot_text_release(&as);
    ot_text_release(&said);
    return status;
}
