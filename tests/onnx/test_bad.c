/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are cut short, spoilt or meant to harm: each ends with a message that names the node
 * and what to do, or is read; never with more memory than its size allows. OPTUNE_TEST_SEED says
 * which random files, OPTUNE_TEST_SECONDS how long (without it a fixed number of them).
 * tests/data/onnx keeps small files that a fuzzer made of models of our own, by what they reach,
 * and each one that once did harm, by its reason.
 */
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { FILES = 3000, MOST_KEPT = 256 };

/* The status; what was refused has a reason and no graph. */
static int read_with(const char *data, size_t n, int n_bind, optune_err *err)
{
    optune_graph *g = NULL;
    *err = (optune_err){0};
    assert_true(ot_write_file(onnx_path, data, n, err) >= 0);
    const int status = optune_graph_read_bound(onnx_path, &(const optune_binding){"batch", 1},
                                               n_bind, &g, err);
    if (status < 0) {
        assert_null(g);
        assert_true(*err->text);
    } else {
        assert_non_null(g);
        assert_true(*optune_graph_text(g, true));
    }
    optune_graph_close(g);
    return status;
}

static int read_bytes(const char *data, size_t n, optune_err *err)
{
    return read_with(data, n, 1, err);
}

/* The model, emptied, is refused with all these parts in the message. */
static void refused_with(ot_text *model, int status, const char *const *parts)
{
    optune_err err;
    const int was = read_bytes(ot_text_str(model), model->n, &err);
    if (was != status) {
        print_error("status %d, not %d: %s\n", was, status, err.text);
        fail();
    }
    for (; *parts; parts++)
        check_contains(err.text, *parts);
    ot_text_release(model);
}
#define REFUSED(model, status, ...)                                                            \
    refused_with(model, status, (const char *const[]){__VA_ARGS__, NULL})

static void start(ot_text *g)
{
    onnx_input(g, "x", ONNX_FLOAT, "batch,4");
    onnx_output(g, "y");
}

static void all_that_is_missing_is_named(void **state)
{
    (void)state;
    ot_text g = {0}, model = {0};
    start(&g);
    onnx_node(&g, "Relu", "first", "x", "r", NULL);
    onnx_node(&g, "Bernoulli", "dice", "r", "b1", NULL);
    onnx_node(&g, "Bernoulli", "dice2", "b1", "b2", NULL);
    onnx_node(&g, "Range", "open", "r r r", "e", NULL);
    onnx_node(&g, "Add", "sum", "b1 e", "a", NULL); /* of what failed: not named itself */
    onnx_node(&g, "Multinomial", "around", "a b2", "y", NULL);
    onnx_model(&g, 13, &model);
    optune_err err;
    read_bytes(ot_text_str(&model), model.n, &err);
    assert_null(strstr(err.text, "'sum'"));
    REFUSED(&model, OPTUNE_EUNSUPPORTED, "4 of 6 nodes", "Bernoulli 'dice' and 1 more",
            "Range 'open'", "no constant numbers", "Multinomial 'around'");
}

static void wrong_graphs(void **state)
{
    (void)state;
    ot_text g = {0}, model = {0};
    start(&g);
    onnx_node(&g, "Add", "left", "x right", "left", NULL);
    onnx_node(&g, "Add", "right", "x left", "right", NULL);
    onnx_node(&g, "Add", "end", "left right", "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Add 'right': input 'left' is made by 'left'", "cycle");
    start(&g);
    onnx_node(&g, "Add", "sum", "x weight", "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Add 'sum'", "'weight' is missing");
    start(&g);
    onnx_node(&g, "Relu", "a", "x", "y", NULL);
    onnx_node(&g, "Relu", "b", "x", "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Relu 'b'", "'y' exists already: 'a' makes it, too");
    start(&g);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "output 'y' is made by no node");
    start(&g);
    onnx_node(&g, "Relu", "a", "x", "y", NULL);
    onnx_model(&g, 4711, &model);
    REFUSED(&model, OPTUNE_EVERSION, "opset is 4711", "export");
    start(&g);
    const float row[3] = {1, 2, 3};
    onnx_initializer(&g, "w", ONNX_FLOAT, "3", row, sizeof row);
    onnx_node(&g, "Add", "unlike", "x w", "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_ETYPE, "Add 'unlike'", "f32[3]");
}

/* What is out of order and what no output needs is read, or not, beside a cycle, too: its nodes
 * alone are named. */
