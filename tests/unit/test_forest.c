/* test_forest.c - building, walking, combining and fingerprinting forests.
 *
 * Random trees are kept as plain arrays (samples.h), on which everything is decided by brute force.
 */
#include <math.h>

#include "forest/builder.h"
#include "samples.h"

static const char *const few[] = {"a", "b", "c"};
enum { ROUNDS = 300 };

static void check_subtrees(const char *text, size_t expected)
{
    phl_forest *forest = trees(text);
    if (phl_forest_subtrees(forest) != expected) {
        print_error("%s: %zu distinct subtrees, expected %zu\n", text, phl_forest_subtrees(forest),
                    expected);
        fail();
    }
    phl_forest_free(forest);
}

/* ---------------------------------------------------------------------------------------------
 * Identity
 * ------------------------------------------------------------------------------------------- */

static void test_identity(void **state)
{
    (void)state;
    check_subtrees("(a)\n(a)\n", 1);
    check_subtrees("x\t(a)\ny\t(a)\n", 1); /* classes are no part of it */
    check_subtrees("(r (a) (a))\n", 3);    /* a leaf knows its slot */
    check_subtrees("(r (a))\n(a)\n", 2);   /* the root sits in slot 1 */
    check_subtrees("(r _ (a))\n(a)\n", 3);
    check_subtrees("(r (b (a)) (b (a)))\n", 3); /* an internal node does not */
    check_subtrees("(r (a) (b))\n(r (b) (a))\n", 6);
    check_subtrees("(r (b (a)))\n(r _ (b (a)))\n", 4);
    check_subtrees("(r (a))\n(? (a))\n", 3); /* unknown is a label of its own */
    check_subtrees("(?)\n(\"?\")\n(?)\n", 2);
    check_subtrees("(r (a) _)\n(r (a))\n", 2); /* empty slots at the end are nothing */
    check_subtrees("(r _ _)\n(r)\n", 1);
    check_subtrees("", 0);
}

/* Shared: no two subtrees alike.  Unshared: as many as nodes.  Always: children before parents,
 * levels by height, multiplicities as met on walks. */
static void check_structure(const phl_forest *forest, const sample *trees, size_t n)
{
    size_t subtrees = phl_forest_subtrees(forest), nodes = 0;
    int64_t *met = test_calloc(subtrees + 1, sizeof *met);
    size_t *height = test_calloc(subtrees + 1, sizeof *height);
    phl_walk *walk = NULL;
    assert_int_equal(phl_forest_trees(forest), n);
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    for (size_t tree = 0; tree < n; tree++) {
        phl_visit visit;
        phl_walk_start(walk, tree);
        while (phl_walk_next(walk, &visit, NULL) > 0) {
            met[visit.subtree]++;
            nodes++;
        }
        assert_int_equal(phl_walk_next(walk, &visit, NULL), 0); /* and stays at the end */
        nodes -= trees[tree].n;
    }
    assert_int_equal(nodes, 0);
    size_t links_seen = 0;
    phl_forest_arrays arrays;
    phl_forest_view(forest, &arrays);
    for (uint32_t s = 0; s < subtrees; s++) {
        const phl_link *links;
        size_t count = phl_subtree_links(forest, s, &links);
        assert_int_equal(arrays.first_link[s], links_seen);
        assert_ptr_equal(arrays.links + links_seen, links);
        assert_int_equal(arrays.label[s], phl_subtree_label(forest, s));
        assert_int_equal(arrays.leaf_slot[s], phl_subtree_leaf_slot(forest, s));
        assert_int_equal(arrays.multiplicity[s], met[s]);
        links_seen += count;
        assert_int_equal(phl_subtree_multiplicity(forest, s), met[s]);
        assert_true(met[s] > 0);
        assert_int_equal(phl_subtree_leaf_slot(forest, s) == 0, count > 0);
        for (size_t k = 0; k < count; k++) {
            assert_true(links[k].child < s);
            assert_true(k == 0 || links[k].slot > links[k - 1].slot);
            uint32_t leaf_slot = phl_subtree_leaf_slot(forest, links[k].child);
            assert_true(leaf_slot == 0 || leaf_slot == links[k].slot);
            if (height[links[k].child] + 1 > height[s]) {
                height[s] = height[links[k].child] + 1;
            }
        }
        assert_true(s >= phl_forest_level(forest, height[s]));
        assert_true(s < phl_forest_level(forest, height[s] + 1));
        for (uint32_t other = 0; phl_forest_is_shared(forest) && other < s; other++) {
            const phl_link *theirs;
            bool same = phl_subtree_label(forest, other) == phl_subtree_label(forest, s) &&
                        phl_subtree_leaf_slot(forest, other) == phl_subtree_leaf_slot(forest, s) &&
                        phl_subtree_links(forest, other, &theirs) == count;
            for (size_t k = 0; same && k < count; k++) {
                same = theirs[k].slot == links[k].slot && theirs[k].child == links[k].child;
            }
            assert_false(same);
        }
        assert_true(phl_forest_is_shared(forest) || met[s] == 1);
    }
    assert_int_equal(links_seen, phl_forest_links(forest));
    assert_int_equal(arrays.first_link[subtrees], links_seen);
    for (size_t tree = 0; tree < n; tree++) {
        assert_int_equal(arrays.tree_root[tree], phl_tree_root(forest, tree));
        assert_int_equal(arrays.tree_class[tree], phl_tree_class(forest, tree));
        assert_true((arrays.tree_weight ? arrays.tree_weight[tree] : 1) ==
                    phl_tree_weight(forest, tree));
    }
    assert_int_equal(phl_forest_level(forest, phl_forest_levels(forest)), subtrees);
    phl_walk_free(walk);
    test_free(met);
    test_free(height);
}

