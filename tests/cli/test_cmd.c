/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as scripts see it: the built program is started with argument vectors, and its
 * exit code, stdout and stderr are judged. Nothing here tunes; every test has a database folder
 * of its own that starts empty.
 */
#include "support/command.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- help -------------------------------------------------------------------------------- */

typedef struct contract {
    const char *cmd;
    const char *usage;
    const char *options[16];
} contract;

static const contract commands[] = {
    {"completion", "completion bash|zsh|fish|man", {NULL}},
    {"devices", "devices", {"--json"}},
    {"dispatch",
     "dispatch WORKLOAD [-o FILE.c] | --load WORKLOAD|FILE",
     {"-o", "--points", "--trials", "--time", "--regret", "--no-regret", "--search", "--seed",
      "--log", "--load", "--at", "--json"}},
    {"emit",
     "emit WORKLOAD -o DIR | --graph FILE -o DIR",
     {"-o", "--graph", "--bind", "--partial", "--name", "--random-weights", "--force",
      "--json"}},
    {"export", "export [OP | WORKLOAD]", {"--best", "-o", "--json"}},
    {"graph",
     "graph FILE",
     {"--bind", "--partial", "--grad", "--plain", "--groups", "--execute", "--profile",
      "--json"}},
    {"impls", "impls [OP]", {"--json"}},
    {"import", "import FILE-or-https-URL...", {"--json"}},
    {"list", "list [OP | WORKLOAD]", {"--impl", "--json", "--csv", "--markdown", "--names"}},
    {"ops", "ops [NAME]", {"--json"}},
    {"query", "query WORKLOAD | --batch", {"--batch", "--json"}},
    {"report",
     "report WORKLOAD... | OP | --graph FILE | --tune NAME",
     {"--graph", "--bind", "--partial", "--tune", "-o", "--json"}},
    {"run",
     "run OP [WORKLOAD...] | WORKLOAD... | --graph FILE",
     {"--preset", "--impl", "--search", "--trials", "--time", "--seed", "--again", "--log",
      "--json", "--graph", "--bind"}},
    {"searches", "searches", {"--json"}},
    {"select",
     "select WORKLOAD | --graph FILE | --batch",
     {"--explain", "--json", "--graph", "--bind", "--partial", "--batch"}},
    {"targets", "targets", {"--json"}},
};
static const char *const everywhere[] = {"--target", "--threads",   "--device", "--db",
                                         "--plugin", "--log-level", "--help",   "--version"};

static void check_help(const contract *row, const char *text)
{
    char usage[128];
    snprintf(usage, sizeof usage, "usage: optune %s", row->usage);
    check_contains(text, usage);
    for (int i = 0; row->options[i]; i++)
        check_contains(text, row->options[i]);
    for (int i = 0; i < OT_COUNT(everywhere); i++)
        check_contains(text, everywhere[i]);
}

static void every_command_has_help_with_all_its_options(void **state)
{
    (void)state;
    outcome all = optune("--help");
    assert_int_equal(all.code, 0);
    for (int i = 0; i < OT_COUNT(commands); i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %s ", commands[i].cmd);
        check_contains(ot_text_str(&all.out), line);
        outcome after = optune(commands[i].cmd, "--help");
        outcome before = optune("help", commands[i].cmd);
        assert_int_equal(after.code, 0);
        assert_int_equal(before.code, 0);
        assert_string_equal(ot_text_str(&after.out), ot_text_str(&before.out));
        assert_string_equal(ot_text_str(&after.err), "");
        check_help(&commands[i], ot_text_str(&after.out));
        release(&after);
        release(&before);
    }
    release(&all);
}

static void fits_a_page(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80)
            fail_msg("longer than 80 columns: %.*s", (int)strcspn(line, "\n"), line);
}

/* Every command of the table, also one that was added: the help of all lists it, its own help says
 * how it is used, it refuses an option that nobody knows, and shells complete it. */
