/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asked by programs: workloads a line, answers a line, what is wrong as a line; a program that
 * waits for each answer gets it; OPTUNE_VERBOSE; no HOME.
 */
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/command.h"

extern char **environ;

static const char *write_lines(const char *name, const char *text, size_t n)
{
    const char *path = command_path(name);
    optune_err err = {0};
    check_ok(ot_write_file(path, text, n, &err));
    return path;
}

/* Through a shell, which redirects; nothing of the test's text stands in the command. */
static outcome with_stdin(const char *path, const char *words)
{
    char command[4096], out[512];
    snprintf(out, sizeof out, "%s", command_path("out"));
    snprintf(command, sizeof command, "exec '%s' %s < '%s' > '%s' 2> '%s.err'", OT_CLI, words,
             path, out, out);
    outcome o = {0};
    const int status = system(command);
    o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    command_slurp(out, &o.out);
    strcat(out, ".err");
    command_slurp(out, &o.err);
    return o;
}

static json_t *line_at(const outcome *o, int line)
{
    const char *p = ot_text_str(&o->out);
    for (; line > 0 && p; line--)
        p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
    assert_non_null(p);
    json_t *json = json_loadb(p, strcspn(p, "\n"), 0, NULL);
    if (!json)
        fail_msg("no JSON: %.200s", p);
    return json;
}

static int count_lines(const outcome *o)
{
    int n = 0;
    for (const char *p = ot_text_str(&o->out); *p; p++)
        n += *p == '\n';
    return n;
}

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static void one_line_each(void **state)
{
    (void)state;
    static const char lines[] = "relu(f32[4])\n"
                                "relu(f32[4]\n"
                                "\n"
                                "nothing \"at\" all\n"
                                "relu(f32[\0004])\n"
                                "relu(f64[9])\r\n"
                                "relu(f32[?n])\n"
                                "relu(f32[\xff])\n"
                                "softmax(f32[3,4])";
    const char *path = write_lines("lines", lines, sizeof lines - 1);
    static const char *const status[] = {"", "ESYNTAX", "ESYNTAX", "ENOENT", "ESYNTAX",
                                         "", "ENOENT",  "ESYNTAX", ""};
    char kept[512];
    snprintf(kept, sizeof kept, "%s", path);
    outcome o = with_stdin(kept, "select --batch --threads 1");
    assert_int_equal(o.code, 0);
    assert_string_equal(ot_text_str(&o.err), "");
    assert_int_equal(count_lines(&o), OT_COUNT(status));
    for (int i = 0; i < OT_COUNT(status); i++) {
        json_t *json = line_at(&o, i);
        assert_string_equal(text_of(json, "status"), status[i]);
        assert_int_equal(*text_of(json, "error") == '\0', *status[i] == '\0');
        assert_int_equal(*text_of(json, "impl") != '\0', *status[i] == '\0');
        json_decref(json);
    }
    json_t *json = line_at(&o, 8);
    assert_string_equal(text_of(json, "workload"), "softmax(f32[3,4])");
    assert_true(json_is_array(json_object_get(json, "config")));
    assert_true(json_is_null(json_object_get(json, "cost")));
    json_decref(json);
    release(&o);
    o = with_stdin(kept, "query --batch --threads 1");
    assert_int_equal(o.code, 0);
    assert_int_equal(count_lines(&o), OT_COUNT(status));
    json = line_at(&o, 0);
    assert_string_equal(text_of(json, "status"), "ENOENT");
    json_decref(json);
    release(&o);
    o = with_stdin(kept, "select --batch --explain --threads 1");
    json = line_at(&o, 0);
    assert_string_equal(text_of(json_object_get(json, "answer"), "call"), "relu(f32[4])");
    json_decref(json);
    release(&o);
    o = with_stdin("/dev/zero", "select --batch --threads 1");
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.err), "is no text");
    release(&o);
    refused(2, "reads workloads from stdin", "select", "--batch", "relu(f32[4])");
    refused(2, "reads workloads from stdin", "query", "--batch", "relu(f32[4])");
    refused(2, "query needs a workload", "query");
}

