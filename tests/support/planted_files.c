/* SPDX-License-Identifier: Apache-2.0 */
#include "support/planted_files.h"

char planted_root[4096];

int planted_setup(void **state)
{
    (void)state;
    return ot_temp_dir(planted_root, sizeof planted_root, NULL);
}

int planted_teardown(void **state)
{
    (void)state;
    ot_remove_tree(planted_root);
    return 0;
}

void planted_write(const char *name, const char *text)
{
    optune_err err;
    char path[sizeof planted_root + 256];
    snprintf(path, sizeof path, "%s/%s", planted_root, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    check_ok(ot_make_dirs(path, &err));
    *slash = '/';
    check_ok(ot_write_file(path, text, strlen(text), &err));
}
