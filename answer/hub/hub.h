/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hubs: places that hold packs of records for many machines. A hub is files, so that a plain file
 * server is one:
 *
 *   hub.json                  {"optune_hub":1,"devices":["cpu:...", ...]}
 *   index/<digest>.json       {"optune_hub_index":1,"device":"cpu:...","packs":[{"pack":"<sha256>",
 *                             "bytes":N,"records":N,"ops":{"conv2d":12},"time":1.7e9}, ...]}
 *   packs/<two>/<sha256>      db/pack.h
 *
 * An index only says where packs are; what counts is a pack's own signature. Where files of a hub
 * lie follows from keys and digests, never from what somebody wrote. Beside the database each hub
 * has a folder, DB/hubs/NAME, which is a database, too: logs/ and store of what was taken. It is
 * consulted after all others (answer/stores.c); hub.json in it says what the hub is, packs-VERSION
 * which packs this version has taken.
 */
#ifndef OPTUNE_ANSWER_HUB_H
#define OPTUNE_ANSWER_HUB_H

#include "answer/answer.h"
#include "db/pack.h"

enum {
    OT_HUB_KEYS = 64,
    OT_HUB_MOST_DEVICES = 100000,
    OT_HUB_MOST_PACKS = 500000, /* of one device */
    OT_HUB_MOST_INDEX = 128 << 20,
    OT_HUB_MOST_VALUES = 10 * OT_HUB_MOST_PACKS, /* of JSON; each takes some 100 bytes */
};

typedef struct ot_hub {
    char name[OPTUNE_NAME_SIZE];
    char dir[4096 + OPTUNE_NAME_SIZE + 8];
    char url[2048];    /* without a slash at its end */
    char region[64];   /* S3's; empty: no S3 */
    bool plain;        /* http, too */
    bool hints;        /* nothing of it is selected before it was measured here */
    bool anybody;      /* what is not signed by one of the keys is taken, too */
    json_t *keys;      /* array of hex */
    json_t *withdrawn; /* likewise: whose packs are passed over */
    json_t *taken;     /* names of packs: the key, "-", or null where nobody noted it */
    json_t *refused;   /* names of packs: why; true: its key was withdrawn */
    const char *token; /* of the environment */
    int lock;
} ot_hub;

/* What one call does, and what is told of it in the end. */
typedef struct ot_hub_deed {
    optune *o;
    const optune_hub_options *options;
    ot_text text;
    json_t *json; /* an array, with an object for each hub that was met */
    int failed;   /* hubs, packs */
    optune_err *err;
} ot_hub_deed;

/* ---- home.c: the hubs of a database ------------------------------------------------------ */
/* ENOENT lists those there are. In one's turn at it, for which others wait: ETIMEOUT names the
 * file. */
int ot_hub_open(optune *o, const char *name, ot_hub *hub, optune_err *err);
void ot_hub_close(ot_hub *hub);
/* The turn alone, at what may be no hub yet; ENOENT: not even its folder is there. */
int ot_hub_take_turn(optune *o, const char *name, ot_hub *hub, optune_err *err);
/* In one's turn: removes all of it, what says that it is a hub first; and ends the turn for good,
 * false where more than that was left. */
void ot_hub_empty(const ot_hub *hub);
bool ot_hub_leave(ot_hub *hub);
/* To be looked at without a turn, which who may not write cannot take: what it is and has taken. */
int ot_hub_look(optune *o, const char *name, ot_hub *hub, optune_err *err);
/* Of a database: NULL-terminated, sorted, in the arena. */
char **ot_hub_names(const char *db, ot_arena *arena);
/* Its name and folder, whether it is there or not. */
void ot_hub_place(const optune *o, const char *name, ot_hub *hub);
int ot_hub_list(ot_hub_deed *deed);
/* Remembers that a pack was sent, and its entry of the device's index; and what was of late, as
 * { device: [entry...] }: new reference. */
int ot_hub_gave(ot_hub *hub, const char *device, json_t *entry, optune_err *err);
json_t *ot_hub_given(const ot_hub *hub);
/* The file of one's own key: the option, $OPTUNE_KEY, or optune/key in the folder of settings. */
int ot_hub_key_file(const char *named, char *path, size_t size, optune_err *err);

/* ---- adding.c ---------------------------------------------------------------------------- */
int ot_hub_add(ot_hub_deed *deed);
int ot_hub_remove(ot_hub_deed *deed);

