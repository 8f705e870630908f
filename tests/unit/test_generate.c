/* test_generate.c - the generators: same seed, same trees; bad options; what holds for every tree;
 * and moments against constants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "forest/forest.h"
#include "forests.h"
#include "must.h"

enum { SLOTS = 3, MAX_SIZE = 100, N_CLASSES = 3, N_MOMENTS = 19 };

static const char *const class_names[N_CLASSES] = {"left", "symmetric", "right"};
static const size_t smallest[N_CLASSES] = {20, 50, 80};
static const size_t largest[N_CLASSES] = {25, 60, 100};

/* Mean and standard deviation over trees, by 200,000 trees per class of an independent program:
 * tests/oracle/symm_reference.py --constants --simulate 200000 */
static const double reference_trees = 200000;
static const double reference[N_CLASSES][N_MOMENTS][2] = {
    {
        /* left */
        {22.500580, 1.499744},  /* size */
        {0.199935, 0.399952},   /* size at an end */
        {0.961556, 0.048514},   /* slot 1 filled */
        {0.322060, 0.118375},   /* slot 2 filled */
        {0.107107, 0.079670},   /* slot 3 filled */
        {0.306513, 0.066755},   /* share of 0 children */
        {0.450345, 0.123584},   /* share of 1 children */
        {0.224413, 0.064738},   /* share of 2 children */
        {0.018729, 0.027553},   /* share of 3 children */
        {7.580640, 2.316401},   /* height */
        {62.831790, 42.208955}, /* height squared */
        {4.836313, 1.370487},   /* mean depth */
        {0.036170, 0.040139},   /* share of early leaves */
        {0.969040, 0.173210},   /* last node, slot 1 */
        {0.253055, 0.434763},   /* last node, slot 2 */
        {0.076085, 0.265135},   /* last node, slot 3 */
        {0.963200, 0.188271},   /* root, slot 1 */
        {0.348555, 0.476514},   /* root, slot 2 */
        {0.118430, 0.323117},   /* root, slot 3 */
    },
    {
        /* symmetric */
        {54.992775, 2.914384},  /* size */
        {0.100090, 0.300121},   /* size at an end */
        {0.644706, 0.090078},   /* slot 1 filled */
        {0.637577, 0.090039},   /* slot 2 filled */
        {0.630389, 0.089853},   /* slot 3 filled */
        {0.484095, 0.036769},   /* share of 0 children */
        {0.164811, 0.055097},   /* share of 1 children */
        {0.236329, 0.049387},   /* share of 2 children */
        {0.114765, 0.033956},   /* share of 3 children */
        {6.157775, 1.194872},   /* height */
        {39.345905, 16.698814}, /* height squared */
        {4.583029, 0.946638},   /* mean depth */
        {0.033376, 0.025498},   /* share of early leaves */
        {0.734010, 0.441860},   /* last node, slot 1 */
        {0.535430, 0.498744},   /* last node, slot 2 */
        {0.332870, 0.471242},   /* last node, slot 3 */
        {0.650440, 0.476832},   /* root, slot 1 */
        {0.650665, 0.476761},   /* root, slot 2 */
        {0.650330, 0.476867},   /* root, slot 3 */
    },
    {
        /* right */
        {89.988925, 5.783395},    /* size */
        {0.049820, 0.217573},     /* size at an end */
        {0.108192, 0.038950},     /* slot 1 filled */
        {0.323826, 0.058451},     /* slot 2 filled */
        {0.956479, 0.025085},     /* slot 3 filled */
        {0.286148, 0.034617},     /* share of 0 children */
        {0.459112, 0.063986},     /* share of 1 children */
        {0.234492, 0.033375},     /* share of 2 children */
        {0.020249, 0.014309},     /* share of 3 children */
        {12.772035, 3.339786},    /* height */
        {174.278995, 101.934868}, /* height squared */
        {9.296389, 2.552411},     /* mean depth */
        {0.045388, 0.023217},     /* share of early leaves */
        {0.169235, 0.374960},     /* last node, slot 1 */
        {0.437120, 0.496032},     /* last node, slot 2 */
        {0.692790, 0.461338},     /* last node, slot 3 */
        {0.118875, 0.323642},     /* root, slot 1 */
        {0.351145, 0.477329},     /* root, slot 2 */
        {0.961640, 0.192064},     /* root, slot 3 */
    },
};

/* One tree in pre-order: filled slots as bits. */
typedef struct shape {
    size_t n;
    unsigned filled[MAX_SIZE + 1];
    size_t depth[MAX_SIZE + 1];
} shape;

