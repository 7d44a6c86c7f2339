/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations that a file spells out: GELU as Div, Erf, Add, Mul, Mul, SiLU as a product with a
 * Sigmoid, and so on, in whatever order and with whatever constants an exporter writes them. What
 * nodes make of one value and of numbers is computed at some points; where that is what an operator
 * of ours gives there, the nodes are one call, which joins what is in front of it, as their parts
 * do not: they read the value twice.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

enum { POINTS = 32, MOST = 16 /* nodes of one activation */ };

/* Not beyond 350: the square of an exponential is a double. */
static const double point[POINTS] = {1,     0,    -1,    2,   -2,   0.3,  -0.3, 0.02,
                                     -0.05, 0.7,  -0.7,  1.4, -1.4, 2.7,  -2.7, 3.1,
                                     -3.1,  2.95, -2.95, 4.5, -4.5, 6.2,  -6.2, 9.5,
                                     15,    -15,  30,    -30, 100,  -100, 300,  -300};

typedef struct curve {
    ot_onnx_node *n; /* the first of them */
    void (*read_ahead)(ot_onnx *m, int i);
    const char *name; /* of what they are a function of */
    int rank;
    double slack;
    bool kinked; /* a limit lies within */
    int n_open, n_inner;
    struct {
        int index;
        double y[POINTS];
    } inner[MOST]; /* those that were met */
} curve;

/* ---- nodes at points --------------------------------------------------------------------- */

typedef double function(double x, double y, double z);

static double add(double x, double y, double z)
{
    return x + y + 0 * z;
}

static double subtract(double x, double y, double z)
{
    return x - y + 0 * z;
}

static double multiply(double x, double y, double z)
{
    return x * y + 0 * z;
}

static double divide(double x, double y, double z)
{
    return x / y + 0 * z;
}

static double power(double x, double y, double z)
{
    return pow(x, y) + 0 * z;
}

static double negative(double x, double y, double z)
{
    return -x + 0 * (y + z);
}

static double exponential(double x, double y, double z)
{
    return exp(x) + 0 * (y + z);
}

static double logarithm(double x, double y, double z)
{
    return log(x) + 0 * (y + z);
}

static double error(double x, double y, double z)
{
    return erf(x) + 0 * (y + z);
}

static double tangent(double x, double y, double z)
{
    return tanh(x) + 0 * (y + z);
}

static double logistic(double x, double y, double z)
{
    return 1 / (1 + exp(-x)) + 0 * (y + z);
}

static double rectified(double x, double y, double z)
{
    return fmax(x, 0) + 0 * (y + z);
}

static double inverse(double x, double y, double z)
{
    return 1 / x + 0 * (y + z);
}

static double soft(double x, double y, double z)
{
    return fmax(x, 0) + log1p(exp(-fabs(x))) + 0 * (y + z);
}