/* A walk meets the nodes in pre-order, with their slots, gaps, labels and parents. */
static void check_walk(const phl_forest *forest, size_t number, const sample *tree)
{
    size_t order[SAMPLE_NODES], depth[SAMPLE_NODES], place[SAMPLE_NODES];
    phl_walk *walk = NULL;
    phl_visit visit;
    sample_order(tree, false, order, depth);
    assert_int_equal(phl_walk_create(forest, &walk, NULL), PHL_OK);
    phl_walk_start(walk, number);
    for (size_t k = 0; k < tree->n; k++) {
        size_t i = order[k];
        uint32_t before = 0; /* slot of the sibling before */
        bool leaf = true;
        for (size_t other = 1; other < tree->n; other++) {
            leaf = leaf && tree->parent[other] != i;
            if (i != 0 && tree->parent[other] == tree->parent[i] &&
                tree->slot[other] < tree->slot[i] && tree->slot[other] > before) {
                before = tree->slot[other];
            }
        }
        place[i] = k;
        assert_int_equal(phl_walk_next(walk, &visit, NULL), 1);
        assert_int_equal(visit.node, k);
        assert_int_equal(visit.depth, depth[k]);
        assert_int_equal(visit.slot, tree->slot[i]);
        assert_int_equal(visit.gap, tree->slot[i] - before - 1);
        assert_int_equal(visit.leaf, leaf);
        assert_true(visit.parent == (k == 0 ? SIZE_MAX : place[tree->parent[i]]));
        if (tree->label[i] == NULL) {
            assert_int_equal(visit.label, PHL_UNKNOWN);
        } else {
            assert_string_equal(phl_forest_label_name(forest, visit.label), tree->label[i]);
            assert_int_equal(phl_forest_find_label(forest, tree->label[i]), visit.label);
        }
    }
    assert_int_equal(phl_walk_next(walk, &visit, NULL), 0);
    phl_walk_free(walk);
    int32_t class_number = phl_tree_class(forest, number);
    if (tree->class_name == NULL) {
        assert_int_equal(class_number, PHL_NO_CLASS);
    } else {
        assert_string_equal(phl_forest_class_name(forest, class_number), tree->class_name);
    }
    assert_true(phl_tree_weight(forest, number) == tree->weight);
}

enum { TREES = 12 };

