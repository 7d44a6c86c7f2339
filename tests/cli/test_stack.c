/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under a small limit of the stack the program raises it, or says that it cannot: no crash.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "support/command.h"

static int limited(const char *how, const char *words, ot_text *said)
{
    char command[2048];
    snprintf(command, sizeof command, "ulimit %s && exec '%s' %s > '%s' 2>&1", how, OT_CLI, words,
             command_path("said"));
    const int status = system(command);
    command_slurp(command_path("said"), said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define SELECT "select 'dense(f32[4,16], f32[8,16])'"
#define RUN "run 'relu(f32[64])' --threads 1 --trials 1"

static void a_soft_limit_is_raised(void **state)
{
    (void)state;
    static const char *const words[] = {SELECT, RUN};
    for (size_t i = 0; i < OT_COUNT(words); i++) {
        ot_text said = {0};
        const int code = limited("-S -s 64", words[i], &said);
        if (code)
            fail_msg("%s: %d: %s", words[i], code, ot_text_str(&said));
        ot_text_release(&said);
    }
}

/* Who may raise that, too, does. */
static void a_hard_one_is_told(void **state)
{
    (void)state;
    ot_text said = {0};
    const int code = limited("-s 64", SELECT, &said);
    if (code) {
        assert_int_equal(code, 1);
        check_contains(ot_text_str(&said), "the stack is limited to 64 KiB");
        check_contains(ot_text_str(&said), "ulimit -s 8192");
    }
    ot_text_release(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_soft_limit_is_raised),
        cmocka_unit_test(a_hard_one_is_told),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
