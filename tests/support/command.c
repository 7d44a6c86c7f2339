/* SPDX-License-Identifier: Apache-2.0 */
/* See command.h. OT_CLI is the program, from the build. */
#include "support/command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

char command_dir[256];

int command_setup(void **state)
{
    (void)state;
    optune_err err;
    if (ot_temp_dir(command_dir, sizeof command_dir, &err) < 0)
        return -1;
    setenv("OPTUNE_DB", command_dir, 1);
    setenv("XDG_RUNTIME_DIR", command_dir, 1); /* no turns with other tests' runs */
    return unsetenv("OPTUNE_PLUGINS");
}

int command_teardown(void **state)
{
    (void)state;
    ot_remove_tree(command_dir);
    return 0;
}

void command_slurp(const char *path, ot_text *to)
{
    optune_err err;
    check_ok(ot_read_file(path, to, 1 << 22, &err));
}

void command_write(const char *name, const char *text)
{
    optune_err err;
    check_ok(ot_write_file(command_path(name), text, strlen(text), &err));
}

void release(outcome *o)
{
    ot_text_release(&o->out);
    ot_text_release(&o->err);
}

const char *command_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", command_dir, name);
    return path;
}

outcome command_start(const char *to, const char *const *argv)
{
    char out[512], err[512];
    snprintf(out, sizeof out, "%s/stdout", command_dir);
    snprintf(err, sizeof err, "%s/stderr", command_dir);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int fd = open(to ? to : out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int fe = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || fe < 0 || dup2(fd, 1) < 0 || dup2(fe, 2) < 0)
            _exit(99);
        execv(OT_CLI, (char *const *)argv);
        _exit(98);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    outcome o = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    if (!to)
        command_slurp(out, &o.out);
    command_slurp(err, &o.err);
    return o;
}

void expect(const char *what, outcome *o, int code, const char *in_err)
{
    if (o->code != code || !strstr(ot_text_str(&o->err), in_err)) {
        print_error("%s: exit code %d, expected %d\n%s\nexpected on stderr: %s\n", what,
                    o->code, code, ot_text_str(&o->err), in_err);
        fail();
    }
    release(o);
}

json_t *json_of(outcome *o)
{
    if (o->code)
        print_error("%s", ot_text_str(&o->err));
    assert_int_equal(o->code, 0);
    json_error_t problem;
    json_t *json = json_loads(ot_text_str(&o->out), 0, &problem);
    if (!json) {
        print_error("not JSON: %s\n%s\n", problem.text, ot_text_str(&o->out));
        fail();
    }
    release(o);
    return json;
}

json_t *first_workload(const json_t *json)
{
    return json_array_get(json_object_get(json, "workloads"), 0);
}

const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}
