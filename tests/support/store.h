/* SPDX-License-Identifier: Apache-2.0 */
/* A database of made-up records in a folder of its own, which each test gets afresh. */
#ifndef OPTUNE_TESTS_STORE_H
#define OPTUNE_TESTS_STORE_H

#include "support/records.h"

extern char store_dir[4096];   /* the database */
extern char store_data[4200];  /* its data file */
int store_fresh(void **state); /* set-up of a test: there is no database yet */
int store_gone(void **state);
/* Stores some_record(0) to some_record(n-1), in several transactions. */
void store_fill(int n);
/* For ot_store_walk: counts in the int that `arg` points to. */
int store_count(void *arg, const optune_record *record);

#endif
