/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of logs, values of a store, packs: whatever they hold, what is believed is sound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/head.h"
#include "db/kv.h"
#include "db/line.h"
#include "db/pack.h"
#include "support/readers.h"
#include "target/target.h"

static void die_unless(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* A line of it says the same record, and is one. */
static void says(const ot_text *line, ot_heads *heads, const optune_record *record)
{
    ot_arena arena = {0};
    ot_log_line *back = ot_alloc(sizeof *back);
    json_t *root = NULL;
    die_unless(line->n <= OT_LONGEST_LINE, "its own line is too long");
    die_unless(memchr(line->s, '\n', line->n) == line->s + line->n - 1, "its own line is two");
    die_unless(ot_line_parse(line->s, line->n - 1, "x", heads, &arena, back, &root) &&
                   back->ours && !back->problem,
               "its own line cannot be read");
    const ot_digest a = ot_record_digest(record), b = ot_record_digest(&back->record);
    die_unless(!memcmp(a.byte, b.byte, sizeof a.byte), "its own line says another record");
    json_decref(root);
    free(back);
    ot_arena_release(&arena);
}

/* So do its full and its short line. */
static void believed(const optune_record *record)
{
    static ot_headings *headings;
    ot_text line = {0}, head = {0};
    ot_arena arena = {0};
    die_unless(ot_record_sound(record, NULL), "believed, and not sound");
    ot_record_line(record, &line);
    says(&line, NULL, record);
    ot_text_clear(&line);
    headings = headings ? headings : ot_headings_new();
    const ot_heading heading = ot_heading_of(headings, record);
    ot_heads *heads = ot_heads_new();
    ot_text_printf(&head, "%016llx ", (unsigned long long)heading.name);
    ot_text_add_n(&head, heading.text, heading.n_text);
    die_unless(!memchr(head.s, '\n', head.n), "its head is two lines");
    die_unless(!ot_heads_take(heads, head.s, head.n, &arena), "its head cannot be read");
    ot_line_add_short(record, heading.name, &line);
    says(&line, heads, record);
    ot_heads_free(heads);
    ot_arena_release(&arena);
    ot_text_release(&line);
    ot_text_release(&head);
}

static void take_line(const char *bytes, size_t n, ot_heads *heads)
{
    ot_arena arena = {0};
    ot_log_line *line = ot_alloc(sizeof *line);
    json_t *root = NULL;
    optune_target target;
    if (ot_line_parse(bytes, n, "x", heads, &arena, line, &root) && !line->problem) {
        if (line->ours)
            believed(&line->record);
        else if (line->target_text)
            ot_target_from_tvm(line->target_text, &target, NULL, NULL, NULL);
    }
    json_decref(root);
    free(line);
    ot_arena_release(&arena);
}

static void read_line(const char *bytes, size_t n)
{
    take_line(bytes, n, NULL);
}

/* Heads get the names that they should have, and short lines that of the last head and their
 * checksum, so that what is behind these is looked at. */
static void seal(ot_text *line, uint64_t *name)
{
    enum { PREFIX = sizeof OT_HEAD_PREFIX - 1, NAME = 16, SUM = 8 };
    char hex[NAME + 1];
    if (ot_line_is_head(line->s, line->n) && line->n > PREFIX + NAME + 1) {
        const size_t front = PREFIX + NAME + 1;
        *name = ot_hash64(line->s + front, line->n - front);
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)*name);
        memcpy(line->s + PREFIX, hex, NAME);
        line->s[PREFIX + NAME] = ' ';
    } else if (ot_line_is_short(line->s, line->n) && line->n > 4 + NAME + SUM + 3) {
        const size_t front = line->n - SUM - 3;
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)*name);
        memcpy(line->s + 2, hex, NAME);
        snprintf(hex, sizeof hex, "%08x", (unsigned)ot_hash64(line->s, front));
        line->s[front] = '"';
        memcpy(line->s + front + 1, hex, SUM);
        memcpy(line->s + front + 1 + SUM, "\"]", 2);
    }
}

