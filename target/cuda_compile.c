/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA C to machine code through NVRTC, in a process of its own: several run at once, and none can
 * take the tuner with it. A plan's flag `-host` marks a body that is C for this machine's
 * CPU (it calls a library); the system's C compiler makes a shared object of it.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda.h"

enum { SOURCE_LIMIT = 16 << 20, VERSION_LIMIT_S = 20 };

static bool has_flag(const char *const *flags, int n, const char *start)
{
    for (int i = 0; i < n; i++)
        if (strncmp(flags[i], start, strlen(start)) == 0)
            return true;
    return false;
}

static void add_all(optune_argv *argv, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        optune_argv_add(argv, words[i]);
}

static int compile_host(const char *source, const char *module, optune_argv *argv,
                        optune_err *err)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    char path[4096];
    int i = 0;
    while (i < OT_COUNT(names) && !ot_find_program(names[i], path, sizeof path))
        i++;
    if (i == OT_COUNT(names))
        return optune_fail(err, OPTUNE_ETOOL,
                           "no C compiler for a library's body: neither 'cc' nor 'gcc' nor "
                           "'clang' is on PATH");
    const char *const words[] = {path, "-shared", "-fPIC", "-O2",  "-std=gnu17", "-w",
                                 "-x", "c",       "-o",    module, source};
    add_all(argv, words, OT_COUNT(words));
    return OPTUNE_OK;
}

int ot_cuda_compile(const optune_target *target, const optune_device *device,
                    const char *const *flags, int n_flags, const char *source,
                    const char *module, optune_argv *argv, optune_err *err)
{
    if (has_flag(flags, n_flags, "-host"))
        return compile_host(source, module, argv, err);
    char path[4096], arch[OPTUNE_NAME_SIZE + 8];
    const char *named = target->arch[0] ? target->arch : device->arch;
    const int status = ot_worker_program(path, sizeof path, err);
    if (status < 0)
        return status;
    /* A module runs on 9.0 either way, and only so has it all of 9.0's instructions. */
    snprintf(arch, sizeof arch, "-arch=%s", strcmp(named, "sm_90") ? named : "sm_90a");
    const char *const words[] = {path, "--compile", "cuda", source, module};
    add_all(argv, words, OT_COUNT(words));
    if (!has_flag(flags, n_flags, "-arch="))
        optune_argv_add(argv, arch);
    optune_argv_add(argv, "--std=c++17");
    char *own = ot_strdup(target->cflags), *rest = NULL;
    for (char *word = strtok_r(own, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        optune_argv_add(argv, word);
    free(own);
    add_all(argv, flags, n_flags);
    return OPTUNE_OK;
}

/* ---- inside the compiler process --------------------------------------------------------- */

static char *log_of(const ot_nvrtc *nvrtc, void *program)
{
    size_t size = 0;
    nvrtc->nvrtcGetProgramLogSize(program, &size);
    char *log = ot_alloc(size + 1);
    if (size)
        nvrtc->nvrtcGetProgramLog(program, log);
    return log;
}

static int64_t number_before(const char *line, const char *what)
{
    const char *at = strstr(line, what);
    if (!at)
        return 0;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoll(at, NULL, 10);
}

/* "(C7510) Potential Performance Loss: ...": a line for the first of each number. */
static void read_warning(const char *text, ot_text *lines)
{
    char number[24];
    const char *at = strstr(text, "(C7"), *end = at ? strchr(at, ')') : NULL;
    if (!end || end - at > 12)
        return;
    snprintf(number, sizeof number, "warning=%.*s", (int)(end + 1 - at), at);
    if (!strstr(ot_text_str(lines), number))
        ot_text_printf(lines, "warning=%s\n", at);
}

void ot_cuda_read_report(const char *log, ot_text *lines)
{
    char name[128] = "";
    int64_t spilled = 0, stack = 0;
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        const char *entry = strstr(text, "entry function '");
        read_warning(text, lines);
        if (entry) {
            entry += strlen("entry function '");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, "'"), entry);
            spilled = stack = 0;
        } else if (strstr(text, "spill stores")) {
            spilled = number_before(text, "bytes spill stores") +
                      number_before(text, "bytes spill loads");
            stack = number_before(text, "bytes stack frame");
        } else if (strstr(text, "registers") && name[0]) {
            ot_text_printf(lines,
                           "kernel=%s registers=%lld shared=%lld spilled=%lld stack=%lld\n",
                           name, (long long)number_before(text, "registers"),
                           (long long)number_before(text, "bytes smem"), (long long)spilled,
                           (long long)stack);
            name[0] = '\0';
        }
    }
}