static void every_command_keeps_the_contract(void **state)
{
    (void)state;
    outcome all = optune("--help"), bash = optune("completion", "bash");
    const char *line = strstr(ot_text_str(&all.out), "commands:\n");
    int n = 0;
    assert_non_null(line);
    for (line += strlen("commands:"); strncmp(line, "\n  help ", 8); n++) {
        char name[32], usage[64], word[40];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 3, " "), line + 3);
        outcome after = optune(name, "--help"), before = optune("help", name);
        snprintf(usage, sizeof usage, "usage: optune %s", name);
        assert_int_equal(after.code, 0);
        assert_string_equal(ot_text_str(&after.out), ot_text_str(&before.out));
        assert_string_equal(ot_text_str(&after.err), "");
        assert_int_equal(strncmp(ot_text_str(&after.out), usage, strlen(usage)), 0);
        for (int i = 0; i < OT_COUNT(everywhere); i++)
            check_contains(ot_text_str(&after.out), everywhere[i]);
        refused(2, "no option '--frobnicate'", name, "--frobnicate");
        snprintf(word, sizeof word, "%s|", name);
        check_contains(ot_text_str(&bash.out), word);
        do
            line += 1 + strcspn(line + 1, "\n");
        while (strncmp(line, "\n   ", 4) == 0); /* what goes on */
        fits_a_page(ot_text_str(&after.out));
        release(&after);
        release(&before);
    }
    assert_true(n >= OT_COUNT(commands));
    fits_a_page(ot_text_str(&all.out));
    release(&all);
    release(&bash);
}

static void help_is_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        const char *argv[4];
    } golden[] = {
        {"help.txt", {"optune", "--help"}},
        {"help_run.txt", {"optune", "run", "--help"}},
        {"help_export.txt", {"optune", "export", "--help"}},
        {"help_emit.txt", {"optune", "emit", "--help"}},
        {"help_verify.txt", {"optune", "verify", "--help"}},
    };
    for (int i = 0; i < OT_COUNT(golden); i++) {
        ot_text want = {0};
        char path[512];
        snprintf(path, sizeof path, "%s/tests/cli/golden/%s", OT_SOURCE_DIR, golden[i].file);
        command_slurp(path, &want);
        outcome o = command_start(NULL, golden[i].argv);
        assert_int_equal(o.code, 0);
        assert_string_equal(ot_text_str(&o.out), ot_text_str(&want));
        ot_text_release(&want);
        release(&o);
    }
}

static void version_is_printed(void **state)
{
    (void)state;
    outcome o = optune("--version");
    assert_int_equal(o.code, 0);
    assert_int_equal(strncmp(ot_text_str(&o.out), "optune ", 7), 0);
    release(&o);
}

/* ---- wrong words ------------------------------------------------------------------------- */

static void wrong_commands_and_options_name_the_nearest(void **state)
{
    (void)state;
    refused(2, "no command given", "--db", command_dir);
    refused(2, "no command 'rnu'; did you mean 'run'?", "rnu");
    refused(2, "did you mean 'select'?", "help", "selekt");
    refused(2, "no command 'xyzzy'\n", "xyzzy");
    refused(2, "no option '--trails'; did you mean '--trials'?", "run", "dense", "--trails",
            "3");
    refused(2, "did you mean '--trials'?", "run", "dense", "-trials", "3");
    refused(2, "no option '--jsn'; did you mean '--json'?", "ops", "--jsn");
    refused(2, "exclude each other", "run", "dense", "--json", "--csv");
    refused(2, "only one form", "searches", "--json", "--csv");
    refused(2, "did you mean '--target'?", "--taget=cpu", "ops");
    refused(2, "see 'optune query --help'", "query", "--best", "x");
    refused(2, "no option '-x'", "ops", "-x");
    for (int i = 0; i < OT_COUNT(commands); i++)
        refused(2, "no option '--frobnicate'", commands[i].cmd, "--frobnicate");
}

