/* SPDX-License-Identifier: Apache-2.0 */
/* The build command is taken from the source's own comment. */
#include "support/emitted.h"

#include "support/check.h"

#include <dlfcn.h>

#include "support/tuning.h"

/* What is emitted is compiled without sanitizers, once more: where there are some, quickly. It
 * stands behind other flags. */
#ifdef __SANITIZE_ADDRESS__
#define QUICKLY "-Og"
#else
#define QUICKLY ""
#endif

int emitted_command(const char *dir, const char *words, ot_text *said)
{
    char script[4096];
    ot_text own = {0};
    optune_err err = {0};
    snprintf(script, sizeof script, "cd '%s' && %s%s", tuning_path(dir),
             *QUICKLY ? "export MAKEFLAGS='EXTRA=" QUICKLY "' && " : "", words);
    char *argv[] = {"env",         "-i", "PATH=/usr/local/bin:/usr/bin:/bin",
                    "TMPDIR=/tmp", "sh", "-c",
                    script,        NULL};
    const int status = ot_run_program(argv, 300, &own, &err);
    if (said) {
        ot_text_clear(said);
        ot_text_add(said, ot_text_str(&own));
    } else if (status < 0) {
        print_error("%s: %s\n%s\n", words, err.text, ot_text_str(&own));
    }
    ot_text_release(&own);
    return status;
}

void emitted_build(const char *dir, const char *name, const char *const *more)
{
    enum { WORDS = 64 };
    char path[1400], quickly[] = QUICKLY, *argv[WORDS], *rest = NULL;
    int n = 0;
    ot_text source = {0}, said = {0};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s.c", tuning_path(dir), name);
    check_ok(ot_read_file(path, &source, 1 << 24, &err));
    char *command = strstr(source.s, "Build: ");
    assert_non_null(command);
    command += strlen("Build: ");
    command[strcspn(command, "\n")] = 0;
    argv[n++] = (char[]){"env"};
    argv[n++] = (char[]){"-i"};
    argv[n++] = (char[]){"PATH=/usr/local/bin:/usr/bin:/bin"};
    for (char *word = strtok_r(command, " ", &rest); word && n < WORDS / 2;
         word = strtok_r(NULL, " ", &rest))
        argv[n++] = word;
    assert_string_equal(argv[3], "cc");
    argv[n++] = path;
    if (*quickly)
        argv[n++] = quickly;
    for (int i = 0; more[i]; i++)
        argv[n++] = (char *)(uintptr_t)more[i];
    argv[n] = NULL;
    const int status = ot_run_program(argv, 120, &said, &err);
    if (status < 0)
        print_error("%s\n%s\n", err.text, ot_text_str(&said));
    assert_int_equal(status, OPTUNE_OK);
    ot_text_release(&source);
    ot_text_release(&said);
}

static void *symbol(const emitted *k, const char *name, const char *suffix)
{
    char full[256];
    snprintf(full, sizeof full, "%s_%s", name, suffix);
    void *address = dlsym(k->object, full);
    assert_non_null(address);
    return address;
}

void emitted_load(emitted *k, const char *dir, const char *name)
{
    char out[1400];
    snprintf(out, sizeof out, "%s/%s.so", tuning_path(dir), name);
    emitted_build(dir, name, (const char *const[]){"-shared", "-fPIC", "-o", out, NULL});
    /* Kept for ever: it may have brought OpenMP's threads, which cannot lose their code. */
    k->object = dlopen(out, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!k->object)
        print_error("%s\n", dlerror());
    assert_non_null(k->object);
    *(void **)&k->workspace = symbol(k, name, "workspace");
    *(void **)&k->init = symbol(k, name, "init");
    *(void **)&k->run = symbol(k, name, "run");
    *(void **)&k->close = symbol(k, name, "close");
}