static void make_trees(sample *trees, uint64_t *seed)
{
    for (size_t i = 0; i < TREES; i++) {
        sample_make(&trees[i], seed, few, 3, i % 3 == 0 ? SAMPLE_NODES : 5);
        trees[i].weight = sample_random(seed, 4) == 0 ? 0.25 : 1.0;
    }
    trees[TREES - 1] = trees[0];
}

static void test_random_forests(void **state)
{
    (void)state;
    uint64_t seed = 1;
    sample trees[TREES];
    for (int round = 0; round < ROUNDS; round++) {
        make_trees(trees, &seed);
        for (int way = 0; way < 4; way++) {
            phl_forest *forest = sample_forest(trees, TREES, way & 1, way & 2);
            assert_int_equal(phl_forest_is_shared(forest), !(way & 1));
            check_structure(forest, trees, TREES);
            for (size_t i = 0; i < TREES; i++) {
                check_walk(forest, i, &trees[i]);
            }
            phl_forest_free(forest);
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * The builder and what it refuses
 * ------------------------------------------------------------------------------------------- */

static void check_alphabets(const phl_alphabet *a, const phl_alphabet *b)
{
    size_t filled = 0;
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->arena_used, b->arena_used);
    for (size_t i = 0; i < a->count; i++) {
        const char *name = phl_alphabet_name(b, i);
        assert_string_equal(phl_alphabet_name(a, i), name);
        assert_int_equal(phl_alphabet_find(a, name, strlen(name)), i);
    }
    for (size_t i = 0; i < a->table.size; i++) {
        filled += a->table.places[i] != 0;
    }
    assert_int_equal(filled, a->count);
}

/* Two builders that hold the same, tables and all. */
static void check_builders(const phl_builder *a, const phl_builder *b)
{
    size_t filled = 0;
    check_alphabets(&a->labels, &b->labels);
    check_alphabets(&a->classes, &b->classes);
    check_alphabets(&a->files, &b->files);
    check_alphabets(&a->ids, &b->ids);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_links, b->n_links);
    assert_int_equal(a->n_trees, b->n_trees);
    assert_int_equal(a->depth, 0);
    assert_int_equal(a->n_pending, 0);
    assert_int_equal(a->tree_nodes, 0);
    if (a->n_nodes > 0) {
        assert_memory_equal(a->nodes, b->nodes, a->n_nodes * sizeof *a->nodes);
    }
    if (a->n_links > 0) {
        assert_memory_equal(a->links, b->links, a->n_links * sizeof *a->links);
    }
    for (size_t i = 0; i < a->table.size; i++) {
        filled += a->table.places[i] != 0;
    }
    assert_int_equal(filled, a->no_sharing ? 0 : a->n_nodes);
    if (a->table.size == b->table.size && a->table.size > 0) {
        assert_memory_equal(a->table.places, b->table.places,
                            a->table.size * sizeof *a->table.places);
    }
}

/* Build something that cannot become a tree. */
static void spoil(phl_builder *builder, uint64_t *seed, const sample *tree)
{
    phl_error error = {0};
    phl_tree_info heavy = {"bad class", -1.0, "bad id", "bad file", 1};
    phl_tree_info infinite = {"bad class", INFINITY, NULL, NULL, 0};
    phl_tree_info garbled = {"bad \xff", 1.0, "bad id", NULL, 0};
    phl_tree_info late = {"bad class", 1.0, "bad id", "bad \xff file", 0};
    phl_status status;
    switch (sample_random(seed, 9)) {
    case 0:
        assert_int_equal(sample_nodes(tree, false, builder, &error), PHL_OK);
        phl_builder_abandon_tree(builder);
        return;
    case 1: /* half a tree */
        assert_int_equal(phl_builder_open(builder, "bad root", 1, &error), PHL_OK);
        assert_int_equal(phl_builder_open(builder, tree->label[0], 3, &error), PHL_OK);
        status = phl_builder_end_tree(builder, NULL, &error);
        assert_int_equal(status, PHL_ERR_ARGUMENT);
        break;
    case 2:
        assert_int_equal(sample_nodes(tree, true, builder, &error), PHL_OK);
        status = phl_builder_close(builder, &error);
        assert_int_equal(status, PHL_ERR_SYNTAX);
        break;
    case 3: /* a slot given twice */
        assert_int_equal(phl_builder_open(builder, "bad", 1, &error), PHL_OK);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(phl_builder_open(builder, "bad child", 2, &error), PHL_OK);
            assert_int_equal(phl_builder_close(builder, &error), PHL_OK);
        }
        status = phl_builder_close(builder, &error);
        assert_int_equal(status, PHL_ERR_SYNTAX);
        assert_non_null(strstr(error.message, "two children in slot 2"));
        break;
    case 4:
        assert_int_equal(phl_builder_open(builder, "bad", 1, &error), PHL_OK);
        status = phl_builder_open(builder, "bad child", 0, &error);
        assert_int_equal(status, PHL_ERR_ARGUMENT);
        break;
    case 5:
        assert_int_equal(phl_builder_open(builder, "bad", 1, &error), PHL_OK);
        status = phl_builder_open(builder, "caf\xe9", 1, &error);
        assert_int_equal(status, PHL_ERR_ENCODING);
        break;
    case 6:
        assert_int_equal(sample_nodes(tree, false, builder, &error), PHL_OK);
        status =
            phl_builder_end_tree(builder, sample_random(seed, 2) == 0 ? &heavy : &infinite, &error);
        assert_int_equal(status, PHL_ERR_ARGUMENT);
        break;
    case 7:
        assert_int_equal(sample_nodes(tree, false, builder, &error), PHL_OK);
        status =
            phl_builder_end_tree(builder, sample_random(seed, 2) == 0 ? &garbled : &late, &error);
        assert_int_equal(status, PHL_ERR_ENCODING);
        break;
    default: /* a second root */
        assert_int_equal(sample_nodes(tree, false, builder, &error), PHL_OK);
        status = phl_builder_open(builder, "bad root", 1, &error);
        assert_int_equal(status, PHL_ERR_SYNTAX);
    }
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != '\0');
}

