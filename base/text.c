/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string that grows; strict reading and writing of numbers, dtypes and "name=value" lines.
 * Adding cannot fail (reserve.h).
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* ---- a growing string -------------------------------------------------------------------- */

void ot_text_release(ot_text *t)
{
    free(t->s);
    *t = (ot_text){0};
}

void ot_text_clear(ot_text *t)
{
    t->n = 0;
    if (t->s)
        t->s[0] = 0;
}

/* Room for `n` more bytes and the terminating zero. */
static void reserve(ot_text *t, size_t n)
{
    if (t->s && n < t->capacity - t->n)
        return;
    size_t capacity = t->capacity ? t->capacity : 128;
    while (capacity - t->n <= n)
        capacity *= 2;
    char *s = realloc(t->s, capacity);
    if (!s)
        abort();
    t->s = s;
    t->capacity = capacity;
    t->s[t->n] = 0;
}

char *ot_text_room(ot_text *t, size_t n)
{
    reserve(t, n);
    return t->s + t->n;
}

void ot_text_add_n(ot_text *t, const char *s, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void ot_text_add(ot_text *t, const char *s)
{
    enum { SHORT = 16 }; /* to measure one and copy it takes longer than its characters */
    if (t->capacity - t->n > SHORT) {
        char *const end = t->s + t->n;
        for (size_t i = 0; i < SHORT; i++)
            if (!(end[i] = s[i])) {
                t->n += i;
                return;
            }
        *end = 0; /* `s` may be the text itself */
    }
    ot_text_add_n(t, s, strlen(s));
}

void ot_text_printf(ot_text *t, const char *format, ...)
{
    enum { USUAL = 48 }; /* bytes that are tried with at once */
    va_list list;
    reserve(t, USUAL);
    va_start(list, format);
    int n = ot_format_list(t->s + t->n, t->capacity - t->n, format, list);
    va_end(list);
    if (n > 0 && (size_t)n < t->capacity - t->n) {
        t->n += (size_t)n;
    } else if (n > 0) {
        reserve(t, (size_t)n);
        va_start(list, format);
        ot_format_list(t->s + t->n, (size_t)n + 1, format, list);
        va_end(list);
        t->n += (size_t)n;
    }
}

const char *ot_text_str(const ot_text *t)
{
    return t->s ? t->s : "";
}

const char *ot_text_behind_mark(const char *text)
{
    static const char mark[] = "\xef\xbb\xbf";
    return strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text;
}

/* Length of the well-formed UTF-8 sequence at s, or 0. */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
        return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
        return 0;
    return n;
}

bool ot_text_is_utf8(const char *s)
{
    while (*s) {
        const int n = utf8_length((const unsigned char *)s);
        if (n == 0)
            return false;
        s += n;
    }
    return true;
}

size_t ot_text_obeyed(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] && (u[0] < ' ' || u[0] == 0x7f))
        return 1;
    if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0)
        return 2;
    if (u[0] != 0xe2 || (u[1] != 0x80 && u[1] != 0x81))
        return 0;
    const bool turns = u[1] == 0x80
                           ? u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae)
                           : u[2] >= 0xa6 && u[2] <= 0xa9;
    return turns ? 3 : 0;
}

bool ot_text_is_plain(const char *s)
{
    while (*s && !ot_text_obeyed(s))
        s++;
    return !*s;
}

void ot_text_add_json(ot_text *t, const char *s)
{
    ot_text_add_n(t, "\"", 1);
    while (*s) {
        unsigned char c = (unsigned char)*s;
        int n = utf8_length((const unsigned char *)s);
        if (c == '"' || c == '\\') {
            ot_text_add_n(t, (char[]){'\\', *s}, 2);
        } else if (c == '\n') {
            ot_text_add_n(t, "\\n", 2);
        } else if (c < ' ') {
            ot_text_printf(t, "\\u%04x", c);
        } else if (n == 0) {
            ot_text_add(t, "\xef\xbf\xbd"); /* the replacement character */
        } else {
            ot_text_add_n(t, s, (size_t)n);
        }
        s += n ? n : 1;
    }
    ot_text_add_n(t, "\"", 1);
}

void ot_text_add_int(ot_text *t, int64_t value)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    ot_text_add_n(t, at, (size_t)(digits + sizeof digits - at));
}

