/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins for tests: compiled when one asks for them, as a stranger's would be. */
#ifndef OPTUNE_TESTS_PLUGIN_H
#define OPTUNE_TESTS_PLUGIN_H

/* Compiles a C file into the shared object `to`, with the public headers alone and every warning
 * an error; `extra` is NULL or more arguments, up to a NULL. The test fails with the compiler's
 * words where it cannot. A `source` that does not start with a slash is one of tests/data. */
void plugin_build_with(const char *source, const char *to, const char *const *extra);
void plugin_build(const char *source, const char *to);

/* The same, of C that is told as text: it is written beside `to`. */
void plugin_build_text(const char *text, const char *to);

/* The same, and loaded into this process. */
void plugin_load(const char *source, const char *to);

#endif
