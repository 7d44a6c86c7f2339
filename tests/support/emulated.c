/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin is compiled when a test asks for it, as a stranger's would be. */
#include "support/emulated.h"

#include "answer/answer.h"
#include "support/check.h"

char *emulated_plugin(const char *dir)
{
    static char path[4200];
    optune_err err = {0};
    char cc[] = OT_CC, shared[] = "-shared", pic[] = "-fPIC", out[] = "-o";
    char include[] = "-I" OT_SOURCE_DIR "/include";
    char source[] = OT_SOURCE_DIR "/tests/data/plugin_emulated.c";
    char *argv[] = {cc, shared, pic, include, out, path, source, NULL};
    snprintf(path, sizeof path, "%s/emulated.so", dir);
    check_ok(ot_run_program(argv, 60, NULL, &err));
    check_ok(ot_plugin_load(path, ot_target_add, &err));
    return path;
}