/* As "%.*g" prints it, where that has no exponent: numbers from 1e-4 to 1e15, exactly, by integers.
 * False: it is none of these. */
static bool print_plain(double value, int digits, char *to)
{
#ifdef __SIZEOF_INT128__
    static const double tens[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    enum { LEAST = -4, SPAN = 1075, BITS = 52 };
    const double size = value < 0 ? -value : value;
    if (!(size >= tens[0] && size < tens[OT_COUNT(tens) - 1]))
        return false;
    int decade = 0; /* 10^(LEAST + decade) <= size < ten times that */
    while (size >= tens[decade + 1])
        decade++;
    int decimals = digits - (LEAST + decade + 1);
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    const int shift = SPAN - (int)(bits >> BITS); /* size = mantissa / 2^shift, with shift > 0 */
    unsigned __int128 whole = (bits & (((uint64_t)1 << BITS) - 1)) | (uint64_t)1 << BITS;
    for (int i = 0; i < decimals; i++)
        whole *= 10;
    const unsigned __int128 rest = whole & (((unsigned __int128)1 << shift) - 1);
    const unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
    uint64_t n = (uint64_t)(whole >> shift);
    n += rest > half || (rest == half && n & 1);
    for (; decimals > 0 && n % 10 == 0; decimals--)
        n /= 10;
    char reversed[40];
    int length = 0;
    for (int i = 0; n || i <= decimals; i++) {
        if (i == decimals && decimals)
            reversed[length++] = '.';
        reversed[length++] = (char)('0' + n % 10);
        n /= 10;
    }
    *to = '-';
    to += value < 0;
    while (length > 0)
        *to++ = reversed[--length];
    *to = 0;
    return true;
#else
    (void)value;
    (void)digits;
    (void)to;
    return false;
#endif
}

void ot_text_add_real(ot_text *t, double value)
{
    if (!isfinite(value)) {
        ot_text_add(t, "null");
        return;
    }
    if (value == 0 && !signbit(value)) {
        ot_text_add(t, "0.0");
        return;
    }
    char s[40];
    double same = 0;
    for (int digits = 15; digits <= 17; digits++) {
        if (!print_plain(value, digits, s))
            ot_format(s, sizeof s, "%.*g", digits, value);
        if (ot_read_real(s, &same) && same == value)
            break;
    }
    ot_text_add(t, s);
    if (!strpbrk(s, ".e"))
        ot_text_add(t, ".0");
}

bool ot_copy(char *to, size_t size, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    if (n >= size) {
        to[0] = 0;
        return false;
    }
    memmove(to, s ? s : "", n + 1);
    return true;
}

/* ---- numbers ----------------------------------------------------------------------------- */

bool ot_parse_int(const char *s, int64_t *value)
{
    /* Most are short, and strtoll takes longer than the rest of what reads them. */
    enum { SHORT = 18 };
    const char *p = s + (*s == '-');
    int64_t sum = 0;
    int n = 0;
    while (n < SHORT && isdigit((unsigned char)p[n]))
        sum = 10 * sum + (p[n++] - '0');
    if (n && !p[n]) {
        *value = *s == '-' ? -sum : sum;
        return true;
    }
    /* strtoll would skip white space and take a plus sign. */
    if (!isdigit((unsigned char)s[s[0] == '-']))
        return false;
    char *end;
    errno = 0;
    long long parsed = strtoll(s, &end, 10);
    if (errno || *end)
        return false;
    *value = parsed;
    return true;
}

/* ---- dtypes ------------------------------------------------------------------------------ */

typedef struct dtype_name {
    const char *name;
    optune_dtype_code code;
    const char *bits; /* allowed ones, separated by spaces */
} dtype_name;

/* Short names are ours, long ones AutoTVM's. */
static const dtype_name dtype_names[] = {
    {"f", OPTUNE_DTYPE_FLOAT, "16 32 64"},     {"bf", OPTUNE_DTYPE_BFLOAT, "16"},
    {"i", OPTUNE_DTYPE_INT, "4 8 16 32 64"},   {"u", OPTUNE_DTYPE_UINT, "4 8 16 32 64"},
    {"float", OPTUNE_DTYPE_FLOAT, "16 32 64"}, {"bfloat", OPTUNE_DTYPE_BFLOAT, "16"},
    {"int", OPTUNE_DTYPE_INT, "4 8 16 32 64"}, {"uint", OPTUNE_DTYPE_UINT, "4 8 16 32 64"},
};

static bool has_word(const char *words, const char *word, size_t n)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == n && strncmp(at, word, n) == 0)
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ot_parse_dtype(const char *s, optune_dtype *dtype)
{
    optune_dtype parsed = {.lanes = 1};
    const char *rest = NULL;
    if ((*s == 'b' && strncmp(s, "bool", 4) == 0) ||
        (*s == 'u' && (strncmp(s, "u1x", 3) == 0 || strcmp(s, "u1") == 0))) {
        parsed.code = OPTUNE_DTYPE_BOOL;
        parsed.bits = 1;
        rest = s + (s[0] == 'b' ? 4 : 2);
    } else {
        size_t letters = 0, digits = 0;
        while (s[letters] && !is_digit(s[letters]))
            letters++;
        while (is_digit(s[letters + digits]))
            digits++;
        for (int i = 0; i < OT_COUNT(dtype_names) && !rest; i++) {
            const dtype_name *row = &dtype_names[i];
            if (*row->name == *s && strlen(row->name) == letters &&
                strncmp(row->name, s, letters) == 0 &&
                has_word(row->bits, s + letters, digits)) {
                parsed.code = (uint8_t)row->code;
                for (size_t d = letters; d < letters + digits; d++)
                    parsed.bits = (uint8_t)(10 * parsed.bits + (s[d] - '0'));
                rest = s + letters + digits;
            }
        }
    }
    if (!rest)
        return false;
    if (*rest == 'x') {
        int64_t lanes;
        if (!ot_parse_int(rest + 1, &lanes) || lanes < 1 || lanes > UINT16_MAX)
            return false;
        parsed.lanes = (uint16_t)lanes;
    } else if (*rest) {
        return false;
    }
    *dtype = parsed;
    return true;
}

