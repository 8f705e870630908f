/* grammar_store.c - a draw of a grammar read from tensors that are not trusted; see run_file.h. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "store/run_file.h"

/* Elements of an array of one row; 0: there is none. */
static size_t count_of(const phl_array_directory *directory, int64_t model, const char *name,
                       size_t width)
{
    const phl_entry *entry = phl_array_directory_find(directory, model, name, 0);
    return entry == NULL ? 0 : (size_t)(phl_array_directory_bytes(directory, entry) / width);
}

static phl_status read_flat(const phl_database *database, const phl_array_directory *directory,
                            int64_t model, const char *name, phl_dtype dtype, void *data,
                            size_t count, phl_error *error)
{
    phl_array array = phl_array_flat(name, dtype, data, count);
    char shape[32];
    (void)snprintf(shape, sizeof shape, "[%zu]", count);
    return phl_array_read(database, directory, model, &array, shape, error);
}

static phl_status read_numbers(const phl_database *database, const phl_array_directory *directory,
                               int64_t model, phl_grammar_part *part, phl_error *error)
{
    const double *numbers = part->numbers;
    phl_status status = read_flat(database, directory, model, "numbers", PHL_FLOAT64, part->numbers,
                                  PHL_PART_NUMBERS, error);
    bool good = numbers[PHL_PART_PAIR] == 0.0 || numbers[PHL_PART_PAIR] == 1.0;
    for (int i = PHL_PART_LABEL; i <= PHL_PART_ANNOTATION; i++) {
        good = good && numbers[i] >= 1e-9 && numbers[i] <= 1e9;
    }
    good = good && numbers[PHL_PART_SHARE] >= 0.0 && numbers[PHL_PART_SHARE] <= 1.0;
    good = good && numbers[PHL_PART_UNSEEN] >= 0.0 && numbers[PHL_PART_UNSEEN] <= 1e100;
    for (int i = PHL_PART_STAGE; i < PHL_PART_NUMBERS; i++) {
        good = good && isfinite(numbers[i]);
    }
    return status == PHL_OK && !good
               ? phl_database_damaged(database, error, "a grammar with impossible numbers")
               : status;
}

static phl_status read_sizes(const phl_database *database, const phl_array_directory *directory,
                             int64_t model, phl_grammar_part *part, phl_error *error)
{
    size_t symbols = (size_t)part->labels + PHL_SYMBOLS;
    phl_status status = read_flat(database, directory, model, "annotations", PHL_INT32, part->sizes,
                                  symbols, error);
    for (size_t s = 0; status == PHL_OK && s < symbols; s++) {
        uint32_t most = s < part->labels ? PHL_MOST_ANNOTATIONS : 1;
        if (part->sizes[s] < 1 || part->sizes[s] > most) {
            status = phl_database_damaged(database, error, "a symbol with %u annotations",
                                          part->sizes[s]);
        }
    }
    return status;
}

/* May a rule have these symbols? */
static bool is_rule(const phl_triple *rule, uint32_t labels)
{
    uint32_t unseen = labels + PHL_SYMBOL_UNSEEN;
    bool parent = rule->a <= unseen || rule->a == labels + PHL_SYMBOL_ROOT ||
                  rule->a == labels + PHL_SYMBOL_ANY;
    bool left = rule->b <= unseen || rule->b == labels + PHL_SYMBOL_EMPTY ||
                rule->b == labels + PHL_SYMBOL_BEGIN;
    bool symbol = rule->c <= unseen || rule->c == labels + PHL_SYMBOL_EMPTY ||
                  rule->c == labels + PHL_SYMBOL_STOP;
    return parent && left && symbol;
}