static double clipped(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static double line(double x, double alpha, double beta)
{
    return clipped(alpha * x + beta, 0, 1);
}

static const struct {
    const char *op;
    int inputs; /* the rest are numbers: the node's attributes, or 0 */
    function *of;
} row[] = {
    {"Add", 2, add},
    {"Sub", 2, subtract},
    {"Mul", 2, multiply},
    {"Div", 2, divide},
    {"Pow", 2, power},
    {"Neg", 1, negative},
    {"Exp", 1, exponential},
    {"Log", 1, logarithm},
    {"Erf", 1, error},
    {"Tanh", 1, tangent},
    {"Sigmoid", 1, logistic},
    {"Relu", 1, rectified},
    {"Reciprocal", 1, inverse},
    {"Softplus", 1, soft},
    {"HardSigmoid", 1, line},
    {"Clip", 3, clipped},
};

static int row_of(const ot_onnx_proto *proto)
{
    const char *domain = ot_onnx_text_of(proto->domain);
    if ((!*domain || !strcmp(domain, "ai.onnx")) && proto->n_output == 1)
        for (int i = 0; i < OT_COUNT(row); i++)
            if (!strcmp(row[i].op, ot_onnx_text_of(proto->op_type)))
                return i;
    return -1;
}

/* What an input that is left out, or that the operator has not, is: limits of Clip before opset 11,
 * the line of HardSigmoid. */
static double missing(const ot_onnx_node *n, const char *op, int input)
{
    if (!strcmp(op, "Clip"))
        return input == 1 ? ot_onnx_real(n, "min", -INFINITY)
                          : ot_onnx_real(n, "max", INFINITY);
    if (!strcmp(op, "HardSigmoid"))
        return input == 1 ? ot_onnx_real(n, "alpha", 0.2) : ot_onnx_real(n, "beta", 0.5);
    return 0;
}

/* A constant of one element that does not widen what it is joined with. */
static bool number_of(const curve *c, ot_onnx_value *value, double *number)
{
    if (!value->data || value->nibbles || value->type.rank > c->rank ||
        optune_tensor_elements(&value->type) != 1)
        return false;
    const void *data = ot_onnx_look(c->n, value);
    if (data)
        ot_elements(value->type.dtype, data, 0, 1, number);
    return data != NULL;
}

/* Values on both sides of the limit, or there is none. */
static bool passes(const double x[POINTS], const double limit[POINTS], double none)
{
    bool below = false, above = false, some = false;
    for (int p = 0; p < POINTS; p++) {
        below |= x[p] < limit[p];
        above |= x[p] > limit[p];
        some |= limit[p] != none;
    }
    return !some || (below && above);
}

/* False: between limits one of which lies where no point tells what it does. */
static bool limits_seen(curve *c, const ot_onnx_node *n, double in[3][POINTS])
{
    const char *op = ot_onnx_text_of(n->proto->op_type);
    const bool clip = !strcmp(op, "Clip"), hard = !strcmp(op, "HardSigmoid");
    double x[POINTS], low[POINTS], high[POINTS];
    if (!clip && !hard && strcmp(op, "Relu") != 0)
        return true;
    for (int p = 0; p < POINTS; p++) {
        x[p] = hard ? in[1][p] * in[0][p] + in[2][p] : in[0][p];
        low[p] = clip ? in[1][p] : 0;
        high[p] = clip ? in[2][p] : hard ? 1 : INFINITY;
        c->kinked |= low[p] != -INFINITY || high[p] != INFINITY;
    }
    return passes(x, low, -INFINITY) && passes(x, high, INFINITY);
}

/* An epsilon, a factor next to 1: more than nothing, but what a comparison at points may miss. */
static bool changes_little(const curve *c, const double x[POINTS], const double y[POINTS])
{
    double worst = 0;
    for (int p = 0; p < POINTS; p++)
        if (y[p] != x[p]) {
            const double off = fabs(y[p] - x[p]) / fmax(1, fabs(x[p]));
            worst = fmax(worst, isnan(off) ? INFINITY : off);
        }
    return worst > 0 && worst <= 4 * c->slack;
}

static bool at_points(curve *c, const char *name, int before, double y[POINTS]);

/* Node `index`, which is not read yet. */
static bool node_at_points(curve *c, int index, double y[POINTS])
{
    for (int i = 0; i < c->n_inner; i++)
        if (c->inner[i].index == index) {
            memcpy(y, c->inner[i].y, sizeof c->inner[i].y);
            return true;
        }
    ot_onnx_node n = *c->n;
    n.proto = ot_onnx_proto_at(c->n->m, index);
    n.index = index;
    const int which = row_of(n.proto), n_in = (int)n.proto->n_input;
    double in[3][POINTS];
    if (which < 0 || n_in > row[which].inputs || c->n->m->at->done[index] ||
        c->n_open + c->n_inner == MOST)
        return false;
    c->n_open++;
    for (int k = 0; k < 3; k++) {
        const bool given = k < n_in && *n.proto->input[k];
        if (!given && k < row[which].inputs && row[which].inputs < 3)
            return false;
        const double number = given ? 0 : missing(&n, row[which].op, k);
        for (int p = 0; p < POINTS; p++)
            in[k][p] = number;
        if (given && !at_points(c, n.proto->input[k], index, in[k]))
            return false;
    }
    if (!limits_seen(c, &n, in))
        return false;
    for (int p = 0; p < POINTS; p++)
        y[p] = row[which].of(in[0][p], in[1][p], in[2][p]);
    for (int k = 0; k < n_in; k++)
        if (changes_little(c, in[k], y))
            return false;
    c->n_open--;
    c->inner[c->n_inner].index = index;
    memcpy(c->inner[c->n_inner++].y, y, sizeof c->inner[0].y);
    return true;
}

/* False: it is no function of the one value and of numbers, or one of nodes that are in use. */
static bool at_points(curve *c, const char *name, int before, double y[POINTS])
{
    ot_onnx *m = c->n->m;
    if (!strcmp(name, c->name)) {
        memcpy(y, point, sizeof point);
        return true;
    }
    ot_onnx_value *value = ot_onnx_named(m, name);
    const int *maker = value ? NULL : ot_names_find(&m->at->makers, name);
    if (maker && *maker < before && !m->at->done[*maker] &&
        !strcmp(ot_onnx_text_of(ot_onnx_proto_at(m, *maker)->op_type), "Constant")) {
        c->read_ahead(m, *maker);
        value = ot_onnx_named(m, name);
    }
    double number;
    if (value) {
        if (value->failed || !number_of(c, value, &number))
            return false;
        for (int p = 0; p < POINTS; p++)
            y[p] = number;
        return true;
    }
    /* Each is before its reader. */
    return maker && *maker < before && *maker >= c->n->index && node_at_points(c, *maker, y);
}

/* ---- operators of ours -------------------------------------------------------------------- */

static const struct {
    const char *op;
    bool beta;   /* its attribute, which follows from what there is at 1 */
    bool kinked; /* it has limits; where the rest has any, they are meant */
    bool longer; /* a shorter one may be its beginning */
} ours[] = {{.op = "silu"},
            {.op = "gelu"},
            {.op = "gelu_tanh"},
            {.op = "hardswish", .kinked = true},
            {.op = "softplus"},
            {.op = "mish", .longer = true},
            {.op = "swish", .beta = true}};

/* How far apart, in parts of the value or of 1, they may be for rounded constants. */
static double slack(optune_dtype dtype)
{
    return dtype.bits == 64                    ? 1e-13
           : dtype.bits == 32                  ? 2e-7
           : dtype.code == OPTUNE_DTYPE_BFLOAT ? 8e-3
                                               : 1e-3;
}

/* The nearest of our operators, or -1. */
static int nearest(const curve *c, const double y[POINTS], double *beta)
{
    double most = c->slack;
    int best = -1;
    double number[OPTUNE_MAX_NUMBERS] = {0}, x[OPTUNE_MAX_OPERANDS] = {0};
    *beta = y[0] > 0 && y[0] < 1 ? -log(1 / y[0] - 1) : 0;
    for (int i = 0; i < OT_COUNT(ours); i++) {
        const optune_op *op = ot_op_find(ours[i].op);
        double worst = 0;
        number[0] = ours[i].beta ? *beta : 0;
        if (ours[i].kinked != c->kinked || (ours[i].beta && *beta == 0))
            continue;
        for (int p = 0; p < POINTS && worst < most; p++) {
            x[0] = point[p];
            const double off = fabs(op->scalar->value(x, number) - y[p]);
            worst = fmax(worst, isnan(off) ? INFINITY : off / fmax(1, fabs(point[p])));
        }
        if (worst < most) {
            most = worst;
            best = i;
        }
    }
    return best;
}

static int times_read(const ot_onnx_proto *proto, const char *name)
{
    int n = 0;
    for (size_t k = 0; k < proto->n_input; k++)
        n += !strcmp(proto->input[k], name);
    return n;
}

/* Nobody else reads what lies within. */
static bool closed(const curve *c, int end)
{
    const ot_onnx_scope *at = c->n->m->at;
    for (int i = 0; i < c->n_inner; i++) {
        const char *name = ot_onnx_proto_at(c->n->m, c->inner[i].index)->output[0];
        const int *use = ot_names_find(&at->used, name);
        int n = 0;
        for (int k = 0; k < c->n_inner; k++)
            n += times_read(ot_onnx_proto_at(c->n->m, c->inner[k].index), name);
        if (c->inner[i].index != end && (!use || at->use[*use].count != n))
            return false;
    }
    return true;
}

/* What the nodes are a function of, or NULL. */
static const char *argument(const ot_onnx_node *n, const ot_onnx_value **value)
{
    for (size_t k = 0; k < n->proto->n_input; k++) {
        *value = ot_onnx_in(n, (int)k);
        if (*value && !(*value)->data && !(*value)->sizes && !(*value)->failed &&
            !(*value)->nbits && ot_onnx_floating(n, *value))
            return n->proto->input[k];
    }
    return NULL;
}

bool ot_onnx_curve(ot_onnx_node *n, void (*read_ahead)(ot_onnx *m, int i))
{
    const ot_onnx_value *x = NULL;
    const ot_onnx_scope *at = n->m->at;
    curve c = {.n = n, .read_ahead = read_ahead};
    ot_onnx_node end = *n, found = *n;
    double y[POINTS], beta = 0, of;
    int best = -1, n_inner = 0, inner[MOST];
    if (row_of(n->proto) < 0 || !(c.name = argument(n, &x)))
        return false;
    const optune_tensor *type = ot_onnx_type(n->m, x);
    c.slack = slack(type->dtype);
    c.rank = type->rank;
    for (bool more = true; more; more = ot_onnx_reader(&end, &end)) {
        c.n_open = c.n_inner = 0;
        c.kinked = false;
        if (row_of(end.proto) < 0 || !node_at_points(&c, end.index, y))
            break;
        const int which = closed(&c, end.index) ? nearest(&c, y, &of) : -1;
        /* What leaves one as it is at points is there for what is between or beyond them. */
        if (which < 0 || (best >= 0 && !ours[which].longer))
            continue;
        best = which;
        beta = of;
        found = end;
        n_inner = c.n_inner;
        for (int i = 0; i < n_inner; i++)
            inner[i] = c.inner[i].index;
    }
    if (n_inner < 2 || n->err->status < 0)
        return false;
    ot_onnx_value *in = ot_onnx_named(n->m, c.name);
    ot_onnx_value *all = ours[best].beta
                             ? ot_onnx_call(&found, ours[best].op, 1, &in, "beta=%.17g", beta)
                             : ot_onnx_1(&found, ours[best].op, in);
    if (ot_onnx_give(&found, 0, all) < 0)
        return false;
    for (int i = 0; i < n_inner; i++)
        if (inner[i] != n->index)
            at->done[inner[i]] = true;
    return true;
}