static unsigned bits(unsigned filled)
{
    return (filled & 1u) + (filled >> 1 & 1u) + (filled >> 2 & 1u);
}

/* Read a tree of the forest and check what holds for every one. */
static void read_shape(const phl_forest *forest, phl_walk *walk, size_t tree, size_t class_index,
                       shape *out)
{
    int32_t label[MAX_SIZE + 1];
    phl_visit visit;
    int more;
    out->n = 0;
    phl_walk_start(walk, tree);
    while ((more = phl_walk_next(walk, &visit, NULL)) == 1) {
        assert_true(out->n < MAX_SIZE);
        assert_int_equal(visit.node, out->n);
        assert_true(visit.slot >= 1 && visit.slot <= SLOTS);
        out->filled[out->n] = 0;
        out->depth[out->n] = visit.depth;
        label[out->n] = visit.label;
        if (visit.node > 0) {
            out->filled[visit.parent] |= 1u << (visit.slot - 1);
        }
        out->n++;
    }
    assert_int_equal(more, 0);
    for (size_t i = 0; i < out->n; i++) {
        char expected[2] = {(char)('0' + bits(out->filled[i])), '\0'};
        assert_string_equal(phl_forest_label_name(forest, label[i]), expected);
    }
    assert_string_equal(phl_forest_class_name(forest, phl_tree_class(forest, tree)),
                        class_names[class_index]);
    assert_in_range(out->n, smallest[class_index], largest[class_index]);
    assert_true(phl_tree_weight(forest, tree) == 1.0);
}

/* The moments in the order of symm_reference.py. */
static void measure(const shape *tree, size_t class_index, double moment[N_MOMENTS])
{
    double slot_filled[SLOTS] = {0}, degree[SLOTS + 1] = {0}, depth_sum = 0, early = 0;
    size_t height = 0, last = 0;
    for (size_t i = 0; i < tree->n; i++) {
        height = tree->depth[i] > height ? tree->depth[i] : height;
        /* Last in breadth-first order: last in pre-order among the deepest. */
        if (tree->filled[i] != 0 && tree->depth[i] >= tree->depth[last]) {
            last = i;
        }
    }
    for (size_t i = 0; i < tree->n; i++) {
        degree[bits(tree->filled[i])] += 1;
        depth_sum += (double)tree->depth[i];
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            slot_filled[slot] += tree->filled[i] >> slot & 1u;
        }
        bool before =
            tree->depth[i] < tree->depth[last] || (tree->depth[i] == tree->depth[last] && i < last);
        early += before && tree->filled[i] == 0;
    }
    double n = (double)tree->n;
    size_t k = 0;
    moment[k++] = n;
    moment[k++] = tree->n == smallest[class_index] || tree->n == largest[class_index];
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        moment[k++] = slot_filled[slot] / (n - degree[0]);
    }
    for (unsigned d = 0; d <= SLOTS; d++) {
        moment[k++] = degree[d] / n;
    }
    moment[k++] = (double)height;
    moment[k++] = (double)(height * height);
    moment[k++] = depth_sum / n;
    moment[k++] = early / n;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        moment[k++] = tree->filled[last] >> slot & 1u;
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        moment[k++] = tree->filled[0] >> slot & 1u;
    }
    assert_int_equal(k, N_MOMENTS);
}

static phl_forest *make_documents(const phl_documents_options *options)
{
    phl_forest *forest = NULL;
    assert_int_equal(phl_generate_documents(options, &forest, NULL), PHL_OK);
    return forest;
}

static void print_forest(const phl_forest *forest, char fingerprint[33])
{
    assert_int_equal(phl_forest_fingerprint(forest, true, fingerprint, NULL), PHL_OK);
}

static void symm_defaults(void **state)
{
    (void)state;
    phl_symm_options options;
    phl_symm_options_init(&options);
    assert_int_equal(options.trees_per_class, 260);
    assert_int_equal(options.seed, 42);
    phl_forest *forest = NULL;
    assert_int_equal(phl_generate_symm(NULL, &forest, NULL), PHL_OK);
    assert_int_equal(phl_forest_trees(forest), 780);
    assert_int_equal(phl_forest_classes(forest), 3);
    assert_int_equal(phl_forest_labels(forest), 4);
    assert_int_equal(phl_forest_max_slot(forest), 3);
    assert_true(phl_forest_is_shared(forest));
    phl_forest_free(forest);
}

/* z against the constants, |z| < 5 for each of 57 moments: for a seed not tried before, a false
 * alarm in 30,000.  (The seed is fixed, so the test never changes its mind.) */
