/* generate_documents.c - families of XML-like documents from random grammars.
 *
 * Contents: vocabulary, the shared grammar, a class's grammar, one document, options and entry.
 *
 * Element names stand on levels: the root alone on level 0, sections on 1, blocks on 2, parts of
 * blocks on 3, inline elements on 4.  A container has a rule: an ordered list of parts, each naming
 * a child of the next level and how often it comes on average (below 1: optional, above: repeated).
 * So depth is bounded, and with it size.
 *
 * Frequencies come first, rules second.  Each name x is given its expected number F(x) of
 * occurrences per document; a rule part carries a flow f of x, and in the rule of e stands for f /
 * F(e) children on average.  The flows into x add up to F(x) whichever rules hold them.  A class's
 * own rules are the shared ones with their parts dealt out anew among the containers of a level, so
 * the expected count of every name, and the mean size, are the same in all classes: families differ
 * in what stands inside what and in which order, as real ones do, and not in their bags of names.
 *
 * A rule is expanded by systematic sampling: its parts lie end to end on a line, and the points u,
 * u + 1, u + 2, ... (u uniform on (0,1)) each make a child.  The means are exact, the number of
 * children hardly varies, and a rule has only as many different expansions as it has parts, plus
 * one: that is why documents share subtrees.  At the root and in sections the distance between
 * points is not 1 but 2, 1 or 2/3, which varies the size of documents and leaves the means alone.
 */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "forest/builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LEVELS = 5, STRETCHED_LEVELS = 2, PARTS_PER_CHILD = 2 };

static const uint64_t purpose_grammar = 0x6772616d;  /* "gram" */
static const uint64_t purpose_document = 0x646f6373; /* "docs" */

/* ---------------------------------------------------------------------------------------------
 * Vocabulary
 * ------------------------------------------------------------------------------------------- */

typedef struct word {
    const char *text; /* no digit at the end: numbers are appended */
    bool container;
} word;

/* The first of each level but the last is a container, however small the vocabulary. */
static const word level0[] = {{"article", true}};
static const word level1[] = {
    {"section", true},    {"front", true},   {"appendix", true}, {"abstract", true},
    {"references", true}, {"sidebar", true}, {"chapter", true},  {"glossary", true},
};
static const word level2[] = {
    {"para", true},      {"list", true},     {"title", false},    {"table", true},
    {"figure", true},    {"author", true},   {"note", true},      {"heading", false},
    {"quote", true},     {"example", true},  {"citation", true},  {"date", false},
    {"equation", false}, {"keyword", false}, {"procedure", true}, {"epigraph", false},
};
static const word level3[] = {
    {"item", true},       {"row", true},      {"caption", false}, {"name", true},  {"image", false},
    {"definition", true}, {"entry", true},    {"label", false},   {"term", false}, {"step", true},
    {"line", false},      {"head", true},     {"address", true},  {"year", false}, {"pages", false},
    {"publisher", false}, {"comment", false}, {"group", true},
};
static const word level4[] = {
    {"emphasis", false}, {"link", false},    {"cell", false},     {"code", false},
    {"number", false},   {"strong", false},  {"footnote", false}, {"first", false},
    {"last", false},     {"symbol", false},  {"unit", false},     {"mark", false},
    {"city", false},     {"country", false}, {"email", false},    {"acronym", false},
    {"sub", false},      {"sup", false},
};

/* The words of each level and its share of the vocabulary. */
static const struct {
    const word *words;
    size_t n_words;
    double share;
} levels[MAX_LEVELS] = {
    {level0, sizeof level0 / sizeof level0[0], 0.0},
    {level1, sizeof level1 / sizeof level1[0], 0.12},
    {level2, sizeof level2 / sizeof level2[0], 0.28},
    {level3, sizeof level3 / sizeof level3[0], 0.30},
    {level4, sizeof level4 / sizeof level4[0], 0.30},
};

/* One child of one rule. */
typedef struct part {
    uint32_t child;
    uint32_t owner; /* the container whose rule it stands in */
    double flow;    /* expected occurrences per document */
} part;

typedef struct grammar {
    size_t n_names, n_levels;
    size_t level_start[MAX_LEVELS + 1]; /* names of a level are consecutive */
    double *expected;                   /* [n_names] F(x) */
    bool *specific; /* [n_names] containers whose rule each class has its own of */
    size_t n_parts;
    part *shared;           /* [n_parts] by level of the owner, in random order within a level */
    part *own;              /* [n_parts] the same for the class at hand */
    size_t *specific_parts; /* [n_parts] scratch: parts of specific rules on one level */
    /* The rules of the class at hand: those of e are rule_start[e] .. rule_start[e + 1] - 1. */
    size_t *rule_start;   /* [n_names + 1] */
    uint32_t *rule_child; /* [n_parts] */
    double *rule_end;     /* [n_parts] where the part ends on the rule's line */
} grammar;