static void values_are_checked(void **state)
{
    (void)state;
    refused(2, "'--trials' needs a whole number of 1 or more, not '0'", "run", "dense",
            "--trials", "0");
    refused(2, "not '3x'", "run", "dense", "--trials=3x");
    refused(2, "'--time' needs seconds, 0 or more, not '-1'", "run", "dense", "--time", "-1");
    refused(2, "not 'inf'", "run", "dense", "--time", "inf");
    refused(2, "not '-4'", "run", "dense", "--seed", "-4");
    refused(2, "'--trials' needs an argument, N", "run", "dense", "--trials");
    refused(2, "'--preset' needs an argument, NAME", "run", "dense", "--preset", "--json");
    refused(2, "takes no argument, but got '1'", "ops", "--json=1");
    refused(2, "no log level 'inf'; did you mean 'info'?", "ops", "--log-level", "inf");
    refused(2, "'--db' needs DIR", "ops", "--db=");
    /* The target says which it takes, however they are said. */
    static const char *const threads[] = {"two", "-1",          "4097", "99999999999999999999",
                                          "1.5", "2 -libs=dnnl"};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        char said[128], target[64];
        snprintf(said, sizeof said, "'-threads=%s' is not a number from 0 (all) to 4096",
                 threads[i]);
        snprintf(target, sizeof target, "cpu -threads='%s'", threads[i]);
        refused(2, said, "ops", "--threads", threads[i]);
        refused(2, said, "list", "--threads", threads[i]);
        refused(2, said, "ops", "--target", target);
    }
    outcome all = optune("ops", "relu", "--threads", "0");
    expect("all", &all, 0, "");
    refused(2, "'--trials' takes 2147483647 at most, not '9223372036854775808'", "run", "dense",
            "--trials", "9223372036854775808");
    refused(2, "'--trials' takes 2147483647 at most, not '99999999999999999999'", "run",
            "dense", "--trials", "99999999999999999999");
    refused(2, "'-o' needs DIR, and neither reads nor writes a standard stream", "emit",
            "dense(f32[4,8], f32[16,8])", "-o", "-");
    refused(2, "'--log' needs FILE", "run", "dense", "--log", "-");
    refused(2, "export --json needs -o FILE", "export", "--json", "-o", "-");
}

static void words_are_counted(void **state)
{
    (void)state;
    refused(2, "run needs an operator", "run");
    refused(2, "query needs a workload", "query");
    refused(2, "'extra' is one word too many", "query", "dense", "extra");
    refused(2, "'extra' is one word too many", "targets", "extra");
    refused(2, "import needs a log", "import");
    refused(2, "emit needs a directory: -o DIR", "emit", "dense(f32[4,8], f32[2,8])");
    refused(2, "emit needs a workload, such as", "emit", "-o", "x");
    refused(2, "no workload beside it", "emit", "dense(f32[4,8], f32[2,8])", "--graph", "g",
            "-o", "x");
    refused(2, "go with --graph", "emit", "dense(f32[4,8], f32[2,8])", "--force", "-o", "x");
    refused(2, "--preset goes with an operator", "run", "dense(f32[4,8], f32[2,8])", "--preset",
            "tiny");
    refused(3, "no operator 'dnese'", "run", "dense(f32[4,8], f32[2,8])", "dnese(f32[4,8])");
    refused(3, "no operator '--json'", "ops", "--", "--json");
}

/* ---- where options may stand ------------------------------------------------------------- */

static void options_stand_anywhere(void **state)
{
    (void)state;
    outcome o[] = {
        optune("ops"),
        optune("--target", "cpu", "--threads=1", "ops"),
        optune("ops", "--target=cpu", "--db", command_dir, "--log-level", "error"),
        optune("--", "ops"),
        optune("--log-level=debug", "ops", "--"),
    };
    for (int i = 0; i < OT_COUNT(o); i++) {
        assert_int_equal(o[i].code, 0);
        check_contains(ot_text_str(&o[i].out), "conv2d");
        assert_string_equal(ot_text_str(&o[i].out), ot_text_str(&o[0].out));
    }
    for (int i = 0; i < OT_COUNT(o); i++)
        release(&o[i]);
}

/* ---- lists ------------------------------------------------------------------------------- */

static json_t *entry_named(json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
            return row;
    }
    print_error("no entry '%s'\n", name);
    fail();
    return NULL;
}

static void ops_as_json_hold_everything(void **state)
{
    (void)state;
    outcome o = optune("ops", "--json");
    json_t *json = json_of(&o), *list = json_object_get(json, "ops");
    json_t *dense = entry_named(list, "dense");
    static const char *const fields[] = {
        "summary",       "pattern", "pattern_number", "inputs",        "attributes",
        "support_level", "outputs", "presets",        "samples",       "flops",
        "bytes",         "terms",   "gradient",       "shape_function"};
    for (int i = 0; i < OT_COUNT(fields); i++)
        assert_non_null(json_object_get(dense, fields[i]));
    assert_string_equal(json_string_value(json_object_get(dense, "pattern")), "out-fusable");
    assert_int_equal(json_integer_value(json_object_get(dense, "pattern_number")), 4);
    json_t *weight = entry_named(json_object_get(dense, "inputs"), "weight");
    assert_true(json_is_true(json_object_get(weight, "const")));
    json_t *bias = entry_named(json_object_get(dense, "inputs"), "bias");
    assert_true(json_is_true(json_object_get(bias, "optional")));
    json_t *math = entry_named(json_object_get(dense, "attributes"), "math");
    assert_string_equal(json_string_value(json_object_get(math, "default")), "ieee");
    json_t *bert = entry_named(json_object_get(dense, "presets"), "bert-base");
    json_t *workload = json_array_get(json_object_get(bert, "workloads"), 0);
    assert_true(json_real_value(json_object_get(workload, "flops")) > 1e6);
    json_decref(json);
}

