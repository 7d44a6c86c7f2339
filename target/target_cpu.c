/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target `cpu`: this machine's cores, code made by the system's C compiler as shared
 * objects, whose loops a team of ours runs, or OpenMP. It knows how to compile, load and run; what
 * runs is not its business.
 *
 * The one idea: everything that decides how fast code runs here (threads, where each one
 * sits, how it waits, which kernels a library picks) is set by `open` in the worker
 * process, before the first shared object is loaded. In a program of somebody else's only how
 * idle threads wait is: its threads sit where it lets them, and teams where their first thread may.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "target/library.h"
#include "target/process.h"

enum { COMPILER_LIMIT_S = 20 };

/* Idle threads of libgomp spin for so long: longer than any gap between parallel regions of one
 * kernel (waking a sleeper costs 60 us), shorter than a warm-up, so that they do not spin into a
 * library with threads of its own. */
static const double SPIN_S = 1e-3;

static const char *const keys[] = {"cpu", NULL};

/* ---- the compiler ------------------------------------------------------------------------ */

static void add_words(optune_argv *argv, const char *text)
{
    char *copy = ot_strdup(text), *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        optune_argv_add(argv, word);
    free(copy);
}

/* What decides the instructions: the target's own flags, else the best for its arch. */
static void add_optimisation(const optune_target *target, optune_argv *argv)
{
    if (target->cflags[0]) {
        add_words(argv, target->cflags);
        return;
    }
    char arch[OPTUNE_NAME_SIZE + 16];
    snprintf(arch, sizeof arch, "-march=%s", target->arch[0] ? target->arch : "native");
    optune_argv_add(argv, "-O3");
    optune_argv_add(argv, arch);
#if defined(__x86_64__)
    optune_argv_add(argv, "-mprefer-vector-width=512");
#endif
    optune_argv_add(argv, "-fno-math-errno");
    optune_argv_add(argv, "-fno-trapping-math");
    optune_argv_add(argv, "-ffp-contract=fast");
}

/* A linker looks into it for what was in front of it only. */
static bool is_library(const char *flag)
{
    return strncmp(flag, "-l", 2) == 0;
}

static int compile(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err)
{
    char path[4096];
    const int status = ot_cpu_compiler(path, sizeof path, err);
    if (status < 0)
        return status;
    const bool bare = ot_cpu_links_bare(target, flags, n_flags);
    optune_argv_add(argv, path);
    optune_argv_add(argv, "-shared");
    optune_argv_add(argv, "-fPIC");
    add_optimisation(target, argv);
    optune_argv_add(argv, "-std=gnu17");
    optune_argv_add(argv, "-fvisibility=default");
    optune_argv_add(argv, "-w");
    if ((target->threads ? target->threads : device->threads) > 1)
        optune_argv_add(argv, "-fopenmp");
    if (bare)
        optune_argv_add(argv, "-nodefaultlibs");
    for (int i = 0; i < n_flags; i++)
        if (!is_library(flags[i]))
            optune_argv_add(argv, flags[i]);
    optune_argv_add(argv, "-o");
    optune_argv_add(argv, module);
    optune_argv_add(argv, source);
    for (int i = 0; i < n_flags; i++)
        if (is_library(flags[i]))
            optune_argv_add(argv, flags[i]);
    if (bare) {
        optune_argv_add(argv, "-lgcc"); /* 128-bit division, half precision */
#ifdef __GLIBC__
        optune_argv_add(argv, "-l:libc_nonshared.a");
#endif
    }
    return OPTUNE_OK;
}

static int dependencies(const optune_target *target, const optune_impl *impl, char *text,
                        size_t size, optune_err *err)
{
    (void)target;
    if (impl && impl->library)
        return ot_cpu_library_ask(impl->library, text, size, err);
    char version[128];
    const int status = ot_cpu_compiler_version(version, sizeof version, err);
    static const char name[] = "compiler=";
    const size_t n = strlen(name), length = status < 0 ? 0 : strlen(version);
    if (status >= 0 && size > n + length + 1) { /* asked for with each answer: without printf */
        memcpy(text, name, n);
        memcpy(text + n, version, length);
        memcpy(text + n + length, "\n", 2);
    }
    return status;
}

/* ---- the device -------------------------------------------------------------------------- */

/* Those that code compiled so does not use, though the machine may have them. */
static int dots_without(const char *macros)
{
    static const struct {
        const char *macro, *other; /* gcc's name and clang's */
        int dot;
    } known[] = {{"__AVX512BF16__", "__AVX512BF16__", OPTUNE_DOT_BF16 | OPTUNE_DOT_BF16_SLOW},
                 {"__AVX512VNNI__", "__AVX512VNNI__", OPTUNE_DOT_I8},
                 {"__AMX_BF16__", "__AMXBF16__", OPTUNE_DOT_TILE_BF16},
                 {"__AMX_INT8__", "__AMXINT8__", OPTUNE_DOT_TILE_I8}};
    int without = 0;
    for (int i = 0; i < OT_COUNT(known); i++)
        without |=
            strstr(macros, known[i].macro) || strstr(macros, known[i].other) ? 0 : known[i].dot;
    return without;
}

