/* SPDX-License-Identifier: Apache-2.0 */
#include "bring/bring.h"
int ot_t1_read(ot_brought *b, const char *text, optune_err *err)
{
    (void)text;
    return optune_fail(err, OPTUNE_EUNSUPPORTED, "%s: T1 is not read yet", b->file);
}
