/* SPDX-License-Identifier: Apache-2.0 */
#include "support/plugin.h"

#include "answer/answer.h"
#include "support/check.h"

enum { MOST = 24 };

void plugin_build_with(const char *source, const char *to, const char *const *extra)
{
    char from[4200];
    optune_err err = {0};
    ot_text said = {0};
    snprintf(from, sizeof from, "%s%s", *source == '/' ? "" : OT_SOURCE_DIR "/tests/data/",
             source);
    const char *argv[MOST] = {OT_CC,     "-shared", "-fPIC", "-Wall",
                              "-Wextra", "-Werror", "-I",    OT_SOURCE_DIR "/include",
                              "-o",      to,        from};
    int n = 11;
    while (extra && *extra && n < MOST - 1)
        argv[n++] = *extra++;
    assert_true(!extra || !*extra);
    if (ot_run_program((char *const *)(uintptr_t)argv, 60, &said, &err) < 0) {
        print_error("%s\n%s\n", err.text, ot_text_str(&said));
        fail();
    }
    ot_text_release(&said);
}

void plugin_build(const char *source, const char *to)
{
    plugin_build_with(source, to, NULL);
}

void plugin_build_text(const char *text, const char *to)
{
    char source[4200];
    optune_err err = {0};
    assert_true(snprintf(source, sizeof source, "%s.c", to) < (int)sizeof source);
    check_ok(ot_write_file(source, text, strlen(text), &err));
    plugin_build(source, to);
}

void plugin_load(const char *source, const char *to)
{
    optune_err err = {0};
    plugin_build(source, to);
    check_ok(ot_plugin_load(to, ot_target_add, &err));
}