static int build(const ot_nvrtc *nvrtc, const char *name, const ot_text *source, char **option,
                 int n, const char *module, optune_err *err)
{
    void *program = NULL;
    const char *options[128] = {"--ptxas-options=-v", "-default-device"};
    char headers[PATH_MAX] = "", include[PATH_MAX + 16];
    int n_options = 2;
    for (int i = 0; i < n && n_options + 1 < OT_COUNT(options); i++)
        options[n_options++] = option[i];
    /* Behind those that are named: a kernel that is brought includes what it likes. */
    if (strstr(ot_text_str(source), "#include") &&
        ot_cuda_headers(nvrtc, headers, sizeof headers)) {
        snprintf(include, sizeof include, "--include-path=%s", headers);
        options[n_options++] = include;
    }
    if (nvrtc->nvrtcCreateProgram(&program, ot_text_str(source), name, 0, NULL, NULL))
        return optune_fail(err, OPTUNE_EIO, "NVRTC takes no source");
    const int rc = nvrtc->nvrtcCompileProgram(program, n_options, options);
    char *log = log_of(nvrtc, program);
    int status = OPTUNE_OK;
    size_t size = 0;
    if (rc)
        status = optune_fail(err, OPTUNE_EIO, "%s\nNVRTC cannot build it (%d)", log, rc);
    else if (nvrtc->nvrtcGetCUBINSize(program, &size) || size == 0)
        status = optune_fail(err, OPTUNE_EIO, "NVRTC gives no machine code");
    if (status >= 0) {
        char *binary = ot_alloc(size);
        ot_text lines = {0};
        nvrtc->nvrtcGetCUBIN(program, binary);
        ot_cuda_read_report(log, &lines);
        status = ot_gpu_module_write(module, ot_text_str(&lines), binary, size, err);
        ot_text_release(&lines);
        free(binary);
    }
    free(log);
    nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

static int say_version(const char *library)
{
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE];
    const ot_nvrtc *nvrtc;
    int major = 0, minor = 0;
    int status = OPTUNE_OK;
    if (library) {
        status = ot_cuda_library_version(library, text, sizeof text, &err);
    } else {
        status = ot_nvrtc_open(&nvrtc, &err);
        if (status >= 0) {
            nvrtc->nvrtcVersion(&major, &minor);
            snprintf(text, sizeof text, "nvrtc=%d.%d\n", major, minor);
        }
    }
    fputs(status < 0 ? err.text : text, stdout);
    return status < 0 ? 4 : 0;
}

int ot_cuda_translate(char **word, int n)
{
    const ot_nvrtc *nvrtc;
    optune_err err = {0};
    ot_text source = {0};
    if (n >= 1 && strcmp(word[0], "--version") == 0)
        return say_version(n > 1 ? word[1] : NULL);
    if (n < 2)
        return 2;
    int status = ot_nvrtc_open(&nvrtc, &err);
    if (status >= 0)
        status = ot_read_file(word[0], &source, SOURCE_LIMIT, &err);
    if (status >= 0)
        status = build(nvrtc, "body.cu", &source, word + 2, n - 2, word[1], &err);
    if (status < 0)
        printf("%s\n", err.text);
    ot_text_release(&source);
    return status < 0 ? 1 : 0;
}

static int ask_version(const char *library, char *text, size_t size, optune_err *err)
{
    char path[4096];
    const int status = ot_worker_program(path, sizeof path, err);
    if (status < 0)
        return status;
    optune_argv argv = {0};
    const char *const words[] = {path, "--compile", "cuda", "--version", library};
    add_all(&argv, words, library ? 5 : 4);
    ot_text said = {0};
    optune_err own = {0};
    int ran = ot_run_program(argv.word, VERSION_LIMIT_S, &said, &own);
    if (ran >= 0 && !ot_copy(text, size, ot_text_str(&said)))
        ran = optune_fail(err, OPTUNE_ELIMIT, "too long a version: '%.100s'", said.s);
    else if (ran < 0)
        optune_fail(err, library ? OPTUNE_ENODEV : OPTUNE_ETOOL, "%s",
                    said.n ? said.s : own.text);
    ot_text_release(&said);
    optune_argv_release(&argv);
    return ran;
}

/* Asked once for each library: every record is written with it, and asking costs a process.
 * What is missing is asked for again. */
int ot_cuda_ask_version(const char *library, char *text, size_t size, optune_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        char library[OPTUNE_NAME_SIZE], text[OPTUNE_TEXT_SIZE];
    } known[4];
    static int n_known;
    const char *name = library ? library : "";
    int status = OPTUNE_OK, i = 0;
    pthread_mutex_lock(&lock);
    while (i < n_known && strcmp(known[i].library, name) != 0)
        i++;
    if (i == n_known) {
        i = n_known < OT_COUNT(known) ? n_known : OT_COUNT(known) - 1;
        status = ask_version(library, known[i].text, sizeof known[i].text, err);
        if (status >= 0 && ot_copy(known[i].library, sizeof known[i].library, name))
            n_known = i + 1;
    }
    if (status >= 0 && !ot_copy(text, size, known[i].text))
        status = optune_fail(err, OPTUNE_ELIMIT, "too long a version: '%.100s'", known[i].text);
    pthread_mutex_unlock(&lock);
    return status;
}
