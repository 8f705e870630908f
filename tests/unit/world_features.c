/* world_features.c - bounded functions of a picture, whose means a step must not move; see
 * world.h. */
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "models.h"

typedef struct feature_list {
    feature *features;
    size_t count;
} feature_list;

static void add(feature_list *list, unsigned on, double value, const char *name, int number)
{
    feature *f = &list->features[list->count++];
    (void)snprintf(f->name, sizeof f->name, number < 0 ? "%s" : "%s %d", name, number + 1);
    f->on = on;
    f->value = value;
}

static double ratio(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static double internal_nodes(const picture *p)
{
    double sum = 0.0;
    for (size_t z = 0; z < p->n_cells; z++) {
        for (int j = 0; j < W_STATES; j++) {
            sum += (double)p->core_count[z][j];
        }
    }
    return sum;
}

/* Features of roots: distinct subtrees that are nothing but roots. */
static void root_features(const picture *p, feature_list *list)
{
    const phl_forest *forest = p->w->forest;
    double n = 0.0, emission = 0.0, base = 0.0, share[W_STATES] = {0}, largest = 0.0;
    double repeated = 0.0, dispersion = 0.0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int64_t roots = 0;
        for (size_t t = 0; t < forest->n_trees; t++) {
            roots += forest->tree_root[t] == s;
        }
        double times = (double)forest->multiplicity[s];
        for (int j = 0; j < W_STATES; j++) {
            double count = (double)p->state[s][j];
            if (roots == forest->multiplicity[s] && forest->label[s] >= 0) {
                n += count;
                emission += count * p->b[j][p->w->label_row[forest->label[s]]];
                base += count * p->lambda0[j];
                share[j] += count;
            }
            dispersion += times > 1 ? count * count / (times * times) : 0.0;
        }
        repeated += times > 1;
    }
    for (int j = 0; j < W_STATES; j++) {
        largest = share[j] > largest ? share[j] : largest;
    }
    add(list, ON_STATES | ON_EMISSION, ratio(emission, n), "b of root labels", -1);
    add(list, ON_STATES | ON_BASE, ratio(base, n), "lambda0 of roots", -1);
    add(list, ON_STATES, ratio(largest, n), "commonest root state", -1);
    add(list, ON_STATES, ratio(dispersion, repeated), "states within a subtree", -1);
}

/* Features of the leaves and of the labels. */
static void table_features(const picture *p, feature_list *list)
{
    double labelled = 0.0, of_label[W_SYMBOLS] = {0}, fit = 0.0, purity = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        for (int x = 0; x < W_SYMBOLS; x++) {
            double count = (double)p->emission_count[j][x];
            labelled += count;
            of_label[x] += count;
            fit += count * p->b[j][x];
        }
    }
    for (int j = 0; j < W_STATES; j++) {
        double share = ratio((double)p->emission_count[j][0], of_label[0]);
        purity += share * share;
    }
    add(list, ON_STATES | ON_EMISSION, ratio(fit, labelled), "b of labels", -1);
    add(list, ON_STATES, purity, "states of label a", -1);
    double mean = 0.0, unseen = 0.0, product = 0.0, norm0 = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        for (int x = 0; x < W_SYMBOLS; x++) {
            mean += ratio(of_label[x], labelled) * p->b[j][x] / W_STATES;
        }
        unseen += p->b[j][W_LABELS] * p->b[j][W_LABELS] / W_STATES;
        product += p->b[j][0] * p->lambda0[j];
        norm0 += p->lambda0[j] * p->lambda0[j];
    }
    double absent = 0.0, apart = 0.0;
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; of_label[x] == 0.0 && j < W_STATES; j++) {
            absent += p->b[j][x] / W_STATES;
            apart += p->b[j][x] * p->b[j][x] / W_STATES;
        }
    }
    add(list, ON_EMISSION, absent, "b of labels the trees do not have", -1);
    add(list, ON_EMISSION, apart, "b of those, squared", -1);
    add(list, ON_EMISSION, mean, "b at the observed frequencies", -1);
    add(list, ON_EMISSION, unseen, "b of the unseen, squared", -1);
    add(list, ON_EMISSION | ON_BASE, product, "b of a times lambda0", -1);
    add(list, ON_BASE, norm0, "lambda0 squared", -1);
    for (int l = 0; l < W_SLOTS; l++) {
        double n = 0.0, sum = 0.0, base = 0.0;
        for (int j = 0; j < W_STATES; j++) {
            n += (double)p->prior_count[l][j];
            sum += (double)p->prior_count[l][j] * p->pi[l][j];
            base += p->pi[l][j] * p->lambda0[j];
        }
        if (n > 0.0) { /* the trees have one there, always or never */
            add(list, ON_STATES | ON_PRIOR, ratio(sum, n), "pi of leaves in slot", l);
        }
        add(list, ON_PRIOR | ON_BASE, base, "pi times lambda0, slot", l);
    }
}