/* ---- keys.c: whose packs are taken, and which were --------------------------------------- */
/* hub.json, anew; a line more of one of its lists. */
int ot_hub_write_config(const ot_hub *hub, optune_err *err);
int ot_hub_append(const ot_text *path, const ot_text *line, optune_err *err);
bool ot_hub_has_key(const json_t *keys, const char *key);
/* Appends those of a NULL-terminated list, each once; EUSAGE: one is none. */
int ot_hub_take_keys(const char *const *key, json_t *keys, optune_err *err);
/* Packs of these keys, too, are taken from now on. */
int ot_hub_allow(ot_hub *hub, const json_t *keys, optune_err *err);
/* Packs of these keys are passed over from now on, and what they brought is gone; *packs: how many
 * those were. A killed one is finished by doing it again. */
int ot_hub_withdraw(ot_hub *hub, const json_t *keys, const atomic_bool *stop, int64_t *packs,
                    optune_err *err);
void ot_hub_read_taken(ot_hub *hub);
/* Remembers that a pack was taken. */
int ot_hub_took(ot_hub *hub, const ot_pack *pack, optune_err *err);

/* ---- refused.c: packs that need not be fetched again ------------------------------------- */
void ot_hub_read_refused(ot_hub *hub);
/* Why a pack was refused; NULL: it was not, or may be another's word now. */
const char *ot_hub_refused(const ot_hub *hub, const char *pack);
/* Whether it is known to be signed by a key that was withdrawn. */
bool ot_hub_passes_over(const ot_hub *hub, const char *pack);
/* Whether a pack of that key was. */
bool ot_hub_refused_of(const ot_hub *hub, const char *key);
/* `key`: whose pack it is, where only that was at fault; else NULL. */
void ot_hub_refuse(ot_hub *hub, const char *pack, const char *key, const char *why);

/* ---- index.c: what is where -------------------------------------------------------------- */
/* Removes what killed processes left of indexes that they fetched; under the hub's lock. */
void ot_hub_tidy(const ot_hub *hub);
int ot_hub_get(const ot_hub *hub, ot_hub_deed *deed, const char *file, const char *path,
               ot_http *how, ot_http_reply *reply, optune_err *err);
int ot_hub_put(const ot_hub *hub, ot_hub_deed *deed, const char *file, const char *path,
               ot_http *how, ot_http_reply *reply, optune_err *err);
/* The devices of a hub; the packs of a device (ENOENT: it has none). New references; what is not as
 * above is EDAMAGED. `etag` as the server has it, or empty. */
int ot_hub_devices(const ot_hub *hub, ot_hub_deed *deed, json_t **devices, char *etag,
                   optune_err *err);
int ot_hub_packs(const ot_hub *hub, ot_hub_deed *deed, const char *device, json_t **packs,
                 char *etag, optune_err *err);
/* Has the hub say that these packs of a device are there, whoever else writes. */
int ot_hub_publish(const ot_hub *hub, ot_hub_deed *deed, const char *device, json_t *packs,
                   optune_err *err);
json_t *ot_hub_entry(const ot_pack *pack);                      /* of an index */
void ot_hub_pack_file(const char *name, char *to, size_t size); /* packs/<two>/<name> */

/* ---- vet.c: may this record be believed -------------------------------------------------- */
typedef struct ot_vet ot_vet;
/* Of records of one device, which is borrowed. */
ot_vet *ot_vet_open(optune *o, const optune_device *device);
void ot_vet_close(ot_vet *vet);
/* Whether its call, target and config are ones that this version could have measured; false with
 * the reason in why[OPTUNE_WHY_SIZE]. */
bool ot_vet_record(ot_vet *vet, const optune_record *record, char *why);

/* ---- pull.c, push.c ---------------------------------------------------------------------- */
int ot_hub_pull(ot_hub_deed *deed); /* and `verify`, which stores nothing */
int ot_hub_push(ot_hub_deed *deed);
/* Checks a pack's records and stores them beside the hub; `dry`: only checks. */
typedef struct ot_hub_taken {
    int64_t records, added, refused;
    char why[OPTUNE_WHY_SIZE]; /* of the first that was refused */
} ot_hub_taken;
int ot_hub_take(ot_hub *hub, ot_hub_deed *deed, const char *path, const ot_pack *pack, bool dry,
                ot_hub_taken *taken, optune_err *err);

#endif
