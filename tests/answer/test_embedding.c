/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that embed the library, in states of their process that no other program has: they round
 * upwards, take denormals for zero, trap what is no number, have no environment, see no /sys, may
 * execute nothing in their cache's folder, ask in threads with small stacks. Answers are those of
 * any program, and such a state is left alone.
 */
#include "optune/graph.h"
#include "support/check.h"
#include "support/tuning.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the floating-point environment -------------------------------------------------------- */

static const char *const calls[] = {
    "clip(f64[9], a_min=-1e-310, a_max=1.7976931348623157e308)",
    "clip(f32[9], a_min=-0.7, a_max=0.3)",
    "leaky_relu(f32[9], alpha=0.3)",
    "dense(f32[128,768], const f32[3072,768])",
    "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1,1])",
    "softmax(f32[64,1000])",
    "transpose(f32[64,?n:1..1000])",
};

static void add_answer(optune *o, const char *workload, ot_text *said)
{
    optune_err err = {0};
    optune_call *call = NULL;
    optune_selection *chosen = NULL;
    optune_result *told = NULL;
    static char text[OPTUNE_CALL_TEXT_SIZE];
    check_ok(optune_call_open(workload, &call, &err));
    check_ok(optune_call_write(call, text, sizeof text, &err));
    ot_text_printf(said, "%s\n%a %a\n", text, optune_call_flops(call), optune_call_bytes(call));
    check_ok(optune_call_describe(call, &told, &err));
    ot_text_add(said, optune_result_json(told));
    check_ok(optune_select_call(o, call, &chosen, &err));
    ot_text_add(said, optune_selection_json(chosen));
    ot_text_add(said, optune_selection_text(chosen, true));
    optune_selection_free(chosen);
    optune_result_free(told);
    optune_call_close(call);
}

/* All that a handle which knows nothing yet says, and a graph's text and values. */
static char *answers(void)
{
    ot_text said = {0};
    optune_err err = {0};
    optune *o = tuning_open("embedding");
    for (int i = 0; i < OT_COUNT(calls); i++)
        add_answer(o, calls[i], &said);
    optune_close(o);
    optune_graph *graph = NULL;
    optune_values *values = NULL;
    check_ok(optune_graph_parse("c = const f32[4] {0.1, 0.3, -0.7, 1e-42}\n"
                                "output clip(c, a_min=-0.7, a_max=0.3), exp(c), mean(c)\n",
                                "test", &graph, &err));
    check_ok(optune_graph_infer(graph, &err));
    ot_text_add(&said, optune_graph_text(graph, true));
    ot_text_add(&said, optune_graph_json(graph));
    check_ok(optune_graph_evaluate(graph, NULL, NULL, &values, &err));
    for (int i = 0; i < optune_graph_outputs(graph); i++) {
        const uint32_t *bits = optune_values_data(values, i);
        for (int64_t k = 0; k < optune_tensor_elements(optune_values_type(values, i)); k++)
            ot_text_printf(&said, " %x", bits[k]);
    }
    optune_values_free(values);
    optune_graph_close(graph);
    return said.s;
}

static void floats(void **state)
{
    (void)state;
    static const int rounding[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    char *const right = answers();
    fenv_t usual;
    fegetenv(&usual);
    for (int i = 0; i < OT_COUNT(rounding); i++) {
        fesetround(rounding[i]);
        char *const said = answers();
        const int left = fegetround();
        fesetenv(&usual);
        assert_int_equal(left, rounding[i]);
        assert_string_equal(said, right);
        free(said);
    }
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(0x1f80 | 0x8040); /* as programs of -ffast-math begin */
    char *said = answers();
    const unsigned left = __builtin_ia32_stmxcsr();
    fesetenv(&usual);
    assert_int_equal(left & 0x8040, 0x8040);
    assert_string_equal(said, right);
    free(said);
#endif
#ifdef __GLIBC__
    if (feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) >= 0) {
        char *const trapped = answers();
        const int traps = fegetexcept();
        fesetenv(&usual);
        assert_int_equal(traps, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
        assert_string_equal(trapped, right);
        free(trapped);
    }
#endif
    free(right);
}

/* ---- what the process has not --------------------------------------------------------------- */

/* In a child, whose standard error comes out of the pipe; returns how it ended. */
static int in_child(void (*what)(void), ot_text *said)
{
    int end[2], status = 0;
    assert_int_equal(pipe(end), 0);
    const pid_t pid = fork();
    if (!pid) { /* which ends of what would end this one, where cmocka has handlers */
        static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        for (int i = 0; i < OT_COUNT(fatal); i++)
            signal(fatal[i], SIG_DFL);
        dup2(end[1], STDERR_FILENO);
        dup2(end[1], STDOUT_FILENO);
        close(end[0]);
        close(end[1]);
        what();
        _exit(0);
    }
    close(end[1]);
    char bytes[512];
    for (ssize_t n; (n = read(end[0], bytes, sizeof bytes)) > 0;)
        ot_text_add_n(said, bytes, (size_t)n);
    close(end[0]);
    waitpid(pid, &status, 0);
    return status;
}

static void compute_with_nothing(void)
{
    char cache[1200];
    optune_err err = {0};
    optune_function *function = NULL;
    optune *o = NULL;
    const float in[3] = {1, 2, 3};
    float out[3] = {0};
    ot_copy(cache, sizeof cache, tuning_path("cache"));
    clearenv();
    setenv("OPTUNE_CACHE", cache, 1);
    const char *const db = tuning_path("embedding");
    const optune_options options = {
        .size = sizeof options, .db = db, .target = "cpu -threads=1"};
    if (optune_open(&options, &o, &err) < 0 ||
        optune_function_open_text(o, "add(f32[3], f32[3])", NULL, &function, &err) < 0 ||
        optune_function_run(function, (const void *const[]){in, in}, (void *const[]){out},
                            &err) < 0)
        dprintf(STDERR_FILENO, "%s\n", err.text);
    else if (out[2] != 6)
        dprintf(STDERR_FILENO, "it is %g\n", (double)out[2]);
}

/* Compilers are found where the system has them, and find what they need. */
static void no_environment(void **state)
{
    (void)state;
    ot_text said = {0};
    assert_int_equal(in_child(compute_with_nothing, &said), 0);
    assert_string_equal(ot_text_str(&said), "");
    ot_text_release(&said);
}

static void mounted(const char *at, unsigned long flags)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", at, "tmpfs", flags, NULL) < 0)
        _exit(77);
}

