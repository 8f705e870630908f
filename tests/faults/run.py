#!/usr/bin/python3
"""tests/faults/run.py SOURCE [NAME ...] - faults planted in the blocked sampler; each must be caught.

SOURCE is the root of the source tree; how the tests of the sampler (TESTS) are compiled and linked is
taken from a configured meson folder, SOURCE/build or the one after --build.  For every fault src/ is
copied to a temporary folder, the fault is planted there by replacing a piece of text (which must be
found exactly once), the tests are built against it and run, and at least one must fail.  A run without
any fault must pass.  Names choose faults.  TAP on standard output, then a table.  $JOBS faults are
tried at once (default: all cores); FIRST=1 leaves out the tests after the first one that catches a
fault, which is why the invariance test comes twice: with few worlds it is quick and shows most
faults, with all of them it shows the others.  `--fit` only checks that all texts are found.
"""
import concurrent.futures
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

# Test and the flags it is compiled with; the quick ones first.
TESTS = {"label_swap": ("label_swap", []),
         "gibbs_sharing": ("gibbs_sharing", []),
         "few worlds": ("gibbs_invariance", ["-DWORLDS=2000"]),
         "slot_view": ("slot_view", []),
         "partition_chain": ("partition_chain", []),
         "hidden_states": ("hidden_states", []),
         "partition_moves": ("partition_moves", []),
         "gibbs_invariance": ("gibbs_invariance", [])}
PROPORTIONAL = """
    int64_t wanted = n, all = total[y];
    (void)rng;
    for (size_t q = 0; q < c; q++) { out[q] = block[q] == y ? left[q] * n / all : 0; wanted -= out[q]; }
    for (size_t q = 0; q < c; q++) {
        while (wanted > 0 && block[q] == y && out[q] < left[q]) { out[q]++; wanted--; }
    }
    for (size_t q = 0; q < c; q++) { left[q] -= out[q]; }
    total[y] -= n;
    if (n >= 0) { return; }
"""