static void one_op_is_printed_in_full(void **state)
{
    (void)state;
    outcome o = optune("ops", "conv2d");
    assert_int_equal(o.code, 0);
    static const char *const parts[] = {"conv2d: ",
                                        "pattern out-fusable (4)",
                                        "support level",
                                        "data",
                                        "weight",
                                        "strides",
                                        "padding",
                                        "dilation",
                                        "groups",
                                        "math",
                                        "resnet50 (default)",
                                        "mobilenetv2",
                                        "vgg16",
                                        "samples:",
                                        "GFLOP"};
    for (int i = 0; i < OT_COUNT(parts); i++)
        check_contains(ot_text_str(&o.out), parts[i]);
    release(&o);
    refused(3, "no operator 'conv3d'; did you mean 'conv2d'?", "ops", "conv3d");
    refused(3, "no operator 'dens'; did you mean 'dense'", "impls", "dens");
    refused(3,
            "'conv2d', 'conv2d_backward_weight', 'conv2d_transpose', "
            "'pointwise_depthwise_conv2d' or 'quantized_conv2d'?",
            "ops", "conv");
    refused(3, "did you mean 'dense', ", "ops", "lstm");
    refused(3, "no target 'gpu'; did you mean 'cuda' or 'opencl'?", "select", "relu(f32[4])",
            "--target", "gpu");
}

static void impls_name_their_strategies(void **state)
{
    (void)state;
    outcome o = optune("impls", "dense", "--json");
    json_t *json = json_of(&o), *list = json_object_get(json, "impls");
    assert_true(json_array_size(list) >= 2);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(row, "op")), "dense");
        assert_int_equal(strlen(json_string_value(json_object_get(row, "digest"))), 32);
        const char *name = json_string_value(json_object_get(row, "name"));
        const bool generic =
            strstr(name, ".generic") != NULL; /* in none: it stands in for all */
        assert_true(json_array_size(json_object_get(row, "strategies")) > 0 || generic);
    }
    json_decref(json);
}

static void targets_searches_and_devices_are_listed(void **state)
{
    (void)state;
    outcome o = optune("targets", "--json");
    json_t *json = json_of(&o);
    json_t *cpu = entry_named(json_object_get(json, "targets"), "cpu");
    assert_true(json_array_size(json_object_get(cpu, "keys")) > 0);
    json_decref(json);
    o = optune("searches", "--json");
    json = json_of(&o);
    entry_named(json_object_get(json, "searches"), "random");
    entry_named(json_object_get(json, "searches"), "grid");
    json_decref(json);
    o = optune("devices", "--json");
    json = json_of(&o);
    json_t *here = json_array_get(json_object_get(json, "devices"), 0);
    assert_true(json_is_true(json_object_get(here, "here")));
    assert_true(json_is_false(json_object_get(here, "stored")));
    assert_true(json_integer_value(json_object_get(here, "cores")) >= 1);
    const char *key = json_string_value(json_object_get(here, "key"));
    o = optune("devices");
    const char *first = strstr(ot_text_str(&o.out), key);
    assert_non_null(first);
    assert_null(strstr(first + 1, key)); /* once, however many kinds of target run there */
    release(&o);
    json_decref(json);
}

