/* state_recycle.c - states merged and divided in the warm-up; see state_recycle.h. */
#include "gibbs/state_recycle.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gibbs/label_swap.h"
#include "gibbs/partition_state.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* Nodes of a group that count in one place: cell z is place z, row l of pi is n_cells + l. */
typedef struct phl_recycle_entry {
    uint32_t place;
    int64_t n;
} phl_recycle_entry;

typedef struct phl_recycle_group {
    size_t first; /* of its entries; they end where the next group begins */
    uint32_t row; /* of its label, or UINT32_MAX */
    bool given;   /* to state b */
    int64_t n;
} phl_recycle_group;

/* A try: b into a, then d between d and b. */
struct attempt {
    uint32_t a, b, d;
    int kind;
};

/* ---------------------------------------------------------------------------------------------
 * Making
 * ------------------------------------------------------------------------------------------- */

phl_status phl_state_recycle_create(const phl_gibbs *gibbs, phl_state_recycle **recycle,
                                    phl_error *error)
{
    phl_state_recycle *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t c = gibbs->params->states, rows = (size_t)gibbs->params->labels + 1;
    size_t eligible = gibbs->pairs->n_eligible;
    made->label_kept = phl_alloc_zero(rows, sizeof *made->label_kept, error);
    made->label_given = phl_alloc_zero(rows, sizeof *made->label_given, error);
    made->size = phl_alloc(eligible, sizeof *made->size, error);
    made->block = phl_alloc(eligible * (c + 1), sizeof *made->block, error);
    made->log_lambda0 = phl_alloc(c, sizeof *made->log_lambda0, error);
    if (made->label_kept == NULL || made->label_given == NULL || made->size == NULL ||
        made->block == NULL || made->log_lambda0 == NULL) {
        phl_state_recycle_free(made);
        return PHL_ERR_MEMORY;
    }
    *recycle = made;
    return PHL_OK;
}

void phl_state_recycle_free(phl_state_recycle *recycle)
{
    if (recycle == NULL) {
        return;
    }
    phl_free(recycle->entries);
    phl_free(recycle->groups);
    phl_free(recycle->entry_of);
    phl_free(recycle->kept);
    phl_free(recycle->given);
    phl_free(recycle->label_kept);
    phl_free(recycle->label_given);
    phl_free(recycle->cells);
    phl_free(recycle->emission);
    phl_free(recycle->prior);
    phl_free(recycle->size);
    phl_free(recycle->block);
    phl_free(recycle->log_lambda0);
    phl_free(recycle);
}

/* ---------------------------------------------------------------------------------------------
 * Dividing a state
 * ------------------------------------------------------------------------------------------- */

static void add_nodes(phl_state_recycle *recycle, size_t place, int64_t n)
{
    if (recycle->entry_of[place] == 0) {
        recycle->entries[recycle->n_entries++] = (phl_recycle_entry){(uint32_t)place, 0};
        recycle->entry_of[place] = (uint32_t)recycle->n_entries;
    }
    recycle->entries[recycle->entry_of[place] - 1].n += n;
}

/* Nodes of subtree s in a state. */
static void add_subtree(phl_gibbs *gibbs, uint32_t s, uint32_t state, phl_recycle_group *group)
{
    phl_state_recycle *recycle = gibbs->recycle;
    int64_t n = phl_gibbs_count(gibbs, s, state);
    uint32_t leaf_slot = gibbs->index->forest->leaf_slot[s];
    const phl_portion *portion = gibbs->state_counts->portion;
    if (n == 0) {
        return;
    }
    group->n += n;
    if (leaf_slot != 0) {
        add_nodes(recycle, gibbs->partitions->n_cells + phl_leaf_row(gibbs->params, leaf_slot), n);
        return;
    }
    for (uint32_t r = phl_state_counts_first(gibbs->state_counts, s); r != PHL_NO_PORTION;
         r = portion[r].next) {
        if (portion[r].state == state) {
            add_nodes(recycle, portion[r].cell, portion[r].n);
        }
    }
}

