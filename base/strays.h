/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that somebody's code started, or left behind: of a process that orphans come to (a
 * subreaper), they are its children, however often they were forked. */
#ifndef OPTUNE_STRAYS_H
#define OPTUNE_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

enum { OT_MOST_STRAYS = 4096 };

/* Has orphans come to this process, of which no other child is anybody's but the caller's. */
void ot_strays_adopt(void);
/* Whether this process did that. In any other, a child that appears may be another thread's. */
bool ot_strays_adopted(void);

/* 0: there is no such process. */
pid_t ot_parent_of(pid_t pid);
/* Children of this process, at most `most`, into `to`; how many. */
int ot_children_of_this(pid_t *to, int most);
/* Ends all children of this process but these, and waits for them; how many there were. For one
 * thread at a time. */
int ot_strays_end(const pid_t *kept, int n_kept);
/* The same with those of this process's session: what began one of its own is somebody's server,
 * which means to stay (bazel's, sccache's). */
int ot_strays_end_of_session(void);
/* Sends SIGSTOP, SIGCONT or SIGKILL to the groups that these children of this process lead and to
 * those of their descendants that left them for groups of their own, as what runs under `timeout`
 * does; not to those that began a session. */
void ot_trees_signal(const pid_t *root, int n_roots, int number);

#endif
