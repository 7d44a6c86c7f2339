/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text, whatever the locale of the program that hosts the library: where 3,14 is
 * written, what is stored, compiled or read again must stay 3.14. The C locale is entered by one
 * thread for a moment; the program's own is never touched.
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

ot_locale ot_locale_enter(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return (ot_locale){c_locale ? uselocale(c_locale) : NULL};
}

void ot_locale_leave(ot_locale before)
{
    if (before.own)
        uselocale(before.own);
}

int ot_format_list(char *to, size_t size, const char *format, va_list list)
{
    const ot_locale before = ot_locale_enter();
    const int n = vsnprintf(to, size, format, list);
    ot_locale_leave(before);
    return n;
}

int ot_format(char *to, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = ot_format_list(to, size, format, list);
    va_end(list);
    return n;
}

enum { MOST_DIGITS = 19, LARGEST_POWER = 22, LARGEST_FIVE = 27 };

/* m / 10^k, rounded once, as all 64 bits of the quotient and whether something is left are known;
 * 0 < k <= LARGEST_FIVE, m > 0. */
static double over_power(uint64_t m, int k)
{
#ifdef __SIZEOF_INT128__
    uint64_t b = 1;
    for (int i = 0; i < k; i++)
        b *= 5;
    const int over = __builtin_clzll(m), under = __builtin_clzll(b);
    b <<= under;
    const unsigned __int128 a = (unsigned __int128)(m << over) << 63;
    const uint64_t quotient = (uint64_t)(a / b), rest = (uint64_t)(a % b);
    const int dropped = 64 - __builtin_clzll(quotient) - 53;
    const uint64_t half = (uint64_t)1 << (dropped - 1);
    const uint64_t low = quotient & (2 * half - 1);
    uint64_t kept = quotient >> dropped;
    kept += low > half || (low == half && (rest || kept & 1));
    const uint64_t power = (uint64_t)(1023 + dropped - 63 + under - over - k) << 52;
    double scale;
    memcpy(&scale, &power, sizeof scale);
    return (double)kept * scale;
#else
    (void)m;
    (void)k;
    return 0;
#endif
}

/* Digits that fit 64 bits, times or over a power of ten: one rounding, as strtod would make it, and
 * no locale. 0: it is no such number. */
static size_t read_short(const char *s, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = s + (*s == '-'), *const digits = at;
    uint64_t mantissa = 0;
    int scale = 0, n = 0;
    for (; *at >= '0' && *at <= '9'; at++) { /* zeros in front are none */
        n += n || *at != '0';
        mantissa = n <= MOST_DIGITS ? mantissa * 10 + (uint64_t)(*at - '0') : mantissa;
    }
    if (at == digits)
        return 0;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, scale--) {
            n += n || *at != '0';
            mantissa = n <= MOST_DIGITS ? mantissa * 10 + (uint64_t)(*at - '0') : mantissa;
        }
    if ((*at | 32) == 'e') {
        const bool down = at[1] == '-';
        const char *e = at + 1 + (down || at[1] == '+');
        int exponent = 0;
        for (at = e; *at >= '0' && *at <= '9' && at < e + 4; at++)
            exponent = exponent * 10 + (*at - '0');
        if (at == e || (*at >= '0' && *at <= '9'))
            return 0;
        scale += down ? -exponent : exponent;
    }
    if (n > MOST_DIGITS || (*at | 32) == 'x')
        return 0;
    const double exact = (double)mantissa;
    double read;
    if (mantissa <= (uint64_t)1 << 53 && scale >= -LARGEST_POWER && scale <= LARGEST_POWER)
        read = scale < 0 ? exact / power[-scale] : exact * power[scale];
    else if (mantissa && scale < 0 && scale >= -LARGEST_FIVE)
        read = over_power(mantissa, -scale);
    else
        return 0;
    if (mantissa && read == 0)
        return 0; /* a machine without numbers that wide */
    *value = *s == '-' ? -read : read;
    return (size_t)(at - s);
}

size_t ot_read_real(const char *s, double *value)
{
    const size_t n = read_short(s, value);
    if (n)
        return n;
    const char *digits = s + (*s == '-' || *s == '+');
    if (isspace((unsigned char)*s) || (digits[0] == '0' && (digits[1] | 32) == 'x'))
        return 0;
    char *end;
    const ot_locale before = ot_locale_enter();
    const double read = strtod(s, &end);
    ot_locale_leave(before);
    if (end != s)
        *value = read;
    return (size_t)(end - s);
}

bool ot_parse_real(const char *s, double *value)
{
    /* Keeps out infinities, a plus sign, and everything else strtod would take. */
    double read;
    if (!*s || s[strspn(s, "0123456789.eE+-")] || *s == '+')
        return false;
    if (ot_read_real(s, &read) != strlen(s) || !isfinite(read))
        return false;
    *value = read;
    return true;
}
