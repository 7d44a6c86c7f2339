/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library is, from a note of an earlier process: to ask costs a process that opens it.
 *
 * The one idea: the worker, which opens it, writes down with the answer where it came from: every
 * folder in which the loader looks, its cache, and every file that was open, as each was. The
 * answer holds while all of these are the same: a library that is installed, replaced, chosen
 * instead or taken away changes one of them. What the loader, a library or our own choice reads of
 * the environment, the worker program and the machine are the note's circumstances.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/note.h"
#include "target/library.h"

extern char **environ;

static const char note_name[] = "library";

/* ---- circumstances ----------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool add_environment(ot_text *to)
{
    static const char *const read_by_them[] = {
        "LD_",         "GLIBC_",
        "OPENBLAS_",   "GOTO_",
        "MKL_",        "BLIS_",
        "DNNL_",       "ONEDNN_",
        "OMP_",        "GOMP_",
        "KMP_",        "OPTUNE_CBLAS",
        "OPTUNE_DNNL", "OPTUNE_OPENBLAS_CORETYPE",
    };
    for (char **at = environ; at && *at; at++)
        for (int i = 0; i < OT_COUNT(read_by_them); i++)
            if (begins(*at, read_by_them[i])) {
                if (strchr(*at, '\n'))
                    return false;
                ot_text_printf(to, "\n%s", *at);
                break;
            }
    return true;
}

/* `program`: the worker that answers, which is this process or will be started. */
static bool circumstances(const char *library, const char *program, ot_text *to)
{
    ot_text_printf(to, "library=%s\nworker=", library);
    if (!ot_file_identity(program, to))
        return false;
    ot_text_add(to, "\n");
    return ot_cpu_machine(to) && add_environment(to);
}

/* ---- what was looked at ------------------------------------------------------------------ */

static void identify(const char *path, ot_text *to)
{
    if (!ot_file_identity(path, to))
        ot_text_add(to, "-");
}

/* A line for each, "identity path"; "-": there is none. One that is not absolute is looked at from
 * where those who ask are, as they start the worker there. */
static void add_path(ot_library_look *look, const char *path)
{
    ot_text line = {0};
    if (strpbrk(path, " \n")) { /* it could be the end of another one */
        look->told = false;
        return;
    }
    ot_text_printf(&line, " %s\n", path);
    if (!strstr(ot_text_str(&look->seen), line.s)) {
        identify(path, &look->seen);
        ot_text_add(&look->seen, line.s);
    }
    ot_text_release(&line);
}

/* With those of its folders in which the loader looks first. */
static void add_folder(ot_library_look *look, const char *path)
{
    static const char *const old[] = {"tls", "haswell", "xeon_phi", "avx512_1", "x86_64"};
    ot_text inner = {0};
    add_path(look, path);
    for (int i = 0; i < OT_COUNT(old); i++) {
        ot_text_clear(&inner);
        ot_text_printf(&inner, "%s/%s", path, old[i]);
        if (ot_exists(inner.s)) /* glibc until 2.36: these within each other, too */
            look->told = false;
    }
    ot_text_clear(&inner);
    ot_text_printf(&inner, "%s/glibc-hwcaps", path);
    DIR *folder = opendir(inner.s);
    if (folder)
        add_path(look, inner.s);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        ot_text level = {0};
        ot_text_printf(&level, "%s/%s", inner.s, entry->d_name);
        if (entry->d_name[0] != '.')
            add_path(look, level.s);
        ot_text_release(&level);
    }
    if (folder)
        closedir(folder);
    ot_text_release(&inner);
}

/* Where the loader looks for what this one needs, or opens. */
static void add_places(ot_library_look *look, void *handle)
{
    Dl_serinfo size, *all = NULL;
    if (handle && dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
        all = ot_alloc(size.dls_size);
        *all = size;
    }
    if (!all || dlinfo(handle, RTLD_DI_SERINFO, all) < 0)
        look->told = false;
    else
        for (unsigned i = 0; i < all->dls_cnt; i++)
            add_folder(look,
                       *all->dls_serpath[i].dls_name ? all->dls_serpath[i].dls_name : ".");
    free(all);
}

