/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/join_rows.h declares. */
#include "kernels/move/join_rows.h"

#include <string.h>

#include "kernels/move/injective.h"
#include "kernels/move/moves.h"

int join_rows_pieces(const optune_call *call)
{
    if (strcmp(call->op->name, "concatenate") != 0)
        return 0;
    const generic_symbols symbols = generic_symbols_of(call);
    return 1 + call->n_inputs + symbols.n <= OPTUNE_MAX_ARGS ? call->n_inputs : 0;
}

static void define_product(const optune_call *call, const generic_symbols *symbols, int input,
                           int from, int to, const char *macro, optune_plan *plan, int module)
{
    const optune_tensor *type = &call->input[input].type;
    char text[24 * OPTUNE_MAX_RANK + 24];
    int at = snprintf(text, sizeof text, "((i64)1");
    for (int d = from; d < to; d++)
        at += optune_dim_known(&type->dim[d])
                  ? snprintf(text + at, sizeof text - (size_t)at, "*%" PRId64, type->dim[d].min)
                  : snprintf(text + at, sizeof text - (size_t)at, "*S%d",
                             generic_symbol_at(symbols, &type->dim[d]));
    snprintf(text + at, sizeof text - (size_t)at, ")");
    optune_plan_define_text(plan, module, macro, text);
}

/* FRONT places in front of the axis; of each input LONGi elements in a run, from ATi on. */
void join_rows_define(const optune_call *call, optune_plan *plan, int module)
{
    const generic_symbols symbols = generic_symbols_of(call);
    const int rank = call->output[0].rank;
    const int axis = injective_axis(call, optune_call_int(call, "axis"), rank, NULL);
    char name[24], text[128];
    define_product(call, &symbols, 0, 0, axis, "FRONT", plan, module);
    optune_plan_define_text(plan, module, "AT0", "0");
    for (int i = 0; i < call->n_inputs; i++) {
        snprintf(name, sizeof name, "LONG%d", i);
        define_product(call, &symbols, i, axis, rank, name, plan, module);
        snprintf(name, sizeof name, "AT%d", i + 1);
        snprintf(text, sizeof text, "(AT%d+LONG%d)", i, i);
        optune_plan_define_text(plan, module, name, text);
        snprintf(name, sizeof name, "PIECE%d", i);
        snprintf(text, sizeof text, "{%d,%d,0,AT%d,2,FRONT,LONG%d,AT%d,LONG%d,1,1}", MOVES_ROWS,
                 i, i, i, call->n_inputs, i);
        optune_plan_define_text(plan, module, name, text);
    }
}
