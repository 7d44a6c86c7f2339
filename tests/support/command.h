/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built program as scripts see it: started with argument vectors, judged by its exit code,
 * stdout and stderr. Each test program has one folder of its own, which is also its database.
 */
#ifndef OPTUNE_TESTS_COMMAND_H
#define OPTUNE_TESTS_COMMAND_H

#include <jansson.h>

#include "support/check.h"

typedef struct outcome {
    int code; /* exit code; 128 + signal when killed */
    ot_text out, err;
} outcome;

extern char command_dir[256];
int command_setup(void **state); /* group set-up: the folder, $OPTUNE_DB, a device lock */
int command_teardown(void **state);
const char *command_path(const char *name); /* in the folder; overwritten by the next call */
void command_slurp(const char *path, ot_text *to);
void command_write(const char *name, const char *text); /* a file in the folder */

/* Runs the program; stdout goes to the file `to`, or is captured when that is NULL. */
outcome command_start(const char *to, const char *const *argv);
void release(outcome *o);

#define optune(...) command_start(NULL, (const char *const[]){"optune", __VA_ARGS__, NULL})

/* The exit code is `code` and stderr holds `in_err`; releases the outcome. */
void expect(const char *what, outcome *o, int code, const char *in_err);

/* Wrong words: the exit code, and what the message must hold; nothing goes to stdout. */
#define refused(code_, message, ...)                                                           \
    do {                                                                                       \
        outcome refused_ = optune(__VA_ARGS__);                                                \
        assert_string_equal(ot_text_str(&refused_.out), "");                                   \
        expect(#__VA_ARGS__, &refused_, code_, message);                                       \
    } while (0)

/* Its stdout as JSON, of a command that went well; releases the outcome. New reference. */
json_t *json_of(outcome *o);
/* The first workload of a run's; borrowed. */
json_t *first_workload(const json_t *json);
/* A member that is a text. */
const char *text_at(const json_t *object, const char *name);

#endif