static void nodes_of_cycles_alone_are_named(void **state)
{
    (void)state;
    ot_text g = {0}, model = {0};
    optune_err err;
    for (int needed = 0; needed < 2; needed++) {
        start(&g);
        onnx_node(&g, "Relu", "reader", "a", "p", NULL);
        onnx_node(&g, "Neg", "maker", "x", "a", NULL);
        onnx_node(&g, "Add", "front", "d p", "c", NULL);
        onnx_node(&g, "Abs", "back", "c", "d", NULL);
        onnx_node(&g, "Add", "end", needed ? "d p" : "a p", "y", NULL);
        onnx_model(&g, 13, &model);
        if (!needed) {
            check_ok(read_bytes(ot_text_str(&model), model.n, &err));
            ot_text_release(&model);
            continue;
        }
        read_bytes(ot_text_str(&model), model.n, &err);
        assert_null(strstr(err.text, "'reader'"));
        assert_null(strstr(err.text, "'maker'"));
        REFUSED(&model, OPTUNE_EDAMAGED, "1 of 5 nodes", "'back'", "'front'", "cycle");
    }
}

/* Out of order, too, it is not known which of two is meant; of what nothing reads neither is. */
static void two_that_make_one_name(void **state)
{
    (void)state;
    ot_text g = {0}, model = {0};
    optune_err err;
    start(&g);
    onnx_node(&g, "Add", "sum", "t u", "y", NULL);
    onnx_node(&g, "Relu", "one", "x", "t", NULL);
    onnx_node(&g, "Neg", "next", "t", "u", NULL);
    onnx_node(&g, "Abs", "two", "x", "t", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Abs 'two'", "'t' exists already: 'one' makes it, too");
    start(&g);
    onnx_node(&g, "Relu", "one", "x", "t", NULL);
    onnx_node(&g, "Abs", "two", "x", "t", NULL);
    onnx_node(&g, "Neg", "end", "x", "y", NULL);
    onnx_model(&g, 13, &model);
    check_ok(read_bytes(ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
}

/* y = If(true): both branches are the body. */
static void choice(ot_text *g, ot_text *body)
{
    ot_text attrs = {0}, again = {0};
    onnx_initializer(g, "c", ONNX_BOOL, "", (const bool[]){true}, 1);
    ot_text_add_n(&again, ot_text_str(body), body->n);
    attr_graph(&attrs, "then_branch", body);
    attr_graph(&attrs, "else_branch", &again);
    onnx_node(g, "If", "choice", "c", "y", &attrs);
}

/* A node inside, or the body itself, reads what is made of what its node gives; nodes of a body
 * form one where names around it are the same. */
static void cycles_through_bodies(void **state)
{
    (void)state;
    ot_text g = {0}, body = {0}, model = {0};
    for (int itself = 0; itself < 2; itself++) {
        start(&g);
        if (!itself)
            onnx_node(&body, "Relu", "inside", "w", "r", NULL);
        onnx_output(&body, itself ? "w" : "r");
        onnx_node(&g, "Neg", "back", "y", "w", NULL);
        choice(&g, &body);
        onnx_model(&g, 13, &model);
        REFUSED(&model, OPTUNE_EDAMAGED, itself ? "If 'choice'" : "Relu 'inside'",
                "'w' is made by 'back'", "cycle");
    }
    start(&g);
    onnx_node(&g, "Relu", "around", "x", "a", NULL);
    onnx_node(&body, "Neg", "one", "b", "a", NULL);
    onnx_node(&body, "Abs", "two", "a", "b", NULL);
    onnx_output(&body, "b");
    choice(&g, &body);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Abs 'two': input 'a' is made by 'one'", "cycle");
}

static void one_name_for_two_values(void **state)
{
    (void)state;
    ot_text g = {0}, body = {0}, attrs = {0}, model = {0};
    start(&g);
    attr_int(&attrs, "axis", 1);
    onnx_node(&g, "Split", "halves", "x", "y y", &attrs);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Split 'halves': its outputs 1 and 2 are both 'y'");
    start(&g);
    onnx_input(&body, "i", ONNX_INT64, "");
    onnx_input(&body, "s", ONNX_BOOL, "");
    onnx_input(&body, "s", ONNX_FLOAT, "1,4");
    onnx_node(&body, "Identity", "same", "s", "t", NULL);
    onnx_output(&body, "s");
    onnx_output(&body, "t");
    attr_graph(&attrs, "body", &body);
    onnx_initializer(&g, "n", ONNX_INT64, "", (const int64_t[]){1}, 8);
    onnx_node(&g, "Loop", "turns", "n - x", "y", &attrs);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_EDAMAGED, "Loop 'turns': input 's' of its body exists already");
}

/* One that says of which opset, if any, another domain's operators are. */
static void without_opset(ot_text *graph, const char *domain, ot_text *model)
{
    ot_text import = {0};
    wire_int(model, 1, 8);
    wire_part(model, 7, graph);
    if (!domain)
        return;
    wire_text(&import, 1, domain);
    wire_int(&import, 2, 1);
    wire_part(model, 8, &import);
}

static void operators_of_others_alone(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0}, model = {0};
    start(&g);
    onnx_contrib(&g, "ZipMap", "x", &attrs);
    without_opset(&g, "com.microsoft", &model);
    REFUSED(&model, OPTUNE_EUNSUPPORTED, "1 of 1 nodes", "ZipMap", "com.microsoft");
    start(&g);
    onnx_node(&g, "Relu", "a", "x", "y", NULL);
    without_opset(&g, "com.microsoft", &model);
    REFUSED(&model, OPTUNE_EVERSION, "does not say of which opset", "opset_import");
    start(&g);
    onnx_contrib(&g, "ZipMap", "x", &attrs);
    without_opset(&g, NULL, &model);
    REFUSED(&model, OPTUNE_EVERSION, "does not say of which opset");
}

static void wrong_elements(void **state)
{
    static const struct {
        const char *dims, *says;
        int type, status;
    } all[] = {
        {"4611686018427387904,4", "a dim of", ONNX_FLOAT, OPTUNE_ELIMIT},
        {"1099511627776,1099511627776", "overflow", ONNX_FLOAT, OPTUNE_ELIMIT},
        {"-1", "a dim of -1", ONNX_FLOAT, OPTUNE_ELIMIT},
        {"5", "its dims need 20 bytes, the file has 16", ONNX_FLOAT, OPTUNE_EDAMAGED},
        {"1,1,1,1,1,1,1,1,4", "9 dims", ONNX_FLOAT, OPTUNE_ELIMIT},
        {"4", "type 8 (string)", 8, OPTUNE_EUNSUPPORTED},
        {"4", "type 4711", 4711, OPTUNE_EUNSUPPORTED},
    };
    const float four[4] = {1, 2, 3, 4};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, model = {0};
        start(&g);
        onnx_initializer(&g, "w", all[i].type, all[i].dims, four, sizeof four);
        onnx_node(&g, "Add", "sum", "x w", "y", NULL);
        onnx_model(&g, 13, &model);
        REFUSED(&model, all[i].status, "initializer 'w'", all[i].says);
    }
}