static void test_roll_back(void **state)
{
    (void)state;
    uint64_t seed = 2;
    char new_names[40][32];
    const char *names[40];
    for (int round = 0; round < ROUNDS; round++) {
        phl_builder *builder = NULL, *plain = NULL;
        phl_builder_options options;
        phl_builder_options_init(&options);
        options.no_sharing = round % 4 == 3;
        assert_int_equal(phl_builder_create(&options, &builder, NULL), PHL_OK);
        assert_int_equal(phl_builder_create(&options, &plain, NULL), PHL_OK);
        for (int step = 0; step < 30; step++) {
            sample tree;
            for (size_t i = 0; i < 40; i++) { /* names that only a bad tree may have */
                (void)snprintf(new_names[i], 32, "%s%d-%zu", i % 2 ? "long name " : "", step, i);
                names[i] = i < 3 ? few[i] : new_names[i];
            }
            sample_make(&tree, &seed, names, 40, SAMPLE_NODES);
            spoil(builder, &seed, &tree);
            check_builders(builder, plain);
            sample_make(&tree, &seed, names, 4, 6);
            assert_int_equal(sample_build(&tree, false, builder, NULL), PHL_OK);
            assert_int_equal(sample_build(&tree, false, plain, NULL), PHL_OK);
            check_builders(builder, plain);
        }
        phl_forest *first = NULL, *second = NULL;
        char a[33], b[33];
        assert_int_equal(phl_builder_open(builder, "never finished", 1, NULL), PHL_OK);
        assert_int_equal(phl_builder_finish(builder, &first, NULL), PHL_OK);
        assert_int_equal(phl_builder_finish(plain, &second, NULL), PHL_OK);
        sample_fingerprint(first, true, a);
        sample_fingerprint(second, true, b);
        assert_string_equal(a, b);
        assert_int_equal(phl_forest_subtrees(first), phl_forest_subtrees(second));
        assert_int_equal(phl_forest_find_label(first, "never finished"), -1);
        assert_int_equal(phl_builder_finish(builder, &first, NULL), PHL_ERR_ARGUMENT);
        phl_forest_free(first);
        phl_forest_free(second);
        phl_builder_free(builder);
        phl_builder_free(plain);
    }
}

