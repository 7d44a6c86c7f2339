/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with what it must see first, and the helpers that tests share. */
#ifndef OPTUNE_TESTS_CHECK_H
#define OPTUNE_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

/* The call succeeds, or the test fails with its message. Needs an `optune_err err` in scope. */
#define check_ok(expression)                                                                   \
    do {                                                                                       \
        if ((expression) < 0) {                                                                \
            print_error("%s: %s\n", #expression, err.text);                                    \
            fail();                                                                            \
        }                                                                                      \
    } while (0)

/* The text contains the part, or the test fails showing both. */
#define check_contains(text, part)                                                             \
    do {                                                                                       \
        if (!strstr((text), (part))) {                                                         \
            print_error("'%s' not in: %s\n", (part), (text));                                  \
            fail();                                                                            \
        }                                                                                      \
    } while (0)

#endif