/* A few bytes that ask for terabytes, in one step and in many. */
static void greedy_models(void **state)
{
    static const int64_t huge[] = {1 << 20, 1 << 20}, much[] = {1 << 13, 1 << 13};
    (void)state;
    ot_text g = {0}, model = {0};
    char all[512] = "x";
    start(&g);
    onnx_initializer(&g, "shape", ONNX_INT64, "2", huge, sizeof huge);
    onnx_node(&g, "ConstantOfShape", "huge", "shape", "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_ELIMIT, "ConstantOfShape 'huge'", "MB");
    start(&g);
    onnx_initializer(&g, "shape", ONNX_INT64, "2", much, sizeof much);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        onnx_node(&g, "ConstantOfShape", name, "shape", name, NULL);
        snprintf(all + strlen(all), sizeof all - strlen(all), " c%d", i);
    }
    onnx_node(&g, "Sum", "r", all, "y", NULL);
    onnx_model(&g, 13, &model);
    REFUSED(&model, OPTUNE_ELIMIT, "ConstantOfShape", "MB");
}

static void elements_outside_the_folder(void **state)
{
    static const char *const places[] = {
        "../w.bin", "/etc/hostname", "link.bin", "sub/../w.bin", "linked/w.bin", "", ".",
        "sub"};
    const float four[4] = {1, 2, 3, 4};
    char name[600];
    optune_err err = {0};
    (void)state;
    snprintf(name, sizeof name, "%s/sub", onnx_folder);
    check_ok(ot_make_dirs(name, &err));
    snprintf(name, sizeof name, "%s/w.bin", onnx_folder);
    check_ok(ot_write_file(name, four, sizeof four, &err));
    snprintf(name, sizeof name, "%s/link.bin", onnx_folder);
    assert_int_equal(symlink("w.bin", name), 0);
    snprintf(name, sizeof name, "%s/linked", onnx_folder);
    assert_int_equal(symlink(".", name), 0);
    for (int i = 0; i < OT_COUNT(places); i++) {
        ot_text g = {0}, model = {0};
        start(&g);
        onnx_external(&g, "w", "4", places[i], "0");
        onnx_node(&g, "Add", "sum", "x w", "y", NULL);
        onnx_model(&g, 13, &model);
        REFUSED(&model, OPTUNE_EUSAGE, "initializer 'w'", "own folder");
    }
    static const char *const offsets[] = {"1", "17", "-4", "9223372036854775807", "soon"};
    for (int i = 0; i < OT_COUNT(offsets); i++) {
        ot_text g = {0}, model = {0};
        start(&g);
        onnx_external(&g, "w", "4", "w.bin", offsets[i]);
        onnx_node(&g, "Add", "sum", "x w", "y", NULL);
        onnx_model(&g, 13, &model);
        REFUSED(&model, OPTUNE_EDAMAGED, "initializer 'w'", "elements");
    }
}

