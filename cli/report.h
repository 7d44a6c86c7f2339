/* SPDX-License-Identifier: Apache-2.0 */
/* A page of `optune report`: one file that needs no other and no network. */
#ifndef OPTUNE_CLI_REPORT_H
#define OPTUNE_CLI_REPORT_H

#include "cli/cli.h"

/* Where the chart library is; EUNSUPPORTED: nowhere, with the package that brings it. The text is
 * static. */
int ot_report_library(const char **path, optune_err *err);
/* Writes the page of a report's document, whole or not at all. *bytes: how large it is. */
int ot_report_write(const char *path, const char *json, size_t *bytes, optune_err *err);

#endif
