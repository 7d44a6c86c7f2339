/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listing as `nvdisasm -c -hex` prints it, a function at a time: a section .text.NAME, labels,
 * and for each instruction its address, its words, and its 16 bytes as two comments on two lines.
 * Four bits of these are how long the warp waits before its next instruction. Lines that are none
 * of this are passed over.
 */
#include <stdlib.h>
#include <string.h>

#include "target/sass/sass.h"

enum { STALL_SHIFT = 41, STALL_MASK = 15 }; /* bits 105 to 108 of 128 */

static ot_sass_word trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    return (ot_sass_word){from, (int)(to - from)};
}

/* The number in a comment, `0x...` or an address; false: there is none. */
static bool comment(const char **at, const char *end, uint64_t *value)
{
    const char *s = *at;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    if (end - s < 2 || memcmp(s, "/*", 2) != 0)
        return false;
    char digits[24] = "";
    const char *close = memmem(s + 2, (size_t)(end - s - 2), "*/", 2);
    if (!close)
        return false;
    const ot_sass_word inner = trimmed(s + 2, close);
    if (inner.n == 0 || inner.n >= (int)sizeof digits)
        return false;
    memcpy(digits, inner.s, (size_t)inner.n);
    char *rest;
    *value = strtoull(digits, &rest, 16);
    *at = close + 2;
    return *rest == '\0';
}

static ot_sass_instruction *add(ot_sass_code *code)
{
    if (code->n == OT_SASS_MOST) {
        code->cut = true;
        return NULL;
    }
    code->instruction =
        ot_room(code->instruction, code->n, &code->capacity, sizeof *code->instruction);
    return &code->instruction[code->n++];
}

static void add_label(ot_sass_code *code, ot_sass_word name)
{
    if (code->n_labels == OT_SASS_MOST)
        return;
    code->label =
        ot_room(code->label, code->n_labels, &code->label_capacity, sizeof *code->label);
    code->label[code->n_labels++] = (ot_sass_label){name, code->n};
}

/* `@!P0 BRA `(.L_x_0) ;` behind its address. False: these are no words of an instruction. */
static bool read_words(const char *s, const char *end, ot_sass_instruction *i)
{
    const char *stop = memchr(s, ';', (size_t)(end - s));
    if (!stop)
        return false;
    ot_sass_word all = trimmed(s, stop);
    bool never = false; /* ptxas fills slots so */
    *i = (ot_sass_instruction){.stall = 1};
    if (all.n && all.s[0] == '@') {
        const char *space = memchr(all.s, ' ', (size_t)all.n);
        if (!space)
            return false;
        const ot_sass_word guard = {all.s, (int)(space - all.s)};
        i->guard = guard;
        i->guarded = !(guard.n == 3 && memcmp(guard.s, "@PT", 3) == 0);
        never = guard.n == 4 && memcmp(guard.s, "@!PT", 4) == 0;
        all = trimmed(space, all.s + all.n);
    }
    if (!all.n || all.s[0] < 'A' || all.s[0] > 'Z')
        return false;
    const char *space = memchr(all.s, ' ', (size_t)all.n), *last = all.s + all.n;
    i->opcode = (ot_sass_word){all.s, space ? (int)(space - all.s) : all.n};
    i->operands = space ? trimmed(space, last) : (ot_sass_word){last, 0};
    i->kind = never ? OT_SASS_OTHER : ot_sass_kind_of(i->opcode, i->operands);
    return true;
}

typedef struct reader {
    ot_sass_code *code;
    int encoded; /* instructions whose encoding was there */
} reader;

static void read_line(reader *r, const char *s, const char *end)
{
    uint64_t value, low;
    ot_sass_code *code = r->code;
    const ot_sass_word line = trimmed(s, end);
    if (line.n > 1 && s[0] != ' ' && s[0] != '\t' && line.s[line.n - 1] == ':') {
        add_label(code, (ot_sass_word){line.s, line.n - 1});
        return;
    }
    if (!comment(&s, end, &value))
        return;
    ot_sass_instruction i;
    if (!read_words(s, end, &i)) {
        const bool second = trimmed(s, end).n == 0 && code->n > 0 && r->encoded == code->n - 1;
        if (second) {
            const int stall = (int)(value >> STALL_SHIFT & STALL_MASK);
            code->instruction[code->n - 1].stall = stall > 0 ? stall : 1;
            r->encoded++;
        }
        return;
    }
    ot_sass_instruction *to = add(code);
    if (!to)
        return;
    i.address = (int64_t)value;
    *to = i;
    const char *behind = memchr(s, ';', (size_t)(end - s)) + 1;
    if (!comment(&behind, end, &low))
        r->encoded = -1; /* never one behind again: the listing is without encodings */
}