static phl_status reserve(phl_gibbs *gibbs, int kind, phl_error *error)
{
    phl_state_recycle *recycle = gibbs->recycle;
    const phl_label_groups *groups = gibbs->swap->groups;
    size_t places = gibbs->partitions->n_cells + gibbs->params->slots + 1;
    size_t most = gibbs->state_counts->n_portions + gibbs->index->forest->n_subtrees;
    const phl_room rooms[] = {
        PHL_ROOM(recycle->entries, recycle->entry_capacity, most),
        PHL_ROOM(recycle->groups, recycle->group_capacity,
                 groups->first_of_kind[kind + 1] - groups->first_of_kind[kind] + 1),
        PHL_ROOM(recycle->entry_of, recycle->entry_of_capacity, places),
        PHL_ROOM(recycle->kept, recycle->kept_capacity, places),
        PHL_ROOM(recycle->given, recycle->given_capacity, places),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status == PHL_OK) {
        memset(recycle->entry_of, 0, places * sizeof *recycle->entry_of);
        memset(recycle->kept, 0, places * sizeof *recycle->kept);
        memset(recycle->given, 0, places * sizeof *recycle->given);
    }
    return status;
}

/* The nodes of state d by group, and of b with them if those are d's by now. */
static phl_status gather(phl_gibbs *gibbs, const struct attempt *at, phl_error *error)
{
    phl_state_recycle *recycle = gibbs->recycle;
    const phl_label_groups *groups = gibbs->swap->groups;
    const int32_t *label = gibbs->index->forest->label;
    phl_status status = reserve(gibbs, at->kind, error);
    recycle->n_groups = recycle->n_entries = 0;
    for (size_t g = groups->first_of_kind[at->kind];
         status == PHL_OK && g < groups->first_of_kind[at->kind + 1]; g++) {
        uint32_t one = groups->member[groups->first[g]];
        phl_recycle_group group = {
            recycle->n_entries,
            label[one] < 0 ? UINT32_MAX : gibbs->label_row[label[one]],
            false,
            0,
        };
        for (size_t i = groups->first[g]; i < groups->first[g + 1]; i++) {
            add_subtree(gibbs, groups->member[i], at->d, &group);
            if (at->a == at->d) {
                add_subtree(gibbs, groups->member[i], at->b, &group);
            }
        }
        for (size_t i = group.first; i < recycle->n_entries; i++) {
            recycle->entry_of[recycle->entries[i].place] = 0;
        }
        if (group.n > 0) {
            recycle->groups[recycle->n_groups++] = group;
        }
    }
    if (status == PHL_OK) {
        recycle->groups[recycle->n_groups].first = recycle->n_entries;
    }
    return status;
}

/* Two states that share a base, and how much each of them has. */
struct division {
    phl_rising half; /* log (alpha lambda0_d / 2)_n */
    int64_t kept, given;
};

static double change_of(const phl_rising *rising, int64_t kept, int64_t given, int64_t n)
{
    return phl_rising_get(rising, kept - n) - phl_rising_get(rising, kept) +
           phl_rising_get(rising, given + n) - phl_rising_get(rising, given);
}

/* The log-joint when a group goes over from d to b (sign 1) or back (-1), less that of now. */
static double gain_of_group(const phl_gibbs *gibbs, const phl_recycle_group *group,
                            const struct division *division, int64_t sign)
{
    const phl_state_recycle *recycle = gibbs->recycle;
    const phl_recycle_entry *entry = recycle->entries;
    double gain = 0.0;
    for (size_t i = group->first; i < group[1].first; i++) {
        size_t at = entry[i].place;
        const phl_rising *rising =
            at < gibbs->partitions->n_cells ? &division->half : &gibbs->prior_rising[0];
        gain += change_of(rising, recycle->kept[at], recycle->given[at], sign * entry[i].n);
    }
    if (group->row != UINT32_MAX) {
        gain +=
            change_of(&gibbs->emission_rising[0], recycle->label_kept[group->row],
                      recycle->label_given[group->row], sign * group->n) -
            change_of(&gibbs->emission_rising[1], division->kept, division->given, sign * group->n);
    }
    return gain;
}

