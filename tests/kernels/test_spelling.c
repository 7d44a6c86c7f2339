/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question, one identity: every sample of every operator is written again in many ways (white
 * space, names of dtypes, zeros in front, defaults spelt out, attributes in any order, axes from
 * the end, lists short or long, what an operator lets one say twice) and must give one canonical
 * text. Seeded; another seed each run unless OPTUNE_TEST_SEED says which.
 */
#include <math.h>
#include <time.h>

#include "strategy/strategy.h"
#include "support/check.h"

enum { ROUNDS = 12 };

static uint64_t state_of_rng;

static int draw(int n)
{
    state_of_rng = state_of_rng * 6364136223846793005u + 1442695040888963407u;
    return (int)((state_of_rng >> 33) % (uint64_t)n);
}

static void space(ot_text *to)
{
    static const char *const some[] = {"", "", "", " ", "  ", "\t"};
    ot_text_add(to, some[draw(OT_COUNT(some))]);
}

static void number(int64_t value, ot_text *to)
{
    static const char *const zeros[] = {"", "", "0", "000"};
    ot_text_printf(to, "%s%s%lld", value < 0 ? "-" : "", zeros[draw(OT_COUNT(zeros))],
                   (long long)(value < 0 ? -value : value));
}

static void real(double value, ot_text *to)
{
    static const char *const format[] = {"%.17g", "%.17e", "%.20e"};
    ot_text_printf(to, format[draw(OT_COUNT(format))], value);
}

static void write_input(const optune_call *call, int i, ot_text *to)
{
    const optune_tensor *type = &call->input[i].type;
    const bool usual = call->input[i].is_const == call->op->inputs[i].is_const;
    char dtype[OPTUNE_WORD_SIZE];
    space(to);
    if (!usual || draw(3) == 0)
        ot_text_add(to, call->input[i].is_const ? "const " : "var ");
    space(to);
    (draw(2) ? ot_print_dtype : ot_print_dtype_long)(type->dtype, dtype, sizeof dtype);
    ot_text_add(to, dtype);
    space(to);
    ot_text_add(to, "[");
    for (int d = 0; d < type->rank; d++) {
        space(to);
        number(type->dim[d].min, to);
        space(to);
        ot_text_add(to, d + 1 < type->rank ? "," : "");
    }
    ot_text_add(to, "]");
    space(to);
}

/* Lists of a fixed length repeat: what they repeat may be written alone. */
static int shortest(const optune_op_attr *row, const optune_attr *attr)
{
    for (int n = 1; row->length && n < attr->n; n++) {
        bool repeats = attr->n % n == 0;
        for (int i = n; i < attr->n; i++)
            repeats = repeats && attr->i[i] == attr->i[i - n];
        if (repeats)
            return n;
    }
    return attr->n;
}

static void write_ints(const optune_op_attr *row, const optune_attr *attr, ot_text *to)
{
    const int least = shortest(row, attr);
    const int n = draw(2) ? least : attr->n;
    const bool bare = n == 1 && draw(2);
    ot_text_add(to, bare ? "" : "[");
    for (int i = 0; i < n; i++) {
        ot_text_add(to, i ? draw(2) ? ", " : "," : "");
        number(attr->i[i], to);
    }
    ot_text_add(to, bare ? "" : "]");
}

static void write_attr(const optune_op_attr *row, const optune_attr *attr, ot_text *to)
{
    char dtype[OPTUNE_WORD_SIZE];
    space(to);
    ot_text_add(to, attr->name);
    space(to);
    ot_text_add(to, "=");
    space(to);
    switch (attr->kind) {
    case OPTUNE_ATTR_INT:
        if (attr->none)
            ot_text_add(to, "none");
        else
            number(attr->i[0], to);
        break;
    case OPTUNE_ATTR_FLOAT:
        real(attr->f, to);
        break;
    case OPTUNE_ATTR_BOOL:
        ot_text_add(to, draw(2) ? attr->i[0] ? "true" : "false" : attr->i[0] ? "1" : "0");
        break;
    case OPTUNE_ATTR_WORD:
        ot_text_add(to, attr->word[0] ? attr->word : "\"\"");
        break;
    case OPTUNE_ATTR_INTS:
        write_ints(row, attr, to);
        break;
    default:
        (draw(2) ? ot_print_dtype : ot_print_dtype_long)(attr->dtype, dtype, sizeof dtype);
        ot_text_add(to, attr->dtype.code ? dtype : "?");
    }
    space(to);
}

/* ---- what operators let one say in several ways ------------------------------------------ */

static optune_attr *attr_of(optune_call *call, const char *name)
{
    for (int i = 0; i < call->n_attrs; i++)
        if (!strcmp(call->attr[i].name, name))
            return &call->attr[i];
    return NULL;
}

static bool is(const optune_call *call, const char *op)
{
    return !strcmp(call->op->name, op);
}