static void symm_moments(void **state)
{
    (void)state;
    const size_t n = 20000;
    phl_forest *forest = symm_forest(7, n);
    phl_walk *walk = NULL;
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    assert_int_equal(phl_forest_trees(forest), N_CLASSES * n);
    for (size_t c = 0; c < N_CLASSES; c++) {
        double sum[N_MOMENTS] = {0};
        for (size_t i = 0; i < n; i++) {
            shape tree;
            double moment[N_MOMENTS];
            read_shape(forest, walk, c * n + i, c, &tree);
            measure(&tree, c, moment);
            for (size_t k = 0; k < N_MOMENTS; k++) {
                sum[k] += moment[k];
            }
        }
        for (size_t k = 0; k < N_MOMENTS; k++) {
            double mean = reference[c][k][0], deviation = reference[c][k][1];
            double error = deviation * sqrt(1 / (double)n + 1 / reference_trees);
            double z = (sum[k] / (double)n - mean) / error;
            if (!(fabs(z) < 5)) {
                fail_msg("%s, moment %zu: %f, expected %f, z = %.2f", class_names[c], k,
                         sum[k] / (double)n, mean, z);
            }
        }
    }
    phl_walk_free(walk);
    phl_forest_free(forest);
}

static void symm_is_deterministic(void **state)
{
    (void)state;
    char a[33], b[33];
    phl_forest *first = symm_forest(5, 30), *again = symm_forest(5, 30),
               *other = symm_forest(6, 30);
    print_forest(first, a);
    print_forest(again, b);
    assert_string_equal(a, b);
    print_forest(other, b);
    assert_string_not_equal(a, b);

    /* Tree i of a class does not depend on how many are made. */
    phl_forest *more = symm_forest(5, 50), *same = NULL;
    size_t trees[90];
    for (size_t i = 0; i < 90; i++) {
        trees[i] = i / 30 * 50 + i % 30;
    }
    assert_int_equal(phl_forest_select(more, trees, 90, &same, NULL), PHL_OK);
    print_forest(same, b);
    assert_string_equal(a, b);
    phl_forest_free(first);
    phl_forest_free(again);
    phl_forest_free(other);
    phl_forest_free(more);
    phl_forest_free(same);
}

static void symm_refuses(void **state)
{
    (void)state;
    static const size_t bad[] = {0, 100000001, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        phl_symm_options options;
        phl_error error;
        phl_forest *forest = NULL;
        phl_symm_options_init(&options);
        options.trees_per_class = bad[i];
        assert_int_equal(phl_generate_symm(&options, &forest, &error), PHL_ERR_ARGUMENT);
        assert_null(forest);
        assert_non_null(strstr(error.message, "trees per class"));
        assert_non_null(strstr(error.message, "1 to 100000000"));
    }
}

/* The label of every internal subtree, by its children's labels and their order. */
static void logic_labels(void **state)
{
    (void)state;
    phl_forest *forest = NULL;
    phl_logic_options options;
    phl_logic_options_init(&options);
    options.trees = 300;
    must(phl_generate_logic(&options, &forest, error));
    assert_int_equal(phl_forest_trees(forest), 300);
    assert_int_equal(phl_forest_labels(forest), 2);
    assert_int_equal(phl_forest_max_slot(forest), 3);
    size_t seen[4][8] = {{0}};
    for (uint32_t s = 0; s < forest->n_subtrees; s++) {
        unsigned n = 0, code = 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            const char *name = phl_forest_label_name(forest, forest->label[forest->links[k].child]);
            assert_int_equal(forest->links[k].slot, ++n);
            code = 2 * code + (unsigned)(name[0] - '0');
        }
        /* not; 00 01 10 11 implies; 000 .. 111 if */
        static const char *const table[] = {"", "10", "1101", "01010011"};
        const char *label = phl_forest_label_name(forest, forest->label[s]);
        if (n > 0) {
            assert_int_equal(label[0], table[n][code]);
            seen[n][code]++;
        }
    }
    for (unsigned n = 1; n <= 3; n++) {
        for (unsigned code = 0; code < 1u << n; code++) {
            assert_true(seen[n][code] > 0);
        }
    }
    phl_forest_free(forest);
}

static void logic_refuses(void **state)
{
    (void)state;
    static const size_t bad[][2] = {{0, 4}, {100000001, 4}, {1, 0}, {1, 9}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        phl_logic_options options;
        phl_error wrong;
        phl_forest *forest = NULL;
        phl_logic_options_init(&options);
        options.trees = bad[i][0];
        options.depth = bad[i][1];
        assert_int_equal(phl_generate_logic(&options, &forest, &wrong), PHL_ERR_ARGUMENT);
        assert_null(forest);
        assert_non_null(strstr(wrong.message, i < 2 ? "trees: " : "depth: "));
    }
}