/* As AutoTVM asks: nothing is known here, and what is said is the workload to tune. */
static void asked_as_autotvm(void **state)
{
    (void)state;
    static const char task[] = "[\"llvm\", \"dense_pack.x86\", [[\"TENSOR\", [4, 16], "
                               "\"float32\"], [\"TENSOR\", [8, 16], \"float32\"], null, "
                               "\"float32\"], {}]";
    refused(3, "no current record of dense_pack.x86 for dense(f32[4,16], const f32[8,16])",
            "query", "--tvm", task);
    refused(3, "kind 'cuda'", "query", "--tvm", "[\"cuda\", \"dense_pack.x86\", [], {}]");
    refused(2, "no JSON", "query", "--tvm", "dense(f32[4,16], f32[8,16])");
    char kept[512], lines[1024];
    const int n = snprintf(lines, sizeof lines, "%s\nrelu(f32[4])\n[]\n", task);
    snprintf(kept, sizeof kept, "%s", write_lines("tasks", lines, (size_t)n));
    outcome o = with_stdin(kept, "query --batch --tvm");
    assert_int_equal(o.code, 0);
    assert_int_equal(count_lines(&o), 3);
    static const char *const status[] = {"ENOENT", "ESYNTAX", "ESYNTAX"};
    for (int i = 0; i < OT_COUNT(status); i++) {
        json_t *json = line_at(&o, i);
        assert_string_equal(text_of(json, "status"), status[i]);
        assert_string_equal(text_of(json, "workload"),
                            i ? i == 1 ? "relu(f32[4])" : "[]" : task);
        json_decref(json);
    }
    release(&o);
}