static void grammar_clear(grammar *g)
{
    phl_free(g->expected);
    phl_free(g->specific);
    phl_free(g->shared);
    phl_free(g->own);
    phl_free(g->specific_parts);
    phl_free(g->rule_start);
    phl_free(g->rule_child);
    phl_free(g->rule_end);
}

static size_t level_size(const grammar *g, size_t level)
{
    return g->level_start[level + 1] - g->level_start[level];
}

static const word *word_of(size_t level, size_t index)
{
    return &levels[level].words[index % levels[level].n_words];
}

static bool is_container(const grammar *g, size_t level, size_t name)
{
    return level + 1 < g->n_levels && word_of(level, name - g->level_start[level])->container;
}

/* Deal the names out to the levels: one root, and at least one name on each level there is. */
static void lay_out_levels(grammar *g)
{
    g->n_levels = g->n_names < MAX_LEVELS ? g->n_names : MAX_LEVELS;
    size_t last = g->n_levels - 1;
    g->level_start[0] = 0;
    g->level_start[1] = 1;
    for (size_t level = 1; level < last; level++) {
        size_t size = (size_t)(levels[level].share * (double)g->n_names);
        g->level_start[level + 1] = g->level_start[level] + (size > 0 ? size : 1);
    }
    g->level_start[last + 1] = g->n_names;
}

/* The branching b with 1 + b + b^2 + ... = nodes: level l holds b^l nodes on average. */
static double mean_branching(double nodes, size_t n_levels)
{
    double low = 0.0, high = nodes;
    for (int i = 0; i < 200; i++) {
        double b = 0.5 * (low + high);
        double total = 1.0;
        for (size_t level = 1; level < n_levels; level++) {
            total = 1.0 + b * total;
        }
        if (total < nodes) {
            low = b;
        } else {
            high = b;
        }
    }
    return low;
}

/* F(x): within a level the k-th name has weight 1 / sqrt(k), so names differ, yet none is rare. */
static void set_expected_counts(grammar *g, double nodes)
{
    double branching = mean_branching(nodes, g->n_levels);
    double level_nodes = 1.0;
    for (size_t level = 0; level < g->n_levels; level++) {
        size_t n = level_size(g, level);
        double total = 0.0;
        for (size_t k = 0; k < n; k++) {
            total += 1.0 / sqrt((double)(k + 1));
        }
        for (size_t k = 0; k < n; k++) {
            g->expected[g->level_start[level] + k] = level_nodes / (sqrt((double)(k + 1)) * total);
        }
        level_nodes *= branching;
    }
}

/* ---------------------------------------------------------------------------------------------
 * The shared grammar
 * ------------------------------------------------------------------------------------------- */

static size_t parts_per_child(size_t level)
{
    return level == 0 ? 1 : PARTS_PER_CHILD; /* the root has one rule to stand in */
}

/* Spread the specific rules evenly over all rules, level by level: round((1 - overlap) * rules) of
 * them, in neighbouring pairs, for dealing parts anew takes two rules of a level. */
static void choose_specific_rules(grammar *g, double overlap)
{
    double passed = 0.5; /* specific rules due so far */
    double chosen = 0.0;
    size_t last = 0, before = 0; /* the last two rules */
    for (size_t level = 0; level + 1 < g->n_levels; level++) {
        for (size_t e = g->level_start[level]; e < g->level_start[level + 1]; e++) {
            if (is_container(g, level, e)) {
                before = last;
                last = e;
                passed += 1.0 - overlap;
                if (floor(passed) >= chosen + 2.0) {
                    g->specific[before] = g->specific[last] = true;
                    chosen += 2.0;
                }
            }
        }
    }
    if (floor(passed) > chosen) {
        g->specific[last] = true;
    }
}

/* The parts for the children of one level's containers: owners in turn, children in random order.
 */
