/* validations.c - what came out of a cross-validation; see validations.h. */
#include "print/validations.h"
#include "print/terminal.h"

#include <math.h>
#include <string.h>

/* ---- words ---- */

static const char *model_name(const phl_choice_result *choice)
{
    return choice->kind == PHL_NO_KIND ? "classifier" : phl_kind_name(choice->kind);
}

static const char *head_name(const phl_choice_result *choice)
{
    return choice->head == PHL_HEAD_LINEAR ? "linear" : "none";
}

const char *validation_prior_name(phl_class_prior prior)
{
    static const char *const names[] = {"uniform", "empirical", "learned", "chosen"};
    return names[prior];
}

/* In what the choices differ. */
typedef struct differences {
    bool model, head, prior;
} differences;

static differences find_differences(const phl_cross_validation *result)
{
    differences found = {false, false, false};
    for (size_t i = 1; i < result->n_choices; i++) {
        const phl_choice_result *a = &result->choices[0], *b = &result->choices[i];
        found.model = found.model || a->kind != b->kind;
        found.head = found.head || a->head != b->head;
        found.prior = found.prior || a->prior != b->prior;
    }
    return found;
}

void validation_describe(const phl_cross_validation *result, size_t choice, bool whole, char *text,
                         size_t size)
{
    const phl_choice_result *c = &result->choices[choice];
    differences differ = find_differences(result);
    char states[80] = "";
    bool alone = c->kind == PHL_NO_KIND;
    if (!alone) {
        number_of(c->states, "state", "states", states, sizeof states);
    }
    bool model = whole || differ.model, head = (whole || differ.head) && !alone;
    snprintf(text, size, "%s%s%s%s%s%s%s", model && !alone ? "model " : "",
             alone   ? "linear classifier"
             : model ? model_name(c)
                     : "",
             model && !alone ? ", " : "", states,
             !head                        ? ""
             : c->head == PHL_HEAD_LINEAR ? ", linear head"
                                          : ", no head",
             differ.prior ? ", class prior " : "",
             differ.prior ? validation_prior_name(c->prior) : "");
}

/* ---- the table ---- */

static void mean_and_se(double scale, int decimals, double mean, double se, char *text)
{
    if (isnan(mean)) {
        snprintf(text, TABLE_CELL, "-");
    } else {
        snprintf(text, TABLE_CELL, "%.*f (%.*f)", decimals, scale * mean, decimals, scale * se);
    }
}

static void print_row(text_table *table, const phl_cross_validation *result, differences differ,
                      size_t i)
{
    const phl_choice_result *c = &result->choices[i];
    char states[NUMBER_SIZE], accuracy[TABLE_CELL], entropy[TABLE_CELL], loss[TABLE_CELL];
    char likelihood[TABLE_CELL];
    const char *cells[9];
    size_t n = 0;
    if (result->n_choices > 1) {
        cells[n++] = i == result->winner   ? i == result->chosen ? "best, chosen" : "best"
                     : i == result->chosen ? "chosen"
                     : c->is_near          ? "near"
                                           : "";
    }
    if (differ.model) {
        cells[n++] = model_name(c);
    }
    cells[n++] = c->kind == PHL_NO_KIND ? "-" : number_grouped(c->states, states);
    if (differ.head) {
        cells[n++] = head_name(c);
    }
    if (differ.prior) {
        cells[n++] = validation_prior_name(c->prior);
    }
    mean_and_se(100, 2, c->accuracy_mean, c->accuracy_se, accuracy);
    mean_and_se(1, 4, c->entropy_mean, c->entropy_se, entropy);
    mean_and_se(1, 4, c->log_loss_mean, c->log_loss_se, loss);
    mean_and_se(1, 4, c->log_likelihood_mean, c->log_likelihood_se, likelihood);
    if (result->per_class) {
        cells[n++] = accuracy;
        cells[n++] = entropy;
        cells[n++] = loss;
    }
    cells[n++] = likelihood;
    table_row(table, cells);
}

static void print_rows(const phl_cross_validation *result)
{
    differences differ = find_differences(result);
    const char *cells[9];
    text_table table;
    size_t n = 0;
    if (result->n_choices > 1) {
        cells[n++] = "";
    }
    if (differ.model) {
        cells[n++] = "model";
    }
    cells[n++] = "states";
    if (differ.head) {
        cells[n++] = "head";
    }
    if (differ.prior) {
        cells[n++] = "class prior";
    }
    if (result->per_class) {
        cells[n++] = "accuracy %";
        cells[n++] = "entropy bits";
        cells[n++] = "log-loss nats";
    }
    cells[n++] = "log-likelihood / node";
    table_begin(&table, n);
    table_row(&table, cells);
    for (size_t i = 0; i < result->n_choices; i++) {
        print_row(&table, result, differ, i);
    }
    table_end(&table, stdout, 2);
}