static void give_group(phl_gibbs *gibbs, phl_recycle_group *group, struct division *division)
{
    phl_state_recycle *recycle = gibbs->recycle;
    int64_t sign = group->given ? -1 : 1;
    for (size_t i = group->first; i < group[1].first; i++) {
        recycle->kept[recycle->entries[i].place] -= sign * recycle->entries[i].n;
        recycle->given[recycle->entries[i].place] += sign * recycle->entries[i].n;
    }
    if (group->row != UINT32_MAX) {
        recycle->label_kept[group->row] -= sign * group->n;
        recycle->label_given[group->row] += sign * group->n;
        division->kept -= sign * group->n;
        division->given += sign * group->n;
    }
    group->given = !group->given;
}

/* All groups on the side of d. */
static void lay_down(phl_gibbs *gibbs, struct division *division)
{
    phl_state_recycle *recycle = gibbs->recycle;
    division->kept = division->given = 0;
    for (size_t g = 0; g < recycle->n_groups; g++) {
        if (recycle->groups[g].row != UINT32_MAX) {
            recycle->label_kept[recycle->groups[g].row] = 0;
            recycle->label_given[recycle->groups[g].row] = 0;
        }
    }
    for (size_t g = 0; g < recycle->n_groups; g++) {
        phl_recycle_group *group = &recycle->groups[g];
        for (size_t i = group->first; i < group[1].first; i++) {
            recycle->kept[recycle->entries[i].place] += recycle->entries[i].n;
        }
        if (group->row != UINT32_MAX) {
            recycle->label_kept[group->row] += group->n;
            division->kept += group->n;
        }
    }
}

/* Divide: a coin for every group, then scans of Metropolis steps.  The gain over one undivided
 * state with the half base. */
static double divide(phl_gibbs *gibbs, struct division *division, phl_rng *rng)
{
    enum { SCANS = 3 };
    phl_state_recycle *recycle = gibbs->recycle;
    double gain = 0.0;
    lay_down(gibbs, division);
    for (int scan = 0; scan <= SCANS; scan++) {
        for (size_t g = 0; g < recycle->n_groups; g++) {
            phl_recycle_group *group = &recycle->groups[g];
            if (scan == 0 && phl_rng_bounded(rng, 2) == 0) {
                continue;
            }
            double change = gain_of_group(gibbs, group, division, group->given ? -1 : 1);
            if (scan == 0 || phl_partitions_accept(change, 0.0, 1.0, rng)) {
                give_group(gibbs, group, division);
                gain += change;
            }
        }
    }
    return gain;
}

/* ---------------------------------------------------------------------------------------------
 * Merging two states
 * ------------------------------------------------------------------------------------------- */