static int by_name(const void *a, const void *b)
{
    const ot_sass_word *x = &((const ot_sass_label *)a)->name;
    const ot_sass_word *y = &((const ot_sass_label *)b)->name;
    const int n = x->n < y->n ? x->n : y->n, order = memcmp(x->s, y->s, (size_t)n);
    return order ? order : x->n - y->n;
}

/* The function that a line begins; false: it begins none. */
static bool section(const char *s, const char *end, ot_sass_word *name)
{
    static const char begin[] = ".section", text[] = ".text.";
    const ot_sass_word line = trimmed(s, end);
    if (line.n < (int)sizeof begin || memcmp(line.s, begin, sizeof begin - 1) != 0)
        return false;
    const ot_sass_word rest = trimmed(line.s + sizeof begin - 1, line.s + line.n);
    if (rest.n < (int)sizeof text || memcmp(rest.s, text, sizeof text - 1) != 0)
        return false;
    const char *from = rest.s + sizeof text - 1, *last = rest.s + rest.n;
    const char *comma = memchr(from, ',', (size_t)(last - from));
    *name = (ot_sass_word){from, (int)((comma ? comma : last) - from)};
    return true;
}

bool ot_sass_read(const char **listing, ot_sass_code *code)
{
    const char *s = *listing;
    reader r = {code, 0};
    ot_sass_word name;
    bool found = false;
    code->n = code->n_labels = 0;
    code->cut = code->timed = false;
    while (*s) {
        const char *end = s + strcspn(s, "\n");
        const bool starts = section(s, end, &name);
        if (starts && found)
            break;
        if (starts) {
            found = true;
            code->name = name;
        } else if (found) {
            read_line(&r, s, end);
        }
        s = end + (*end == '\n');
    }
    *listing = s;
    code->timed = code->n > 0 && r.encoded == code->n;
    if (code->n_labels)
        qsort(code->label, (size_t)code->n_labels, sizeof *code->label, by_name);
    return found;
}

void ot_sass_release(ot_sass_code *code)
{
    free(code->instruction);
    free(code->label);
    *code = (ot_sass_code){0};
}

/* ---- where branches lead ------------------------------------------------------------------ */

static int at_label(const ot_sass_code *code, ot_sass_word name)
{
    const ot_sass_label key = {name, 0};
    const ot_sass_label *found =
        code->n_labels ? bsearch(&key, code->label, (size_t)code->n_labels, sizeof key, by_name)
                       : NULL;
    return found && found->at < code->n ? found->at : -1;
}

static int at_address(const ot_sass_code *code, int64_t address)
{
    int low = 0, high = code->n - 1;
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        const int64_t here = code->instruction[middle].address;
        if (here == address)
            return middle;
        if (here < address)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

int ot_sass_target(const ot_sass_code *code, const ot_sass_instruction *i, int index)
{
    const char *s = i->operands.s, *const end = s + i->operands.n;
    while (s < end) {
        if (*s == '.' && end - s > 1 && s[1] == 'L') { /* `(.L_x_0), or a list of them */
            const char *last = s;
            while (last < end && !strchr("), \t\"*", *last))
                last++;
            if (index-- == 0)
                return at_label(code, (ot_sass_word){s, (int)(last - s)});
            s = last;
        } else if (end - s > 2 && s[0] == '0' && s[1] == 'x' && s > i->operands.s &&
                   s[-1] != ' ') {
            s += 2; /* an offset in brackets */
        } else if (end - s > 2 && s[0] == '0' && s[1] == 'x') {
            char digits[24] = "";
            int n = 0;
            for (s += 2;
                 s < end && n < (int)sizeof digits - 1 && strchr("0123456789abcdefABCDEF", *s);)
                digits[n++] = *s++;
            if (index-- == 0)
                return at_address(code, (int64_t)strtoull(digits, NULL, 16));
        } else {
            s++;
        }
    }
    return -1;
}
