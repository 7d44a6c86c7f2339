/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written behind a kernel's own text: the function that the harness calls, and those that
 * give in-out parameters what they hold.
 */
#include <string.h>

#include "bring/bring.h"

static const char *c_type(optune_dtype type)
{
    if (type.code == OPTUNE_DTYPE_FLOAT)
        return type.bits == 64 ? "double" : "float";
    return type.bits == 64   ? "long long"
           : type.bits == 32 ? "int"
           : type.bits == 16 ? "short"
                             : "char";
}

/* Of what the harness hands over, in C: no macro of the file's. */
static const char *given_name(const ot_brought *b)
{
    static const char usual[] = "arg";
    for (int i = 0; i < b->n_sizes; i++)
        if (strcmp(b->size[i].name, usual) == 0)
            return "optune_arg";
    for (int i = 0; i < b->n_knobs; i++)
        if (strcmp(b->knob[i].name, usual) == 0)
            return "optune_arg";
    return usual;
}

void ot_entry_add(const ot_brought *b, const char *function, ot_text *to)
{
    const char *given = given_name(b);
    ot_text_printf(to, "\n#line 1 \"entry\"\nvoid optune_entry(void *const *%s)\n{\n    %s(",
                   given, function);
    for (int i = 0, k = 0; i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        ot_text_add(to, i ? ", " : "");
        if (arg->role == OT_ROLE_SCALAR)
            ot_text_printf(to, "(%s%s)OPTUNE_ARG_%d",
                           arg->dtype.code == OPTUNE_DTYPE_UINT ? "unsigned " : "",
                           c_type(arg->dtype), i);
        else
            ot_text_printf(to, "%s[%d]", given, k++);
    }
    ot_text_add(to, ");\n}\n");
}

void ot_restores_add(const ot_brought *b, ot_language language, ot_text *to)
{
    static const struct {
        const char *kernel, *memory, *type[4], *at, *step;
    } gpu[] = {
        [OT_LANGUAGE_OPENCL] = {"__kernel",
                                "__global ",
                                {"uchar", "ushort", "uint", "ulong"},
                                "get_global_id(0)",
                                "get_global_size(0)"},
        [OT_LANGUAGE_CUDA] = {"extern \"C\" __global__",
                              "",
                              {"unsigned char", "unsigned short", "unsigned",
                               "unsigned long long"},
                              "blockIdx.x * (long)blockDim.x + threadIdx.x",
                              "gridDim.x * (long)blockDim.x"},
    };
    for (int i = 0; i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        if (arg->role != OT_ROLE_INOUT)
            continue;
        ot_text_add(to, "\n#line 1 \"restore\"\n");
        if (language == OT_LANGUAGE_C) {
            const char *given = given_name(b);
            ot_text_printf(to,
                           "void %s(void *const *%s)\n{\n    if (%s[0] != %s[1])\n"
                           "        __builtin_memcpy(%s[1], %s[0], "
                           "(unsigned long)*(const long long *)%s[2]);\n}\n",
                           arg->restore, given, given, given, given, given, given);
            continue;
        }
        const int width = arg->dtype.bits / 8;
        const char *type = gpu[language].type[width > 4 ? 3 : width / 2],
                   *memory = gpu[language].memory;
        ot_text_printf(to,
                       "%s void %s(%sconst %s *optune_from, %s%s *optune_to, long optune_n)\n"
                       "{\n    for (long optune_i = %s; optune_i < optune_n;\n"
                       "         optune_i += %s)\n"
                       "        optune_to[optune_i] = optune_from[optune_i];\n}\n",
                       gpu[language].kernel, arg->restore, memory, type, memory, type,
                       gpu[language].at, gpu[language].step);
    }
}