static void test_tree_info(void **state)
{
    (void)state;
    phl_builder *builder = NULL;
    phl_forest *forest = NULL;
    assert_int_equal(phl_builder_create(NULL, &builder, NULL), PHL_OK);
    const phl_tree_info infos[] = {{NULL, 0.0, NULL, NULL, 0},
                                   {"c", 2.5, "id", "file", 7},
                                   {"c", 1.0, NULL, "file", UINT64_MAX},
                                   {"", 1e-300, "", "other", UINT32_MAX}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(phl_builder_open(builder, "x", 9, NULL), PHL_OK); /* any slot is 1 */
        assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
        assert_int_equal(phl_builder_end_tree(builder, &infos[i], NULL), PHL_OK);
    }
    assert_int_equal(phl_builder_finish(builder, &forest, NULL), PHL_OK);
    phl_builder_free(builder);
    assert_int_equal(phl_forest_subtrees(forest), 1);
    assert_int_equal(phl_forest_max_slot(forest), 1);
    assert_true(phl_tree_weight(forest, 0) == 1.0 && phl_tree_weight(forest, 1) == 2.5 &&
                phl_tree_weight(forest, 3) == 1e-300);
    assert_int_equal(phl_tree_class(forest, 0), PHL_NO_CLASS);
    assert_int_equal(phl_forest_find_class(forest, ""), phl_tree_class(forest, 3));
    assert_null(phl_tree_id(forest, 0));
    assert_string_equal(phl_tree_id(forest, 1), "id");
    assert_null(phl_tree_id(forest, 2));
    assert_string_equal(phl_tree_id(forest, 3), "");
    assert_null(phl_tree_file(forest, 0));
    assert_string_equal(phl_tree_file(forest, 2), "file");
    assert_int_equal(phl_tree_line(forest, 1), 7);
    assert_int_equal(phl_tree_line(forest, 2), 0);
    assert_int_equal(phl_tree_line(forest, 3), UINT32_MAX);
    assert_null(phl_forest_label_name(forest, -1));
    assert_null(phl_forest_label_name(forest, 1));
    assert_null(phl_forest_class_name(forest, 2));
    phl_forest_free(forest);
    phl_forest_free(NULL);
    phl_builder_free(NULL);
    phl_walk_free(NULL);
}

/* ---------------------------------------------------------------------------------------------
 * Fingerprints
 * ------------------------------------------------------------------------------------------- */

static void fingerprint_of(const sample *trees, size_t n, bool ordered, char out[33])
{
    phl_forest *forest = sample_forest(trees, n, false, false);
    sample_fingerprint(forest, ordered, out);
    phl_forest_free(forest);
}

static void check_changed(const sample *trees, const char *was, const char *what)
{
    char now[33];
    fingerprint_of(trees, TREES, false, now);
    if (strcmp(now, was) == 0) {
        print_error("a change of %s goes unseen\n", what);
        fail();
    }
}

static void test_fingerprint_sees(void **state)
{
    (void)state;
    uint64_t seed = 3;
    sample trees[TREES];
    for (int round = 0; round < 20; round++) {
        char was[33], ordered[33], now[33];
        make_trees(trees, &seed);
        fingerprint_of(trees, TREES, false, was);
        fingerprint_of(trees, TREES, true, ordered);
        assert_string_not_equal(was, ordered);
        for (size_t t = 0; t < TREES; t++) {
            sample kept = trees[t];
            for (size_t i = 0; i < kept.n; i++) {
                trees[t].label[i] = kept.label[i] == NULL ? "a" : NULL;
                check_changed(trees, was, "a label to or from unknown");
                trees[t].label[i] = "another";
                check_changed(trees, was, "a label");
                trees[t] = kept;
                if (i > 0) {
                    trees[t].slot[i] = 7;
                    check_changed(trees, was, "a slot");
                    trees[t] = kept;
                }
            }
            trees[t].class_name = kept.class_name == NULL ? "a" : NULL;
            check_changed(trees, was, "a class");
            trees[t].class_name = "another";
            check_changed(trees, was, "a class");
            trees[t] = kept;
            trees[t].weight = nextafter(kept.weight, 2.0);
            check_changed(trees, was, "a weight");
            trees[t] = kept;
            /* one tree less */
            trees[t] = trees[TREES - 1];
            fingerprint_of(trees, TREES - 1, false, now);
            assert_string_not_equal(now, was);
            trees[t] = kept;
        }
        /* order: seen only if asked for */
        sample first = trees[1];
        trees[1] = trees[2];
        trees[2] = first;
        fingerprint_of(trees, TREES, false, now);
        assert_string_equal(now, was);
        char other[33];
        fingerprint_of(trees, TREES, true, other);
        bool equal = first.n == trees[1].n && memcmp(&first, &trees[1], sizeof first) == 0;
        assert_true(equal || strcmp(other, ordered) != 0);
    }
}

