/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shells are told, and what they make of it: bash by its own functions, fish by what it would
 * offer, zsh at a terminal of its own, with the file where an installed one lies. Every argument is
 * completed by what may stand there, a path by files, a number by nothing.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/command.h"
#include "support/forged.h"

static void told(void **state)
{
    (void)state;
    static const char *const shell[] = {"bash", "zsh", "fish", "man"};
    static const char *const say[] = {"--", "--", "-l ", "\\-\\-"};
    for (int i = 0; i < OT_COUNT(shell); i++) {
        static const char *const parts[] = {"select", "trials", "target", "completion",
                                            "regret"};
        outcome o = optune("completion", shell[i], "--db", "/nowhere/at/all");
        assert_int_equal(o.code, 0);
        for (int k = 0; k < OT_COUNT(parts); k++)
            check_contains(ot_text_str(&o.out), parts[k]);
        char option[32];
        snprintf(option, sizeof option, "%sbatch", say[i]);
        check_contains(ot_text_str(&o.out), option);
        release(&o);
    }
    refused(2, "bash, zsh or fish", "completion", "csh");
}

static void presets_are_told(void **state)
{
    (void)state;
    outcome o = optune("ops", "dense", "--presets", "--names");
    assert_string_equal(ot_text_str(&o.out), "bert-base\nresnet50\nmlp\ntensor-cores\n");
    release(&o);
    o = optune("ops", "--presets");
    check_contains(ot_text_str(&o.out), "\ndense            bert-base        ");
    release(&o);
    refused(3, "no operator 'lstm'", "ops", "lstm", "--presets");
    refused(2, "--presets prints text or --names", "ops", "--presets", "--json");
}

/* ---- in shells --------------------------------------------------------------------------- */

/* What stands in front of the cursor, and what is offered, one a line, in no order. */
static const struct asked {
    const char *line, *offered;
} asked[] = {
    {"optune se", "searches select"},
    {"optune select --ba", "--batch"},
    {"optune run max_pool", "max_pool2d max_pool2d_grad"},
    {"optune run dense --search fo", "forest"},
    {"optune completion z", "zsh"},
    {"optune db sta", "stat"},
    {"optune help verif", "verify"},
    {"optune run --target op", "opencl"},
    {"optune run dense --impl dense_gem", "dense_gemm.cpu dense_gemv.cpu dense_gemv.gpu"},
    {"optune run dense --preset ", "bert-base mlp resnet50 tensor-cores"},
    {"optune run 'dense(f32[8,8], f32[8,8])' --preset ten", "tensor-cores"},
    {"optune run --json dense --preset ml", "mlp"},
    {"optune select --policy ", "cold model-128M warm"},
    {"optune ops --log-level ", "debug error info warning"},
    {"optune tune kernel.c --format he", "header"},
    {"optune export dense --format t", "t4"},
    {"optune graph one", "one file.graph"},
    {"optune report --graph one", "one file.graph"},
    {"optune run model.onnx --db on", "one file.graph"},
    {"optune tune a.c --depends on", "one file.graph"},
    {"optune query den", FORGED_WORKLOAD},
    {"optune select --target cpu de", FORGED_WORKLOAD},
    {"optune query dense_", ""},
    {"optune run dense --trials ", ""},
    {"optune run dense --time ", ""},
    {"optune query one", ""},
    {"optune report --bind on", ""},
};

static bool there(const char *shell)
{
    char path[4096];
    if (ot_find_program(shell, path, sizeof path))
        return true;
    print_message("skipped: there is no %s\n", shell);
    return false;
}

