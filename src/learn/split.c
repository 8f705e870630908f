/* split.c - step 1 of the blocked sampler: hidden states given parameters, as count splitting.
 *
 * The n_s(j) occurrences of subtree s in state j are divided over the joint blocks z of its active
 * children by one multinomial draw, which has exactly the law of drawing each occurrence alone.
 * Each (s, j, z) that gets any is a row; given the row the children are independent, each a
 * multinomial margin of beta restricted to its block.  Parents come before children, so n_s is
 * complete when s is reached.  Every subtree has a random stream of its own.
 */
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "learn/gibbs.h"
#include "model/cells.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* Draw n children of the subtree `child` that show block z of mode (any state if mode is NULL), add
 * them to its state counts; how many in which state into counts [C]. */
static void draw_margin(phl_gibbs *gibbs, uint32_t child, const phl_mode *mode, uint32_t z,
                        int64_t n, phl_rng *rng, int64_t *counts)
{
    size_t c = gibbs->params->states;
    const double *beta = gibbs->upward->beta + child * c;
    double *weights = gibbs->weights;
    for (size_t q = 0; q < c; q++) {
        double share = mode == NULL          ? 1.0
                       : mode->block != NULL ? (double)(mode->block[q] == z)
                                             : mode->matrix[q * mode->size + z];
        weights[q] = share * beta[q];
    }
    if (n == 1) {
        memset(counts, 0, c * sizeof *counts);
        counts[phl_categorical_draw(rng, weights, c)] = 1;
    } else {
        phl_multinomial_draw(rng, n, weights, c, counts);
    }
    for (size_t q = 0; q < c; q++) {
        gibbs->counts.state[child * c + q] += counts[q];
    }
}

/* One row: n occurrences of s in state j with the blocks of `cells`; margins of its children. */
static phl_status draw_row(phl_gibbs *gibbs, uint32_t s, uint32_t j, const uint32_t *blocks,
                           int64_t n, phl_rng *rng, phl_error *error)
{
    const phl_params *params = gibbs->params;
    const phl_forest *forest = gibbs->index->forest;
    phl_rows *rows = gibbs->rows;
    size_t c = params->states;
    int64_t *margin = gibbs->drawn;
    bool soft = params->soft;
    phl_status status = soft ? PHL_OK : phl_rows_add(rows, s, j, n, error);
    uint32_t e = 0;
    for (uint64_t k = forest->first_link[s]; status == PHL_OK && k < forest->first_link[s + 1];
         k++) {
        uint32_t slot = forest->links[k].slot;
        uint32_t number = slot <= params->slots ? params->mode_of_slot[slot] : 0;
        const phl_mode *mode = number == 0 ? NULL : &params->modes[number - 1];
        while (e < rows->n_eligible && rows->eligible[e] < slot) {
            e++;
        }
        bool eligible = e < rows->n_eligible && rows->eligible[e] == slot;
        if (!eligible && mode == NULL) {
            continue; /* drawn once for all rows of s */
        }
        uint32_t z = mode == NULL ? 0 : blocks[number - 1];
        draw_margin(gibbs, forest->links[k].child, mode, z, n, rng, margin);
        if (soft && mode != NULL) {
            for (size_t q = 0; q < c; q++) {
                gibbs->counts.mode[number - 1][q * mode->size + z] += margin[q];
            }
        }
        for (uint32_t q = 0; !soft && status == PHL_OK && q < c; q++) {
            if (margin[q] > 0) {
                status = phl_rows_add_entry(rows, q, margin[q], error);
            }
        }
        if (!soft && status == PHL_OK) {
            status = phl_rows_end_margin(rows, error);
        }
    }
    return status;
}

/* Soft: blocks shown by empty slots are drawn too, and counted. */
static void count_blocks(phl_gibbs *gibbs, const phl_cells *cells, int64_t n, uint32_t j,
                         size_t cell)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    gibbs->counts.core[cell * c + j] += n;
    for (uint32_t f = 0; f < cells->n; f++) {
        if (cells->free[f].pair == PHL_NO_PAIR) {
            const phl_mode *mode = &params->modes[cells->free[f].mode];
            gibbs->counts.mode[cells->free[f].mode][c * mode->size + cells->free[f].digit] += n;
        }
    }
}