static void documents_defaults(void **state)
{
    (void)state;
    phl_forest *forest = make_documents(NULL);
    assert_int_equal(phl_forest_trees(forest), 400);
    assert_int_equal(phl_forest_classes(forest), 4);
    assert_string_equal(phl_forest_class_name(forest, 0), "family-1");
    assert_in_range(phl_forest_labels(forest), 50, 60);
    assert_true(phl_forest_levels(forest) <= 5);
    int32_t article = phl_forest_find_label(forest, "article");
    assert_true(article >= 0);
    size_t kept = 0;
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(phl_tree_class(forest, i), (int)(i / 100));
        kept += phl_subtree_label(forest, phl_tree_root(forest, i)) == article;
    }
    assert_in_range(kept, 370, 400); /* noise 0.02: 392 expected, 7.9 sd away */
    phl_forest_free(forest);
}

static void documents_are_deterministic(void **state)
{
    (void)state;
    char a[33], b[33];
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = 20;
    phl_forest *first = make_documents(&options), *again = make_documents(&options);
    print_forest(first, a);
    print_forest(again, b);
    assert_string_equal(a, b);
    phl_forest_free(again);

    options.seed = 43;
    phl_forest *other = make_documents(&options);
    print_forest(other, b);
    assert_string_not_equal(a, b);
    phl_forest_free(other);

    /* Neither the number of classes nor of trees changes a document. */
    options.seed = 42;
    options.classes = 6;
    options.trees_per_class = 25;
    phl_forest *more = make_documents(&options), *same = NULL;
    size_t trees[80];
    for (size_t i = 0; i < 80; i++) {
        trees[i] = i / 20 * 25 + i % 20;
    }
    assert_int_equal(phl_forest_select(more, trees, 80, &same, NULL), PHL_OK);
    print_forest(same, b);
    assert_string_equal(a, b);
    phl_forest_free(first);
    phl_forest_free(more);
    phl_forest_free(same);
}

static void documents_refuse(void **state)
{
    (void)state;
    for (int i = 0; i < 13; i++) {
        static const char *const named[] = {"classes",    "trees per class", "nodes",
                                            "vocabulary", "noise",           "overlap"};
        static const int which[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5};
        phl_documents_options options;
        phl_documents_options_init(&options);
        switch (i) {
        case 0:
            options.classes = 0;
            break;
        case 1:
            options.classes = 100001;
            break;
        case 2:
            options.trees_per_class = 0;
            break;
        case 3:
            options.trees_per_class = SIZE_MAX;
            break;
        case 4:
            options.nodes = 0;
            break;
        case 5:
            options.nodes = 1000001;
            break;
        case 6:
            options.vocabulary = 1;
            break;
        case 7:
            options.vocabulary = 100001;
            break;
        case 8:
            options.noise = (double)NAN;
            break;
        case 9:
            options.noise = -1e-9;
            break;
        case 10:
            options.noise = (double)INFINITY;
            break;
        case 11:
            options.overlap = (double)NAN;
            break;
        default:
            options.overlap = 1.0000001;
        }
        phl_error error;
        phl_forest *forest = NULL;
        assert_int_equal(phl_generate_documents(&options, &forest, &error), PHL_ERR_ARGUMENT);
        assert_null(forest);
        assert_non_null(strstr(error.message, named[which[i]]));
        assert_non_null(strstr(error.message, "give "));
    }
}

