/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of an emitted graph. All of it is written beside the folder's place and moved there
 * when it is whole, so that neither a full disk nor Ctrl-C leaves half of one. What is there
 * already is replaced only when it was written here: emitted.json names what was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/emit_graph.h"
#include "answer/emitted_weights.h"

#define MARK "emitted.json"
enum { MOST_MARK = 64 << 20 };

/* ---- writing ------------------------------------------------------------------------------ */

static int write_text(const char *dir, const ot_text *path, const ot_text *text, json_t *files,
                      optune_err *err)
{
    ot_text full = {0};
    ot_text_printf(&full, "%s/%s", dir, ot_text_str(path));
    const int status = ot_write_file(ot_text_str(&full), ot_text_str(text), text->n, err);
    json_array_append_new(files, json_string(ot_text_str(path)));
    ot_text_release(&full);
    return status;
}

static int write_texts(const ot_emission *e, const char *dir, json_t *files, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < OT_EMITTED_TEXTS && status >= 0; i++) {
        ot_text path = {0}, text = {0};
        ot_emitted_path(e, i, &path);
        ot_emitted_fill(e, i, &text);
        status = write_text(dir, &path, &text, files, err);
        ot_text_release(&path);
        ot_text_release(&text);
    }
    for (int i = 0; i < e->n_kernels; i++)
        for (int m = 0; m < e->kernel[i].source.plan->n_modules && status >= 0; m++) {
            ot_text path = {0}, text = {0};
            ot_emitted_kernel_path(e, i, m, &path);
            ot_emitted_kernel_text(e, i, m, &text);
            status = write_text(dir, &path, &text, files, err);
            ot_text_release(&path);
            ot_text_release(&text);
            if (status >= 0 && ot_context_stopped(e->partition->o))
                status = optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        }
    return status;
}

/* The elements of a constant with the zeros behind them, in pieces of whole checksum words. */
typedef int take_piece(void *arg, const void *data, size_t bytes);

static int each_piece(const ot_emission *e, take_piece *take, void *arg, optune_err *err)
{
    int status = 0;
    for (int i = 0; i < e->n_weights && status == 0; i++) {
        const ot_node *node = &e->graph->node[e->weight[i]];
        const size_t bytes = (size_t)optune_tensor_bytes(&node->out[0]);
        const size_t whole = bytes / WEIGHTS_ALIGNMENT * WEIGHTS_ALIGNMENT;
        char rest[WEIGHTS_ALIGNMENT] = {0};
        const void *data = NULL;
        status = ot_graph_hold(e->graph, e->weight[i], &data, err);
        if (status < 0)
            return status;
        memcpy(rest, (const char *)data + whole, bytes - whole);
        for (size_t at = 0; at < whole && status == 0;) {
            const size_t n = whole - at < (size_t)16 << 20 ? whole - at : (size_t)16 << 20;
            status = take(arg, (const char *)data + at, n);
            at += n;
        }
        if (status == 0 && bytes > whole)
            status = take(arg, rest, sizeof rest);
        ot_graph_let_go(e->graph, e->weight[i]);
        if (ot_context_stopped(e->partition->o))
            status = OPTUNE_EINTERRUPTED;
    }
    return status;
}

static int sum_piece(void *arg, const void *data, size_t bytes)
{
    weights_checksum(data, bytes, arg);
    return 0;
}

static int write_piece(void *arg, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, arg) == bytes ? 0 : OPTUNE_EIO;
}

static int write_weights(const ot_emission *e, const char *dir, json_t *files, optune_err *err)
{
    struct weights_header header = {.magic = WEIGHTS_MAGIC,
                                    .version = WEIGHTS_VERSION,
                                    .order = WEIGHTS_ORDER,
                                    .bytes = (uint64_t)e->weights_bytes,
                                    .layout = e->layout};
    ot_text path = {0}, name = {0};
    ot_text_printf(&name, "%s.weights", e->name);
    ot_text_printf(&path, "%s/%s", dir, ot_text_str(&name));
    json_array_append_new(files, json_string(ot_text_str(&name)));
    optune_err inner = {0};
    int status = each_piece(e, sum_piece, header.checksum, &inner);
    FILE *file = status < 0 ? NULL : fopen(ot_text_str(&path), "wb");
    if (status >= 0)
        status = file ? write_piece(file, &header, sizeof header) : OPTUNE_EIO;
    if (status >= 0)
        status = each_piece(e, write_piece, file, &inner);
    if (status >= 0 && (fflush(file) != 0 || fsync(fileno(file)) != 0))
        status = OPTUNE_EIO;
    const int why = errno;
    if (file && fclose(file) != 0 && status >= 0)
        status = OPTUNE_EIO;
    if (status == OPTUNE_EINTERRUPTED)
        optune_fail(err, status, "interrupted");
    else if (inner.status < 0)
        optune_fail(err, status, "%s", inner.text);
    else if (status < 0)
        optune_fail(err, status, "cannot write '%s': %s", ot_text_str(&path), strerror(why));
    ot_text_release(&path);
    ot_text_release(&name);
    return status;
}