/* A table of plain members for other programs; names alone for shells. */
static void lists_have_other_forms(void **state)
{
    (void)state;
    outcome o = optune("searches", "--csv");
    assert_int_equal(o.code, 0);
    assert_int_equal(strncmp(ot_text_str(&o.out), "name,", 5), 0);
    check_contains(ot_text_str(&o.out), "\nrandom,");
    release(&o);
    o = optune("searches", "--markdown");
    assert_int_equal(strncmp(ot_text_str(&o.out), "| name |", 8), 0);
    check_contains(ot_text_str(&o.out), "\n| --- |");
    release(&o);
    o = optune("searches", "--names");
    check_contains(ot_text_str(&o.out), "genetic\ngrid\n");
    assert_null(strchr(ot_text_str(&o.out), ' '));
    release(&o);
    o = optune("ops", "--csv");
    size_t lines = 0;
    for (const char *line = ot_text_str(&o.out); (line = strchr(line, '\n')); line++)
        lines++;
    outcome whole = optune("ops", "--json");
    json_t *all = json_of(&whole);
    assert_int_equal(lines, 1 + json_array_size(json_object_get(all, "ops")));
    json_decref(all);
    release(&o);
}

/* ---- asking an empty database ------------------------------------------------------------ */

static void questions_have_their_exit_codes(void **state)
{
    (void)state;
    const char *workload = "dense(f32[4,16], f32[8,16])";
    refused(3, "no current record", "query", workload);
    refused(2, "", "query", "dense(f32[4,16], f32[8,17])");
    refused(2, "", "select", "dense(f32[4,16]");
    refused(3, "did you mean 'dense'", "select", "dens(f32[4,16], f32[8,16])");
    refused(3, "did you mean 'cpu'?", "select", workload, "--target", "cpuu");
    refused(4, "nowhere", "select", workload, "--device", "nowhere");
    refused(3, "did you mean 'bert-base'?", "run", "dense", "--preset", "bert-bas");
    refused(3, "did you mean 'random'?", "run", "dense", "--search", "randm");
    refused(3, "no operator", "run", "dens");
    const char *ranges = "dense(f32[?m:1..64,16], f32[8,16])";
    refused(2, "needs a workload with ranges", "dispatch");
    refused(2, "no dim is symbolic", "dispatch", workload);
    refused(2, "no upper bound", "dispatch", "dense(f32[?m,16], f32[8,16])");
    refused(2, "--at goes with --load", "dispatch", ranges, "--at", "m=3");
    refused(3, "no dispatch table", "dispatch", "--load", ranges);
    refused(2, "`optune dispatch` tunes for ranges", "run", "dense", ranges);
    outcome o = optune("select", workload, "--json");
    json_t *json = json_of(&o);
    assert_true(json_is_object(json));
    json_decref(json);
    outcome brief = optune("select", workload), full = optune("select", workload, "--explain");
    assert_int_equal(brief.code, 0);
    assert_int_equal(full.code, 0);
    assert_true(full.out.n > brief.out.n);
    release(&brief);
    release(&full);
}

static void one_bad_source_keeps_no_other_out(void **state)
{
    (void)state;
    optune_err err;
    char empty[512];
    snprintf(empty, sizeof empty, "%s", command_path("empty.log"));
    check_ok(ot_write_file(empty, "", 0, &err));
    outcome o = optune("import", command_path("absent.log"), empty);
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.err), "absent.log");
    check_contains(ot_text_str(&o.out), "empty.log");
    release(&o);
    o = optune("import", empty);
    assert_int_equal(o.code, 0);
    release(&o);
}

static void a_log_on_stdin(void **state)
{
    (void)state;
    const int own = dup(0), fd = open(OT_SOURCE_DIR "/tests/data/record_good.log", O_RDONLY);
    assert_true(own >= 0 && fd >= 0 && dup2(fd, 0) == 0);
    outcome o = optune("import", "-", "--db", command_path("stdin.db"));
    dup2(own, 0);
    close(own);
    close(fd);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "0 lines not taken");
    release(&o);
}

/* What moves records says as JSON what it moved. */
static void logs_answer_in_json(void **state)
{
    (void)state;
    optune_err err;
    char bad[512], log[512];
    snprintf(bad, sizeof bad, "%s", command_path("bad.log"));
    snprintf(log, sizeof log, "%s", command_path("out.log"));
    check_ok(ot_write_file(bad, "{\n", 2, &err));
    outcome o = optune("import", "--json", bad, bad);
    assert_int_equal(o.code, 1); /* no line was taken, which the document tells, too */
    o.code = 0;
    json_t *json = json_of(&o);
    assert_int_equal(json_array_size(json), 2);
    json_t *first = json_array_get(json, 0);
    assert_string_equal(json_string_value(json_object_get(first, "source")), bad);
    assert_int_equal(json_integer_value(json_object_get(first, "refused")), 1);
    assert_int_equal(json_array_size(json_object_get(first, "problems")), 1);
    json_decref(json);

    o = optune("import", "--json", command_path("absent.log"));
    assert_int_equal(o.code, 1);
    assert_string_equal(ot_text_str(&o.out), "[]\n");
    release(&o);

    o = optune("export", "--json", "-o", log);
    json = json_of(&o);
    assert_string_equal(json_string_value(json_object_get(json, "file")), log);
    assert_true(json_is_integer(json_object_get(json, "records")));
    json_decref(json);
    refused(2, "export --json needs -o FILE", "export", "--json");
    refused(2, "'optune list OP'", "query", "dense");
}

