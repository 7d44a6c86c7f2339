/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin is compiled when a test asks for it, as a stranger's would be. */
#include "support/emulated.h"

#include <stdio.h>

#include "support/plugin.h"

char *emulated_plugin(const char *dir)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/emulated.so", dir);
    plugin_load("plugin_emulated.c", path);
    return path;
}