static void shuffle(optune_attr *attr)
{
    for (int i = attr->n - 1; i > 0; i--) {
        const int k = draw(i + 1);
        const int64_t x = attr->i[i];
        attr->i[i] = attr->i[k];
        attr->i[k] = x;
    }
}

static void vary_axis(optune_call *call)
{
    optune_attr *axis = attr_of(call, "axis");
    const int rank = call->input[0].type.rank + is(call, "expand_dims");
    if (!axis || axis->kind != OPTUNE_ATTR_INT || axis->none)
        return;
    const int64_t front = axis->i[0] < 0 ? axis->i[0] + rank : axis->i[0];
    axis->i[0] = draw(2) ? front : front - rank;
}

/* All dims that an empty list stands for, then any order and either end. */
static void vary_axes(optune_call *call)
{
    optune_attr *axes = attr_of(call, is(call, "transpose") ? "axes" : "axis");
    optune_attr *exclude = attr_of(call, "exclude");
    const optune_tensor *in = &call->input[0].type;
    if (!axes || axes->kind != OPTUNE_ATTR_INTS)
        return;
    if (!axes->n && draw(2) && !(exclude && exclude->i[0]))
        for (int d = 0; d < in->rank; d++)
            if (!is(call, "squeeze") || in->dim[d].min == 1)
                axes->i[axes->n++] = is(call, "transpose") ? in->rank - 1 - d : d;
    if (exclude && axes->n && axes->n < in->rank && draw(2)) {
        optune_attr other = *axes;
        other.n = 0;
        for (int d = 0; d < in->rank; d++) {
            bool named = false;
            for (int i = 0; i < axes->n; i++)
                named = named || (axes->i[i] + in->rank) % in->rank == d;
            if (!named)
                other.i[other.n++] = d;
        }
        *axes = other;
        exclude->i[0] = !exclude->i[0];
    }
    if (!is(call, "transpose"))
        shuffle(axes);
    for (int i = 0; i < axes->n; i++)
        if (draw(2))
            axes->i[i] += axes->i[i] < 0 ? in->rank : -in->rank;
}

static void vary_values(optune_call *call)
{
    const optune_tensor *in = &call->input[0].type;
    optune_attr *k = is(call, "topk") ? attr_of(call, "k") : NULL;
    if (k) {
        const int64_t axis = attr_of(call, "axis")->i[0];
        const int64_t n = in->dim[axis < 0 ? axis + in->rank : axis].min;
        if (k->i[0] < 1 || k->i[0] == n)
            k->i[0] = (const int64_t[]){0, -1, -7, n}[draw(4)];
    }
    optune_attr *shape = attr_of(call, "newshape");
    if (shape && shape->n && draw(2)) {
        const int d = draw(shape->n);
        bool only = true;
        for (int i = 0; i < shape->n; i++)
            only = only && shape->i[i] != -1;
        if (only)
            shape->i[d] = -1;
    }
    for (int i = 0; shape && i < shape->n; i++)
        if (i < in->rank && shape->i[i] == in->dim[i].min && draw(2))
            shape->i[i] = 0;
    optune_attr *begin = attr_of(call, "begin"), *end = attr_of(call, "end");
    optune_attr *strides = attr_of(call, "strides");
    if (!begin || !end)
        return;
    if (strides->n == 1 && draw(2))
        while (strides->n < begin->n)
            strides->i[strides->n++] = strides->i[0];
    while (begin->n && begin->n < in->rank && strides->n == begin->n && draw(2)) {
        begin->i[begin->n++] = 0; /* a whole dim */
        end->i[end->n] = in->dim[end->n].min + draw(3);
        end->n++;
        strides->i[strides->n++] = 1;
    }
    for (int d = 0; d < begin->n; d++) {
        const int64_t extent = in->dim[d].min;
        if (begin->i[d] >= 0 && begin->i[d] < extent && draw(2))
            begin->i[d] -= extent;
        if (end->i[d] >= 0 && end->i[d] < extent && draw(2))
            end->i[d] -= extent;
    }
}

/* ---- the test ---------------------------------------------------------------------------- */

