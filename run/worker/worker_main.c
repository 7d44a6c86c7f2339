/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune-worker: the process that has candidates run (worker.h). Started by the library with its
 * socket as file 3 and the number of its parent; never by a person, except to ask what a library
 * is: `optune-worker --library cblas`. Whether a driver survives its start is seen by
 * `optune-worker --driver opencl`. The same program is the compiler process of targets whose
 * compiler is a library: `optune-worker --compile TARGET ...`, or without more words for requests
 * on its stdin. It dies with its parent, and nothing it does outlives it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run/worker.h"
#include "target/driver.h"

/* What the library prints is not the answer. */
static int describe(const char *lib)
{
    char text[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    const int answer = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (answer >= 0 && nowhere >= 0)
        dup2(nowhere, STDOUT_FILENO);
    const int status = ot_cpu_library_describe(lib, text, sizeof text, &err);
    fflush(stdout);
    if (answer >= 0)
        dup2(answer, STDOUT_FILENO);
    if (status < 0) {
        puts(err.text);
        return 4;
    }
    fputs(text, stdout);
    return 0;
}

static int compile(const char *target, char **word, int n)
{
    const optune_target_row *row = ot_target_find(target);
    if (!row || !row->translate) {
        printf("error: target '%s' compiles nothing in the worker program\n", target);
        return 2;
    }
    return row->translate(word, n);
}

/* A request is the words, each with its end; the answer is the exit status. What the compiler
 * keeps between requests is its own; the end of the conversation is the end of the process. */
static int serve_compiles(const char *target)
{
    ot_text request = {0};
    optune_err err = {0};
    while (ot_message_receive(STDIN_FILENO, &request, -1, &err) >= 0) {
        char *word[OT_COUNT(((optune_argv *)NULL)->word)];
        int n = 0;
        for (char *at = request.s; at && at < request.s + request.n; at += strlen(at) + 1)
            if (n < OT_COUNT(word))
                word[n++] = at;
        const char code = (char)compile(target, word, n);
        fflush(stdout);
        if (ot_message_send(STDIN_FILENO, &code, 1, &err) < 0)
            break;
    }
    ot_text_release(&request);
    return 0;
}

int main(int argc, char **argv)
{
    int code = 2;
    ot_driver_expendable();
    if (argc == 3 && strcmp(argv[1], "--driver") == 0)
        _exit(ot_driver_tried(argv[2]));
    if (argc == 3 && strcmp(argv[1], "--compile") == 0)
        _exit(serve_compiles(argv[2]));
    if (argc >= 3 && strcmp(argv[1], "--compile") == 0) {
        code = compile(argv[2], argv + 3, argc - 3);
        fflush(stdout);
        _exit(code);
    }
    if (argc == 3 && strcmp(argv[1], "--library") == 0) {
        code = describe(argv[2]);
        fflush(stdout);
        _exit(code); /* not through what the library left to do at exit */
    }
    int64_t fd, parent;
    if (argc == 4 && strcmp(argv[1], "--serve") == 0 && ot_parse_int(argv[2], &fd) &&
        ot_parse_int(argv[3], &parent)) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != (pid_t)parent)
            _exit(1); /* it died before the line above */
        signal(SIGPIPE, SIG_IGN);
        code = ot_worker_serve((int)fd);
        _exit(code); /* candidates may have registered anything for exit */
    }
    fputs("optune-worker is started by optune; by hand: optune-worker --library NAME\n",
          stderr);
    return code;
}