# Name, then for each edit: file, text, text in its place.  White space may differ.
FAULTS = [
    # The eleven classic ones.
    ("a label not counted",
     ("gibbs/hidden_states.c", "if (label >= 0) { gibbs->counts.emission[gibbs->label_row[label] * c + j] += n;",
      "if (label >= 1) { gibbs->counts.emission[gibbs->label_row[label] * c + j] += n;")),
    ("children swapped in lambda counts",
     ("gibbs/hidden_states.c", "cell += z * slot->axis->stride;",
      "cell += z * node->slot[batch->left - 1 - i].axis->stride;")),
    ("a prior off by 0.3",
     ("gibbs/gibbs_parameters.c", "table[i] = concentration + (double)counts[i];",
      "table[i] = concentration + 0.3 + (double)counts[i];")),
    ("CRT off by one",
     ("gibbs/gibbs_parameters.c", "double drawn = (double)phl_crt_draw_log(",
      "double drawn = 1.0 + (double)phl_crt_draw_log(")),
    ("emissions ignored",
     ("model/tf_upward.c", "emission + phl_emission_row(upward, (uint32_t)s) * c, from,",
      "emission + ((size_t)params->labels + 1) * c, from,")),
    ("lambda before lambda0",
     ("gibbs/gibbs_parameters.c", "draw_base(gibbs); draw_core(gibbs);", "draw_core(gibbs); draw_base(gibbs);")),
    ("wrong slot in pi",
     ("gibbs/hidden_states.c", "gibbs->counts.prior[phl_leaf_row(params, forest->leaf_slot[s]) * c + j] += n;",
      "gibbs->counts.prior[(forest->leaf_slot[s] % params->slots) * c + j] += n;")),
    ("alpha/C instead of alpha lambda0",
     ("gibbs/gibbs_parameters.c", "base[j] = exp(log_alpha + gibbs->log_lambda0[j]);",
      "base[j] = exp(log_alpha) / (double)c;")),
    ("1 % of moves wrong",
     ("gibbs/partition_state.h", "return total >= 0.0 ||",
      "return phl_rng_bounded(rng, 100) == 0 || total >= 0.0 ||")),
    ("the parent factor omitted at one slot",
     ("gibbs/hidden_states.c", "if (number != 0) { divide_blocks(",
      "if (number != 0 && index->pair_row[pair] != 1) { divide_blocks(")),
    ("stale counts",
     ("gibbs/partition_slot.c", "partitions->own_slab[old * c + term->state] -= term->n;",
      "partitions->own_slab[old * c + term->state] -= value == 1 ? 0 : term->n;")),
    # More.
    ("stale totals",
     ("gibbs/partition_slot.c", "partitions->own_slab_total[old] -= table->total;",
      "partitions->own_slab_total[old] -= value == 1 ? 0 : table->total;")),
    ("1 % of reassignments wrong",
     ("gibbs/partition_reassign.c", "(size_t)size + 1); if (place == PHL_NO_OUTCOME",
      "(size_t)size + 1); "
      "if (!alone && phl_rng_bounded(rng, 100) == 0) { place = phl_rng_bounded(rng, size); } "
      "if (place == PHL_NO_OUTCOME")),
    ("Stirling numbers forgotten",
     ("gibbs/partition_state.h", "-partitions->prior.phi * size - phl_stirling_get(",
      "-partitions->prior.phi * size - 0 * phl_stirling_get(")),
    ("wrong Hastings factor in split",
     ("gibbs/partition_split_merge.c", "phl_partitions_accept(split_gain(partitions, y), (members - 2) * log(2.0)",
      "phl_partitions_accept(split_gain(partitions, y), (members - 1) * log(2.0)")),
    ("a value weighed against its own counts",
     ("gibbs/partition_reassign.c", "partitions->slab_total[cell], y == own);",
      "partitions->slab_total[cell], y == own && value != 1);")),
    ("children dealt in proportion",
     ("gibbs/slot_deal.c", "if (n <= FEW) {", PROPORTIONAL + "if (n <= FEW) {")),
    ("many children dealt in proportion",
     ("gibbs/slot_deal.c", "int64_t rest = total[y]; total[y] -= n;",
      PROPORTIONAL + "int64_t rest = total[y]; total[y] -= n;")),
    ("one child in 20 dealt to the first state",
     ("gibbs/slot_deal.c", "int64_t at = (int64_t)phl_rng_bounded(rng, (uint64_t)total[y]--);",
      "int64_t at = (int64_t)phl_rng_bounded(rng, (uint64_t)total[y]--); "
      "at = phl_rng_bounded(rng, 20) == 0 ? 0 : at;")),
    ("children dealt with replacement",
     ("gibbs/slot_deal.c", "left[q]--; out[q]++;", "out[q]++;")),
    ("dealing blind to the parent's state",
     ("gibbs/slot_view.c", "status = add(view, layout->n_rest, c, q, layout->rest[entry->cell], entry->state,",
      "status = add(view, layout->n_rest, c, q, layout->rest[entry->cell], view->entries[0].state,")),
    ("children in two states taken for one",
     ("gibbs/hidden_states.c", "return i < count && counts[i] == n ? i : PHL_MANY;",
      "return i < count && counts[i] + 1 >= n ? i : PHL_MANY;")),
    ("dealt anew with other random numbers",
     ("gibbs/partition_slot.c", "phl_rng again = partitions->open_rng;", "phl_rng again = *rng;")),
    ("the first portions take all",
     ("gibbs/slot_apply.c",
      "int64_t part = rest == 0 ? n : phl_hypergeometric_draw(rng, by_block[y], rest, n);",
      "int64_t part = n < by_block[y] ? n : by_block[y]; (void)rng;")),
    ("portions keep their cells after a reassignment",
     ("gibbs/partition_reassign.c", "partitions->changed = partitions->changed || alone || place == size ||",
      "partitions->changed = partitions->changed || alone || place == size || value == 0 ||"),
     ("gibbs/partition_reassign.c", "partitions->view.first_table[value] != PHL_NO_TABLE; return PHL_OK;",
      "false; return PHL_OK;")),
    ("portions keep their cells after a split",
     ("gibbs/partition_split_merge.c", "block[q] = size; } } partitions->changed = true;",
      "block[q] = size; } }")),
    ("portions keep their cells after a merge",
     ("gibbs/partition_split_merge.c", "phl_partition_slot_drop_block(partitions, w); partitions->changed = true;",
      "phl_partition_slot_drop_block(partitions, w);")),
    ("slabs not moved when a block is dropped",
     ("gibbs/partition_slot.c", "if (gone != last) {", "if (gone != last && gone != 0) {")),
    ("a new block with old counts",
     ("gibbs/partition_slot.c", "memset(partitions->own_slab + size * rests * c, 0, rests * c *",
      "memset(partitions->own_slab + size * rests * c, 0, (rests - 1) * c *")),
    ("live cells not surveyed",
     ("gibbs/partition_slot.c", "phl_partitions_survey_cells(partitions); return PHL_OK;", "return PHL_OK;")),
    ("a pair's children not reset",
     ("gibbs/hidden_states.c", "memset(tally->count, 0, c * sizeof *tally->count);",
      "memset(tally->count, 0, (c - 1) * sizeof *tally->count);")),
    ("children counted as roots too",
     ("gibbs/slot_pairs.c", "pairs->free_times[forest->links[k].child] -= (int64_t)times[s];",
      "pairs->free_times[forest->links[k].child] -= times[s] > 1.0 ? 0 : (int64_t)times[s];")),
    ("bottom value ignored",
     ("gibbs/partition_split_merge.c", "if (partitions->moved[q] && allowed) {",
      "if (partitions->moved[q] && allowed && q < partitions->states) {")),
    ("empty slots not counted",
     ("gibbs/slot_view.c", "if (view->empty[rest * c + j] > 0) {",
      "if (view->empty[rest * c + j] > 1) {")),
    ("layout of the core reversed",
     ("gibbs/partitions.c",
      "for (uint32_t e = partitions->n_eligible; e-- > 0;) { partitions->stride[e]",
      "for (uint32_t e = 0; e < partitions->n_eligible; e++) { partitions->stride[e]")),
    ("proposals tempered too",
     ("gibbs/partition_state.h", "log_ratio / temperature + log_proposal",
      "(log_ratio + log_proposal) / temperature")),
    ("occurrences of a subtree in one state",
     ("gibbs/hidden_states.c", "double rest = weights[top] < total ? total - weights[top] : 0.0;",
      "double rest = weights[top] < total ? total - weights[top] : 0.0; "
      "if (n > 1) { return (uint32_t)phl_categorical_draw_total(rng, weights, count, total); }")),
    ("occurrences divided: a binomial weight off",
     ("gibbs/hidden_states.c", "(double)(n - others + 1) / (double)others",
      "(double)(n - others) / (double)others")),
    ("occurrences divided: the bound too high",
     ("gibbs/hidden_states.c", "if (u > 1.0 - times * r) {", "if (u > 1.0 - 0.8 * times * r) {")),
    ("a label of a lone subtree not counted",
     ("gibbs/hidden_states.c", "if (label >= 0) { gibbs->counts.emission[gibbs->label_row[label] * gibbs->",
      "if (label >= 1) { gibbs->counts.emission[gibbs->label_row[label] * gibbs->")),
    ("wrong slot in pi of a lone subtree",
     ("gibbs/hidden_states.c", "gibbs->counts.prior[phl_leaf_row(params, leaf_slot) * params->states + j]++;",
      "gibbs->counts.prior[(leaf_slot % params->slots) * params->states + j]++;")),
    ("the state of a lone subtree by a wrong total",
     ("gibbs/hidden_states.c", "weights = gibbs->weights; total = gibbs->upward->message[",
      "weights = gibbs->weights; total = 0.5 + 0.5 * gibbs->upward->message[")),
    ("cells weighed without a message",
     ("gibbs/cell_draw.c", "sum += m[z] * phl_lanes_at(in + z * slot->step + r);",
      "sum += (i == 0 ? m[0] : m[z]) * phl_lanes_at(in + z * slot->step + r);")),
    ("cells drawn by the sums of another iteration",
     ("gibbs/cell_draw.c", "if (status == PHL_OK) { forget(cell_draw); }",
      "if (status == PHL_OK && cell_draw->used == 0) { forget(cell_draw); }")),
    ("cells drawn from the core of another iteration",
     ("gibbs/cell_draw.c", "memset(cell_draw->set_place, 0, cell_draw->n_sets * c *",
      "memset(cell_draw->set_place, 0, cell_draw->n_sets * (c - 1) *")),
    ("a block drawn by the target of the slot after it",
     ("gibbs/cell_draw.h", "*target /= m[z];", "")),
    ("twins of any label",
     ("model/twins.c", "bool same = label[first[group]] == label[s];", "bool same = true; (void)label;"),
     ("model/twins.c", "(uint64_t)forest->label[n_leaves + i] * LABEL_FACTOR;", "0;")),
    ("twins kept when another slot becomes active",
     ("model/twins.c", "same = twins->slots[a] == params->axes[a].slot;", "same = true;")),
    ("occurrences of a subtree in one block",
     ("gibbs/hidden_states.c", "uint32_t one = divide(batch.n, gibbs->weights, size, batch.total, 0, rng, drawn);",
      "uint32_t one = (uint32_t)phl_categorical_draw_total(rng, gibbs->weights, size, batch.total);")),
    ("many occurrences of a subtree by wrong weights of blocks",
     ("gibbs/hidden_states.c", "gibbs->weights[z] = slot->m[z] *",
      "gibbs->weights[z] = (z == 0 ? 1.1 : 1.0) * slot->m[z] *")),
    ("most active slots not heeded",
     ("gibbs/partitions.c", "active >= prior->slots_min && active <= prior->slots_max &&",
      "active >= prior->slots_min &&")),
    ("absent labels weigh as one",
     ("gibbs/gibbs_parameters.c", ": beta * (double)(rows - seen);", ": beta;")),
    ("absent labels share evenly",
     ("gibbs/gibbs_parameters.c", "parameters[i - seen] = gibbs->options.beta;",
      "parameters[i - seen] = 1e9 * gibbs->options.beta;")),
    ("pi of slots without leaves left flat",
     ("gibbs/gibbs_parameters.c", "draw_prior(gibbs, false);", "")),
    ("rejected shapes not added",
     ("gibbs/gibbs_parameters.c", "(i % 3 == 0 ? rejected : 0.0)", "(i % 3 == 0 ? 0.0 * rejected : 0.0)")),
    ("alpha: Beta(alpha, n)",
     ("gibbs/gibbs_parameters.c", "phl_log_beta_draw(&rng, gibbs->alpha + 1.0, total,",
      "phl_log_beta_draw(&rng, gibbs->alpha, total,")),
    ("alpha0: Jacobian forgotten",
     ("gibbs/gibbs_parameters.c", "- alpha0 + log_alpha0;", "- alpha0;")),
    ("soft: empty slots not counted",
     ("gibbs/hidden_states.c", "gibbs->counts.kappa[a][gibbs->params->states * slot->axis->size + z] += n;",
      "gibbs->counts.kappa[a][gibbs->params->states * slot->axis->size] += n;")),
    ("soft: delta instead of delta/k",
     ("gibbs/gibbs_parameters.c", "gibbs->options.delta / axis->size,", "gibbs->options.delta,")),
    ("carry without the choice of slots",
     ("gibbs/partition_carry.c", "pick_slot(partitions, false, phl_rng_bounded(rng, inactive));",
      "pick_slot(partitions, false, 0 * phl_rng_bounded(rng, inactive));")),
    ("carry to cells of before",
     ("gibbs/partition_carry.c", "block[table->value] * layout->n_rest + layout->rest[table->rest];",
      "block[table->value] * layout->n_rest + table->rest % layout->n_rest;")),
    # Children dealt by units.
    ("a place given to two children",
     ("gibbs/slot_deal.c", "while (view->taken[place / 64] >> place % 64 & 1) {", "while (false) {")),
    ("places drawn but the last",
     ("gibbs/slot_deal.c", "uint32_t place = phl_halves_bounded(&halves, times);",
      "uint32_t place = phl_halves_bounded(&halves, times - 1);")),
    ("the first state taken for that of most",
     ("gibbs/slot_deal.c", "q == most ? 0 : value[q];", "q == 0 ? 0 : value[q];")),
    ("portions scattered by another state of most",
     ("gibbs/slot_apply.c", "most = phl_slot_deal_most(value, c);", "most = 0;")),
    ("the parent at a place off by one",
     ("gibbs/slot_deal.c", "if (end[middle] > place) {", "if (end[middle] > place + 1) {")),
    ("the portion at a place off by one",
     ("gibbs/slot_deal.c", "place >= counts->portion[r].n; r = counts->portion[r].next",
      "place > counts->portion[r].n; r = counts->portion[r].next")),
    ("a card drawn twice",
     ("gibbs/slot_deal.c", "view->deck[at] = view->deck[--left];", "left--;")),
    ("the first card stays",
     ("gibbs/slot_deal.c", "uint32_t at = phl_halves_bounded(&halves, left);",
      "uint32_t at = left > 1 ? 1 + phl_halves_bounded(&halves, left - 1) : 0;")),
    ("an active slot scattered",
     ("gibbs/slot_deal.c", "if (!inactive || times > LARGEST) {",
      "if (!inactive) { return PHL_SLOT_SCATTERED; } if (times > LARGEST) {")),
    ("an active slot dealt singly",
     ("gibbs/slot_deal.c", "if (!inactive || times > LARGEST) {",
      "if (!inactive) { return PHL_SLOT_SINGLY; } if (times > LARGEST) {")),
    ("units counted with most too",
     ("gibbs/slot_view.c", "view->count[(number - 1) * c + portion->state]--;", "(void)number;")),
    ("a portion moved as a whole",
     ("gibbs/slot_apply.c", "if (portion->n == 1) { view->new_cell[r] = cell;",
      "if (portion->n >= 1) { view->new_cell[r] = cell;")),
    ("a portion copied, not cut",
     ("gibbs/slot_apply.c", "portion->n--; return phl_state_counts_add(", "return phl_state_counts_add(")),
    ("the first unit stays with most",
     ("gibbs/slot_apply.c", "if (y != place->block[most]) {", "if (y != place->block[most] && u > 0) {")),
    ("units stay in block 0",
     ("gibbs/slot_apply.c", "stays = y; view->new_cell[r]", "stays = 0; view->new_cell[r]")),
    # States of occurrences, and the likely outcomes of twins.
    ("a guess taken unseen",
     ("gibbs/hidden_states.c", "if (guess < count && weights[guess] > 0.5 * total) {", "if (guess < count) {")),
    ("occurrences of one state forgotten when another comes",
     ("gibbs/hidden_states.c", "tally->count[tally->n == 0 ? 0 : tally->one] = tally->n;", "")),
    ("the largest among the others",
     ("gibbs/hidden_states.c", "sum += i == top ? 0.0 : weights[i]; if (i != top && weights[i] > 0.0) {",
      "sum += weights[i]; if (weights[i] > 0.0) {")),
    ("a run one too long",
     ("gibbs/likely_outcome.c", "double run = floor(log(", "double run = ceil(log(")),
    ("one run only",
     ("gibbs/hidden_states.c", "likely->run = phl_likely_outcome_run(likely->odd, rng);", "")),
    ("odd by state alone",
     ("gibbs/likely_outcome.c", "group->odd = group->odd_state + beta[best] * rest;",
      "group->odd = group->odd_state;")),
    ("other cells only if no other state",
     ("gibbs/hidden_states.c", "if (phl_rng_uniform(rng) * likely->odd < likely->odd_state) {",
      "if (likely->odd_state > 0.0) {")),
    ("the likely cell among the others",
     ("gibbs/likely_outcome.c", "group->width = width;", "group->width = 0.0;")),
    ("the likely cell taken for the first",
     ("gibbs/likely_outcome.c", "group->begin = begin;", "group->begin = 0.0;")),
    ("where the likely cell begins, not scaled",
     ("gibbs/likely_outcome.c", "begin += passed * scale;", "begin += passed;")),
    ("likely outcomes of another iteration",
     ("gibbs/hidden_states.c", "status = phl_likely_outcome_prepare(&gibbs->likely, gibbs->upward, error);",
      "status = gibbs->iteration > 1000 && gibbs->iteration % 2 == 1 "
      "? PHL_OK : phl_likely_outcome_prepare(&gibbs->likely, gibbs->upward, error);")),
    ("likely outcomes in an active slot",
     ("gibbs/hidden_states.c", "return active || gibbs->params->soft ||", "return gibbs->params->soft ||")),
    ("likely blocks by number, not by slot",
     ("gibbs/likely_outcome.c", "block[slot->axis - cell_draw->axis] = (uint32_t)z;", "block[i] = (uint32_t)z;")),
    ("likely blocks shown by the first twin's children",
     ("gibbs/hidden_states.c", "twins->seen + (s - twins->n_leaves) * twins->n_slots;",
      "twins->seen + (twins->first[twins->group[s]] - twins->n_leaves) * twins->n_slots;")),
    ("slots in the wrong order in the cells to choose from",
     ("gibbs/cell_draw.c", "cell[count] = cell[count - slot->step] + slot->axis->stride;",
      "cell[count] = cell[count - slot->step] + node->slot[node->n - 1 - i].axis->stride;")),
    ("cells to choose from, of other slots",
     ("gibbs/cell_draw.c", "set |= slot[i].axis->bit;", "")),
    ("twins of any children",
     ("model/twins.c", "same = key[a] == other[a];", "same = (key[a] == NONE) == (other[a] == NONE);"),
     ("model/twins.c", "hash[child->parent] += (of + (uint64_t)1) * factor;",
      "hash[child->parent] += factor + 0 * of;")),
    ("the upward pass of before the parameters",
     ("gibbs/gibbs_parameters.c", "gibbs->expanded = gibbs->passed = false;", "gibbs->expanded = false;")),
    ("tables by alpha/C",
     ("gibbs/gibbs_parameters.c", "log_base[j] = log_alpha + gibbs->log_lambda0[j];",
      "log_base[j] = log_alpha - log((double)c);")),
    # States recycled.
    ("recycle: kept whatever comes out",
     ("gibbs/state_recycle.c", "allowed = phl_gibbs_joint(gibbs) >= before;", "allowed = true;")),
    ("recycle: the base is not taken back",
     ("gibbs/state_recycle.c", "memcpy(gibbs->log_lambda0, recycle->log_lambda0, c * sizeof *recycle->log_lambda0);", "")),
    ("recycle: labels are not taken back",
     ("gibbs/state_recycle.c",
      "memcpy(gibbs->counts.emission + gibbs->label_order[i] * c, recycle->emission + i * c, c * sizeof *recycle->emission);",
      "")),
    ("recycle: blocks are not taken back",
     ("gibbs/state_recycle.c",
      "memcpy(partitions->block, recycle->block, eligible * (c + 1) * sizeof *recycle->block); phl_partitions_lay_out",
      "phl_partitions_lay_out")),
    ("recycle: leaves of b stay in b",
     ("gibbs/state_recycle.c", "join_columns(gibbs->counts.prior, (size_t)gibbs->params->slots + 1, c, at);", "")),
    ("recycle: cells of b stay with b",
     ("gibbs/state_recycle.c", "join_columns(partitions->cells, partitions->n_cells, c, at);", "")),
    ("recycle: parents of b stay in its block",
     ("gibbs/state_recycle.c", "phl_partition_slot_move_value(partitions, at->b, own, block[at->a]);", "")),
    ("recycle: b is not put into the blocks of d",
     ("gibbs/state_recycle.c", "block[at->b] = block[at->d];", "(void)block;")),
    ("recycle: the base of d is not halved",
     ("gibbs/state_recycle.c", "gibbs->log_lambda0[at->d] -= log(2.0);", "")),
    ("recycle: labels do not follow their nodes",
     ("gibbs/state_recycle.c", "gibbs->counts.emission[group->row * c + at->b] += group->n;",
      "gibbs->counts.emission[group->row * c + at->d] += group->n;")),
    ("recycle: the nodes that came from b are not divided",
     ("gibbs/state_recycle.c", "if (at->a == at->d) {", "if (false) {")),
    ("recycle: cells of two states are one",
     ("gibbs/state_recycle.c", "if (portion[r].state == state) {", "if (portion[r].state == state || state == 0) {")),
    ("recycle: tries after the warm-up",
     ("gibbs/state_recycle.c", ": iteration >= end ? options->recycle", ": iteration >= 2 * end ? options->recycle")),
    ("recycle: confines of the partitions forgotten",
     ("gibbs/state_recycle.c", "*allowed = members > 1 || phl_partitions_size_allowed(partitions, e, size - 1);",
      "*allowed = true;")),
    # Label swaps.
    ("swap: parents do not move",
     ("gibbs/label_swap.c", "shift_parents(gibbs, pair, e, at);", "")),
    ("swap: only from the one block to the other",
     ("gibbs/label_swap.c", "shown == block[at->a] ? step : -step;", "shown == block[at->a] ? step : 0;")),
    ("swap: uncertain parents moved all the same",
     ("gibbs/label_swap.c", "if (!is_certain(gibbs, pair, block, at)) {", "if (false && !is_certain(gibbs, pair, block, at)) {")),
    ("swap: labels left out of the ratio",
     ("gibbs/label_swap.c", "if (emission != NULL && at->moved != 0) {",
      "if (emission != NULL && at->moved > NODES_OF_NO_TREE) {"),
     ("gibbs/label_swap.c", "enum { LISTED = 1, FLIPPED = 2 };",
      "enum { LISTED = 1, FLIPPED = 2, NODES_OF_NO_TREE = 1 << 30 };")),
    ("swap: totals of b with the wrong sign",
     ("gibbs/label_swap.c", "step_of(all, swap->totals[at->b], at->moved);",
      "step_of(all, swap->totals[at->b], -at->moved);")),
    ("swap: leaves left out of the ratio",
     ("gibbs/label_swap.c", "gain += step_of(each, row[at->a], -change) + step_of(each, row[at->b], change);",
      "gain += 0.0 * (double)(row[0] + change);")),
    ("swap: cells without their totals",
     ("gibbs/label_swap.c", "gain -= step_of(&partitions->rising_total, partitions->totals[cell], total);", "")),
    ("swap: b is mostly the state after a",
     ("gibbs/label_swap.c", "at.b = (at.a + 1 + (uint32_t)phl_rng_bounded(rng, c - 1)) % c;",
      "at.b = (at.a + 1 + (uint32_t)phl_rng_bounded(rng, c - 1) * (uint32_t)phl_rng_bounded(rng, 2)) % c;")),
    ("swap: children of pairs stay as they were",
     ("gibbs/label_swap.c", "exchange(counts->value + pair * c, at);", "")),
    ("swap: a nested node keeps its state",
     ("gibbs/label_swap.c", "list_portion(gibbs->swap, r); gibbs->swap->mark[r] |= FLIPPED;",
      "list_portion(gibbs->swap, r); gibbs->swap->mark[r] |= portion[r].n > 1 ? FLIPPED : LISTED;")),
    ("swap: totals of labels not kept up to date",
     ("gibbs/label_swap.c", "swap->totals[at->a] -= at->moved;", "")),
    ("swap: changes of one leaf row stay behind",
     ("gibbs/label_swap.c", "swap->prior_change[swap->rows[i]] = 0;", "")),
    # The draws below it all, as far as its tests see them; they have tests of their own.
    ("an urn with replacement",
     ("base/sampler.c", "phl_halves_bounded(&halves, total) < left;",
      "phl_halves_bounded(&halves, total) < good;")),
    ("bounds of outcomes not divided by the total",
     ("base/sampler.c", "bound[i] /= total;", "")),
    ("gamma rows: shapes below 1 from shape 1",
     ("base/dirichlet.c", "d[j] = (a < 1 ? a + 1 : a) - 1.0 / 3;",
      "d[j] = (a < 1 ? 1.0 : a) - 1.0 / 3;")),
    ("gamma draws: small shapes kept unseen",
     ("base/dirichlet.c", "if (s <= 1 - x || s < exp(-x)) {", "if (true) {")),
]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def commands_of(build, test):
    """How ninja makes a test: {source: (command, output)} of what is compiled, and the link command."""
    done = run(["ninja", "-C", build, "-t", "commands", f"tests/unit/test_{test}"])
    if done.returncode != 0:
        sys.exit(f"{build} does not know how to make test_{test}:\n{done.stdout}{done.stderr}")
    compiled, link = {}, None
    for line in done.stdout.splitlines():
        words = shlex.split(line)
        if "-c" in words:
            source = os.path.normpath(os.path.join(build, words[words.index("-c") + 1]))
            compiled[source] = (words, words[words.index("-o") + 1])
        elif "-o" in words:
            link = words
    return compiled, link