/* Rules, each once; *cells is what their blocks hold. */
static phl_status read_rules(const phl_database *database, const phl_array_directory *directory,
                             int64_t model, phl_grammar_part *part, uint64_t *cells,
                             phl_error *error)
{
    size_t n = count_of(directory, model, "rules", sizeof(phl_triple));
    char shape[32];
    phl_triple *rules = phl_alloc(n, sizeof *rules, error);
    phl_array array = phl_array_flat("rules", PHL_INT32, rules, 3 * n);
    (void)snprintf(shape, sizeof shape, "[%zu,3]", n);
    phl_status status = rules == NULL
                            ? PHL_ERR_MEMORY
                            : phl_array_read(database, directory, model, &array, shape, error);
    *cells = 0;
    for (size_t r = 0; status == PHL_OK && r < n; r++) {
        uint32_t number = 0;
        if (!is_rule(&rules[r], part->labels)) {
            status = phl_database_damaged(database, error, "a rule that cannot be");
            break;
        }
        *cells +=
            (uint64_t)part->sizes[rules[r].a] * part->sizes[rules[r].b] * part->sizes[rules[r].c];
        status = phl_rules_add(&part->rules, rules[r], &number, error);
        if (status == PHL_OK && number != r) {
            status = phl_database_damaged(database, error, "a rule that occurs twice");
        }
    }
    phl_free(rules);
    return status;
}

static phl_status read_counts(const phl_database *database, const phl_array_directory *directory,
                              int64_t model, uint64_t cells, phl_grammar_part *part,
                              phl_error *error)
{
    if (cells != count_of(directory, model, "counts", sizeof(double))) {
        return phl_database_damaged(database, error, "counts that do not fit their rules");
    }
    phl_status status = phl_rule_counts_create(&part->rules, part->sizes, &part->counts, error);
    if (status == PHL_OK) {
        status = read_flat(database, directory, model, "counts", PHL_FLOAT64, part->counts->n,
                           (size_t)cells, error);
    }
    for (size_t i = 0; status == PHL_OK && i < cells; i++) {
        if (!(part->counts->n[i] >= 0.0 && part->counts->n[i] <= 1e100)) {
            status = phl_database_damaged(database, error, "an impossible count of a rule");
        }
    }
    if (status == PHL_OK) {
        part->counts->unseen = part->numbers[PHL_PART_UNSEEN];
        phl_rule_counts_sum(part->counts);
    }
    return status;
}

static phl_status read_held(const phl_database *database, const phl_array_directory *directory,
                            int64_t model, phl_grammar_part *part, phl_error *error)
{
    part->n_held = count_of(directory, model, "held_out", sizeof *part->held);
    part->held = phl_alloc(part->n_held, sizeof *part->held, error);
    phl_status status = part->held == NULL
                            ? PHL_ERR_MEMORY
                            : read_flat(database, directory, model, "held_out", PHL_FLOAT64,
                                        part->held, part->n_held, error);
    for (size_t i = 0; status == PHL_OK && i < part->n_held; i++) {
        if (!(part->held[i] <= 0.0 && part->held[i] >= -1e100)) {
            status = phl_database_damaged(database, error, "an impossible score of a tree");
        }
    }
    return status;
}

phl_status phl_grammar_store_read(const phl_database *database,
                                  const phl_array_directory *directory, int64_t model,
                                  const phl_draw_kind *kind, phl_params **params, phl_error *error)
{
    phl_grammar_part *part = NULL;
    uint64_t cells = 0;
    size_t stored = count_of(directory, model, "annotations", sizeof *part->sizes);
    if (stored != (size_t)kind->labels + PHL_SYMBOLS) {
        return phl_database_damaged(database, error, "a grammar of other labels");
    }
    phl_status status = phl_grammar_part_create(kind->labels, &part, error);
    if (status == PHL_OK) {
        status = read_numbers(database, directory, model, part, error);
    }
    if (status == PHL_OK) {
        status = read_sizes(database, directory, model, part, error);
    }
    if (status == PHL_OK) {
        status = read_rules(database, directory, model, part, &cells, error);
    }
    if (status == PHL_OK) {
        status = read_counts(database, directory, model, cells, part, error);
    }
    if (status == PHL_OK) {
        status = read_held(database, directory, model, part, error);
    }
    if (status != PHL_OK) {
        phl_grammar_part_free(part);
        return status;
    }
    return phl_params_of_grammar(part, kind->states, kind->slots, params, error);
}
