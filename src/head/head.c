/* head.c - a linear classifier on features of trees; see head.h. */
#include "head/head.h"

#include <math.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "head/logistic.h"

void phl_head_free(phl_head *head)
{
    if (head != NULL) {
        phl_features_free(head->features);
        phl_free(head->weights);
        phl_free(head->choices);
        phl_free(head);
    }
}

void phl_head_log_posterior(const phl_head *head, const phl_feature_row *row, double *values,
                            double *log_posterior)
{
    const phl_dictionary *dictionary = &head->features->dictionary;
    size_t at = 0;
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        size_t end = phl_dictionary_first(dictionary, g + 1);
        for (; at < row->n && row->feature[at] < end; at++) {
            values[at] = phl_feature_index_value(row, g, row->count[at], head->features->groups);
        }
    }
    phl_logistic_scores(head->weights, phl_features_count(head->features), head->n_classes, row->n,
                        row->feature, values, log_posterior);
    for (size_t k = 0; k < head->n_classes; k++) {
        log_posterior[k] /= head->temperature;
    }
    (void)phl_log_normalise(log_posterior, head->n_classes);
}

void phl_head_summarise(const phl_head *head, phl_head_summary *summary)
{
    *summary = (phl_head_summary){
        .groups = head->features->groups,
        .n_features = phl_features_count(head->features),
        .c = head->n_choices > 0 ? head->choices[head->chosen].c : (double)NAN,
        .temperature = head->temperature,
        .trees = head->trees,
        .distinct_trees = head->rows,
        .passes = head->passes,
        .gap = head->gap,
        .log_loss = head->log_loss,
        .n_folds = head->n_folds,
        .n_choices = head->n_choices,
        .choices = head->choices,
        .chosen = head->chosen,
    };
}

const phl_features *phl_head_features(const phl_head *head)
{
    return head->features;
}

const double *phl_head_weights(const phl_head *head, size_t feature)
{
    return feature <= phl_features_count(head->features) ? head->weights + feature * head->n_classes
                                                         : NULL;
}
