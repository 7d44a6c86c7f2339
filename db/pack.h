/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs: records that travel. A pack is one file of one device: a line of JSON that says what is in
 * it, a line with an ed25519 signature of that, and the records' log lines, compressed. Its name is
 * the SHA-256 of the whole file, so whoever knows the name can tell that he got it.
 *
 *   {"optune_pack":1,"body":"<sha256 of what follows>","bytes":N,"raw":N,"records":N,
 *    "device":"cpu:...","ops":{"conv2d":12},"tool":"0.1.0","time":1.7e9,"key":"<public key>"}
 *   <signature of the line above, behind "optune pack 1\n"; empty: unsigned>
 *   <gzip>
 */
#ifndef OPTUNE_DB_PACK_H
#define OPTUNE_DB_PACK_H

#include "db/db.h"

enum {
    OT_HEX_SHA256 = 65, /* with the zero */
    OT_HEX_KEY = 65,
    OT_HEX_SIGNATURE = 129,
    OT_PACK_MOST_BYTES = 64 << 20,
    OT_PACK_MOST_RAW = 1 << 30,
};

/* ---- sign.c: the only file that includes libsodium --------------------------------------- */
typedef struct ot_signer {
    unsigned char secret[64];
    char key[OT_HEX_KEY]; /* its public half, hex */
} ot_signer;
/* The key in a file that only its owner may read; made there when there is none. EUSAGE: it is no
 * key, or others may read it. */
int ot_signer_open(const char *path, ot_signer *signer, optune_err *err);
void ot_signer_forget(ot_signer *signer);
int ot_sign(const ot_signer *signer, const void *data, size_t n, char hex[OT_HEX_SIGNATURE],
            optune_err *err);
/* 1: the signature is that key's of these bytes; 0: it is not, or one is no hex of its length. */
int ot_signed(const char *key, const char *signature, const void *data, size_t n,
              optune_err *err);
bool ot_is_hex(const char *s, size_t digits);
/* Of a file's bytes from `from` to its end, of which there are *bytes (may be NULL). */
int ot_sha256_file(const char *path, int64_t from, char hex[OT_HEX_SHA256], int64_t *bytes,
                   optune_err *err);

/* ---- gzip.c: the only file that includes zlib -------------------------------------------- */
/* Negative: no more, and that is the result. */
typedef int (*ot_piece_fn)(void *arg, const char *data, size_t n);
/* What a file holds from the byte `from` on, compressed or plain. ESYNTAX: it is cut off. */
int ot_gunzip(const char *path, int64_t from, ot_piece_fn take, void *arg, optune_err *err);
/* Appends a file to `fd`, compressed. */
int ot_gzip(const char *path, int fd, optune_err *err);

/* ---- pack.c ------------------------------------------------------------------------------ */
typedef struct ot_pack {
    char name[OT_HEX_SHA256];
    char key[OT_HEX_KEY]; /* whose signature it bears, and that is right; empty: nobody's */
    char device[2 * OPTUNE_NAME_SIZE];
    char tool[OPTUNE_NAME_SIZE];
    double time;
    int64_t bytes, raw, records; /* of the file, of its log, in that */
    int64_t body;                /* where it begins */
    json_t *ops;                 /* operator: records; owned */
} ot_pack;
void ot_pack_release(ot_pack *pack);
/* Makes the file `path` of a log; `pack` has device, tool, time, records and ops, and gets the
 * rest. `signer` NULL: unsigned. */
int ot_pack_write(const char *log, const char *path, const ot_signer *signer, ot_pack *pack,
                  optune_err *err);
/* What a file says of itself, once its name, its body and its signature are found to be right.
 * EDAMAGED: they are not; EVERSION: a pack of a later version. */
int ot_pack_read(const char *path, ot_pack *pack, optune_err *err);
/* Its log. EDAMAGED: it is longer than the pack said. */
int ot_pack_unpack(const char *path, const ot_pack *pack, const char *log, optune_err *err);

#endif