/* A program at the other end of two pipes gets every answer before it asks again. */
static void answers_at_once(void **state)
{
    (void)state;
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawn_file_actions_addclose(&files, in[1]);
    posix_spawn_file_actions_addclose(&files, out[0]);
    char name[] = "optune", select[] = "select", batch[] = "--batch";
    char *argv[] = {name, select, batch, NULL};
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, OT_CLI, &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(in[0]);
    close(out[1]);
    FILE *answers = fdopen(out[0], "r");
    for (int i = 1; i <= 3; i++) {
        char line[4096], want[64];
        const int n = snprintf(line, sizeof line, "relu(f32[%d])\n", i);
        assert_int_equal(write(in[1], line, (size_t)n), n);
        assert_non_null(fgets(line, sizeof line, answers));
        snprintf(want, sizeof want, "{\"workload\":\"relu(f32[%d])\",\"impl\"", i);
        check_contains(line, want);
    }
    close(in[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fclose(answers);
}

static void selections_are_told(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", command_path("verbose"));
    setenv("OPTUNE_VERBOSE", path, 1);
    outcome o = optune("select", "relu( f32[4] )", "--threads", "1");
    assert_string_equal(ot_text_str(&o.err), "");
    release(&o);
    ot_text said = {0};
    command_slurp(path, &said);
    check_contains(ot_text_str(&said),
                   "optune\tselect\trelu(f32[4])\trelu_vector.cpu\tplevel\t[");
    ot_text_release(&said);
    setenv("OPTUNE_VERBOSE", "1", 1);
    o = optune("select", "relu(f32[4])", "--threads", "1");
    check_contains(ot_text_str(&o.err), "optune\tselect\trelu(f32[4])\t");
    release(&o);
    setenv("OPTUNE_VERBOSE", "0", 1);
    o = optune("select", "relu(f32[4])", "--threads", "1");
    assert_string_equal(ot_text_str(&o.err), "");
    release(&o);
    unsetenv("OPTUNE_VERBOSE");
}

static void without_home(void **state)
{
    (void)state;
    char *home = getenv("HOME") ? ot_strdup(getenv("HOME")) : NULL;
    char *db = ot_strdup(getenv("OPTUNE_DB"));
    unsetenv("HOME");
    unsetenv("OPTUNE_DB");
    outcome o = optune("ops", "relu");
    assert_int_equal(o.code, 0);
    release(&o);
    o = optune("ops", "concatenate"); /* inputs of which the same is said are a line */
    check_contains(ot_text_str(&o.out), "    data0          tensor, var: the first\n");
    check_contains(ot_text_str(&o.out), "    data1 .. data63 tensor, var, optional: the next\n");
    release(&o);
    o = optune("select", "relu(f32[4])", "--threads", "1");
    assert_int_equal(o.code, 0);
    release(&o);
    setenv("OPTUNE_DB", db, 1);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    free(db);
}

/* What ended early for another reason than its end is no batch that was answered. */
static void input_is_read_to_its_end(void **state)
{
    (void)state;
    outcome o = with_stdin(command_dir, "select --batch");
    expect("a directory", &o, 1, "cannot read standard input");
}

/* Files of some editors begin with a mark, which is none of the first line; in any other it is. */
static void a_mark_in_front(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbfrelu(f32[5])\r\n\xef\xbb\xbfrelu(f32[6])\n";
    char path[512];
    snprintf(path, sizeof path, "%s", write_lines("marked", text, sizeof text - 1));
    outcome o = with_stdin(path, "select --batch");
    assert_int_equal(o.code, 0);
    json_t *json = line_at(&o, 0);
    assert_string_equal(text_of(json, "workload"), "relu(f32[5])");
    assert_non_null(json_object_get(json, "impl"));
    json_decref(json);
    json = line_at(&o, 1);
    assert_string_equal(text_of(json, "status"), "ESYNTAX");
    json_decref(json);
    release(&o);
}

/* In the middle of what it would print, too. */
static void a_reader_that_has_enough(void **state)
{
    (void)state;
    char command[4096], err[512];
    ot_text held = {0};
    snprintf(err, sizeof err, "%s", command_path("enough.err"));
    snprintf(command, sizeof command,
             "yes 'relu(f32[4])' | head -n 20000 | "
             "( '%s' select --batch 2> '%s'; echo $? >> '%s' ) | head -n 1 > /dev/null",
             OT_CLI, err, err);
    assert_int_equal(system(command), 0);
    command_slurp(err, &held);
    assert_string_equal(ot_text_str(&held), "0\n");
    ot_text_release(&held);
}

/* As daemons start programs: what is said goes nowhere, least of all into the store, whose files
 * would be the first that are opened. */
static void without_streams(void **state)
{
    (void)state;
    char command[4096], path[512];
    ot_text held = {0};
    outcome o = optune("import", OT_SOURCE_DIR "/tests/data/record_good.log");
    expect("import", &o, 0, "");
    snprintf(command, sizeof command,
             "exec '%s' query 'dense(f32[3,5], f32[7,5])' <&- >&- 2>&-", OT_CLI);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    static const char *const files[] = {"store/lock.mdb", "store/commits", "store/data.mdb"};
    for (int i = 0; i < OT_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s", command_path(files[i]));
        command_slurp(path, &held);
        assert_true(held.n > 0);
        assert_null(memmem(ot_text_str(&held), held.n, "optune: ", 8));
        ot_text_release(&held);
    }
    snprintf(command, sizeof command, "exec '%s' ops >&- 2> '%s'", OT_CLI, command_path("err"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    command_slurp(command_path("err"), &held);
    check_contains(ot_text_str(&held), "cannot write to standard output");
    ot_text_release(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_each),   cmocka_unit_test(asked_as_autotvm),
        cmocka_unit_test(answers_at_once), cmocka_unit_test(selections_are_told),
        cmocka_unit_test(without_home),    cmocka_unit_test(input_is_read_to_its_end),
        cmocka_unit_test(a_mark_in_front), cmocka_unit_test(a_reader_that_has_enough),
        cmocka_unit_test(without_streams),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