/* printf takes longer than all the rest of a call's text. */
static size_t put_digits(char *to, size_t n, unsigned value)
{
    unsigned power = 1;
    while (value / power >= 10)
        power *= 10;
    for (; power; power /= 10)
        to[n++] = (char)('0' + value / power % 10);
    return n;
}

static void print_dtype(optune_dtype dtype, const char *const names[6], const char *boolean,
                        char *to, size_t size)
{
    char word[32];
    const bool number = dtype.code > OPTUNE_DTYPE_UNKNOWN && dtype.code < OPTUNE_DTYPE_BOOL;
    const char *name = number                              ? names[dtype.code]
                       : dtype.code == OPTUNE_DTYPE_BOOL ? boolean
                                                           : "?";
    size_t n = strlen(name);
    memcpy(word, name, n);
    if (number)
        n = put_digits(word, n, dtype.bits);
    if (dtype.lanes > 1) {
        word[n++] = 'x';
        n = put_digits(word, n, dtype.lanes);
    }
    word[n] = 0;
    ot_copy(to, size, word);
}

void ot_print_dtype(optune_dtype dtype, char *to, size_t size)
{
    static const char *const names[] = {"?", "f", "bf", "i", "u", ""};
    print_dtype(dtype, names, "u1", to, size);
}

void ot_print_dtype_long(optune_dtype dtype, char *to, size_t size)
{
    static const char *const names[] = {"?", "float", "bfloat", "int", "uint", ""};
    print_dtype(dtype, names, "bool", to, size);
}

/* ---- lines ------------------------------------------------------------------------------- */

bool ot_lines_get(const char *lines, const char *name, char *to, size_t size)
{
    size_t name_length = strlen(name);
    to[0] = 0;
    for (const char *at = lines; at && *at;) {
        size_t n = strcspn(at, "\n");
        if (n > name_length && at[name_length] == '=' && strncmp(at, name, name_length) == 0) {
            size_t value = n - name_length - 1;
            if (value >= size)
                return false;
            memcpy(to, at + name_length + 1, value);
            to[value] = 0;
            return true;
        }
        at += n + (at[n] == '\n');
    }
    return false;
}

size_t ot_identifier_length(const char *s)
{
    size_t n = 0;
    if (isalpha((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
    return n;
}

bool ot_is_identifier(const char *s)
{
    const size_t n = s ? ot_identifier_length(s) : 0;
    return n && s[n] == '\0';
}

bool ot_is_row_name(const char *s)
{
    const char *const first = s;
    for (; s && *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_-.+", *s))
            return false;
    return s && s > first;
}