static int add_open_file(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (info->dlpi_name && strchr(info->dlpi_name, '/'))
        ot_text_printf(arg, "%s%c", info->dlpi_name, 0);
    return 0;
}

void ot_library_look_begin(ot_library_look *look, const char *library)
{
    *look = (ot_library_look){0};
    look->told = circumstances(library, "/proc/self/exe", &look->as);
    void *self = look->told ? dlopen(NULL, RTLD_LAZY) : NULL;
    look->told = self != NULL;
    if (!self)
        return;
    add_path(look, "/etc/ld.so.cache");
    add_path(look, "/etc/ld.so.preload");
    add_places(look, self);
    dlclose(self);
}

/* What reads files of its own may be another one tomorrow. */
static bool tells_by_itself(const ot_library_identity *is)
{
    static const char *const kind[] = {"OpenBLAS", "MKL",    "BLIS",
                                       "ATLAS",    "oneDNN", "reference BLAS"};
    for (int i = 0; i < OT_COUNT(kind); i++)
        if (strcmp(is->name, kind[i]) == 0)
            return true;
    return false;
}

void ot_library_look_opened(ot_library_look *look, const ot_library_identity *is)
{
    ot_text open = {0};
    look->told = look->told && tells_by_itself(is);
    if (look->told)
        dl_iterate_phdr(add_open_file, &open);
    for (size_t at = 0; at < open.n; at += strlen(open.s + at) + 1) {
        add_path(look, open.s + at);
        void *handle = dlopen(open.s + at, RTLD_LAZY | RTLD_NOLOAD);
        add_places(look, handle);
        if (handle)
            dlclose(handle);
    }
    ot_text_release(&open);
}

void ot_library_look_failed(ot_library_look *look, const char *file, const char *why)
{
    ot_text absent = {0};
    ot_text_printf(&absent, "%s: cannot open shared object file: No such file or directory",
                   file);
    look->told = look->told && strcmp(why, absent.s) == 0;
    if (strchr(file, '/'))
        add_path(look, file);
    ot_text_release(&absent);
}

void ot_library_look_end(ot_library_look *look, int status, const char *said)
{
    if (look->told && (status == OPTUNE_OK || status == OPTUNE_ENODEV)) {
        ot_text all = {0};
        ot_text_printf(&all, "%s\n%s\n%s", status < 0 ? "absent" : "present",
                       ot_text_str(&look->seen), said);
        ot_note_write(note_name, look->as.s, all.s);
        ot_text_release(&all);
    }
    ot_text_release(&look->as);
    ot_text_release(&look->seen);
}

/* ---- noted ------------------------------------------------------------------------------- */

/* Whether all lines say what is there now; `*said`: the text behind them. */
static bool unchanged(char *line, const char **said)
{
    ot_text now = {0};
    bool same = true;
    while (same && *line && *line != '\n') {
        char *end = strchr(line, '\n'), *path = strchr(line, ' ');
        same = end && path && path < end;
        if (!same)
            break;
        *end = '\0';
        *path = '\0';
        ot_text_clear(&now);
        identify(path + 1, &now);
        same = strcmp(now.s, line) == 0;
        line = end + 1;
    }
    ot_text_release(&now);
    *said = line + 1;
    return same && *line == '\n';
}

bool ot_library_noted(const char *library, const char *program, int *status, char *text,
                      size_t size)
{
    static const char present[] = "present\n", absent[] = "absent\n";
    ot_text as = {0}, note = {0};
    const char *said;
    bool good = circumstances(library, program, &as) && ot_note_read(note_name, as.s, &note);
    const bool here = good && begins(note.s, present);
    good = good && (here || begins(note.s, absent)) &&
           unchanged(note.s + strlen(here ? present : absent), &said) && *said &&
           ot_copy(text, size, said);
    if (good)
        *status = here ? OPTUNE_OK : OPTUNE_ENODEV;
    ot_text_release(&as);
    ot_text_release(&note);
    return good;
}
