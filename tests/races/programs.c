/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. A binary is a shared object that clang makes of a body, with words.h in front, linked
 * with this library for the functions it calls. A loaded one lies in memory, so that nothing is
 * left behind by a process that is killed.
 */
#include "races.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* clang-format off */
static const char *const clang_words[] = {
    "-x", "cl", "-Xclang", "-finclude-default-header", "-Xclang", "-cl-ext=+all",
    "-D__OPENCL_VERSION__=120", "-Dcl_khr_fp64=1", "-include", RACES_WORDS, "-w", "-O1",
    "-gline-tables-only", "-fPIC", "-shared"};
/* The calls are asked of clang's inner program: the outer one would link a runtime. */
static const char *const watching_words[] = {
    "-fno-vectorize", "-fno-slp-vectorize", "-Xclang", "-fsanitize=thread",
    "-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset"};
/* clang-format on */

bool races_find_clang(char *path, size_t size)
{
    char name[16] = "clang";
    bool found = ot_find_program(name, path, size);
    for (int v = 19; v >= 14 && !found; v--) {
        snprintf(name, sizeof name, "clang-%d", v);
        found = ot_find_program(name, path, size);
    }
    return found;
}

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **text,
                                     const size_t *length, cl_int *rc)
{
    cl_program p = ot_alloc(sizeof *p);
    *p = (struct cl_program_tag){.source = strdup(text[0]), .file = -1};
    *rc = CL_SUCCESS;
    return p;
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *id,
                                     const size_t *length, const unsigned char **binary,
                                     cl_int *each, cl_int *rc)
{
    cl_program p = ot_alloc(sizeof *p);
    *p = (struct cl_program_tag){.binary = ot_alloc(*length + 1), .size = *length, .file = -1};
    memcpy(p->binary, binary[0], *length);
    *each = *rc = CL_SUCCESS;
    return p;
}

static int compile(cl_program p, const char *options, const char *dir, optune_err *err)
{
    char clang[4096], source[4200], module[4200];
    Dl_info self;
    optune_argv argv = {0};
    ot_text binary = {0};
    snprintf(source, sizeof source, "%s/body.cl", dir);
    snprintf(module, sizeof module, "%s/body.so", dir);
    int status = ot_write_file(source, p->source, strlen(p->source), err);
    if (!races_find_clang(clang, sizeof clang) || !dladdr((void *)clang_words, &self) ||
        status < 0)
        return OPTUNE_ETOOL;
    optune_argv_add(&argv, clang);
    for (int i = 0; i < OT_COUNT(clang_words); i++)
        optune_argv_add(&argv, clang_words[i]);
    for (int i = 0; races_watched() && i < OT_COUNT(watching_words); i++)
        optune_argv_add(&argv, watching_words[i]);
    char *kept = strdup(options), *rest;
    for (char *word = strtok_r(kept, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (strcmp(word, "-cl-opt-disable"))
            optune_argv_add(&argv, word);
    free(kept);
    optune_argv_add(&argv, source);
    for (const char *const *word =
             (const char *const[]){"-x", "none", self.dli_fname, "-o", NULL};
         *word; word++)
        optune_argv_add(&argv, *word);
    optune_argv_add(&argv, module);
    status = ot_run_program(argv.word, 300, &p->log, err);
    optune_argv_release(&argv);
    if (status >= 0)
        status = ot_read_file(module, &binary, (size_t)64 << 20, err);
    p->binary = binary.s;
    p->size = binary.n;
    return status;
}

/* The module's variables without a value are shared memory. */
static int find_variables(struct dl_phdr_info *info, size_t n, void *user)
{
    cl_program p = user;
    if (info->dlpi_addr != p->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && h->p_flags & PF_W) {
            p->first = info->dlpi_addr + h->p_vaddr + h->p_filesz;
            p->last = info->dlpi_addr + h->p_vaddr + h->p_memsz;
        }
    }
    return 1;
}

static cl_int load(cl_program p)
{
    char path[64];
    struct link_map *m;
    p->file = memfd_create("races", MFD_CLOEXEC);
    if (p->file < 0 || write(p->file, p->binary, p->size) != (ssize_t)p->size)
        return RACES_NO_BINARY;
    snprintf(path, sizeof path, "/proc/self/fd/%d", p->file);
    p->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!p->module) {
        fprintf(stderr, "races: %s\n", dlerror());
        return RACES_NO_BINARY;
    }
    if (dlinfo(p->module, RTLD_DI_LINKMAP, &m))
        return RACES_NO_BINARY;
    p->base = m->l_addr;
    dl_iterate_phdr(find_variables, p);
    return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *id, const char *options,
                      void (*notify)(cl_program, void *), void *user)
{
    char dir[4096];
    optune_err err = {0};
    if (!p->source)
        return load(p);
    int status = ot_temp_dir(dir, sizeof dir, &err);
    if (status >= 0) {
        status = compile(p, options, dir, &err);
        ot_remove_tree(dir);
    }
    return status < 0 ? RACES_NO_BUILD : CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program p, cl_uint what, size_t size, void *to, size_t *needs)
{
    if (what == CL_PROGRAM_BINARY_SIZES)
        return races_give(&p->size, sizeof p->size, size, to, needs);
    memcpy(*(void **)to, p->binary, p->size);
    return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id id, cl_uint what, size_t size, void *to,
                             size_t *needs)
{
    return races_give_text(ot_text_str(&p->log), size, to, needs);
}

cl_int clReleaseProgram(cl_program p)
{
    if (p->module)
        dlclose(p->module);
    if (p->file >= 0)
        close(p->file);
    if (p->bytes)
        munmap(p->bytes, (p->last - p->first) * sizeof *p->bytes);
    ot_text_release(&p->log);
    free(p->source);
    free(p->binary);
    free(p);
    return CL_SUCCESS;
}