/* Value b of slot e goes to the block of a; false: its own block may not vanish. */
static phl_status join_values(phl_gibbs *gibbs, uint32_t e, const struct attempt *at, phl_rng *rng,
                              bool *allowed, phl_error *error)
{
    phl_partitions *partitions = gibbs->partitions;
    uint32_t *block = phl_partitions_blocks(partitions, e);
    if (partitions->size[e] == 1 || block[at->a] == block[at->b]) {
        return PHL_OK;
    }
    uint32_t own = block[at->b], size = partitions->size[e], members = 0;
    for (uint32_t q = 0; q <= partitions->states; q++) {
        members += block[q] == own;
    }
    *allowed = members > 1 || phl_partitions_size_allowed(partitions, e, size - 1);
    if (!*allowed) {
        return PHL_OK;
    }
    phl_status status = phl_partition_slot_open(partitions, e, rng, error);
    if (status == PHL_OK) {
        status = phl_partition_slot_own(partitions, size, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_partition_slot_move_value(partitions, at->b, own, block[at->a]);
    block[at->b] = block[at->a];
    if (members == 1) {
        phl_partition_slot_drop_block(partitions, own);
    }
    partitions->changed = true;
    return phl_partition_slot_close(partitions, rng, error);
}

static void join_columns(int64_t *counts, size_t rows, size_t c, const struct attempt *at)
{
    for (size_t r = 0; r < rows; r++) {
        counts[r * c + at->a] += counts[r * c + at->b];
        counts[r * c + at->b] = 0;
    }
}

/* The loss of log-joint when b goes into a: what their own tables say, their parents left out. */
static double loss_of_merge(const phl_gibbs *gibbs, uint32_t a, uint32_t b)
{
    const phl_partitions *partitions = gibbs->partitions;
    size_t c = gibbs->params->states;
    double gain = 0.0;
    int64_t in_a = 0, in_b = 0;
    for (size_t i = 0; i < partitions->n_live; i++) {
        const int64_t *cell = partitions->cells + partitions->live[i] * c;
        if (cell[b] > 0) {
            const phl_rising *rising = &partitions->rising[a];
            gain += phl_rising_get(rising, cell[a] + cell[b]) - phl_rising_get(rising, cell[a]) -
                    phl_rising_get(&partitions->rising[b], cell[b]);
        }
    }
    for (size_t l = 0; l < gibbs->params->slots; l++) {
        const int64_t *row = gibbs->counts.prior + l * c;
        if (row[b] > 0) {
            gain += change_of(&gibbs->prior_rising[0], row[b], row[a], row[b]);
        }
    }
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        const int64_t *row = gibbs->counts.emission + gibbs->label_order[i] * c;
        in_a += row[a];
        in_b += row[b];
        if (row[b] > 0) {
            gain += change_of(&gibbs->emission_rising[0], row[b], row[a], row[b]);
        }
    }
    return gain - change_of(&gibbs->emission_rising[1], in_b, in_a, in_b);
}

/* ---------------------------------------------------------------------------------------------
 * A try
 * ------------------------------------------------------------------------------------------- */

static phl_status save(phl_gibbs *gibbs, phl_error *error)
{
    phl_state_recycle *recycle = gibbs->recycle;
    const phl_partitions *partitions = gibbs->partitions;
    size_t c = gibbs->params->states, slots = (size_t)gibbs->params->slots + 1;
    size_t eligible = partitions->n_eligible;
    const phl_room rooms[] = {
        PHL_ROOM(recycle->cells, recycle->cells_capacity, partitions->n_cells * c),
        PHL_ROOM(recycle->emission, recycle->emission_capacity, gibbs->n_seen * c),
        PHL_ROOM(recycle->prior, recycle->prior_capacity, slots * c),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK) {
        return status;
    }
    memcpy(recycle->cells, partitions->cells, partitions->n_cells * c * sizeof *recycle->cells);
    memcpy(recycle->prior, gibbs->counts.prior, slots * c * sizeof *recycle->prior);
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        memcpy(recycle->emission + i * c, gibbs->counts.emission + gibbs->label_order[i] * c,
               c * sizeof *recycle->emission);
    }
    memcpy(recycle->size, partitions->size, eligible * sizeof *recycle->size);
    memcpy(recycle->block, partitions->block, eligible * (c + 1) * sizeof *recycle->block);
    memcpy(recycle->log_lambda0, gibbs->log_lambda0, c * sizeof *recycle->log_lambda0);
    return PHL_OK;
}