/* What the compiler of candidates does not make is as if the machine had it not. */
static void leave_unmade(const optune_target *target, optune_device *device)
{
    optune_argv argv = {0};
    optune_err err = {0};
    char path[4096];
    if (!device->dots || ot_cpu_compiler(path, sizeof path, &err) < 0)
        return; /* nothing is compiled */
    optune_argv_add(&argv, path);
    add_optimisation(target, &argv);
    device->dots = ot_cpu_makes(&argv, device->dots);
    optune_argv_release(&argv);
}

/* With flags of the user's, the compiler is what knows the vector width. */
static int widths_of_flags(const optune_target *target, optune_device *device, optune_err *err)
{
    optune_argv argv = {0};
    ot_text said = {0};
    char path[4096];
    int status = ot_cpu_compiler(path, sizeof path, err);
    if (status < 0)
        return status;
    optune_argv_add(&argv, path);
    add_optimisation(target, &argv);
    static const char *const rest[] = {"-dM", "-E", "-x", "c", "/dev/null"};
    for (int i = 0; i < OT_COUNT(rest); i++)
        optune_argv_add(&argv, rest[i]);
    status = ot_run_program(argv.word, COMPILER_LIMIT_S, &said, err);
    if (status >= 0 && strstr(ot_text_str(&said), "__x86_64__")) {
        const bool avx512 = strstr(said.s, "__AVX512F__") != NULL;
        device->vector_bytes = avx512 ? 64 : strstr(said.s, "__AVX__") ? 32 : 16;
        device->vector_registers = avx512 ? 32 : 16;
        device->dots &= ~dots_without(said.s);
    }
    if (status >= 0 && target->arch[0])
        ot_copy(device->arch, sizeof device->arch, target->arch);
    ot_text_release(&said);
    optune_argv_release(&argv);
    return status;
}

static int probe(const optune_target *target, optune_device *device, optune_err *err)
{
    *device = (optune_device){0};
    int status = ot_cpu_known(device, err);
    if (status < 0)
        return status;
    if (target->device[0] && strcmp(target->device, "0") != 0 &&
        !strstr(device->key, target->device) && !strstr(device->name, target->device))
        return optune_fail(err, OPTUNE_ENODEV, "no cpu '%s' here; this is '%s' (%s)",
                           target->device, device->name, device->key);
    if (target->threads > device->cores && ot_cpu_place(target->threads - 1) < 0)
        return optune_fail(err, OPTUNE_ENODEV,
                           "-threads=%d is more than the %d cores that this process may use",
                           target->threads, device->cores);
    device->threads = target->threads ? target->threads : device->cores;
    const double quota = ot_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (!target->threads && quota > 0 && quota < device->threads)
        device->threads = quota < 1 ? 1 : (int)quota;
    if (target->arch[0] || target->cflags[0])
        status = widths_of_flags(target, device, err);
    if (status >= 0)
        leave_unmade(target, device);
    return status;
}

/* ---- running: the worker's side ---------------------------------------------------------- */

typedef struct cpu_state {
    int threads;
    int64_t l3;
    ot_cpu_buffers buffers; /* that kernels get */
    ot_cpu_buffer *filler;  /* NULL: not needed yet */
    unsigned char turn;
    ot_library_words words;
    ot_libraries libraries;
} cpu_state;

static const char omp_library[] = "libgomp.so.1";