static void deal_level(grammar *g, size_t level, phl_rng *rng)
{
    size_t copies = parts_per_child(level);
    size_t first = g->n_parts;
    for (size_t child = g->level_start[level + 1]; child < g->level_start[level + 2]; child++) {
        for (size_t copy = 0; copy < copies; copy++) {
            /* A random place among the parts so far; the one that lay there goes to the end. */
            size_t place = first + (size_t)phl_rng_bounded(rng, g->n_parts - first + 1);
            g->shared[g->n_parts] = g->shared[place];
            g->shared[place].child = (uint32_t)child;
            g->shared[place].flow = g->expected[child] / (double)copies;
            g->n_parts++;
        }
    }
    /* Systematic sampling of owners by F(e). */
    double total = 0.0;
    for (size_t e = g->level_start[level]; e < g->level_start[level + 1]; e++) {
        total += is_container(g, level, e) ? g->expected[e] : 0.0;
    }
    size_t i = first;
    double passed = 0.0;
    for (size_t e = g->level_start[level]; e < g->level_start[level + 1]; e++) {
        passed += is_container(g, level, e) ? g->expected[e] : 0.0;
        double end = (double)first + (double)(g->n_parts - first) * passed / total;
        while (i < g->n_parts && (double)i + 0.5 < end) {
            g->shared[i++].owner = (uint32_t)e;
        }
    }
}

