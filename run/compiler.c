/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiler processes. A compiler that is a library (OpenCL's driver, NVRTC) starts slowly and
 * keeps what it loaded; its process is asked for one command after another. A crash costs the
 * process and no more. Never blocks.
 */
#include "run/compiler.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "target/target.h"

/* Drivers leak a little with every program; a process serves so many. */
enum { MOST_SERVED = 200, NICE = 5 };

/* WORKER --compile TARGET ...: how worker_main.c is asked. */
static bool can_stay(const optune_argv *argv)
{
    char worker[4096];
    optune_err err = {0};
    return argv->n > 3 && strcmp(argv->word[1], "--compile") == 0 &&
           ot_worker_program(worker, sizeof worker, &err) >= 0 &&
           strcmp(argv->word[0], worker) == 0;
}

static int ask(ot_compiler *c, optune_err *err)
{
    ot_text request = {0};
    for (int i = 3; i < c->argv->n; i++)
        ot_text_add_n(&request, c->argv->word[i], strlen(c->argv->word[i]) + 1);
    c->served++;
    const int status = ot_child_ask(&c->child, request.s, request.n, c->limit_s, err);
    ot_text_release(&request);
    return status;
}

static int start_new(ot_compiler *c, bool stays, optune_err *err)
{
    int status;
    c->served = 0;
    if (stays) {
        char *const *word = c->argv->word;
        char *const server[] = {word[0], word[1], word[2], NULL};
        status = ot_child_start_server(&c->child, server, err);
    } else {
        status = ot_child_start_in(&c->child, c->argv->word, c->temp, c->limit_s, err);
    }
    if (status >= 0)
        setpriority(PRIO_PGRP, (id_t)c->child.pid, NICE);
    return status < 0 || !stays ? status : ask(c, err);
}

static void end(ot_compiler *c)
{
    ot_child_release(&c->child);
    free(c);
}

int ot_compiler_start(ot_compilers *all, const optune_argv *argv, double limit_s,
                      ot_compiler **compiler, optune_err *err)
{
    const bool stays = can_stay(argv);
    ot_compiler *c = stays ? all->idle : NULL;
    if (c)
        all->idle = c->next;
    else
        c = ot_alloc(sizeof *c);
    const bool idle = c->served > 0;
    c->argv = argv;
    c->temp = all->temp;
    c->limit_s = limit_s;
    c->next = NULL;
    if (!idle || ask(c, err) < 0) {
        ot_child_release(&c->child); /* it ended while it had nothing to do */
        const int status = start_new(c, stays, err);
        if (status < 0) {
            end(c);
            return status;
        }
    }
    *compiler = c;
    return OPTUNE_OK;
}

bool ot_compiler_done(ot_compiler *c)
{
    optune_err err = {0};
    if (!ot_child_poll(&c->child))
        return false;
    if (!c->child.ended || c->child.timed_out || c->served <= 1)
        return true;
    ot_child_release(&c->child);
    if (start_new(c, true, &err) >= 0)
        return false;
    ot_text_add(&c->child.text, err.text);
    return true;
}

bool ot_compiler_succeeded(const ot_compiler *c)
{
    if (!c->child.ended)
        return c->child.answered && c->child.answer == 0;
    return !c->child.timed_out && WIFEXITED(c->child.status) &&
           WEXITSTATUS(c->child.status) == 0;
}

void ot_compiler_put(ot_compilers *all, ot_compiler *c)
{
    if (c->child.ended || !c->child.answered || c->served >= MOST_SERVED) {
        end(c);
        return;
    }
    c->argv = NULL;
    c->idle_since = ot_now();
    c->next = all->idle;
    all->idle = c;
}

void ot_compilers_end_idle(ot_compilers *all, double seconds)
{
    const double now = ot_now();
    for (ot_compiler **at = &all->idle; *at;) {
        ot_compiler *c = *at;
        if (now - c->idle_since < seconds) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        end(c);
    }
}

static const char *line_of(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return at;
}

/* What gcc and clang say for themselves behind what the linker said. */
static bool is_of_linker(const char *line, size_t n)
{
    static const char *const words[] = {"ld returned", "linker command failed"};
    for (int i = 0; i < OT_COUNT(words); i++)
        if (memmem(line, n, words[i], strlen(words[i])))
            return true;
    return false;
}

const char *ot_compiler_error(const char *text, size_t *n)
{
    const char *error = strstr(text, "error:");
    if (!error)
        return NULL;
    error = line_of(text, error);
    *n = strcspn(error, "\n");
    if (error > text && (is_of_linker(error, *n))) {
        error = line_of(text, error - 1);
        *n = strcspn(error, "\n");
    }
    return error;
}

const char *ot_compiler_macro(const char *error, size_t *n)
{
    const char *shown = error + strcspn(error, "\n");
    shown += *shown == '\n';
    shown += strspn(shown, " 0123456789");
    if (strncmp(shown, "| #define ", 10) != 0)
        return NULL;
    *n = strcspn(shown + 2, "\n");
    return shown + 2;
}