static void read_log(const char *bytes, size_t n)
{
    ot_heads *as_is = ot_heads_new(), *sealed = ot_heads_new();
    uint64_t name = 0;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t length = end ? (size_t)(end - bytes) : n;
        ot_text line = {0};
        ot_text_add_n(&line, bytes, length);
        take_line(ot_text_str(&line), line.n, as_is);
        seal(&line, &name);
        take_line(ot_text_str(&line), line.n, sealed);
        ot_text_release(&line);
        bytes += length + (end != NULL);
        n -= length + (end != NULL);
    }
    ot_heads_free(as_is);
    ot_heads_free(sealed);
}

/* The checksum is made right, so that what is behind it is looked at. */
static void read_whole_value(const char *bytes, size_t n)
{
    char *value = malloc(n ? n : 1);
    ot_arena arena = {0};
    optune_record record;
    memcpy(value, bytes, n);
    if (n >= 16) {
        uint32_t head[2];
        memcpy(head, value, sizeof head);
        const uint64_t parts[3] = {head[0], head[1], ot_hash64(value + 16, n - 16)};
        const uint64_t sum = ot_hash64(parts, sizeof parts);
        memcpy(value + 8, &sum, sizeof sum);
    }
    if (ot_record_decode(value, n, &arena, &record, NULL) == OPTUNE_OK) {
        die_unless(ot_record_figures(&record, NULL), "decoded, and its figures disagree");
        if (ot_record_sound(&record, NULL))
            believed(&record);
    }
    ot_arena_release(&arena);
    free(value);
}

/* As it lies in a store that shares nothing. */
static void read_squeezed_value(const char *bytes, size_t n)
{
    static ot_store *store;
    static char dir[4096];
    optune_record record;
    ot_arena arena = {0};
    ot_snapshot snapshot;
    if (!store) {
        die_unless(ot_temp_dir(dir, sizeof dir, NULL) >= 0 &&
                       ot_store_open(dir, OT_STORE_WRITE, &store, NULL) >= 0,
                   "no store");
        ot_remove_tree(dir); /* it stays open */
    }
    if (ot_snapshot_begin(store, &snapshot, NULL) < 0) {
        ot_store_close(store);
        store = NULL;
        return;
    }
    ot_parts *parts = ot_alloc(sizeof *parts);
    parts->reader = &snapshot;
    if (ot_stored_decode(parts, (ot_bytes){bytes, n}, &arena, &record, NULL) == OPTUNE_OK)
        die_unless(ot_record_figures(&record, NULL), "decoded, and its figures disagree");
    ot_parts_release(parts);
    free(parts);
    ot_snapshot_end(&snapshot);
    ot_arena_release(&arena);
}

static void read_value(const char *bytes, size_t n)
{
    read_whole_value(bytes, n);
    read_squeezed_value(bytes, n);
}

static int pass(void *arg, const ot_log_line *line)
{
    (void)arg;
    if (line->ours && !line->problem)
        believed(&line->record);
    return 0;
}

/* As it is, and its body (behind the second newline) in a pack that says what it holds. */
static void read_pack(const char *bytes, size_t n)
{
    char dir[4096], path[4200], log[4200];
    ot_pack pack;
    const char *first = memchr(bytes, '\n', n);
    const char *body = first ? memchr(first + 1, '\n', n - (size_t)(first + 1 - bytes)) : NULL;
    die_unless(ot_temp_dir(dir, sizeof dir, NULL) >= 0, "no folder");
    snprintf(path, sizeof path, "%s/pack", dir);
    snprintf(log, sizeof log, "%s/log", dir);
    die_unless(ot_write_file(path, bytes, n, NULL) >= 0, "no file");
    if (ot_pack_read(path, &pack, NULL) >= 0) {
        if (ot_pack_unpack(path, &pack, log, NULL) >= 0)
            ot_log_read(log, pass, NULL, NULL);
        ot_pack_release(&pack);
    }
    pack = (ot_pack){.body = body ? body + 1 - bytes : 0, .raw = 1 << 20};
    if (ot_pack_unpack(path, &pack, log, NULL) >= 0)
        ot_log_read(log, pass, NULL, NULL);
    ot_remove_tree(dir);
}

const byte_reader byte_readers[BYTE_READERS] = {
    {"line", read_line}, {"log", read_log}, {"value", read_value}, {"pack", read_pack}};