/* Neither sharing, nor the order of building, nor the numbering of labels matters; nor do ids. */
static void test_fingerprint_passes_over(void **state)
{
    (void)state;
    uint64_t seed = 4;
    sample trees[TREES + 1];
    static const char *const reversed[] = {"c", "b", "a"};
    for (int round = 0; round < 50; round++) {
        char was[33], now[33];
        make_trees(trees + 1, &seed);
        fingerprint_of(trees + 1, TREES, true, was);
        for (int way = 1; way < 4; way++) {
            phl_forest *forest = sample_forest(trees + 1, TREES, way & 1, way & 2);
            sample_fingerprint(forest, true, now);
            assert_string_equal(now, was);
            phl_forest_free(forest);
        }
        sample_make(&trees[0], &seed, reversed, 3, SAMPLE_NODES);
        trees[0].class_name = "z";
        phl_forest *more = sample_forest(trees, TREES + 1, false, false), *selected = NULL;
        size_t list[TREES];
        for (size_t i = 0; i < TREES; i++) {
            list[i] = i + 1;
        }
        assert_int_equal(phl_forest_select(more, list, TREES, &selected, NULL), PHL_OK);
        sample_fingerprint(selected, true, now);
        assert_string_equal(now, was);
        phl_forest_free(more);
        phl_forest_free(selected);
    }
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    const char *plain = "{\"label\":[\"a\"],\"parent\":[-1]}\n";
    const char *named = "\n{\"id\":\"x\",\"label\":[\"a\"],\"parent\":[-1],\"weight\":1.0}\n";
    phl_forest *first = read_text(&options, plain, strlen(plain));
    phl_forest *second = read_text(&options, named, strlen(named));
    char a[33], b[33];
    sample_fingerprint(first, true, a);
    sample_fingerprint(second, true, b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    phl_forest_free(first);
    phl_forest_free(second);
}

/* Structures that a careless digest would take for one another. */
static void test_fingerprint_neighbours(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "(a)",
                                        "(a)\n(a)",
                                        "(a (b))",
                                        "(a _ (b))",
                                        "(b (a))",
                                        "(ab)",
                                        "(a (b) (c))",
                                        "(a (c) (b))",
                                        "(a (b (c)))",
                                        "(a (bc))",
                                        "(ab (c))",
                                        "a\t(b)",
                                        "b\t(a)",
                                        "ab\t(\"\")",
                                        "\"\"\t(ab)",
                                        "\"\"\t(a)",
                                        "(\"\" (a))",
                                        "(\"\")",
                                        "(?)",
                                        "(\"?\")",
                                        "(? (?))",
                                        "(\"\" (\"\"))",
                                        "(a)\na\t(a)",
                                        "(a (b) (b))",
                                        "(a (b (b)))",
                                        "(a (a (a)))",
                                        "(a (a) (a))",
                                        "(a)\n(b)",
                                        "a\t(a)\na\t(b)",
                                        "a\t(a)\nb\t(b)",
                                        "a\t(b)\nb\t(a)",
                                        "(? (a))",
                                        "(a (?))"};
    enum { N = sizeof texts / sizeof *texts };
    char prints[2][N][33];
    for (size_t i = 0; i < N; i++) {
        phl_forest *forest = trees(texts[i]);
        sample_fingerprint(forest, false, prints[0][i]);
        sample_fingerprint(forest, true, prints[1][i]);
        phl_forest_free(forest);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(prints[0][i], prints[0][k]);
            assert_string_not_equal(prints[1][i], prints[1][k]);
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * Combining
 * ------------------------------------------------------------------------------------------- */

static void test_concat(void **state)
{
    (void)state;
    uint64_t seed = 5;
    sample trees[2 * TREES];
    for (int round = 0; round < 60; round++) {
        make_trees(trees, &seed);
        make_trees(trees + TREES, &seed);
        for (int way = 0; way < 4; way++) {
            phl_forest *parts[2] = {sample_forest(trees, TREES, way & 1, false),
                                    sample_forest(trees + TREES, TREES, way & 2, true)};
            phl_forest *both = NULL;
            phl_forest *direct = sample_forest(trees, 2 * TREES, way != 0, false);
            assert_int_equal(phl_forest_concat((const phl_forest *const *)parts, 2, &both, NULL),
                             PHL_OK);
            assert_int_equal(phl_forest_is_shared(both), way == 0);
            assert_int_equal(phl_forest_subtrees(both), phl_forest_subtrees(direct));
            assert_int_equal(phl_forest_max_slot(both), phl_forest_max_slot(direct));
            check_structure(both, trees, 2 * TREES);
            for (size_t i = 0; i < 2 * TREES; i++) {
                check_walk(both, i, &trees[i]);
            }
            for (size_t i = 0; i < phl_forest_labels(parts[0]); i++) { /* numbering kept */
                assert_string_equal(phl_forest_label_name(both, (int32_t)i),
                                    phl_forest_label_name(parts[0], (int32_t)i));
            }
            phl_forest_free(parts[0]);
            phl_forest_free(parts[1]);
            phl_forest_free(both);
            phl_forest_free(direct);
        }
    }
    phl_forest *nothing = NULL;
    assert_int_equal(phl_forest_concat(NULL, 0, &nothing, NULL), PHL_OK);
    assert_int_equal(phl_forest_trees(nothing), 0);
    phl_forest_free(nothing);
}

static void test_select(void **state)
{
    (void)state;
    uint64_t seed = 6;
    sample trees[TREES], chosen[20];
    for (int round = 0; round < 100; round++) {
        make_trees(trees, &seed);
        size_t n = sample_random(&seed, 20), list[20];
        for (size_t i = 0; i < n; i++) {
            list[i] = sample_random(&seed, TREES); /* repeats among them */
            chosen[i] = trees[list[i]];
        }
        for (int no_sharing = 0; no_sharing < 2; no_sharing++) {
            phl_forest *forest = sample_forest(trees, TREES, no_sharing, false);
            phl_forest *selected = NULL;
            assert_int_equal(phl_forest_select(forest, list, n, &selected, NULL), PHL_OK);
            check_structure(selected, chosen, n);
            for (size_t i = 0; i < n; i++) {
                check_walk(selected, i, &chosen[i]);
            }
            assert_int_equal(phl_forest_labels(selected), phl_forest_labels(forest));
            assert_int_equal(phl_forest_classes(selected), phl_forest_classes(forest));
            for (size_t i = 0; i < phl_forest_labels(forest); i++) {
                assert_string_equal(phl_forest_label_name(selected, (int32_t)i),
                                    phl_forest_label_name(forest, (int32_t)i));
            }
            assert_int_equal(phl_forest_is_shared(selected), !no_sharing);
            phl_forest_free(selected);
            phl_forest_free(forest);
        }
    }
    phl_forest *forest = forest_of(PHL_FORMAT_BRACKETS, "x\t(a (b))\ny\t(c)\n"), *selected = NULL;
    phl_error error = {0};
    assert_int_equal(phl_forest_select(forest, NULL, 0, &selected, NULL), PHL_OK);
    assert_int_equal(phl_forest_trees(selected), 0);
    assert_int_equal(phl_forest_subtrees(selected), 0);
    assert_int_equal(phl_forest_labels(selected), 3);
    assert_int_equal(phl_forest_max_slot(selected), 0);
    phl_forest_free(selected);
    selected = NULL;
    const size_t beyond = 2;
    assert_int_equal(phl_forest_select(forest, &beyond, 1, &selected, &error), PHL_ERR_ARGUMENT);
    assert_null(selected);
    assert_true(error.message[0] != '\0');
    phl_forest_free(forest);
}

/* Sources of trees survive combining. */
static void test_sources(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    options.class_name = "k";
    const char *text = "\n{\"id\":5,\"weight\":3,\"label\":[\"a\"],\"parent\":[-1]}\n";
    phl_forest *forest = read_text(&options, text, strlen(text));
    phl_forest *plain = trees("(b)\n");
    const phl_forest *parts[3] = {plain, forest, plain};
    phl_forest *both = NULL;
    assert_int_equal(phl_forest_concat(parts, 3, &both, NULL), PHL_OK);
    assert_string_equal(phl_tree_id(both, 1), "5");
    assert_null(phl_tree_id(both, 0));
    assert_null(phl_tree_id(both, 2));
    assert_string_equal(phl_tree_file(both, 1), "test");
    assert_int_equal(phl_tree_line(both, 1), 2);
    assert_true(phl_tree_weight(both, 1) == 3.0 && phl_tree_weight(both, 2) == 1.0);
    assert_string_equal(phl_forest_class_name(both, phl_tree_class(both, 1)), "k");
    phl_forest_free(both);
    phl_forest_free(forest);
    phl_forest_free(plain);
}

/* Statistics without sharing are those with it, but for what sharing changes. */
static void test_statistics(void **state)
{
    (void)state;
    phl_forest *forest = trees("x\t(a (b) (b (c)))\ny\t(a (b) (b (c)))\n(? _ (b))\n(d)\n");
    phl_stats *stats = NULL;
    assert_int_equal(phl_stats_compute(forest, &stats, NULL), PHL_OK);
    assert_int_equal(stats->trees, 4);
    assert_int_equal(stats->nodes, 11);
    assert_int_equal(stats->leaves, 6);
    assert_int_equal(stats->links, 7);
    assert_int_equal(stats->subtrees, 7);
    assert_int_equal(stats->internal_subtrees, 3);
    assert_int_equal(stats->subtree_links, 4);
    assert_int_equal(stats->slot_child_pairs, 4);
    assert_int_equal(stats->labels, 4);
    assert_int_equal(stats->unknown, 1);
    assert_int_equal(stats->max_slot, 2);
    assert_int_equal(stats->slot_filled[0], 4);
    assert_int_equal(stats->slot_filled[1], 3);
    assert_int_equal(stats->n_classes, 3);
    assert_null(stats->classes[2].name);
    assert_int_equal(stats->classes[2].trees, 2);
    assert_int_equal(stats->classes[2].nodes, 3);
    assert_int_equal(stats->ambiguous_shapes, 1);
    assert_int_equal(stats->ambiguous_trees, 2);
    assert_int_equal(stats->nodes_min, 1);
    assert_int_equal(stats->nodes_max, 4);
    assert_true(stats->nodes_median == 3.0 && stats->nodes_mean == 2.75);
    assert_true(stats->depth_mean == 1.25 && stats->depth_max == 2 && stats->depth_min == 0);
    phl_stats_free(stats);
    phl_forest_free(forest);
    forest = trees("");
    assert_int_equal(phl_stats_compute(forest, &stats, NULL), PHL_OK);
    assert_int_equal(stats->trees + stats->nodes + stats->n_classes + stats->max_slot, 0);
    phl_stats_free(stats);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_random_forests),
        cmocka_unit_test(test_roll_back),
        cmocka_unit_test(test_tree_info),
        cmocka_unit_test(test_fingerprint_sees),
        cmocka_unit_test(test_fingerprint_passes_over),
        cmocka_unit_test(test_fingerprint_neighbours),
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