static void compute_without_exec(void)
{
    optune_err err;
    check_ok(ot_make_dirs(tuning_path("cache"), &err));
    mounted(tuning_path("cache"), MS_NOEXEC);
    compute_with_nothing();
    compute_with_nothing(); /* from a file of the same number */
}

static void start_without_devices(void)
{
    optune_err err = {0};
    ot_text said = {0};
    char *const argv[] = {(char *)"true", NULL};
    mounted("/dev", 0);
    if (ot_run_program_in(argv, "/tmp", 10, &said, &err) >= 0 ||
        !strstr(err.text, "there is no /dev/null here"))
        dprintf(STDERR_FILENO, "%s\n", err.text);
}

/* As systems are hardened, and as somebody's chroot is. */
static void what_is_mounted(void **state)
{
    (void)state;
    void (*const each[])(void) = {compute_without_exec, start_without_devices};
    for (int i = 0; i < OT_COUNT(each); i++) {
        ot_text said = {0};
        const int status = in_child(each[i], &said);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip(); /* it takes the right to mount */
        assert_string_equal(ot_text_str(&said), "");
        assert_int_equal(status, 0);
        ot_text_release(&said);
    }
}

static void gone(void)
{
    extern char **environ;
    ot_text said = {0};
    char *const argv[] = {(char *)"true", NULL};
    environ = NULL;
    const int status = ot_run_program_in(argv, "/tmp", 10, &said, NULL);
    if (status < 0)
        dprintf(STDERR_FILENO, "%d %s\n", status, ot_text_str(&said));
}

static void environ_is_null(void **state)
{
    (void)state;
    ot_text said = {0};
    assert_int_equal(in_child(gone, &said), 0);
    assert_string_equal(ot_text_str(&said), "");
    ot_text_release(&said);
}

static void ask_in_jail(void)
{
    optune_err err = {0};
    optune_selection *chosen = NULL;
    optune *o = tuning_open("embedding");
    if (chroot(tuning_path("")) < 0 || chdir("/") < 0)
        _exit(77);
    if (optune_select(o, calls[3], &chosen, &err) < 0)
        dprintf(STDERR_FILENO, "%s\n", err.text);
    optune_selection_free(chosen);
}

/* Nothing is printed, by hwloc neither. */
static void no_sysfs(void **state)
{
    (void)state;
    ot_text said = {0};
    const int status = in_child(ask_in_jail, &said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
    assert_string_equal(ot_text_str(&said), "");
    ot_text_release(&said);
}

/* ---- a thread's stack ----------------------------------------------------------------------- */

static void *ask_all(void *arg)
{
    optune_err err = {0};
    optune *o = arg;
    for (int i = 0; i < OT_COUNT(calls); i++) {
        optune_selection *chosen = NULL;
        optune_found *found = NULL;
        if (optune_select(o, calls[i], &chosen, &err) < 0 ||
            optune_query(o, calls[i], &found, &err) != OPTUNE_ENOENT)
            return (void *)calls[i];
        optune_selection_text(chosen, true);
        optune_selection_json(chosen);
        optune_selection_free(chosen);
    }
    return NULL;
}

/* The header's promise for who asks. */
static void small_stack(void **state)
{
    (void)state;
    pthread_attr_t how;
    pthread_t thread;
    void *failed = NULL;
    optune *o = tuning_open("embedding");
    pthread_attr_init(&how);
    assert_int_equal(pthread_attr_setstacksize(&how, 512 << 10), 0);
    assert_int_equal(pthread_attr_setguardsize(&how, 4 << 20), 0);
    assert_int_equal(pthread_create(&thread, &how, ask_all, o), 0);
    pthread_join(thread, &failed);
    pthread_attr_destroy(&how);
    assert_null(failed);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environ_is_null), cmocka_unit_test(no_environment),
        cmocka_unit_test(no_sysfs),        cmocka_unit_test(floats),
        cmocka_unit_test(what_is_mounted), cmocka_unit_test(small_stack),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