/* Graphs in attributes of nodes in graphs ... */
static void messages_in_messages(void **state)
{
    (void)state;
    ot_text inner = {0}, model = {0};
    for (int i = 0; i < 2000; i++) {
        ot_text attr = {0}, node = {0}, graph = {0};
        wire_part(&attr, 6, &inner);
        wire_part(&node, 5, &attr);
        wire_part(&graph, 1, &node);
        inner = graph;
    }
    onnx_model(&inner, 13, &model);
    REFUSED(&model, OPTUNE_ELIMIT, "nests");
}

static void models_cut_short(void **state)
{
    (void)state;
    ot_text model = {0};
    optune_err err;
    onnx_small(&model);
    assert_int_equal(read_bytes(ot_text_str(&model), model.n, &err), OPTUNE_OK);
    int refused = 0;
    for (size_t n = 0; n < model.n; n++)
        refused += read_bytes(ot_text_str(&model), n, &err) < 0;
    assert_true(refused >= (int)model.n - 1);
    ot_text_release(&model);
}

static uint64_t seed_of_test(void)
{
    const char *given = getenv("OPTUNE_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("OPTUNE_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* A few bytes changed, doubled or left out. */
static void spoil(ot_text *model, uint64_t *seed)
{
    for (int k = 1 + (int)(optune_random(seed) % 4); k > 0 && model->n > 1; k--) {
        const size_t at = optune_random(seed) % model->n;
        switch (optune_random(seed) % 4) {
        case 0:
            model->s[at] ^= (char)(1 << optune_random(seed) % 8);
            break;
        case 1:
            model->s[at] = (char)optune_random(seed);
            break;
        case 2:
            memmove(model->s + at, model->s + at + 1, model->n - at - 1);
            model->n--;
            break;
        default:
            model->s[at] = model->s[optune_random(seed) % model->n];
        }
    }
}

/* The files that are kept, in an order that is always the same; how many. */
static int kept_files(ot_text *file)
{
    static const char place[] = OT_SOURCE_DIR "/tests/data/onnx";
    struct dirent **entry = NULL;
    int n = 0;
    const int all = scandir(place, &entry, NULL, alphasort);
    for (int i = 0; i < all; i++) {
        optune_err err = {0};
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", place, entry[i]->d_name);
        if (strstr(entry[i]->d_name, ".onnx") && n < MOST_KEPT)
            check_ok(ot_read_file(name, &file[n++], 1 << 20, &err));
        free(entry[i]);
    }
    free(entry);
    return n;
}

static void files_that_are_kept(void **state)
{
    ot_text file[MOST_KEPT] = {{0}};
    int read = 0;
    const int n = kept_files(file);
    (void)state;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        optune_err err;
        read += read_with(ot_text_str(&file[i]), file[i].n, 0, &err) >= 0;
        ot_text_release(&file[i]);
    }
    print_message("%d of %d could be read\n", read, n);
    assert_true(read > 0 && read < n);
}

static void spoilt_models(void **state)
{
    (void)state;
    uint64_t seed = seed_of_test();
    const char *seconds = getenv("OPTUNE_TEST_SECONDS");
    const double end = ot_now() + (seconds ? atof(seconds) : 1e9);
    ot_text file[MOST_KEPT] = {{0}};
    const int n = kept_files(file);
    int read = 0, tried = 0;
    for (; (seconds || tried < FILES) && ot_now() < end; tried++) {
        ot_text model = {0};
        optune_err err;
        if (tried % 2)
            onnx_small(&model);
        else
            ot_text_add_n(&model, ot_text_str(&file[tried / 2 % n]), file[tried / 2 % n].n);
        spoil(&model, &seed);
        read += read_with(ot_text_str(&model), model.n, tried % 2, &err) >= 0;
        ot_text_release(&model);
    }
    for (int i = 0; i < n; i++)
        ot_text_release(&file[i]);
    print_message("%d of %d spoilt models could be read\n", read, tried);
    assert_true(read > 0 && read < tried); /* both ways were taken */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_missing_is_named),
        cmocka_unit_test(wrong_graphs),
        cmocka_unit_test(nodes_of_cycles_alone_are_named),
        cmocka_unit_test(two_that_make_one_name),
        cmocka_unit_test(cycles_through_bodies),
        cmocka_unit_test(one_name_for_two_values),
        cmocka_unit_test(operators_of_others_alone),
        cmocka_unit_test(wrong_elements),
        cmocka_unit_test(greedy_models),
        cmocka_unit_test(elements_outside_the_folder),
        cmocka_unit_test(messages_in_messages),
        cmocka_unit_test(models_cut_short),
        cmocka_unit_test(files_that_are_kept),
        cmocka_unit_test(spoilt_models),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