static void take_back(phl_gibbs *gibbs)
{
    const phl_state_recycle *recycle = gibbs->recycle;
    phl_partitions *partitions = gibbs->partitions;
    size_t c = gibbs->params->states, slots = (size_t)gibbs->params->slots + 1;
    size_t eligible = partitions->n_eligible;
    memcpy(partitions->size, recycle->size, eligible * sizeof *recycle->size);
    memcpy(partitions->block, recycle->block, eligible * (c + 1) * sizeof *recycle->block);
    phl_partitions_lay_out(partitions); /* blocks only became fewer: there is room */
    memcpy(partitions->cells, recycle->cells, partitions->n_cells * c * sizeof *recycle->cells);
    phl_partitions_survey_cells(partitions);
    memcpy(gibbs->counts.prior, recycle->prior, slots * c * sizeof *recycle->prior);
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        memcpy(gibbs->counts.emission + gibbs->label_order[i] * c, recycle->emission + i * c,
               c * sizeof *recycle->emission);
    }
    memcpy(gibbs->log_lambda0, recycle->log_lambda0, c * sizeof *recycle->log_lambda0);
    phl_partitions_set_score_base(partitions, gibbs->alpha, gibbs->log_lambda0);
}

/* b into a, for all that step 3 looks at. */
static phl_status merge(phl_gibbs *gibbs, const struct attempt *at, phl_rng *rng, bool *allowed,
                        phl_error *error)
{
    phl_partitions *partitions = gibbs->partitions;
    size_t c = gibbs->params->states;
    phl_status status = PHL_OK;
    for (uint32_t e = 0; status == PHL_OK && *allowed && e < partitions->n_eligible; e++) {
        status = join_values(gibbs, e, at, rng, allowed, error);
    }
    if (status != PHL_OK || !*allowed) {
        return status;
    }
    for (uint32_t e = 0; e < partitions->n_eligible; e++) { /* no child is in b any more */
        uint32_t *block = phl_partitions_blocks(partitions, e);
        block[at->b] = block[at->d];
    }
    join_columns(partitions->cells, partitions->n_cells, c, at);
    join_columns(gibbs->counts.prior, (size_t)gibbs->params->slots + 1, c, at);
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        join_columns(gibbs->counts.emission + gibbs->label_order[i] * c, 1, c, at);
    }
    gibbs->log_lambda0[at->a] = phl_log_add(gibbs->log_lambda0[at->a], gibbs->log_lambda0[at->b]);
    gibbs->log_lambda0[at->d] -= log(2.0);
    gibbs->log_lambda0[at->b] = gibbs->log_lambda0[at->d];
    return PHL_OK;
}

/* What was given to b, in the counts. */
static void use_division(phl_gibbs *gibbs, const struct attempt *at)
{
    const phl_state_recycle *recycle = gibbs->recycle;
    size_t c = gibbs->params->states, cells = gibbs->partitions->n_cells;
    for (size_t g = 0; g < recycle->n_groups; g++) {
        const phl_recycle_group *group = &recycle->groups[g];
        for (size_t i = group->first; group->given && i < group[1].first; i++) {
            size_t place = recycle->entries[i].place;
            int64_t *row = place < cells ? gibbs->partitions->cells + place * c
                                         : gibbs->counts.prior + (place - cells) * c;
            row[at->d] -= recycle->entries[i].n;
            row[at->b] += recycle->entries[i].n;
        }
        if (group->given && group->row != UINT32_MAX) {
            gibbs->counts.emission[group->row * c + at->d] -= group->n;
            gibbs->counts.emission[group->row * c + at->b] += group->n;
        }
    }
    phl_partitions_survey_cells(gibbs->partitions);
}

static phl_status divide_anew(phl_gibbs *gibbs, const struct attempt *at, double log_base,
                              phl_rng *rng, double *gain, phl_error *error)
{
    struct division division = {.kept = 0};
    phl_status status = gather(gibbs, at, error);
    phl_rising_init(&division.half, gibbs->alpha * exp(log_base) / 2.0);
    if (status == PHL_OK) {
        status = phl_rising_reserve(&division.half, 256, error);
    }
    if (status == PHL_OK) {
        *gain = divide(gibbs, &division, rng);
    }
    phl_rising_clear(&division.half);
    return status;
}