/* It must outlive the modules that use it, its threads would run unmapped code. */
static void load_omp(void)
{
    dlopen(omp_library, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

static void say_spins(void)
{
    char count[24];
    snprintf(count, sizeof count, "%lld", (long long)ot_cpu_spins(SPIN_S));
    setenv("GOMP_SPINCOUNT", count, 0);
}

/* All of this process: its first thread, those of teams, and what libraries will read. */
static int settle_process(int threads, optune_err *err)
{
    const int status = ot_cpu_bind(0, threads, err);
    if (status < 0)
        return status;
    char count[16];
    ot_text places = {0};
    for (int i = 0; i < threads; i++)
        ot_text_printf(&places, "%s{%d}", i ? "," : "", ot_cpu_place(i));
    snprintf(count, sizeof count, "%d", threads);
    setenv("OMP_NUM_THREADS", count, 1);
    setenv("OMP_PLACES", ot_text_str(&places), 1);
    setenv("OMP_PROC_BIND", "close", 1);
    setenv("OMP_DYNAMIC", "false", 1);
    say_spins();
    ot_text_release(&places);
    if (threads == 1)
        return ot_cpu_bind(0, 1, err);
    load_omp();
    return OPTUNE_OK;
}

/* Told to bind, libgomp binds the first thread of every team, whoever's it is, to one and the same
 * core, for good. So it is not told, and reads what else there is while it is loaded. */
static void join_process(int threads)
{
    if (threads == 1 || dlopen(omp_library, RTLD_NOW | RTLD_NOLOAD))
        return;
    const bool told = getenv("GOMP_SPINCOUNT") != NULL;
    say_spins();
    load_omp();
    if (!told)
        unsetenv("GOMP_SPINCOUNT");
}

static int open_cpu(void *state, const optune_target *target, const optune_device *device,
                    optune_err *err)
{
    cpu_state *s = state;
    s->threads = target->threads ? target->threads : device->threads;
    s->l3 = device->l3;
    /* Modules find it here only; who opened this library may have kept it to itself. */
    dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (ot_process_claimed())
        return settle_process(s->threads, err);
    join_process(s->threads);
    return OPTUNE_OK;
}

/* Libraries stay loaded: threads of theirs may still be inside. */
static void close_cpu(void *state)
{
    cpu_state *s = state;
    ot_cpu_buffers_forget(&s->buffers);
    ot_cpu_buffer_close(s->filler);
    s->filler = NULL;
    s->libraries.n = 0;
}

static int cannot_load(const char *why, bool noexec, optune_err *err)
{
    const char *const remedy = noexec ? "; its folder lets nothing be executed (noexec): name "
                                        "another with OPTUNE_CACHE"
                               : strstr(why, "undefined symbol")
                                   ? "; the source does not define it; where a library does, "
                                     "flags name that: '-lNAME' "
                                     "('-lc' for all of the system's)"
                                   : "";
    return optune_fail(err, OPTUNE_EIO, "cannot load module: %s%s", why, remedy);
}

static int load(void *state, const char *module, void **handle, optune_err *err)
{
    cpu_state *s = state;
    bool noexec;
    *handle = ot_cpu_module_open(module, &noexec);
    if (!*handle)
        return cannot_load(ot_library_why(), noexec, err);
    ot_library_words_add(&s->words, *handle);
    ot_cpu_team_give(*handle);
    return OPTUNE_OK;
}

static void unload(void *state, void *handle)
{
    cpu_state *s = state;
    ot_library_words_drop(&s->words, handle);
    dlclose(handle);
}

static void *symbol(void *state, void *handle, const char *function)
{
    (void)state;
    return dlsym(handle, function);
}

static int open_library(void *state, const char *name, void **handle, optune_err *err)
{
    return ot_cpu_library_open(name, ((cpu_state *)state)->threads, handle, err);
}

static void *library(void *state, const char *name, const char *function, optune_err *err)
{
    cpu_state *s = state;
    void *handle = ot_libraries_open(&s->libraries, name, open_library, s, err);
    return handle ? ot_cpu_library_function(name, handle, function, err) : NULL;
}

static int alloc(void *state, int64_t bytes, bool guarded, void **buffer, optune_err *err)
{
    *buffer = ot_cpu_buffer_open(bytes, guarded, err);
    if (*buffer)
        ot_cpu_buffers_add(&((cpu_state *)state)->buffers, *buffer);
    return *buffer ? OPTUNE_OK : OPTUNE_ENOMEM;
}

static void free_buffer(void *state, void *buffer)
{
    (void)state;
    ot_cpu_buffer_close(buffer);
}

static int write_buffer(void *state, void *buffer, const void *from, int64_t bytes)
{
    (void)state;
    memcpy(ot_cpu_buffer_address(buffer), from, (size_t)bytes);
    return OPTUNE_OK;
}

static int read_buffer(void *state, const void *buffer, void *to, int64_t bytes)
{
    (void)state;
    memcpy(to, ot_cpu_buffer_address(buffer), (size_t)bytes);
    return OPTUNE_OK;
}

static bool intact(void *state, void *buffer)
{
    (void)state;
    return ot_cpu_buffer_intact(buffer);
}

static void *address(void *state, void *buffer)
{
    (void)state;
    return ot_cpu_buffer_address(buffer);
}

static int alias(void *state, void **buffer, void *memory)
{
    (void)state;
    ot_cpu_buffer_alias((ot_cpu_buffer **)buffer, memory);
    return OPTUNE_OK;
}

/* ---- launching --------------------------------------------------------------------------- */

typedef void (*entry)(void *const *arg);
typedef struct ready { /* a launch with every argument an address */
    entry function;
    void *arg[OPTUNE_MAX_ARGS];
} ready;

static int prepare(const optune_launch *launch, int n, ready *to, optune_err *err)
{
    if (n > OPTUNE_MAX_STAGES)
        return optune_fail(err, OPTUNE_ELIMIT, "more than %d stages", (int)OPTUNE_MAX_STAGES);
    for (int i = 0; i < n; i++) {
        memcpy(&to[i].function, &launch[i].function, sizeof to[i].function);
        for (int k = 0; k < launch[i].stage->n_args; k++) {
            const optune_arg_kind kind = launch[i].stage->arg[k].kind;
            void *arg = launch[i].arg[k];
            const bool buffer = kind == OPTUNE_ARG_INPUT || kind == OPTUNE_ARG_OUTPUT ||
                                kind == OPTUNE_ARG_SCRATCH || kind == OPTUNE_ARG_DIMS;
            if (kind == OPTUNE_ARG_TENSOR_MAP)
                return optune_fail(err, OPTUNE_EUNSUPPORTED, "cpu has no tensor maps");
            to[i].arg[k] = buffer && arg ? ot_cpu_buffer_address(arg) : arg;
        }
    }
    return OPTUNE_OK;
}

static int run(void *state, const optune_launch *launch, int n, optune_err *err)
{
    const cpu_state *s = state;
    ready stage[OPTUNE_MAX_STAGES];
    const int status = prepare(launch, n, stage, err);
    for (int i = 0; status >= 0 && i < n; i++)
        stage[i].function(stage[i].arg);
    return status < 0 ? status : ot_library_words_check(&s->words, err);
}

static double time_runs(void *state, const optune_launch *launch, int n, int64_t count,
                        optune_err *err)
{
    const cpu_state *s = state;
    ready stage[OPTUNE_MAX_STAGES];
    if (prepare(launch, n, stage, err) < 0)
        return -1;
    const int64_t start = ot_now_ns();
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < n; i++)
            stage[i].function(stage[i].arg);
    const double seconds = (double)(ot_now_ns() - start) * 1e-9;
    return ot_library_words_check(&s->words, err) < 0 ? -1 : seconds;
}

typedef struct count_job {
    void *state;
    const optune_launch *launch;
    int n;
    char *text, *why;
    size_t size;
} count_job;

static void *count_in_thread(void *arg)
{
    const count_job *job = arg;
    optune_err err = {0};
    ot_counters *c = ot_counters_open(NULL, 0, job->why);
    if (!c)
        return NULL;
    /* Once to make the kernel's threads, which inherit the counters, then about 2 ms of it. */
    double once = time_runs(job->state, job->launch, job->n, 1, &err);
    once = time_runs(job->state, job->launch, job->n, 1, &err);
    const int64_t runs = once > 0 && once < 2e-3 ? (int64_t)(2e-3 / once) + 1 : 1;
    if (once < 0 || ot_counters_start(c, &err) < 0 ||
        time_runs(job->state, job->launch, job->n, runs, &err) < 0 ||
        ot_counters_stop(c, &err) < 0)
        optune_refuse(job->why, "%s", err.text);
    else
        ot_counters_read(c, runs, job->text, job->size);
    ot_counters_close(c);
    return NULL;
}

static void counters(void *state, const optune_launch *launch, int n, char *text, size_t size,
                     char *why)
{
    pthread_t thread;
    count_job job = {state, launch, n, text, why, size};
    text[0] = why[0] = '\0';
    if (pthread_create(&thread, NULL, count_in_thread, &job) == 0)
        pthread_join(thread, NULL);
    else
        optune_refuse(why, "no hardware counters: no thread can be made");
}

/* What a kernel is given, line by line, from every cache: that takes as long as there is of it, and
 * not as the machine has caches. Else twice the last cache, as far as it is known, is written by
 * this core. */
static int flush(void *state)
{
    cpu_state *s = state;
    const int64_t most = (int64_t)1 << 30, least = (int64_t)64 << 20;
    int64_t bytes = 2 * s->l3;
    bytes = bytes < least ? least : bytes > most ? most : bytes;
    if (ot_cpu_buffers_evict(&s->buffers, bytes))
        return OPTUNE_OK;
    if (!s->filler)
        s->filler = ot_cpu_buffer_open(bytes, false, NULL);
    if (!s->filler)
        return OPTUNE_ENOMEM;
    memset(ot_cpu_buffer_address(s->filler), ++s->turn, (size_t)bytes);
    return OPTUNE_OK;
}

OPTUNE_TARGET(cpu) = {
    .name = "cpu",
    .summary = "this machine's cores, through the system's C compiler",
    .keys = keys,
    .source_suffix = ".c",
    .module_suffix = ".so",
    .probe = probe,
    .dependencies = dependencies,
    .compile = compile,
    .worker =
        {
            .state_size = sizeof(cpu_state),
            .open = open_cpu,
            .close = close_cpu,
            OT_WORKER_FUNCTIONS,
            .library = library,
            .address = address,
            .counters = counters,
            .flush = flush,
            .alias = alias,
        },
};
