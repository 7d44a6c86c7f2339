/* SPDX-License-Identifier: Apache-2.0 */
/* One worker process: started, asked, ended. Used by worker_client.c only. */
#ifndef OPTUNE_WORKER_PROCESS_H
#define OPTUNE_WORKER_PROCESS_H

#include "run/worker.h"

enum { OT_MOST_RUNNERS = 64 };
typedef struct ot_process {
    pid_t pid; /* 0: none */
    int fd;
    int at;         /* in the last request: the candidate whose turn it was; -1: none */
    int status;     /* as waitpid gives it, once it ended */
    pid_t runner;   /* the process that runs candidates, when it was last told of; 0: none */
    char doing[64]; /* the phase it said it begins; empty: it said nothing */
    bool alone;     /* that one is a measurement */
    int n_runners;  /* all that it told of in the last request */
    pid_t runners[OT_MOST_RUNNERS];
} ot_process;

/* It and what it starts make their temporary files in `temp`, which the caller removes behind them:
 * runners are killed without a word. */
int ot_process_start(ot_process *p, const char *program, const char *temp, optune_err *err);
/* Sends a request (taken) and waits for its answer, a new reference. On failure the process is
 * gone: ETIMEOUT when `limit_s` passed without a word, EINTERRUPTED when the options' `stop`
 * became true or their time is over, EWORKER when it ended by itself. Options may be NULL: nothing
 * stops it, nothing idles. */
int ot_process_ask(ot_process *p, json_t *request, double limit_s,
                   const ot_worker_options *options, json_t **answer, optune_err *err);
bool ot_process_alive(ot_process *p); /* one that ended meanwhile is cleared away */
void ot_process_stop(ot_process *p);  /* by force; fine when there is none */
/* How one that ended by itself did: by somebody's kill, or else in this text, with the phase it was
 * in, whatever ended it. */
bool ot_process_was_killed(const ot_process *p);
void ot_process_end_text(const ot_process *p, char *text, size_t size);

#endif