/* Divide the occurrences of s in state j over the cells it can use. */
static phl_status split_state(phl_gibbs *gibbs, uint32_t s, uint32_t j, int64_t n, phl_rng *rng,
                              phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, count = 0;
    phl_cells cells;
    phl_cells_start(&cells, gibbs->upward, s);
    size_t most = 1;
    for (uint32_t f = 0; f < cells.n; f++) {
        most *= cells.free[f].size;
    }
    /* The first C of weights and drawn serve the margins. */
    phl_status status =
        phl_grow(&gibbs->weights, &gibbs->weight_capacity, c + most, sizeof *gibbs->weights, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&gibbs->drawn, &gibbs->drawn_capacity, c + most, sizeof *gibbs->drawn, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    double *weights = gibbs->weights + c;
    int64_t *drawn = gibbs->drawn + c;
    do {
        weights[count++] = params->core[cells.cell * c + j] * phl_cells_weight(&cells);
    } while (phl_cells_next(&cells));
    phl_multinomial_draw(rng, n, weights, count, drawn);
    size_t i = 0;
    do {
        uint32_t blocks[PHL_MAX_MODES];
        if (drawn[i] > 0) {
            for (uint32_t f = 0; f < cells.n; f++) {
                blocks[cells.free[f].mode] = cells.free[f].digit;
            }
            if (params->soft) {
                count_blocks(gibbs, &cells, drawn[i], j, cells.cell);
            }
            status = draw_row(gibbs, s, j, blocks, drawn[i], rng, error);
        }
        i++;
    } while (phl_cells_next(&cells) && status == PHL_OK);
    return status;
}

/* Children in slots that can never be active: one margin for all occurrences of s. */
static void split_others(phl_gibbs *gibbs, uint32_t s, int64_t total, phl_rng *rng)
{
    const phl_forest *forest = gibbs->index->forest;
    const phl_rows *rows = gibbs->rows;
    uint32_t e = 0;
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t slot = forest->links[k].slot;
        while (e < rows->n_eligible && rows->eligible[e] < slot) {
            e++;
        }
        bool eligible = e < rows->n_eligible && rows->eligible[e] == slot;
        bool active = slot <= gibbs->params->slots && gibbs->params->mode_of_slot[slot] != 0;
        if (!eligible && !active) {
            draw_margin(gibbs, forest->links[k].child, NULL, 0, total, rng, gibbs->drawn);
        }
    }
}

static phl_status split_subtree(phl_gibbs *gibbs, uint32_t s, phl_error *error)
{
    const phl_params *params = gibbs->params;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = params->states;
    int64_t *state = gibbs->counts.state + s * c;
    phl_rng rng;
    phl_rng_init(&rng, gibbs->options.seed, PHL_PURPOSE_SPLIT, gibbs->options.stream,
                 gibbs->iteration, s);
    if (gibbs->root_count[s] > 0) {
        const double *beta = gibbs->upward->beta + s * c;
        phl_multinomial_draw(&rng, gibbs->root_count[s], beta, c, gibbs->drawn);
        for (size_t j = 0; j < c; j++) {
            state[j] += gibbs->drawn[j];
        }
    }
    int64_t total = 0;
    int32_t label = forest->label[s];
    phl_status status = PHL_OK;
    for (uint32_t j = 0; status == PHL_OK && j < c; j++) {
        int64_t n = state[j];
        total += n;
        if (n > 0 && label >= 0) {
            gibbs->counts.emission[gibbs->label_row[label] * c + j] += n;
        }
        if (n > 0 && forest->leaf_slot[s] != 0) {
            gibbs->counts.prior[phl_leaf_row(params, forest->leaf_slot[s]) * c + j] += n;
        } else if (n > 0) {
            status = split_state(gibbs, s, j, n, &rng, error);
        }
    }
    if (status == PHL_OK && total > 0 && forest->leaf_slot[s] == 0) {
        split_others(gibbs, s, total, &rng);
    }
    return status;
}

static void clear_counts(phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    memset(gibbs->counts.state, 0,
           gibbs->index->forest->n_subtrees * c * sizeof *gibbs->counts.state);
    memset(gibbs->counts.prior, 0, ((size_t)params->slots + 1) * c * sizeof *gibbs->counts.prior);
    memset(gibbs->counts.emission, 0,
           ((size_t)params->labels + 1) * c * sizeof *gibbs->counts.emission);
    if (params->soft) {
        memset(gibbs->counts.core, 0, params->core_rows * c * sizeof *gibbs->counts.core);
        for (uint32_t a = 0; a < params->n_modes; a++) {
            memset(gibbs->counts.mode[a], 0,
                   (c + 1) * params->modes[a].size * sizeof *gibbs->counts.mode[a]);
        }
    }
}

double phl_gibbs_likelihood(const phl_gibbs *gibbs)
{
    double sum = 0.0;
    for (size_t s = 0; s < gibbs->index->forest->n_subtrees; s++) {
        if (gibbs->root_count[s] > 0) {
            sum += (double)gibbs->root_count[s] * gibbs->upward->log_likelihood[s];
        }
    }
    return sum;
}

phl_status phl_gibbs_draw_states(phl_gibbs *gibbs, phl_error *error)
{
    const phl_forest *forest = gibbs->index->forest;
    phl_status status = phl_upward_run(gibbs->upward, gibbs->options.threads, error);
    if (status != PHL_OK) {
        return status;
    }
    gibbs->log_likelihood = phl_gibbs_likelihood(gibbs);
    clear_counts(gibbs);
    phl_rows_reset(gibbs->rows);
    for (size_t s = forest->n_subtrees; status == PHL_OK && s-- > 0;) {
        status = split_subtree(gibbs, (uint32_t)s, error);
    }
    if (status == PHL_OK && !gibbs->params->soft) {
        status = phl_rows_index(gibbs->rows, error);
        if (status == PHL_OK) {
            status = phl_partitions_count(gibbs->partitions, error);
        }
    }
    return status;
}
