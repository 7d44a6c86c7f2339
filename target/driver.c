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

/* False: it cannot be told. The loader's cache is another one after each package. */
static bool circumstances(const char *target, const char *program, ot_text *to)
{
    const char *place, *named = getenv("OPTUNE_CUDA_DRIVER");
    glob_t file = {0};
    ot_text_printf(to, "driver=%s", target);
    add_file(program, to);
    add_file("/etc/ld.so.cache", to);
    if (named && *named)
        add_file(named, to);
    ot_driver_registered(&place, &file);
    bool told = true;
    for (size_t i = 0; i < file.gl_pathc; i++) {
        told = told && !strchr(file.gl_pathv[i], '\n');
        add_file(file.gl_pathv[i], to);
    }
    globfree(&file);
    ot_text_add(to, "\n");
    return told && ot_cpu_machine(to) && add_environment(to);
}

/* ---- asking ------------------------------------------------------------------------------ */

int ot_driver_try(const char *target, const char *remedy, optune_err *err)
{
    enum { LIMIT_S = 60 };
    static const char note_name[] = "driver";
    char program[4096], option[] = "--driver", name[OPTUNE_NAME_SIZE];
    ot_text as = {0}, said = {0};
    optune_err why = {0};
    int status = OPTUNE_OK;
    if (expendable || ot_worker_program(program, sizeof program, NULL) < 0)
        return OPTUNE_OK; /* without a worker nothing is ever run on it */
    const bool told = circumstances(target, program, &as);
    if (!told || !ot_note_read(note_name, as.s, &said)) {
        ot_copy(name, sizeof name, target);
        char *argv[] = {program, option, name, NULL};
        status = ot_run_program(argv, LIMIT_S, &said, &why);
        if (status >= 0 && told)
            ot_note_write(note_name, as.s, "starts\n");
    }
    if (status < 0) {
        const int line = (int)strcspn(ot_text_str(&said), "\n");
        status = optune_fail(err, OPTUNE_ENODEV,
                             "a driver of %s does not survive its start: %s%s%.*s%s; %s",
                             target, why.text, line ? " after it said '" : "", line,
                             ot_text_str(&said), line ? "'" : "", remedy);
    }
    ot_text_release(&as);
    ot_text_release(&said);
    return status;
}