/* On a terminal options are told within its width, and help says what it says elsewhere. */
static void help_fits_the_terminal(void **state)
{
    (void)state;
    const struct winsize size = {.ws_row = 24, .ws_col = 60};
    char seen[16384];
    size_t n = 0;
    int master, status;
    unsetenv("COLUMNS");
    fflush(NULL);
    const pid_t pid = forkpty(&master, NULL, NULL, &size);
    assert_true(pid >= 0);
    if (pid == 0) {
        execl(OT_CLI, "optune", "help", "list", (char *)NULL);
        _exit(98);
    }
    for (ssize_t got; (got = read(master, seen + n, sizeof seen - 1 - n)) > 0;)
        n += (size_t)got;
    seen[n] = '\0';
    close(master);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    outcome plain = optune("help", "list");
    const char *p = ot_text_str(&plain.out), *q = seen;
    for (; *p; p++, q++) { /* blanks may be ends of lines and more blanks */
        p += strspn(p, " \n");
        q += strspn(q, " \r\n");
        if (*p != *q)
            fail_msg("'%.40s' is '%.40s'", p, q);
        if (!*p)
            break;
    }
    for (const char *line = strtok(seen, "\r\n"); line; line = strtok(NULL, "\r\n"))
        if (*line == ' ' && strlen(line) > 60) /* notes are as they are written */
            fail_msg("%s", line);
    release(&plain);
}

/* ---- stdout ------------------------------------------------------------------------------ */

static void a_full_disk_is_a_failure(void **state)
{
    (void)state;
    outcome o = command_start("/dev/full", (const char *const[]){"optune", "ops", NULL});
    expect("ops >/dev/full", &o, 1, "cannot write to standard output");
    o = command_start("/dev/full", (const char *const[]){"optune", "ops", "--json", NULL});
    expect("ops --json >/dev/full", &o, 1, "standard output: No space left on device");
}

/* A file at its size limit is named; what was refused is in the middle of the output. */
static void a_refused_write_names_its_file(void **state)
{
    (void)state;
    char told[600];
    const struct rlimit least = {100 << 10, RLIM_INFINITY};
    struct rlimit before;
    snprintf(told, sizeof told, "output '%s': File too large", command_path("refused"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    outcome o = command_start(command_path("refused"),
                              (const char *const[]){"optune", "ops", "--json", NULL});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect("ops --json", &o, 1, told);
}

static void a_reader_that_leaves_is_fine(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        execl(OT_CLI, "optune", "ops", "--json", (char *)NULL);
        _exit(98);
    }
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_help_with_all_its_options),
        cmocka_unit_test(every_command_keeps_the_contract),
        cmocka_unit_test(help_is_as_published),
        cmocka_unit_test(help_fits_the_terminal),
        cmocka_unit_test(version_is_printed),
        cmocka_unit_test(wrong_commands_and_options_name_the_nearest),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(words_are_counted),
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(ops_as_json_hold_everything),
        cmocka_unit_test(one_op_is_printed_in_full),
        cmocka_unit_test(impls_name_their_strategies),
        cmocka_unit_test(targets_searches_and_devices_are_listed),
        cmocka_unit_test(lists_have_other_forms),
        cmocka_unit_test(questions_have_their_exit_codes),
        cmocka_unit_test(one_bad_source_keeps_no_other_out),
        cmocka_unit_test(a_log_on_stdin),
        cmocka_unit_test(logs_answer_in_json),
        cmocka_unit_test(a_full_disk_is_a_failure),
        cmocka_unit_test(a_refused_write_names_its_file),
        cmocka_unit_test(a_reader_that_leaves_is_fine),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
