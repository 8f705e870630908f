/* grammar_blocks.c - steps of EM block by block; see grammar_blocks.h. */
#include "grammar/grammar_blocks.h"

#include <string.h>

#include "base/lanes.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "forest/forest_cut.h"

/* What came of the blocks of one class. */
struct sums {
    phl_rules rules;
    double *n; /* blocks of the rules, one behind the other */
    size_t used, capacity;
    double log_likelihood;
};

struct work {
    const phl_learn_data *data;
    const phl_learn_options *options;
    const phl_grammar *grammar;
    bool count;
    struct sums *sums; /* [classes] */
};

static void clear_sums(struct sums *sums)
{
    phl_rules_clear(&sums->rules);
    phl_free(sums->n);
}

/* Counts of the rules of a block go where the same rules of other blocks are. */
static phl_status add_counts(const phl_rule_table *table, const double *n, struct sums *sums,
                             size_t **place, size_t *places, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t r = 0; status == PHL_OK && r < table->rules->rules.n; r++) {
        size_t size = table->blocks.first[r + 1] - table->blocks.first[r],
               before = sums->rules.rules.n;
        uint32_t number = 0;
        status = phl_rules_add(&sums->rules, table->rules->rules.items[r], &number, error);
        if (status == PHL_OK && sums->rules.rules.n > before) {
            status = phl_grow(place, places, before + 1, sizeof **place, error);
            if (status == PHL_OK) {
                status =
                    phl_grow(&sums->n, &sums->capacity, sums->used + size, sizeof *sums->n, error);
            }
            if (status == PHL_OK) {
                (*place)[before] = sums->used;
                memset(sums->n + sums->used, 0, size * sizeof *sums->n);
                sums->used += size;
            }
        }
        for (size_t i = 0; status == PHL_OK && i < size; i++) {
            sums->n[(*place)[number] + i] += n[table->blocks.first[r] + i];
        }
    }
    return status;
}

/* One block of trees. */
struct block {
    phl_forest *forest;
    phl_lists *lists;
    phl_rule_table *table;
    phl_inside *inside;
    double *weight, *n;
};

static void clear_block(struct block *block)
{
    phl_inside_free(block->inside);
    phl_rule_table_free(block->table);
    phl_lists_free(block->lists);
    phl_forest_free(block->forest);
    phl_free(block->weight);
    phl_free(block->n);
}

static phl_status fill_block(const struct work *work, size_t part, struct block *block,
                             struct sums *sums, phl_error *error)
{
    const phl_learn_data *data = work->data;
    phl_status status = phl_lists_create(block->forest, data->symbol_of, data->labels,
                                         work->options->pair, &block->lists, error);
    if (status == PHL_OK) {
        status = phl_grammar_infer(work->grammar, part, block->lists, &block->table, &block->inside,
                                   error);
    }
    if (status != PHL_OK) {
        return status;
    }
    size_t cells = block->table->blocks.first[block->lists->rules.rules.n];
    block->weight = phl_alloc_zero(block->lists->n, sizeof *block->weight, error);
    block->n = phl_alloc_zero(work->count ? cells + PHL_LANES : 0, sizeof *block->n, error);
    if (block->weight == NULL || block->n == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t t = 0; t < block->lists->n_trees; t++) {
        double weight = phl_tree_weight(block->forest, t);
        block->weight[block->lists->root[t]] += weight;
        sums->log_likelihood += weight * phl_inside_tree(block->inside, t);
    }
    return work->count ? phl_inside_count(block->inside, block->weight, block->n, error) : PHL_OK;
}

static phl_status run_block(const struct work *work, phl_forest_cutter *cutter, const size_t *trees,
                            size_t n, size_t part, size_t **place, size_t *places, phl_error *error)
{
    struct block block = {0};
    struct sums *sums = &work->sums[part];
    phl_status status = phl_forest_cut(cutter, trees, n, &block.forest, error);
    if (status == PHL_OK) {
        status = fill_block(work, part, &block, sums, error);
    }
    if (status == PHL_OK && work->count) {
        status = add_counts(block.table, block.n, sums, place, places, error);
    }
    clear_block(&block);
    return status;
}

static phl_status run_class(const struct work *work, size_t c, phl_error *error)
{
    const phl_learn_data *data = work->data;
    const phl_forest *forest = data->forest;
    phl_forest_cutter cutter = {0};
    size_t n = 0, *place = NULL, places = 0;
    size_t *trees = phl_alloc(forest->n_trees, sizeof *trees, error);
    phl_status status =
        trees == NULL ? PHL_ERR_MEMORY : phl_forest_cut_begin(&cutter, forest, error);
    phl_rules_init(&work->sums[c].rules, data->labels);
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        if (data->class_of == NULL || data->class_of[t] == (int32_t)c) {
            trees[n++] = t;
        }
    }
    size_t stride = phl_grammar_learn_stride(forest, work->options->most_links),
           each = n / stride + 1;
    for (size_t begin = 0; status == PHL_OK && begin < n; begin += each) {
        size_t count = n - begin < each ? n - begin : each;
        status = run_block(work, &cutter, trees + begin, count, c, &place, &places, error);
    }
    phl_forest_cut_end(&cutter);
    phl_free(trees);
    phl_free(place);
    return status;
}

static phl_status run_chunk(size_t chunk, size_t begin, size_t end, int worker, void *context,
                            phl_error *error)
{
    (void)chunk;
    (void)worker;
    phl_status status = PHL_OK;
    for (size_t c = begin; status == PHL_OK && c < end; c++) {
        status = run_class(context, c, error);
    }
    return status;
}

/* The rules and counts of a part become those of its blocks. */
static phl_status replace(phl_grammar_part *part, struct sums *sums, phl_error *error)
{
    double unseen = part->counts->unseen;
    phl_rule_counts_free(part->counts);
    part->counts = NULL;
    phl_rules_clear(&part->rules);
    part->rules = sums->rules;
    sums->rules = (phl_rules){0};
    phl_status status = phl_rule_counts_create(&part->rules, part->sizes, &part->counts, error);
    if (status == PHL_OK) {
        memcpy(part->counts->n, sums->n, sums->used * sizeof *sums->n);
        part->counts->unseen = unseen;
        phl_rule_counts_sum(part->counts);
    }
    return status;
}

phl_status phl_grammar_blocks_step(const phl_learn_data *data, const phl_learn_options *options,
                                   bool count, phl_grammar_part **parts, phl_grammar **grammar,
                                   phl_error *error)
{
    struct work work = {.data = data, .options = options, .grammar = *grammar, .count = count};
    work.sums = phl_alloc_zero(data->n_classes, sizeof *work.sums, error);
    phl_status status = work.sums == NULL
                            ? PHL_ERR_MEMORY
                            : phl_parallel_chunks(data->n_classes, 1, options->threads, run_chunk,
                                                  &work, NULL, NULL, error);
    for (size_t c = 0; status == PHL_OK && c < data->n_classes; c++) {
        parts[c]->log_likelihood = work.sums[c].log_likelihood;
    }
    if (status == PHL_OK && count) {
        phl_grammar_free(*grammar);
        *grammar = NULL;
        for (size_t c = 0; status == PHL_OK && c < data->n_classes; c++) {
            status = replace(parts[c], &work.sums[c], error);
        }
        status =
            status == PHL_OK ? phl_grammar_create(parts, data->n_classes, grammar, error) : status;
    }
    for (size_t c = 0; work.sums != NULL && c < data->n_classes; c++) {
        clear_sums(&work.sums[c]);
    }
    phl_free(work.sums);
    return status;
}