def moved(word, root, base, build):
    """A word of a command that ninja runs in the build folder, for the copy of the sources in base."""
    flag, path = ("-I", word[2:]) if word.startswith("-I") else ("", word)
    whole = os.path.normpath(os.path.join(build, path))
    inside = whole.startswith(root + os.sep) and not whole.startswith(build + os.sep)
    return flag + (base + whole[len(root):] if inside and os.path.exists(whole) else
                   whole if flag else word)


class Build:
    """Compile and link commands of the tests, for sources that were copied to `base`."""

    def __init__(self, root, build, base):
        self.base, self.commands, self.links, self.needs = base, {}, {}, {}
        for test, (program, flags) in TESTS.items():
            compiled, link = commands_of(build, program)
            self.links[test] = [word for word in link if not word.endswith((".a", ".o"))]
            self.needs[test] = []
            for source, (words, _) in compiled.items():
                name = os.path.relpath(source, root)  # src/gibbs/gibbs.c
                own = flags if name.startswith("tests/") else []
                key = (name, *own)
                self.needs[test].append(key)
                self.commands[key] = [moved(word, root, base, build) for word in words] + own

    def compile(self, key, output, sources):
        """Compile one file (name and own flags), src/ taken from the folder `sources`."""
        words = [sources + word[len(self.base):] if word.startswith(f"{self.base}/src") else
                 f"-I{sources}/src" if word == f"-I{self.base}/src" else word
                 for word in self.commands[key]]
        for option, value in (("-o", output), ("-MF", os.devnull)):
            if option in words:
                words[words.index(option) + 1] = value
        done = run(words)
        if done.returncode != 0:
            sys.exit(f"cannot compile {key[0]}:\n{done.stderr}")

    def compile_all(self, jobs):
        objects = {key: f"{self.base}/{''.join(key).replace('/', '-')}.o" for key in self.commands}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda key: self.compile(key, objects[key], self.base), objects))
        return objects

    def link(self, test, objects, program):
        words = list(self.links[test])
        words[words.index("-o") + 1] = program
        at = words.index("-o") + 2
        done = run(words[:at] + [objects[key] for key in self.needs[test]] + words[at:])
        if done.returncode != 0:
            sys.exit(f"cannot link {test}:\n{done.stderr}")


