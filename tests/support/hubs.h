/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases that push to hubs that are folders, and pull from them; each names its hub `h`. All are
 * in tuning_dir, by their names.
 */
#ifndef OPTUNE_TESTS_HUBS_H
#define OPTUNE_TESTS_HUBS_H

#include "support/tuning.h"

#include "answer/hub/hub.h"

#define HUB_WORKLOAD "dense(f32[16,64], const f32[32,64])"

/* What has to work. */
#define WORKS(expression) assert_int_equal(expression, OPTUNE_OK)

/* A NULL-terminated list. */
#define WORDS(...)                                                                             \
    (const char *const[])                                                                      \
    {                                                                                          \
        __VA_ARGS__, NULL                                                                      \
    }

/* Two who sign: public keys, and the files of the secret ones. */
extern char hub_key[OT_HEX_KEY], hub_other_key[OT_HEX_KEY];
extern char hub_own_file[1200], hub_other_file[1200];
extern json_int_t hub_n_pushed; /* records of hub_setup's run */

/* Of a group: tunes HUB_WORKLOAD in the database `from`, and pushes that to the hub `hub`. */
int hub_setup(void **state);

/* Removes a database or hub. */
void hub_fresh(const char *name);
/* What an option says with hub_own_file's key, unless it names another; `text`, of 4096 bytes or
 * NULL: what is told, and the error. New reference, an array. */
json_t *hub_deed(const char *db, optune_hub_options options, int expected, char *text);
const char *hub_url(const char *hub); /* until the next call */
/* `of`: the key whose packs are taken; NULL: anybody's. */
void hub_add(const char *db, const char *hub, const char *of);
/* The one object of a pull: new reference, NULL where it has none. */
json_t *hub_pull(const char *db, int expected, char *text);
json_int_t hub_push(const char *db); /* how many records */
char *hub_answer(const char *db);    /* to HUB_WORKLOAD; malloc'd */
/* A file, and the folders that it is in. */
void hub_write(const char *path, const char *text);
/* The path of one of its packs. */
void hub_pack_path(const char *hub, char path[1400]);

/* The records of hub_setup's push, and their device. */
typedef struct hub_pushed {
    ot_arena arena;
    optune_device device;
    optune_record record[64];
    int n;
} hub_pushed;

hub_pushed *hub_pushed_read(void);
void hub_pushed_free(hub_pushed *p);
/* One that can be selected. */
optune_record hub_pushed_good(const hub_pushed *p);
/* A database of records, as a run would have made it, in place of what is there. */
void hub_store(const char *db, const hub_pushed *p, const optune_record *record, int n);

#endif