static int write_mark(const ot_emission *e, const char *dir, json_t *files, optune_err *err)
{
    ot_text path = {0}, text = {0};
    json_t *json = ot_emitted_json(e);
    ot_text_add(&path, MARK);
    json_t *all = json_copy(files);
    json_array_append_new(all, json_string(MARK));
    json_object_set_new(json, "files", all);
    char *dump = json_dumps(json, JSON_INDENT(1));
    ot_text_printf(&text, "%s\n", dump);
    free(dump);
    json_decref(json);
    const int status = write_text(dir, &path, &text, files, err);
    ot_text_release(&path);
    ot_text_release(&text);
    return status;
}

static int write_folder(const ot_emission *e, const char *dir, json_t *files, optune_err *err)
{
    ot_text kernels = {0};
    ot_text_printf(&kernels, "%s/kernels", dir);
    int status = ot_make_dirs(ot_text_str(&kernels), err);
    if (status >= 0)
        status = write_texts(e, dir, files, err);
    if (status >= 0)
        status = write_weights(e, dir, files, err);
    if (status >= 0)
        status = write_mark(e, dir, files, err);
    ot_text_release(&kernels);
    return status;
}

/* ---- what is there already ------------------------------------------------------------------ */

static bool is_listed(const json_t *list, const char *path)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && strcmp(one, path) == 0)
            return true;
    }
    return false;
}

/* The first file in a folder, or in its kernels/, that is not listed; a folder `build` is what
 * building leaves. False: there is none. */
static bool find_other(const char *dir, const char *below, const json_t *list, ot_text *other)
{
    ot_text path = {0};
    bool found = false;
    ot_text_printf(&path, "%s/%s", dir, below);
    DIR *open = opendir(ot_text_str(&path));
    for (struct dirent *entry; open && !found && (entry = readdir(open));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s%s", below, name);
        if (!*below && !strcmp(name, "kernels") && json_array_size(list))
            found = find_other(dir, "kernels/", list, other);
        else if (!is_listed(list, ot_text_str(&path)) &&
                 (*below || strcmp(name, "build") || !json_array_size(list))) {
            ot_text_add(other, ot_text_str(&path));
            found = true;
        }
    }
    if (open)
        closedir(open);
    ot_text_release(&path);
    return found;
}

/* The files that were written here earlier; empty: none. A new reference. */
static json_t *listed(const char *dir)
{
    ot_text path = {0}, text = {0};
    json_t *list = NULL;
    ot_text_printf(&path, "%s/%s", dir, MARK);
    if (ot_read_file(ot_text_str(&path), &text, MOST_MARK, NULL) >= 0) {
        json_t *json = json_loads(ot_text_str(&text), 0, NULL);
        const char *by = json_string_value(json_object_get(json, "written_by"));
        if (by && strcmp(by, "optune emit --graph") == 0)
            list = json_incref(json_object_get(json, "files"));
        json_decref(json);
    }
    ot_text_release(&path);
    ot_text_release(&text);
    return json_is_array(list) ? list : json_array();
}

/* ---- moving ------------------------------------------------------------------------------- */