void validation_print(const phl_cross_validation *result)
{
    char folds[80], words[160];
    number_of(result->n_folds, "fold", "folds", folds, sizeof folds);
    printf("mean (standard error) over %s\n", folds);
    print_rows(result);
    const phl_evaluation *pooled = result->choices[result->winner].pooled;
    if (pooled && pooled->n) {
        printf("%s, all folds together: accuracy %.2f %% (%.2f to %.2f at 95 %%), largest class "
               "%.2f %%,\nbalanced accuracy %.2f %%, log-loss %.4f nats, calibration error %.4f\n",
               result->n_choices > 1 ? "the best" : "this model", 100 * pooled->best->accuracy,
               100 * pooled->accuracy_low, 100 * pooled->accuracy_high, 100 * pooled->largest_share,
               100 * pooled->balanced_accuracy, pooled->log_loss, pooled->calibration_error);
    }
    if (result->n_choices > 1) {
        validation_describe(result, result->winner, false, words, sizeof words);
        printf("best: %s\n", words);
        validation_describe(result, result->chosen, false, words, sizeof words);
        printf("chosen: %s%s\n", words,
               result->chosen == result->winner
                   ? ", none that is cheaper to train comes within one standard error"
                   : ", the cheapest to train within one standard error of the best");
    }
}

/* ---- JSON ---- */

static void spread_json(json_writer *json, const char *key, double mean, double sd, double se)
{
    json_out_object(json, key, true);
    json_out_number(json, "mean", mean);
    json_out_number(json, "sd", sd);
    json_out_number(json, "se", se);
    json_out_close(json, '}');
}

static void choice_json(json_writer *json, const phl_cross_validation *result,
                        const phl_choice_result *c)
{
    json_out_open(json, '{', false);
    json_out_text(json, "model", model_name(c));
    json_out_count(json, "states", c->states);
    json_out_text(json, "head", head_name(c));
    if (result->per_class) {
        json_out_text(json, "class_prior", validation_prior_name(c->prior));
        spread_json(json, "accuracy", c->accuracy_mean, c->accuracy_sd, c->accuracy_se);
        spread_json(json, "entropy_bits", c->entropy_mean, c->entropy_sd, c->entropy_se);
        spread_json(json, "log_loss", c->log_loss_mean, c->log_loss_sd, c->log_loss_se);
        json_out_number(json, "largest_share", c->pooled->largest_share);
        json_out_number(json, "balanced_accuracy", c->pooled->balanced_accuracy);
        json_out_number(json, "calibration_error", c->pooled->calibration_error);
    }
    spread_json(json, "log_likelihood_per_node", c->log_likelihood_mean, c->log_likelihood_sd,
                c->log_likelihood_se);
    json_out_truth(json, "near", c->is_near);
    json_out_array(json, "folds", false);
    for (size_t f = 0; f < result->n_folds; f++) {
        const phl_fold_result *fold = &c->folds[f];
        json_out_open(json, '{', true);
        json_out_count(json, "trees", fold->trees);
        json_out_count(json, "nodes", fold->nodes);
        if (result->per_class) {
            json_out_number(json, "accuracy", fold->accuracy);
            json_out_number(json, "entropy_bits", fold->entropy_bits);
            json_out_number(json, "log_loss", fold->log_loss);
        }
        json_out_number(json, "log_likelihood_per_node", fold->log_likelihood_per_node);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void validation_json(const phl_cross_validation *result)
{
    json_writer json;
    json_out_begin(&json, stdout);
    json_out_open(&json, '{', false);
    json_out_count(&json, "folds", result->n_folds);
    json_out_text(&json, "task", result->per_class ? "classify" : "likelihood");
    json_out_array(&json, "choices", false);
    for (size_t i = 0; i < result->n_choices; i++) {
        choice_json(&json, result, &result->choices[i]);
    }
    json_out_close(&json, ']');
    json_out_count(&json, "winner", result->choices[result->winner].states);
    json_out_count(&json, "best", result->winner);
    json_out_count(&json, "chosen", result->chosen);
    json_out_close(&json, '}');
}