static void core_features(const picture *p, feature_list *list)
{
    double n = internal_nodes(p), fit = 0.0, base = 0.0, product = 0.0, norm = 0.0, purity = 0.0;
    double coupling = 0.0, biggest = 0.0, likely = 0.0, nodes = 0.0;
    for (size_t z = 0; z < p->n_cells; z++) {
        double in_cell = 0.0;
        for (int j = 0; j < W_STATES; j++) {
            double count = (double)p->core_count[z][j];
            in_cell += count;
            fit += count * p->core[z][j];
            base += count * p->lambda0[j];
            product += p->core[z][j] * p->lambda0[j];
            norm += p->core[z][j] * p->core[z][j];
            purity += count * count;
            likely += count > 0 ? count * log(p->core[z][j]) : 0.0;
        }
        biggest = in_cell > biggest ? in_cell : biggest;
    }
    for (int j = 0; j < W_STATES; j++) {
        double in_state = 0.0, labels = 0.0;
        for (size_t z = 0; z < p->n_cells; z++) {
            in_state += (double)p->core_count[z][j];
        }
        for (int x = 0; x < W_SYMBOLS; x++) {
            double count = (double)p->emission_count[j][x];
            likely += count > 0 ? count * log(p->b[j][x]) : 0.0;
            labels += count;
            nodes += count;
        }
        for (int l = 0; l < W_SLOTS; l++) {
            double count = (double)p->prior_count[l][j];
            likely += count > 0 ? count * log(p->pi[l][j]) : 0.0;
        }
        coupling += in_state / n * (double)p->emission_count[j][0] / fmax(labels, 1.0);
    }
    unsigned tables = ON_CORE | ON_PARTITIONS;
    double cells = (double)p->n_cells;
    add(list, ON_STATES | tables, fit / n, "lambda of nodes", -1);
    add(list, ON_STATES | ON_BASE, base / n, "lambda0 of nodes", -1);
    add(list, tables | ON_BASE, product / cells, "lambda times lambda0", -1);
    add(list, tables, norm / cells, "lambda squared", -1);
    add(list, ON_STATES | ON_PARTITIONS, purity / (n * n), "purity of cells", -1);
    add(list, ON_STATES | ON_PARTITIONS, biggest / n, "biggest cell", -1);
    add(list, ON_STATES, coupling, "inner states by label a", -1);
    add(list, ON_STATES | tables | ON_EMISSION | ON_PRIOR, exp(likely / nodes),
        "complete likelihood", -1);
    double a = p->alpha / (1.0 + p->alpha), a0 = p->alpha0 / (1.0 + p->alpha0), norm0 = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        norm0 += p->lambda0[j] * p->lambda0[j];
    }
    if (p->w->prior.update_concentration) {
        add(list, ON_CONCENTRATION, a, "alpha", -1);
        add(list, ON_CONCENTRATION, a0, "alpha0", -1);
        add(list, ON_CONCENTRATION | tables, a * norm / cells, "alpha times lambda squared", -1);
        add(list, ON_CONCENTRATION | ON_BASE, a0 * norm0, "alpha0 times lambda0 squared", -1);
        add(list, ON_CONCENTRATION | ON_BASE, a * norm0, "alpha times lambda0 squared", -1);
        add(list, ON_CONCENTRATION | ON_STATES | ON_PARTITIONS, a * purity / (n * n),
            "alpha times purity", -1);
    }
}

/* Features of one eligible slot: what the portions and the partition say about it. */
static void slot_features(const picture *p, uint32_t e, feature_list *list)
{
    double filled = 0.0, empty = 0.0, same = 0.0, at_empty = 0.0, with_empty = 0.0, together = 0.0;
    double value[W_VALUES] = {0}, n = internal_nodes(p);
    const uint32_t *block = p->block[e];
    for (size_t r = 0; r < p->n_portions; r++) {
        const picture_portion *portion = &p->portion[r];
        for (uint32_t q = 0; q < W_VALUES; q++) {
            double count = portion->margin[e][q];
            value[q] += count;
            if (q < W_STATES) {
                filled += count;
                same += q == portion->state ? count : 0.0;
                with_empty += block[q] == block[W_STATES] ? count : 0.0;
            } else {
                empty += count;
                at_empty += count * p->core[portion->cell][portion->state];
            }
        }
    }
    for (uint32_t q = 0; q < W_VALUES; q++) {
        for (uint32_t r = 0; r < W_VALUES; r++) {
            together += block[q] == block[r] ? value[q] * value[r] / (n * n) : 0.0;
        }
    }
    double members = 0.0;
    for (uint32_t q = 0; q < W_VALUES; q++) {
        members += block[q] == block[W_STATES];
    }
    bool active = p->size[e] > 1;
    int slot = (int)e;
    add(list, ON_STATES | ON_JOINT, ratio(same, filled), "child in its parent's state, slot", slot);
    add(list, ON_PARTITIONS, p->size[e] / (double)W_VALUES, "k of slot", slot);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS, active ? ratio(same, filled) : 0.0,
        "active and child as parent, slot", slot);
    add(list, ON_PARTITIONS, members / W_VALUES, "block of the empty value, slot", slot);
    add(list, ON_STATES | ON_CORE | ON_PARTITIONS, ratio(at_empty, empty), "lambda at empty slot",
        slot);
    add(list, ON_STATES | ON_PARTITIONS, ratio(with_empty, filled), "child with empty, slot", slot);
    add(list, ON_STATES | ON_PARTITIONS, together, "values in one block, slot", slot);
}

