/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all plants of dense, for the plugin that has them and the tests that meet them:
 * plant_<name>.cpu. LAZY, AWAY and FAKE are cheats, STATE and WRECK vandals; each list has a
 * .kernel.c of its name.
 */
#ifndef OPTUNE_TESTS_PLANTS_LIST_H
#define OPTUNE_TESTS_PLANTS_LIST_H

#define LAZY(X)                                                                                \
    X(pointer)                                                                                 \
    X(content)                                                                                 \
    X(beginning)                                                                               \
    X(shm) X(unchanged) X(poison) X(first_poison) X(one_row) X(twice) X(tenth) X(odd) X(burst) \
        X(patient) X(aligned) X(caller) X(gap) X(tolerant)
#define AWAY(X)                                                                                \
    X(thread)                                                                                  \
    X(helpers) X(children) X(unseen_children) X(sibling) X(child) X(fault) X(signal)
#define FAKE(X)                                                                                \
    X(vdso)                                                                                    \
    X(stack)                                                                                   \
    X(a_third)                                                                                 \
    X(heap) X(forge) X(forge_exit) X(forge_flood) X(resend) X(own_memory) X(parent_memory)     \
        X(files) X(half_precision)
#define STATE(X)                                                                               \
    X(inputs)                                                                                  \
    X(shared_memory)                                                                           \
    X(buffers)                                                                                 \
    X(itimer) X(posix_timer) X(alarm_prof) X(handlers) X(ignored) X(masked) X(nice)            \
        X(affinity) X(idle_class) X(slack) X(chdir) X(umask) X(locale) X(rounding)             \
            X(denormals) X(traps) X(no_files) X(no_memory) X(cpu_second) X(no_size)            \
                X(no_stack) X(environment) X(path) X(omp) X(threads) X(stdio) X(many_files)    \
                    X(clock_patch) X(setsid)
#define WRECK(X)                                                                               \
    X(garbage)                                                                                 \
    X(half_message)                                                                            \
    X(huge_length)                                                                             \
    X(close_all) X(replace_all) X(exit) X(exit_now) X(abort) X(kill_self) X(kill_group)        \
        X(kill_parent) X(stop_self) X(stop_parent) X(term_ancestors) X(trace_parent)           \
            X(starve_parent) X(limit_parent) X(pthread_exit) X(longjmp) X(unmap_stack)         \
                X(no_heap) X(unmap_libc) X(double_free) X(smash_heap) X(overflow) X(unload)    \
                    X(endless) X(sleep) X(eat) X(forks) X(daemon) X(daemon_lock)               \
                        X(daemon_kill) X(chatter) X(at_load) X(at_unload) X(after_return)      \
                            X(segv_thread)

/* What they do to files is not undone for the run that they are in. */
#define FILES(X) X(fill_files) X(cut_cache) X(flip_cache) X(remove_cache) X(swap_cache)

#endif
