/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of a graph's groups as text: "8>0,8*3,0", group by group; `in>out`, or one number where
 * the two are equal, and how many groups in a row have it. What is read is met: any text is the
 * forms of n groups or is not.
 */
#include "graph/layout.h"

void ot_forms_print(const ot_blocks *form, int n, ot_text *to)
{
    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1;
             next < n && form[next].in == form[i].in && form[next].out == form[i].out;)
            next++;
        ot_text_printf(to, "%s%d", i ? "," : "", form[i].in);
        if (form[i].in != form[i].out)
            ot_text_printf(to, ">%d", form[i].out);
        if (next > i + 1)
            ot_text_printf(to, "*%d", next - i);
    }
}

static bool number(const char **at, int *value)
{
    enum { MOST = 1 << 20 };
    const char *from = *at;
    *value = 0;
    while (**at >= '0' && **at <= '9' && *value < MOST)
        *value = *value * 10 + *(*at)++ - '0';
    return *at > from && *value < MOST;
}

bool ot_forms_parse(const char *text, ot_blocks *form, int n)
{
    int at = 0;
    for (bool more = true; more;) {
        ot_blocks one;
        int count = 1;
        if (!number(&text, &one.in))
            return false;
        one.out = one.in;
        if (*text == '>' && (++text, !number(&text, &one.out)))
            return false;
        if (*text == '*' && (++text, !number(&text, &count)))
            return false;
        if (count < 1 || count > n - at)
            return false;
        while (count-- > 0)
            form[at++] = one;
        more = *text == ',';
        text += more;
    }
    return !*text && at == n;
}