/* Is it worth trying?  Estimated by what both states' own tables say. */
static phl_status choose(phl_gibbs *gibbs, struct attempt *at, phl_rng *rng, bool *worth,
                         phl_error *error)
{
    uint32_t c = gibbs->params->states;
    at->kind = (int)phl_rng_bounded(rng, PHL_LABEL_GROUP_KINDS);
    at->b = (uint32_t)phl_rng_bounded(rng, c);
    at->d = (at->b + 1 + (uint32_t)phl_rng_bounded(rng, c - 1)) % c;
    at->a = at->d;
    if (phl_rng_bounded(rng, c) == 0) {
        *worth = true; /* the two states are divided anew */
        return PHL_OK;
    }
    double best = -INFINITY, gain = 0.0;
    for (uint32_t a = 0; a < c; a++) {
        if (a != at->b && a != at->d) {
            double loss = loss_of_merge(gibbs, a, at->b);
            at->a = loss > best ? a : at->a;
            best = loss > best ? loss : best;
        }
    }
    phl_status status = divide_anew(gibbs, at, gibbs->log_lambda0[at->d], rng, &gain, error);
    *worth = best + gain > 0.0;
    return status;
}

/* One try; *spent: portions no longer belong to the counts. */
static phl_status try_once(phl_gibbs *gibbs, uint64_t number, bool *spent, phl_error *error)
{
    struct attempt at;
    phl_rng rng;
    phl_gibbs_rng(gibbs, PHL_PURPOSE_RECYCLE, number, &rng);
    bool worth = false, allowed = true;
    double gain;
    gibbs->recycle->count.tried++;
    phl_status status = choose(gibbs, &at, &rng, &worth, error);
    if (status != PHL_OK || !worth) {
        return status;
    }
    *spent = true;
    double before = phl_gibbs_joint(gibbs);
    double log_base = at.a == at.d ? phl_log_add(gibbs->log_lambda0[at.d], gibbs->log_lambda0[at.b])
                                   : gibbs->log_lambda0[at.d];
    status = save(gibbs, error);
    if (status == PHL_OK) {
        status = merge(gibbs, &at, &rng, &allowed, error);
    }
    if (status == PHL_OK && allowed) {
        status = divide_anew(gibbs, &at, log_base, &rng, &gain, error);
    }
    if (status == PHL_OK && allowed) {
        use_division(gibbs, &at);
        phl_partitions_set_score_base(gibbs->partitions, gibbs->alpha, gibbs->log_lambda0);
        allowed = phl_gibbs_joint(gibbs) >= before;
        gibbs->recycle->count.changed += allowed;
    }
    if (status == PHL_OK && !allowed) {
        take_back(gibbs);
    }
    return status;
}

/* How many of the tries are over after so many iterations. */
static uint64_t tries_until(const phl_gibbs_options *options, uint64_t iteration)
{
    uint64_t held = 2 * options->hold_end; /* what was held needs time to settle */
    uint64_t early = options->recycle_end / 20, end = options->recycle_end;
    uint64_t begin = held > early ? held : early;
    return iteration <= begin ? 0
           : iteration >= end ? options->recycle
                              : options->recycle * (iteration - begin) / (end - begin);
}

phl_status phl_state_recycle_search(phl_gibbs *gibbs, phl_error *error)
{
    const phl_gibbs_options *options = &gibbs->options;
    uint64_t first = tries_until(options, gibbs->iteration);
    uint64_t end = tries_until(options, gibbs->iteration + 1);
    phl_status status = PHL_OK;
    bool spent = options->fixed_partitions || gibbs->params->states < 3 ||
                 gibbs->partitions->prior.fixed != NULL;
    for (uint64_t i = first; status == PHL_OK && !spent && i < end; i++) {
        status = try_once(gibbs, i - first, &spent, error);
    }
    return status;
}
