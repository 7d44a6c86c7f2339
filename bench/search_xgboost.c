/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin with a search `xgboost`: the search that learns as it is, beginning, proposals and
 * acquisition, with boosted trees of the XGBoost library as its model. bench/forest_vs_xgboost
 * builds it and replays both on the same spaces.
 *
 * The one idea: only the model differs. A booster does not say how little it knows, so a few are
 * fitted, each to other samples of the rows, and what they disagree by is the deviation.
 */
#include "tuner/features.c"
#include "tuner/learner.c"
#include "tuner/search_forest.c"

#define MEMBERS 4
#define ROUNDS 20

/* Of the library's C interface, whose header its package for Python leaves out. */
typedef void *DMatrixHandle, *BoosterHandle;
extern const char *XGBGetLastError(void);
extern int XGDMatrixCreateFromMat(const float *data, uint64_t rows, uint64_t columns,
                                  float missing, DMatrixHandle *out);
extern int XGDMatrixSetFloatInfo(DMatrixHandle matrix, const char *field, const float *values,
                                 uint64_t n);
extern int XGDMatrixFree(DMatrixHandle matrix);
extern int XGBoosterCreate(const DMatrixHandle *matrices, uint64_t n, BoosterHandle *out);
extern int XGBoosterSetParam(BoosterHandle booster, const char *name, const char *value);
extern int XGBoosterUpdateOneIter(BoosterHandle booster, int round, DMatrixHandle train);
extern int XGBoosterPredictFromDMatrix(BoosterHandle booster, DMatrixHandle matrix,
                                       const char *config, uint64_t const **shape,
                                       uint64_t *rank, float const **result);
extern int XGBoosterFree(BoosterHandle booster);

/* The library's defaults, but for samples of the rows and a thread: what a search computes is
 * charged. */
static const char *const setting[][2] = {
    {"nthread", "1"},     {"objective", "reg:squarederror"},
    {"subsample", "0.8"}, {"tree_method", "exact"},
    {"verbosity", "0"},
};

struct ot_forest {
    int n_features;
    BoosterHandle booster[MEMBERS];
};

static void check(int status)
{
    if (status == 0)
        return;
    fprintf(stderr, "search_xgboost: %s\n", XGBGetLastError());
    abort();
}

void *ot_alloc(size_t size)
{
    void *made = calloc(1, size ? size : 1);
    if (!made)
        abort();
    return made;
}

/* Of one implementation nobody asks. */
void ot_arm_hope(const optune_search_view *view, double cost)
{
    (void)view;
    (void)cost;
}

ot_forest *ot_forest_open(int n_features, const ot_feature_kind *kind)
{
    (void)kind; /* words are numbers to it */
    ot_forest *f = ot_alloc(sizeof *f);
    f->n_features = n_features;
    return f;
}

void ot_forest_close(ot_forest *f)
{
    for (int m = 0; f && m < MEMBERS; m++)
        if (f->booster[m])
            check(XGBoosterFree(f->booster[m]));
    free(f);
}

static DMatrixHandle matrix_of(const ot_forest *f, const float *x, int n)
{
    DMatrixHandle matrix;
    check(XGDMatrixCreateFromMat(x, (uint64_t)n, (uint64_t)f->n_features, NAN, &matrix));
    return matrix;
}

void ot_forest_fit(ot_forest *f, const float *x, const float *y, int n, uint64_t *rng)
{
    DMatrixHandle matrix = matrix_of(f, x, n);
    check(XGDMatrixSetFloatInfo(matrix, "label", y, (uint64_t)n));
    for (int m = 0; m < MEMBERS; m++) {
        char seed[24];
        if (f->booster[m])
            check(XGBoosterFree(f->booster[m]));
        check(XGBoosterCreate(&matrix, 1, &f->booster[m]));
        snprintf(seed, sizeof seed, "%d", (int)optune_random_below(rng, 1 << 30));
        check(XGBoosterSetParam(f->booster[m], "seed", seed));
        for (int i = 0; i < (int)(sizeof setting / sizeof setting[0]); i++)
            check(XGBoosterSetParam(f->booster[m], setting[i][0], setting[i][1]));
        for (int round = 0; round < ROUNDS; round++)
            check(XGBoosterUpdateOneIter(f->booster[m], round, matrix));
    }
    check(XGDMatrixFree(matrix));
}

void ot_forest_predict(const ot_forest *f, const float *x, int n, float *mean, float *deviation)
{
    static const char config[] = "{\"type\": 0, \"training\": false, \"iteration_begin\": 0, "
                                 "\"iteration_end\": 0, \"strict_shape\": false}";
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(deviation, 0, (size_t)n * sizeof *deviation);
    if (n == 0)
        return;
    DMatrixHandle matrix = matrix_of(f, x, n);
    for (int m = 0; m < MEMBERS; m++) {
        const uint64_t *shape;
        uint64_t rank;
        const float *said;
        check(XGBoosterPredictFromDMatrix(f->booster[m], matrix, config, &shape, &rank, &said));
        for (int i = 0; i < n; i++) {
            mean[i] += said[i] / MEMBERS;
            deviation[i] += said[i] * said[i] / MEMBERS;
        }
    }
    for (int i = 0; i < n; i++)
        deviation[i] = sqrtf(fmaxf(0, deviation[i] - mean[i] * mean[i]));
    check(XGDMatrixFree(matrix));
}

/* What is known from elsewhere: nothing, in replays without it. */
ot_prior *ot_prior_open(const optune_search_view *view, int n_features,
                        const ot_feature_kind *kind, ot_features_fn *features, const void *arg,
                        uint64_t *rng)
{
    (void)view, (void)n_features, (void)kind, (void)features, (void)arg, (void)rng;
    return NULL;
}

void ot_prior_close(ot_prior *prior)
{
    (void)prior;
}

double ot_prior_trust(ot_prior *prior, const int64_t *index, const double *cost, int n)
{
    (void)prior, (void)index, (void)cost, (void)n;
    return 0;
}

void ot_prior_predict(ot_prior *prior, const int64_t *index, const float *x, int n, float *to)
{
    (void)prior, (void)index, (void)x;
    memset(to, 0, (size_t)n * sizeof *to);
}

int64_t ot_prior_best(const ot_prior *prior, int n)
{
    (void)prior, (void)n;
    return -1;
}

static const optune_search boosted = {
    .name = "xgboost",
    .summary = "the search that learns, with XGBoost's boosted trees as its model",
    .state_size = sizeof(ot_forest_search),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "search_xgboost",
    .searches = (const optune_search *const[]){&boosted, NULL},
};
