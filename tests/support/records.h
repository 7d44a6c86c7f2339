/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up records for tests of the database. */
#ifndef OPTUNE_TESTS_RECORDS_H
#define OPTUNE_TESTS_RECORDS_H

#include "base/record.h"

/* A full record; equal numbers give equal records, others differ. The texts live for ever. */
optune_record some_record(int number);
/* Of several configs, tasks and outcomes, and such that no text of it is escaped in JSON. */
optune_record plain_record(int number);
/* Makes it a good record of this cost: five samples around it, and their interval. They live for
 * ever. */
void record_cost(optune_record *record, double cost);
/* Fails the test unless both say the same in every field but `source`. */
void check_same_record(const optune_record *a, const optune_record *b);
void check_same_field(const optune_record *a, const optune_record *b, const ot_record_field *f);
optune_device some_device(const char *key);

#endif