static int refuse(const char *what, const char *path, optune_err *err)
{
    return optune_fail(err, OPTUNE_EIO, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* Each file by itself, into a folder with files of others; what was written earlier and is not
 * written now goes. */
static int move_into(const char *fresh, const char *dir, const json_t *files, const json_t *old,
                     optune_err *err)
{
    ot_text from = {0}, to = {0};
    int status = OPTUNE_OK;
    ot_text_printf(&to, "%s/kernels", dir);
    status = ot_make_dirs(ot_text_str(&to), err);
    for (size_t i = 0; i < json_array_size(files) && status >= 0; i++) {
        const char *path = json_string_value(json_array_get(files, i));
        ot_text_clear(&from);
        ot_text_clear(&to);
        ot_text_printf(&from, "%s/%s", fresh, path);
        ot_text_printf(&to, "%s/%s", dir, path);
        if (rename(ot_text_str(&from), ot_text_str(&to)) < 0)
            status = refuse("replace", ot_text_str(&to), err);
    }
    for (size_t i = 0; i < json_array_size(old) && status >= 0; i++) {
        const char *path = json_string_value(json_array_get(old, i));
        if (!path || is_listed(files, path) || path[0] == '/' || strstr(path, ".."))
            continue;
        ot_text_clear(&to);
        ot_text_printf(&to, "%s/%s", dir, path);
        unlink(ot_text_str(&to));
    }
    ot_text_release(&from);
    ot_text_release(&to);
    return status;
}

/* In one step where the system has one. The old folder is `fresh` then. */
static int exchange(const char *fresh, const char *dir, optune_err *err)
{
    if (renameat2(AT_FDCWD, fresh, AT_FDCWD, dir, RENAME_EXCHANGE) == 0)
        return OPTUNE_OK;
    ot_text old = {0};
    int status = OPTUNE_OK;
    ot_text_printf(&old, "%s.old", fresh);
    if (rename(dir, ot_text_str(&old)) < 0)
        status = refuse("replace", dir, err);
    else if (rename(fresh, dir) < 0) {
        status = refuse("replace", dir, err);
        rename(ot_text_str(&old), dir);
    } else if (rename(ot_text_str(&old), fresh) < 0) {
        status = refuse("move away", ot_text_str(&old), err);
    }
    ot_text_release(&old);
    return status;
}

/* A folder that somebody stands in stays the one it is. */
static bool is_where_we_are(const char *dir)
{
    char *here = realpath(".", NULL);
    const size_t n = strlen(dir);
    const bool inside =
        here && strncmp(here, dir, n) == 0 && (here[n] == '\0' || here[n] == '/');
    free(here);
    return inside;
}

/* 1: it has files of others, and may be written into. */
static int look_at(const char *dir, bool force, const json_t *old, optune_err *err)
{
    ot_text other = {0};
    int status = find_other(dir, "", old, &other) ? 1 : OPTUNE_OK;
    if (status == 1 && !force)
        status = optune_fail(err, OPTUNE_EUSAGE,
                             "'%s' has '%s', which optune did not write: --force writes beside "
                             "what is there, and over what has the same name",
                             dir, ot_text_str(&other));
    ot_text_release(&other);
    return status;
}

static int settle(const char *fresh, const char *dir, bool force, const json_t *files,
                  optune_err *err)
{
    if (!ot_exists(dir))
        return rename(fresh, dir) < 0 ? refuse("make", dir, err) : OPTUNE_OK;
    json_t *old = listed(dir);
    int status = look_at(dir, force, old, err);
    if (status >= 0)
        status = status == 1 || is_where_we_are(dir) ? move_into(fresh, dir, files, old, err)
                                                     : exchange(fresh, dir, err);
    json_decref(old);
    return status;
}

/* The folder's own path, links followed; what is in front of it is made. free() it. */
static char *place_of(const char *dir, optune_err *err)
{
    char *there = realpath(dir, NULL), *copy = ot_strdup(dir), *parent = NULL;
    ot_text path = {0};
    struct stat info;
    if (there && (stat(there, &info) < 0 || !S_ISDIR(info.st_mode))) {
        optune_fail(err, OPTUNE_EIO, "'%s' is no directory", dir);
        free(there);
        there = NULL;
    } else if (!there) {
        size_t n = strlen(copy);
        while (n > 1 && copy[n - 1] == '/')
            copy[--n] = '\0';
        char *base = strrchr(copy, '/');
        if (base)
            *base++ = '\0';
        const char *front = !base ? "." : *copy ? copy : "/";
        if (!*dir)
            optune_fail(err, OPTUNE_EUSAGE, "the directory has no name");
        else if (ot_make_dirs(front, err) >= 0 && !(parent = realpath(front, NULL)))
            refuse("find", front, err);
        if (parent)
            ot_text_printf(&path, "%s/%s", strcmp(parent, "/") ? parent : "",
                           base ? base : copy);
        there = path.s;
    }
    free(parent);
    free(copy);
    return there;
}

int ot_emitted_write(const ot_emission *e, const char *dir, bool force, json_t *files,
                     optune_err *err)
{
    optune_err why = {0};
    char *place = place_of(dir, &why);
    ot_text fresh = {0};
    int status = OPTUNE_OK;
    if (!place)
        return optune_fail(err, why.status, "%s", why.text);
    json_t *old = listed(place);
    status = look_at(place, force, old, err);
    json_decref(old);
    if (status < 0) {
        free(place);
        return status;
    }
    const char *base = strrchr(place, '/');
    ot_text_printf(&fresh, "%.*s/.%s.XXXXXX", (int)(base - place), place, base + 1);
    if (!mkdtemp(fresh.s)) {
        status = refuse("write beside", place, err);
    } else {
        const mode_t mask = umask(0);
        umask(mask);
        chmod(fresh.s, 0777 & ~mask);
        status = write_folder(e, fresh.s, files, err);
        if (status >= 0)
            status = settle(fresh.s, place, force, files, err);
        ot_remove_tree(fresh.s);
    }
    ot_text_release(&fresh);
    free(place);
    return status;
}