static void write_again(const optune_call *canonical, ot_text *to)
{
    optune_call *call = ot_alloc(sizeof *call);
    int order[OPTUNE_MAX_ATTRS];
    *call = *canonical;
    vary_axis(call);
    vary_axes(call);
    vary_values(call);
    space(to);
    ot_text_add(to, call->op->name);
    space(to);
    ot_text_add(to, "(");
    for (int i = 0; i < call->n_inputs; i++) {
        ot_text_add(to, i ? "," : "");
        write_input(call, i, to);
    }
    for (int i = 0; i < call->n_attrs; i++) {
        const int k = draw(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < call->n_attrs; i++) {
        const optune_op_attr *row = ot_op_attr_at(call->op, order[i]);
        const optune_attr *attr = &call->attr[order[i]];
        if (!ot_attr_shown(row, attr) && draw(2))
            continue;
        ot_text_add(to, call->n_inputs ? "," : "");
        write_attr(row, attr, to);
    }
    ot_text_add(to, ")");
    space(to);
    free(call);
}

static void check_sample(const char *sample)
{
    optune_err err = {0};
    optune_call call, again;
    ot_text want = {0}, text = {0}, got = {0};
    check_ok(ot_call_parse(sample, &call, &err));
    ot_call_print(&call, &want);
    for (int round = 0; round < ROUNDS; round++) {
        ot_text_clear(&text);
        ot_text_clear(&got);
        write_again(&call, &text);
        if (ot_call_parse(ot_text_str(&text), &again, &err) < 0)
            print_error("%s\n", err.text);
        else
            ot_call_print(&again, &got);
        if (strcmp(ot_text_str(&got), ot_text_str(&want)))
            fail_msg("'%s' is '%s', not '%s'", ot_text_str(&text), ot_text_str(&got),
                     ot_text_str(&want));
    }
    ot_text_release(&want);
    ot_text_release(&text);
    ot_text_release(&got);
}

static void one_identity(void **state)
{
    (void)state;
    int n;
    const optune_op *const *ops = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        for (const char *const *text = ops[i]->samples; *text; text++)
            check_sample(*text);
        for (const optune_preset *p = ops[i]->presets; p && p->name; p++)
            for (const char *const *text = p->workloads; *text; text++)
                check_sample(*text);
    }
}

static void check_same(const char *a, const char *b)
{
    optune_err err = {0};
    optune_call call;
    ot_text first = {0}, second = {0};
    check_ok(ot_call_parse(a, &call, &err));
    ot_call_print(&call, &first);
    check_ok(ot_call_parse(b, &call, &err));
    ot_call_print(&call, &second);
    assert_string_equal(ot_text_str(&first), ot_text_str(&second));
    ot_text_release(&first);
    ot_text_release(&second);
}

static void check_canonical(const char *text)
{
    optune_err err = {0};
    optune_call call;
    ot_text is = {0};
    check_ok(ot_call_parse(text, &call, &err));
    ot_call_print(&call, &is);
    assert_string_equal(ot_text_str(&is), text);
    ot_text_release(&is);
}

static void by_hand(void **state)
{
    (void)state;
    check_same("topk(f32[2,9], k=0)", "topk(f32[2,9], k=-1)");
    check_same("topk(f32[2,9], k=0)", "topk(f32[2,9], k=9)");
    check_same("topk(f32[2,9], k=2, ret_type=values)",
               "topk(f32[2,9], k=2, ret_type=values, dtype=i64)");
    check_same("softmax(f32[2,3,4], axis=-3)", "softmax(f32[2,3,4], axis=0)");
    check_same("sum(f32[2,3])", "sum(f32[2,3], axis=[1,-2])");
    check_same("sum(f32[2,3], axis=[0])", "sum(f32[2,3], axis=[1], exclude=true)");
    check_same("sum(f32[2,3], exclude=true)", "sum(f32[2,3], axis=[0,1], exclude=1)");
    check_same("transpose(f32[2,3])", "transpose(f32[2,3], axes=[-1,0])");
    check_same("concatenate(f32[2,3], f32[2,3], axis=1)",
               "concatenate(f32[2,3], f32[2,3], axis=-1)");
    check_same("squeeze(f32[1,3,1])", "squeeze(f32[1,3,1], axis=[-1,0])");
    check_same("reshape(f32[2,3,4], newshape=[0,-1])", "reshape(f32[2,3,4], newshape=[2,12])");
    check_same("strided_slice(f32[9,7], begin=[0,0], end=[9,5])",
               "strided_slice(f32[9,7], begin=[-9,0], end=[100,-2], strides=[1,1])");
    check_same("strided_slice(f32[9], begin=[8], end=[-10], strides=[-3])",
               "strided_slice(f32[9], begin=[20], end=[-99], strides=[-3])");
    check_same("conv2d(f32[1,4,9,9], f32[8,4,3,3], strides=[2], padding=[1])",
               "conv2d(f32[1,4,9,9], f32[8,4,3,3], strides=[2,2], padding=[1,1], "
               "dilation=1, out_layout=NCHW, out_dtype=float32)");
    /* what was canonical before stays */
    check_canonical("topk(f32[2,9], k=3)");
    check_canonical("topk(f32[2,9], k=0)");
    check_canonical("softmax(f32[2,9], axis=-1)");
    check_canonical("softmax(f32[2,9], axis=0)");
    check_canonical("max(f32[128,768], axis=[-1], keepdims=true)");
    check_canonical("sum(f32[2,3,4], axis=[1,2])");
    check_canonical("reshape(f32[3,5,14], newshape=[210])");
    check_canonical("strided_slice(f32[70], begin=[3], end=[60], strides=[1])");
    check_canonical("concatenate(f32[2,3], f32[2,3], axis=1)");
}

int main(void)
{
    const char *seed = getenv("OPTUNE_TEST_SEED");
    state_of_rng = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("OPTUNE_TEST_SEED=%llu\n", (unsigned long long)state_of_rng);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_identity),
        cmocka_unit_test(by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