/* The smallest and the odd: they must end, and hold what was asked for. */
static void documents_at_the_edges(void **state)
{
    (void)state;
    static const struct {
        size_t classes, trees, nodes, vocabulary;
        double noise, overlap;
    } cases[] = {
        {1, 1, 1, 2, 0, 0},          {2, 3, 1, 60, 1, 1},       {3, 40, 2, 2, 1, 1},
        {2, 10, 500, 3, 0.5, 0.3},   {1, 1, 100000, 2, 0, 0.5}, {2, 20, 40, 5000, 0.02, 0.5},
        {40, 2, 12, 17, 0.1, 0.999}, {1, 2, 30000, 60, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        phl_documents_options options;
        phl_documents_options_init(&options);
        options.classes = cases[i].classes;
        options.trees_per_class = cases[i].trees;
        options.nodes = cases[i].nodes;
        options.vocabulary = cases[i].vocabulary;
        options.noise = cases[i].noise;
        options.overlap = cases[i].overlap;
        phl_forest *forest = make_documents(&options);
        assert_int_equal(phl_forest_trees(forest), cases[i].classes * cases[i].trees);
        assert_int_equal(phl_forest_classes(forest), cases[i].classes);
        assert_in_range(phl_forest_labels(forest), 1, cases[i].vocabulary);
        assert_in_range(phl_forest_levels(forest), 1, 5);
        if (cases[i].nodes == 1) {
            assert_int_equal(phl_forest_levels(forest), 1);
        }
        phl_forest_free(forest);
    }
}

/* Mean sizes are as asked, and expected label counts the same in every class: the promise at the
 * top of generate_documents.c.  z over documents, |z| < 5, of about 60 labels x 3 comparisons: for
 * a new seed a false alarm in 9,000. */
static void documents_have_equal_label_counts(void **state)
{
    (void)state;
    enum { N = 4000, CLASSES = 4, LABELS = 60 };
    static double sum[CLASSES][LABELS], squares[CLASSES][LABELS];
    memset(sum, 0, sizeof sum);
    memset(squares, 0, sizeof squares);
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = N;
    options.overlap = 0.0;
    phl_forest *forest = make_documents(&options);
    phl_walk *walk = NULL;
    double total = 0, total_squares = 0;
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    for (size_t i = 0; i < CLASSES * N; i++) {
        double count[LABELS] = {0}, size = 0;
        phl_visit visit;
        phl_walk_start(walk, i);
        while (phl_walk_next(walk, &visit, NULL) == 1) {
            assert_in_range(visit.label, 0, LABELS - 1);
            count[visit.label] += 1;
            size += 1;
        }
        total += size;
        total_squares += size * size;
        for (size_t x = 0; x < LABELS; x++) {
            sum[i / N][x] += count[x];
            squares[i / N][x] += count[x] * count[x];
        }
    }
    double n = CLASSES * N, mean = total / n;
    double error = sqrt((total_squares / n - mean * mean) / n);
    assert_true(fabs(mean - 40) < 5 * error);
    for (size_t x = 0; x < LABELS; x++) {
        for (size_t c = 1; c < CLASSES; c++) {
            double a = sum[0][x] / N, b = sum[c][x] / N;
            double variance = squares[0][x] / N - a * a + squares[c][x] / N - b * b;
            double z = (a - b) / sqrt(variance / N);
            if (!(fabs(z) < 5)) {
                fail_msg("label %zu, class %zu: %f and %f per document, z = %.2f", x, c, a, b, z);
            }
        }
    }
    phl_walk_free(walk);
    phl_forest_free(forest);
}

/* Distinct (parent label, child label) pairs that occur in one class of two and not in the other.
 */
static size_t count_telling_pairs(double overlap)
{
    enum { LABELS = 60 };
    static bool seen[2][LABELS][LABELS];
    memset(seen, 0, sizeof seen);
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.classes = 2;
    options.trees_per_class = 2000;
    options.noise = 0.0;
    options.overlap = overlap;
    phl_forest *forest = make_documents(&options);
    phl_walk *walk = NULL;
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    for (size_t i = 0; i < phl_forest_trees(forest); i++) {
        phl_visit visit;
        int32_t open[5];
        phl_walk_start(walk, i);
        while (phl_walk_next(walk, &visit, NULL) == 1) {
            assert_in_range(visit.depth, 0, 4);
            open[visit.depth] = visit.label;
            if (visit.depth > 0) {
                seen[i / 2000][open[visit.depth - 1]][visit.label] = true;
            }
        }
    }
    size_t telling = 0;
    for (size_t p = 0; p < LABELS; p++) {
        for (size_t x = 0; x < LABELS; x++) {
            telling += seen[0][p][x] != seen[1][p][x];
        }
    }
    phl_walk_free(walk);
    phl_forest_free(forest);
    return telling;
}

static void overlap_sets_how_far_classes_differ(void **state)
{
    (void)state;
    size_t none = count_telling_pairs(1.0);
    size_t some = count_telling_pairs(0.5);
    size_t all = count_telling_pairs(0.0);
    assert_int_equal(none, 0);
    assert_true(some > 20);
    assert_true(all > some + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symm_defaults),
        cmocka_unit_test(symm_moments),
        cmocka_unit_test(symm_is_deterministic),
        cmocka_unit_test(symm_refuses),
        cmocka_unit_test(logic_labels),
        cmocka_unit_test(logic_refuses),
        cmocka_unit_test(documents_defaults),
        cmocka_unit_test(documents_are_deterministic),
        cmocka_unit_test(documents_refuse),
        cmocka_unit_test(documents_at_the_edges),
        cmocka_unit_test(documents_have_equal_label_counts),
        cmocka_unit_test(overlap_sets_how_far_classes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