/* The shell's file in a folder `name` of the test's; the program is called optune in PATH. */
static void script_of(const char *shell, const char *name, char *path, size_t size)
{
    optune_err err = {0};
    outcome o = optune("completion", shell);
    snprintf(path, size, "%s", command_path(name));
    check_ok(ot_write_file(path, ot_text_str(&o.out), o.out.n, &err));
    release(&o);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lines of `text` in order, joined by blanks; what fish says behind a tab is no part of them. */
static void sorted(char *text, char *to, size_t size)
{
    char *line[64], *rest = NULL;
    int n = 0;
    for (char *l = strtok_r(text, "\n", &rest); l && n < OT_COUNT(line);
         l = strtok_r(NULL, "\n", &rest)) {
        l[strcspn(l, "\t")] = '\0';
        line[n++] = l;
    }
    qsort(line, (size_t)n, sizeof *line, by_name);
    to[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(to + strlen(to), size - strlen(to), "%s%s", i ? " " : "", line[i]);
}

static void check_offers(const char *shell, const char *program)
{
    int wrong = 0;
    for (int i = 0; i < OT_COUNT(asked); i++) {
        optune_err err = {0};
        ot_text said = {0};
        char offered[4096];
        char *argv[] = {(char *)shell,      (char[]){"-c"},        (char *)program,
                        (char[]){"optune"}, (char *)asked[i].line, NULL};
        setenv("LINE", asked[i].line, 1);
        check_ok(ot_run_program(argv, 60, &said, &err));
        sorted(ot_text_str(&said)[0] ? said.s : (char[]){""}, offered, sizeof offered);
        if (strcmp(offered, asked[i].offered) != 0) {
            print_error("%s: %s: '%s' where '%s' was expected\n", shell, asked[i].line, offered,
                        asked[i].offered);
            wrong++;
        }
        ot_text_release(&said);
    }
    assert_int_equal(wrong, 0);
}

static void bash_offers(void **state)
{
    (void)state;
    char file[512], program[2048];
    if (!there("bash"))
        skip();
    script_of("bash", "optune.bash", file, sizeof file);
    snprintf(program, sizeof program,
             "cd '%s' && . '%s' && eval \"COMP_WORDS=($LINE)\" && "
             "{ [[ $LINE != *' ' ]] || COMP_WORDS+=(''); } && "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _optune && "
             "printf '%%s\\n' \"${COMPREPLY[@]}\"",
             command_dir, file);
    check_offers("bash", program);
    /* --policy=co is three words to it */
    /* and what stands behind an open quotation mark, or was quoted, is a part of a workload */
    static const char *const ways[] = {
        "--policy = co", "--policy =", "\"'dense(f32[16,64], con\"", "'dense\\(f32\\[16'"};
    static const char *const want[] = {"cold\n", "warm\ncold\nmodel-128M\n",
                                       FORGED_WORKLOAD "\n", FORGED_WORKLOAD "\n"};
    for (int i = 0; i < OT_COUNT(ways); i++) {
        optune_err err = {0};
        ot_text said = {0};
        snprintf(program, sizeof program,
                 ". '%s' && COMP_WORDS=(optune select %s) && "
                 "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _optune && "
                 "printf '%%s\\n' \"${COMPREPLY[@]}\"",
                 file, ways[i]);
        char *argv[] = {(char[]){"bash"}, (char[]){"-c"}, program, NULL};
        check_ok(ot_run_program(argv, 60, &said, &err));
        assert_string_equal(ot_text_str(&said), want[i]);
        ot_text_release(&said);
    }
}

static void fish_offers(void **state)
{
    (void)state;
    char file[512], program[2048];
    if (!there("fish"))
        skip();
    script_of("fish", "optune.fish", file, sizeof file);
    snprintf(program, sizeof program, "cd '%s'; source '%s'; complete -C \"$LINE\"",
             command_dir, file);
    check_offers("fish", program);
}

/* Typed at a terminal, with a tab behind it: the first one already finds the function in its file.
 * Whatever the line became is printed by the shell itself. */
static void zsh_completes(void **state)
{
    (void)state;
    static const struct asked typed[] = {
        {"optune selec", "[optune select]"},
        {"optune run dense --preset ten", "[optune run dense --preset tensor-cores]"},
        {"optune select --policy=co", "[optune select --policy=cold]"},
        {"optune select --policy co", "[optune select --policy cold]"},
        {"optune run dense --impl dense_nop", "[optune run dense --impl dense_nopack.x86]"},
        {"optune help verif", "[optune help verify]"},
        {"optune query den",
         "[optune query dense\\(f32\\[16,64\\]"},
        {"optune db sta", "[optune db stat]"},
        {"optune export dense -o one", "[optune export dense -o one\\ file.graph]"},
        {"optune graph one", "[optune graph one\\ file.graph]"},
        {"optune run dense --trials on", "[optune run dense --trials on]"},
    };
    char file[512];
    if (!there("zsh") || system("zsh -f -c 'zmodload zsh/zpty' 2>/dev/null") != 0)
        skip();
    script_of("zsh", "_optune", file, sizeof file);
    for (int i = 0; i < OT_COUNT(typed); i++) {
        char program[4096];
        snprintf(program, sizeof program,
                 "zmodload zsh/zpty; TERM=dumb zpty z zsh -f -i\n"
                 "ask() { zpty -w z $1; zpty -r -m z said $2 >/dev/null }\n"
                 "ask \"PROMPT= PROMPT2= ; cd '%s'; fpath=('%s' \\$fpath); unsetopt beep "
                 "zle_bracketed_paste list_beep; autoload -Uz compinit; compinit -u -D; "
                 "print -r -- rea''dy\" '*ready*'\n"
                 "said=; zpty -w -n z $'%s\\t'; sleep 0.2\n"
                 "zpty -w z $'\\001print -r -- \"x:[\\005]\"'\n"
                 "zpty -r -m z said $'*\\nx:\\\\[*\\\\]*'; print -r -- ${said##*x:}\n",
                 command_dir, command_dir, typed[i].line);
        optune_err err = {0};
        ot_text said = {0};
        char *argv[] = {(char[]){"zsh"}, (char[]){"-f"}, (char[]){"-c"}, program, NULL};
        check_ok(ot_run_program(argv, 60, &said, &err));
        check_contains(ot_text_str(&said), typed[i].offered);
        ot_text_release(&said);
    }
}

static int setup(void **state)
{
    char link[512], path[8192];
    optune_err err = {0};
    command_setup(state);
    forged_setup(state);
    setenv("OPTUNE_DB", tuning_path("tuned"), 1);
    snprintf(link, sizeof link, "%s", command_path("bin"));
    check_ok(ot_make_dirs(link, &err));
    snprintf(path, sizeof path, "%s:%s", link, getenv("PATH"));
    setenv("PATH", path, 1);
    strcat(link, "/optune");
    assert_int_equal(symlink(OT_CLI, link), 0);
    check_ok(ot_write_file(command_path("one file.graph"), "", 0, &err));
    setenv("HOME", command_dir, 1); /* nobody's own settings */
    return 0;
}

static int teardown(void **state)
{
    forged_teardown(state);
    return command_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told),          cmocka_unit_test(presets_are_told),
        cmocka_unit_test(bash_offers),   cmocka_unit_test(fish_offers),
        cmocka_unit_test(zsh_completes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