static phl_status grammar_create(grammar *g, const phl_documents_options *options, phl_error *error)
{
    size_t n = options->vocabulary;
    size_t most_parts = PARTS_PER_CHILD * n;
    g->n_names = n;
    g->expected = phl_alloc(n, sizeof *g->expected, error);
    g->specific = g->expected ? phl_alloc_zero(n, sizeof *g->specific, error) : NULL;
    g->shared = g->specific ? phl_alloc_zero(most_parts, sizeof *g->shared, error) : NULL;
    g->own = g->shared ? phl_alloc(most_parts, sizeof *g->own, error) : NULL;
    g->specific_parts = g->own ? phl_alloc(most_parts, sizeof *g->specific_parts, error) : NULL;
    g->rule_start = g->specific_parts ? phl_alloc(n + 1, sizeof *g->rule_start, error) : NULL;
    g->rule_child = g->rule_start ? phl_alloc(most_parts, sizeof *g->rule_child, error) : NULL;
    g->rule_end = g->rule_child ? phl_alloc(most_parts, sizeof *g->rule_end, error) : NULL;
    if (g->rule_end == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_rng rng;
    phl_rng_init(&rng, options->seed, purpose_grammar, 0, 0, 0);
    lay_out_levels(g);
    set_expected_counts(g, (double)options->nodes);
    choose_specific_rules(g, options->overlap);
    for (size_t level = 0; level + 1 < g->n_levels; level++) {
        deal_level(g, level, &rng);
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * A class's grammar
 * ------------------------------------------------------------------------------------------- */

/* Deal the parts of the specific rules out anew, level by level. */
static void deal_anew(grammar *g, phl_rng *rng)
{
    memcpy(g->own, g->shared, g->n_parts * sizeof *g->own);
    size_t i = 0;
    for (size_t level = 0; level + 1 < g->n_levels; level++) {
        size_t n = 0;
        for (; i < g->n_parts && g->shared[i].owner < g->level_start[level + 1]; i++) {
            if (g->specific[g->shared[i].owner]) {
                g->specific_parts[n++] = i;
            }
        }
        while (n > 1) {
            part *a = &g->own[g->specific_parts[n - 1]];
            part *b = &g->own[g->specific_parts[phl_rng_bounded(rng, n)]];
            part taken = *a;
            a->child = b->child;
            a->flow = b->flow;
            b->child = taken.child;
            b->flow = taken.flow;
            n--;
        }
    }
}

/* Sort the parts into rules and lay each rule's parts end to end. */
static void lay_out_rules(grammar *g)
{
    memset(g->rule_start, 0, (g->n_names + 1) * sizeof *g->rule_start);
    for (size_t i = 0; i < g->n_parts; i++) {
        g->rule_start[g->own[i].owner + 1]++;
    }
    for (size_t e = 0; e < g->n_names; e++) {
        g->rule_start[e + 1] += g->rule_start[e];
    }
    for (size_t i = 0; i < g->n_parts; i++) {
        size_t owner = g->own[i].owner;
        size_t at = g->rule_start[owner]++;
        g->rule_child[at] = g->own[i].child;
        /* Below a name that never occurs (one node per document) rules do not matter. */
        g->rule_end[at] = g->expected[owner] > 0.0 ? g->own[i].flow / g->expected[owner] : 0.0;
    }
    /* rule_start[e] has become the end of e: shift back. */
    memmove(g->rule_start + 1, g->rule_start, g->n_names * sizeof *g->rule_start);
    g->rule_start[0] = 0;
    for (size_t e = 0; e < g->n_names; e++) {
        for (size_t at = g->rule_start[e] + 1; at < g->rule_start[e + 1]; at++) {
            g->rule_end[at] += g->rule_end[at - 1];
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * One document
 * ------------------------------------------------------------------------------------------- */

/* Nodes numbered breadth-first: the children of a node are consecutive, in slots 1, 2, ... */
typedef struct sketch {
    size_t n, capacity;
    struct sketch_node {
        size_t first_child;
        uint32_t n_children;
        uint32_t name;
        uint32_t slot;
        uint32_t subtree;
    } * nodes;
    phl_link *links; /* of one node */
    size_t link_capacity;
    int32_t *label; /* [n_names] number in the builder, or -1: not met yet */
} sketch;

/* Make the children of a node: see the top of the file. */
static phl_status expand(const grammar *g, phl_rng *rng, sketch *tree, size_t node, bool stretched,
                         phl_error *error)
{
    size_t name = tree->nodes[node].name;
    size_t at = g->rule_start[name], end = g->rule_start[name + 1];
    tree->nodes[node].first_child = tree->n;
    tree->nodes[node].n_children = 0;
    if (at == end) {
        return PHL_OK;
    }
    double step = stretched ? 2.0 / (double)(1 + phl_rng_bounded(rng, 3)) : 1.0;
    double u = phl_rng_uniform(rng);
    uint32_t slot = 0;
    for (double x = u * step; x < g->rule_end[end - 1]; x = (u + slot) * step) {
        /* The first part that ends after x. */
        size_t high = end - 1;
        while (at < high) {
            size_t middle = at + (high - at) / 2;
            if (g->rule_end[middle] > x) {
                high = middle;
            } else {
                at = middle + 1;
            }
        }
        phl_status status =
            phl_grow(&tree->nodes, &tree->capacity, tree->n + 1, sizeof *tree->nodes, error);
        if (status != PHL_OK) {
            return status;
        }
        struct sketch_node *child = &tree->nodes[tree->n++];
        child->name = g->rule_child[at];
        child->slot = ++slot;
    }
    tree->nodes[node].n_children = slot;
    return PHL_OK;
}

static phl_status draw_document(const grammar *g, phl_rng *rng, sketch *tree, phl_error *error)
{
    phl_status status = phl_grow(&tree->nodes, &tree->capacity, 1, sizeof *tree->nodes, error);
    if (status != PHL_OK) {
        return status;
    }
    tree->n = 1;
    tree->nodes[0].name = 0;
    tree->nodes[0].slot = 1;
    for (size_t node = 0; node < tree->n && status == PHL_OK; node++) {
        bool stretched = tree->nodes[node].name < g->level_start[STRETCHED_LEVELS];
        status = expand(g, rng, tree, node, stretched, error);
    }
    return status;
}

/* Number of a name in the builder, given when the name is first met: the alphabet holds no label
 * that does not occur. */
static phl_status label_of(phl_builder *builder, const grammar *g, sketch *tree, size_t name,
                           int32_t *label, phl_error *error)
{
    if (tree->label[name] < 0) {
        size_t level = 0;
        while (name >= g->level_start[level + 1]) {
            level++;
        }
        size_t index = name - g->level_start[level];
        size_t round = index / levels[level].n_words;
        char text[64];
        int length = round == 0 ? snprintf(text, sizeof text, "%s", word_of(level, index)->text)
                                : snprintf(text, sizeof text, "%s%zu", word_of(level, index)->text,
                                           round + 1);
        phl_status status =
            phl_builder_label(builder, text, (size_t)length, &tree->label[name], error);
        if (status != PHL_OK) {
            return status;
        }
    }
    *label = tree->label[name];
    return PHL_OK;
}

/* Bottom-up into the builder, replacing labels by noise on the way. */
static phl_status enter_document(phl_builder *builder, const grammar *g, phl_rng *rng, double noise,
                                 sketch *tree, int32_t class_number, phl_error *error)
{
    for (size_t i = tree->n; i-- > 0;) {
        struct sketch_node *node = &tree->nodes[i];
        size_t n = node->n_children;
        phl_status status =
            phl_grow(&tree->links, &tree->link_capacity, n, sizeof *tree->links, error);
        if (status != PHL_OK) {
            return status;
        }
        for (size_t k = 0; k < n; k++) {
            tree->links[k].slot = (uint32_t)(k + 1);
            tree->links[k].child = tree->nodes[node->first_child + k].subtree;
        }
        size_t name = node->name;
        if (noise > 0.0 && phl_rng_uniform(rng) < noise) {
            name = (size_t)phl_rng_bounded(rng, g->n_names);
        }
        int32_t label = 0;
        status = label_of(builder, g, tree, name, &label, error);
        if (status == PHL_OK) {
            status = phl_builder_intern(builder, label, n == 0 ? node->slot : 0, tree->links, n,
                                        &node->subtree, error);
        }
        if (status != PHL_OK) {
            return status;
        }
    }
    phl_tree_entry entry = {tree->nodes[0].subtree, class_number, -1, -1, 0, 1.0};
    return phl_builder_enter_tree(builder, &entry, error);
}

/* ---------------------------------------------------------------------------------------------
 * Options and entry
 * ------------------------------------------------------------------------------------------- */

static const phl_documents_options defaults = {
    .size = sizeof(phl_documents_options),
    .seed = 42,
    .classes = 4,
    .trees_per_class = 100,
    .nodes = 40,
    .vocabulary = 60,
    .noise = 0.02,
    .overlap = 0.5,
};

void phl_documents_options_init_sized(phl_documents_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static phl_status check_count(const char *what, size_t value, size_t least, size_t most,
                              phl_error *error)
{
    if (value < least || value > most) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%s: %zu is not allowed; give %zu to %zu",
                         what, value, least, most);
    }
    return PHL_OK;
}

static phl_status check_share(const char *what, double value, phl_error *error)
{
    if (!(value >= 0.0 && value <= 1.0)) { /* NaN fails both */
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%s: %g is not allowed; give 0 to 1", what,
                         value);
    }
    return PHL_OK;
}

static phl_status check_options(const phl_documents_options *options, phl_error *error)
{
    const struct {
        const char *what;
        size_t value, least, most;
    } counts[] = {
        {"classes", options->classes, 1, 100000},
        {"trees per class", options->trees_per_class, 1, 100000000},
        {"mean nodes per document", options->nodes, 1, 1000000},
        {"vocabulary", options->vocabulary, 2, 100000},
    };
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof counts / sizeof *counts; i++) {
        status =
            check_count(counts[i].what, counts[i].value, counts[i].least, counts[i].most, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = check_share("noise", options->noise, error);
    return status == PHL_OK ? check_share("overlap", options->overlap, error) : status;
}

static phl_status generate_class(phl_builder *builder, grammar *g, sketch *tree,
                                 const phl_documents_options *options, size_t which,
                                 phl_error *error)
{
    phl_rng rng;
    phl_rng_init(&rng, options->seed, purpose_grammar, which + 1, 0, 0);
    deal_anew(g, &rng);
    lay_out_rules(g);

    char class_name[40];
    int length = snprintf(class_name, sizeof class_name, "family-%zu", which + 1);
    int32_t class_number = PHL_NO_CLASS;
    phl_status status =
        phl_alphabet_add(&builder->classes, class_name, (size_t)length, &class_number, error);
    for (size_t i = 0; i < options->trees_per_class && status == PHL_OK; i++) {
        phl_rng_init(&rng, options->seed, purpose_document, which, 0, i);
        status = draw_document(g, &rng, tree, error);
        if (status == PHL_OK) {
            status = enter_document(builder, g, &rng, options->noise, tree, class_number, error);
        }
    }
    return status;
}

/* All classes, of the rules and through the sketch given. */
static phl_status generate(const phl_documents_options *options, grammar *rules, sketch *tree,
                           phl_forest **forest, phl_error *error)
{
    phl_builder *builder = NULL;
    tree->label = phl_alloc(rules->n_names, sizeof *tree->label, error);
    if (tree->label == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t name = 0; name < rules->n_names; name++) {
        tree->label[name] = -1;
    }
    phl_status status = phl_builder_create(NULL, &builder, error);
    for (size_t which = 0; which < options->classes && status == PHL_OK; which++) {
        status = generate_class(builder, rules, tree, options, which, error);
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, forest, error);
    }
    phl_builder_free(builder);
    return status;
}

phl_status phl_generate_documents(const phl_documents_options *options, phl_forest **forest,
                                  phl_error *error)
{
    grammar rules = {0};
    sketch tree = {0};
    phl_documents_options own;
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_documents", error);
    options = &own;
    if (status == PHL_OK) {
        status = check_options(options, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = grammar_create(&rules, options, error);
    if (status == PHL_OK) {
        status = generate(options, &rules, &tree, forest, error);
    }
    grammar_clear(&rules);
    phl_free(tree.nodes);
    phl_free(tree.links);
    phl_free(tree.label);
    return status;
}