/* Features that need the joint values of two slots: each slot is dealt on its own, so the expected
 * number of nodes with two given children is a product of margins over n. */
static void joint_features(const picture *p, feature_list *list)
{
    double n = internal_nodes(p), alike = 0.0, all = 0.0, pairs = 0.0, far = 0.0;
    for (size_t r = 0; r < p->n_portions; r++) {
        const picture_portion *portion = &p->portion[r];
        if (portion->n == 0) {
            continue;
        }
        for (uint32_t q = 0; q < W_STATES; q++) {
            double m1 = portion->margin[0][q], m2 = portion->margin[1][q];
            double m3 = portion->margin[2][q];
            alike += m1 * m2 / (double)portion->n;
            far += m1 * m3 / (double)portion->n;
            all += q == portion->state ? m1 * m2 / (double)portion->n : 0.0;
            for (uint32_t w = 0; w < W_STATES; w++) {
                bool one = p->block[0][q] == p->block[0][w];
                pairs += one ? m1 * portion->margin[1][w] / (double)portion->n : 0.0;
            }
        }
    }
    uint32_t active = 0;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        active += p->size[e] > 1;
    }
    add(list, ON_PARTITIONS, active / (double)W_ELIGIBLE, "active slots", -1);
    add(list, ON_PARTITIONS, (double)p->n_cells / W_CELLS, "cells", -1);
    add(list, ON_STATES | ON_JOINT, alike / n, "siblings 1, 2 alike", -1);
    add(list, ON_STATES | ON_JOINT, far / n, "siblings 1, 3 alike", -1);
    add(list, ON_STATES | ON_JOINT, all / n, "siblings and parent alike", -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS, p->size[0] > 1 ? alike / n : 0.0,
        "slot 1 active, siblings alike", -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS,
        p->size[1] > 1 && p->size[0] == 1 ? alike / n : 0.0, "slot 2 alone active, siblings alike",
        -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS, pairs / n, "siblings 1, 2 in a block of slot 1",
        -1);
}

static void axis_features(const picture *p, uint32_t e, feature_list *list)
{
    double n = internal_nodes(p), fit = 0.0, norm = 0.0, empty = 0.0, at_empty = 0.0, purity = 0.0;
    double overlap = 0.0, emission = 0.0;
    for (int q = 0; q < W_VALUES; q++) {
        for (uint32_t z = 0; z < p->size[e]; z++) {
            double count = (double)p->axis_count[e][q][z], kappa = p->kappa[e][q][z];
            fit += count * kappa;
            norm += kappa * kappa / W_VALUES;
            purity += count * count / (n * n);
            overlap += q < W_STATES ? kappa * p->kappa[e][W_STATES][z] / W_STATES : 0.0;
            emission += q < W_STATES ? kappa * kappa * p->b[q][0] / W_STATES : 0.0;
            if (q == W_STATES) {
                empty += count;
                at_empty += count * kappa;
            }
        }
    }
    int slot = (int)e;
    add(list, ON_STATES | ON_KAPPA, fit / n, "kappa of children, slot", slot);
    add(list, ON_KAPPA, norm, "kappa squared, slot", slot);
    add(list, ON_STATES, purity, "purity of blocks, slot", slot);
    add(list, ON_STATES | ON_KAPPA, ratio(at_empty, empty), "kappa of empty, slot", slot);
    add(list, ON_KAPPA, overlap, "kappa of empty and filled, slot", slot);
    add(list, ON_KAPPA | ON_EMISSION, emission, "kappa squared times b, slot", slot);
}

static void shape_features(const picture *p, feature_list *list)
{
    double p0 = 1.0;
    for (int l = 0; l < W_SLOTS; l++) {
        double n = 0.0, fit = 0.0;
        for (int k = 0; k < 3; k++) {
            n += (double)p->w->shape_count[l][k];
            fit += (double)p->w->shape_count[l][k] * p->shape[l][k];
        }
        p0 *= p->shape[l][0];
        add(list, ON_SHAPE, fit / n, "o of slot", l);
    }
    add(list, ON_SHAPE, p0, "all absent", -1);
    add(list, ON_SHAPE, p->shape[0][0] * (double)p->w->shape_count[0][0] / W_SHAPE_NODES,
        "absent times how often", -1);
    add(list, ON_SHAPE,
        (p->root_kind[0] * (double)p->w->root_count[0] +
         p->root_kind[1] * (double)p->w->root_count[1]) /
            W_SHAPE_TREES,
        "kind of roots", -1);
}

size_t picture_features(const picture *p, feature *features)
{
    feature_list list = {features, 0};
    root_features(p, &list);
    table_features(p, &list);
    core_features(p, &list);
    for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
        if (!p->soft) {
            slot_features(p, e, &list);
        } else if (p->size[e] > 1) {
            axis_features(p, e, &list);
        }
    }
    if (!p->soft) {
        joint_features(p, &list);
    }
    shape_features(p, &list);
    return list.count;
}
