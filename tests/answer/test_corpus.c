/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzzer (scripts/fuzz) keeps: each input of tests/data/corpus once more by its reader, as
 * it is and cut off at a few places. A reader ends the process where something does not hold.
 */
#include "support/check.h"

#include <dirent.h>
#include <unistd.h>

#include "support/readers.h"

static const char *const names[] = {"workload", "graph", "target", "config", "condition",
                                    "dispatch", "type",  "line",   "log",    "value",
                                    "pack"};

static void inputs_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(names); i++) {
        char dir[4200], path[8400];
        int n = 0;
        snprintf(dir, sizeof dir, "%s/tests/data/corpus/%s", OT_SOURCE_DIR, names[i]);
        DIR *all = opendir(dir);
        if (!all)
            fail_msg("no corpus of %s", names[i]);
        for (const struct dirent *entry; (entry = readdir(all));) {
            ot_text text = {0};
            snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
            if (entry->d_name[0] == '.' || ot_read_file(path, &text, 1 << 20, NULL) < 0)
                continue;
            const char *bytes = ot_text_str(&text);
            assert_true(read_as(names[i], bytes, text.n));
            for (size_t cut = 1; cut < 4; cut++)
                read_as(names[i], bytes, text.n * cut / 4);
            ot_text_release(&text);
            n++;
        }
        closedir(all);
        print_message("%s: %d\n", names[i], n);
        assert_true(n > 0);
    }
    assert_false(read_as("nobody", "", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_are_read)};
    return cmocka_run_group_tests_name("answer/corpus", tests, NULL, NULL);
}