def plant(text, old, new, what):
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if len(re.findall(pattern, text)) != 1:
        sys.exit(f"fault '{what}': found {len(re.findall(pattern, text))} times, expected once: {old}")
    return re.sub(pattern, lambda _: new, text)


def limit_time():
    """A minute of work, however busy the machine is; a test needs twenty seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def summary(done):
    """What a test said, in a few words."""
    if done.returncode == 0:
        return "passed"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timed out"
    text = done.stdout + done.stderr
    if done.returncode < 0:
        return f"crashed (signal {-done.returncode})"
    zs = [(abs(float(z)), feature, step) for step, feature, z in
          re.findall(r"^  \w+, ([^:]+): feature '([^']+)' z = (-?[\d.]+)", text, re.M)]
    faults = sum(int(n) for n in re.findall(r"(\d+) states of the sampler were inconsistent", text))
    words = [f"|z| {max(zs)[0]:.0f} ({max(zs)[2]}: {max(zs)[1]})"] if zs else []
    words += [f"{faults} inconsistent states"] if faults else []
    errors = re.findall(r"^(?:\[ +ERROR +\] --- |ERROR: )(?!\[)(.*\S)$", text, re.M)
    errors = [re.sub(r"^.*(chance [^ ,]+|which is impossible)$", r"\1", line) for line in errors]
    return "; ".join(words) or (errors or (done.stderr.splitlines() or ["failed"])[-1:])[0][:70]


def try_fault(build, objects, name, edits):
    with tempfile.TemporaryDirectory(prefix="phloem-fault-") as folder:
        shutil.copytree(f"{build.base}/src", f"{folder}/src")
        objects = dict(objects)
        for file, old, new in edits:
            path = f"{folder}/src/{file}"
            with open(path, encoding="utf-8") as stream:
                text = plant(stream.read(), old, new, name)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        changed = {("src/" + edit[0],) for edit in edits}
        if any(key[0].endswith(".h") for key in changed):  # whoever includes it
            changed |= {key for key in objects if key[0].startswith("src/gibbs/")}
        for key in sorted(key for key in changed if key[0].endswith(".c")):
            objects[key] = f"{folder}/{key[0].replace('/', '-')}.o"
            build.compile(key, objects[key], folder)
        said = []
        for test in TESTS:
            build.link(test, objects, f"{folder}/{test}")
            said.append(summary(run([f"{folder}/{test}"], preexec_fn=limit_time)))
            if os.environ.get("FIRST") and said[-1] != "passed":
                break
        return name, said + ["not run"] * (len(TESTS) - len(said))


def main():
    words = sys.argv[1:]
    fit = "--fit" in words
    words = [word for word in words if word != "--fit"]
    build = None
    if "--build" in words:
        at = words.index("--build")
        build = words[at + 1]
        del words[at:at + 2]
    root = os.path.realpath(words[0])
    build = os.path.realpath(build or f"{root}/build")
    names = words[1:]
    chosen = [fault for fault in FAULTS if not names or fault[0] in names]
    jobs = int(os.environ.get("JOBS", os.cpu_count()))
    with tempfile.TemporaryDirectory(prefix="phloem-faults-") as base:
        for folder in ["src", "include", "tests/unit"]:  # the source may change while this runs
            shutil.copytree(f"{root}/{folder}", f"{base}/{folder}")
        for name, *edits in chosen:  # all patterns first: they are stale as soon as the source changes
            for file, old, new in edits:
                with open(f"{base}/src/{file}", encoding="utf-8") as stream:
                    plant(stream.read(), old, new, name)
        if fit:
            return
        commands = Build(root, build, base)
        objects = commands.compile_all(jobs)
        table = []
        print(f"1..{len(chosen) + 1}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            tries = [pool.submit(try_fault, commands, objects, "no fault", [])]
            tries += [pool.submit(try_fault, commands, objects, name, edits)
                      for name, *edits in chosen]
            for number, done in enumerate(tries, 1):
                name, said = done.result()
                caught = any(words not in ("passed", "not run") for words in said)
                good = caught == (name != "no fault")
                table.append((name, "caught" if caught else "passed", *said))
                print(f"{'ok' if good else 'not ok'} {number} - {name}: {' | '.join(said)}", flush=True)
    table.insert(0, ("fault", "", *TESTS))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("# " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
