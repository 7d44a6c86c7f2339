/* SPDX-License-Identifier: Apache-2.0 */
/* Files of elements that a kernel's parameters name: where they are, whether they fit, what they
 * are. */
#include "base/program.h"
#include "bring/bring.h"

static int check_array(const ot_brought *b, const ot_brought_arg *arg, const char *path,
                       optune_err *err)
{
    ot_values values;
    optune_err inner = {0};
    optune_tensor type = {.dtype = arg->dtype, .rank = arg->rank};
    ot_own_values(b, &values);
    for (int d = 0; d < arg->rank; d++) {
        int64_t dim = 0;
        OT_RETURN_UNLESS_OK(ot_formula_int(&arg->dim[d], &values, &dim, err));
        if (dim < 0 || dim > OPTUNE_MAX_DIM)
            return ot_fail_at(arg->dim[d].expr->place, OPTUNE_ETYPE, err,
                              "'%s' is %lld, no dim's size", arg->dim[d].expr->text,
                              (long long)dim);
        type.dim[d] = optune_dim_of(dim);
    }
    if (!ot_tensor_fits(&type))
        return ot_fail_at(arg->spot, OPTUNE_ELIMIT, err,
                          "'%s' has more elements than any memory", arg->name);
    const int status = ot_array_check(path, &type, &inner);
    return status < 0 ? ot_fail_at(arg->spot, status, err, "'%s': %s", arg->name, inner.text)
                      : OPTUNE_OK;
}

/* An output is computed of what files hold, or of nothing that is known. Their bytes count as the
 * kernel's own. */
int ot_arrays_settle(ot_brought *b, ot_text *digests, optune_err *err)
{
    const ot_brought_arg *held = NULL, *bare = NULL;
    for (int i = 0; i < b->n_args; i++) {
        ot_brought_arg *arg = &b->arg[i];
        const char **const file[] = {&arg->held, &arg->expected};
        for (int k = 0; k < OT_COUNT(file); k++) {
            char hex[33];
            if (!*file[k])
                continue;
            *file[k] = ot_path_beside(b, *file[k]);
            OT_RETURN_UNLESS_OK(check_array(b, arg, *file[k], err));
            ot_file_digest(*file[k], hex);
            ot_text_printf(digests, "%d %d %s\n", i, k, hex);
        }
        b->exemplified = b->exemplified || arg->expected;
        held = arg->held ? arg : held;
        bare = arg->input >= 0 && !arg->held ? arg : bare;
    }
    if (b->exemplified && bare)
        return ot_fail_at(bare->spot, OPTUNE_EUSAGE, err,
                          "a file says what is right of an output, and none what '%s' holds "
                          "then: '%s: ... = \"FILE\"'",
                          bare->name, bare->name);
    return held && !b->exemplified
               ? ot_fail_at(held->spot, OPTUNE_EUSAGE, err,
                            "a file says what '%s' holds, and none what is right of an output "
                            "then; what configs are timed with is drawn",
                            held->name)
               : OPTUNE_OK;
}
