/* diagnose_json.c - a diagnosis as JSON; see diagnoses.h. */
#include <stdlib.h>

#include "print/diagnoses.h"
#include "print/terminal.h"

static void json_chain(json_writer *json, const phl_chain_diagnosis *chain, bool gibbs,
                       bool grammar)
{
    static const char *const keys[PHL_QUANTITIES] = {"log_joint", "log_likelihood", "active",
                                                     "sum_size"};
    json_out_open(json, '{', true);
    json_out_count(json, gibbs ? "chain" : "restart", chain->chain);
    json_out_count(json, "iterations", chain->iterations);
    json_out_number(json, gibbs ? "last_log_joint" : "objective", chain->log_joint);
    json_out_number(json, gibbs ? "last_log_likelihood" : "log_likelihood", chain->log_likelihood);
    if (gibbs) {
        json_out_count(json, "draws", chain->draws);
        json_out_key(json, "mode");
        if (chain->mode) {
            json_out_integer(json, chain->mode);
        } else {
            json_out_string(json, NULL);
        }
        json_out_number(json, "drift", chain->drift);
        json_out_number(json, "weight", chain->weight);
        json_out_truth(json, "climbing", chain->climbing);
        for (int what = 0; what < 2; what++) {
            json_out_key(json, what == 0 ? "mean" : "sd");
            json_out_open(json, '{', true);
            for (size_t q = 0; q < PHL_QUANTITIES; q++) {
                json_out_number(json, keys[q], what == 0 ? chain->mean[q] : chain->sd[q]);
            }
            json_out_close(json, '}');
        }
        json_out_key(json, "slots");
        json_out_open(json, '[', true);
        for (uint32_t i = 0; i < chain->n_slots; i++) {
            json_out_open(json, '{', true);
            json_out_count(json, "slot", chain->slots[i]);
            json_out_count(json, "size", chain->sizes[i]);
            json_out_close(json, '}');
        }
        json_out_close(json, ']');
    } else if (grammar) {
        json_out_count(json, "splits", chain->splits);
        json_out_number(json, "gain", chain->gain);
    }
    json_out_close(json, '}');
}

static void json_quantities(json_writer *json, const phl_class_diagnosis *diagnosis)
{
    json_out_count(json, "warmup", diagnosis->warmup);
    json_out_count(json, "compared", diagnosis->n_compared);
    json_out_count(json, "draws", diagnosis->draws);
    json_out_count(json, "modes", diagnosis->modes);
    json_out_number(json, "overlap_within", diagnosis->overlap_within);
    json_out_number(json, "overlap_between", diagnosis->overlap_between);
    json_out_truth(json, "slots_agree", diagnosis->slots_agree);
    json_out_number(json, "slots_at_limit", diagnosis->slots_at_limit);
    json_out_key(json, "quantities");
    json_out_open(json, '[', false);
    for (size_t q = 0; q < PHL_QUANTITIES; q++) {
        const phl_quantity *quantity = &diagnosis->quantities[q];
        json_out_open(json, '{', true);
        json_out_text(json, "name", quantity->name);
        json_out_text(json, "verdict", phl_verdict_name(quantity->verdict));
        json_out_number(json, "mean", quantity->mean);
        json_out_number(json, "sd", quantity->sd);
        json_out_number(json, "mcse", quantity->mcse);
        json_out_number(json, "rhat", quantity->rhat);
        json_out_number(json, "ess_bulk", quantity->ess_bulk);
        json_out_number(json, "ess_tail", quantity->ess_tail);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_key(json, "moves");
    json_out_open(json, '[', false);
    for (size_t m = 0; m < diagnosis->n_moves; m++) {
        json_out_open(json, '{', true);
        json_out_text(json, "name", diagnosis->moves[m].name);
        json_out_count(json, "tried", diagnosis->moves[m].tried);
        json_out_count(json, "changed", diagnosis->moves[m].changed);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void json_summary(json_writer *json, const char *summary)
{
    char *text = terminal_words(summary);
    json_out_text(json, "summary", text);
    free(text);
}

static void json_findings(json_writer *json, const phl_finding *findings, size_t n)
{
    json_out_key(json, "findings");
    json_out_open(json, '[', false);
    for (size_t f = 0; f < n; f++) {
        json_out_open(json, '{', true);
        json_out_truth(json, "trouble", findings[f].trouble);
        char *text = terminal_words(findings[f].text);
        char *advice = terminal_words(findings[f].advice);
        json_out_text(json, "text", text);
        json_out_text(json, "advice", advice);
        free(text);
        free(advice);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void json_head(json_writer *json, const phl_head_diagnosis *head)
{
    json_out_key(json, "head");
    json_out_open(json, '{', false);
    json_out_truth(json, "trouble", head->trouble);
    json_summary(json, head->summary);
    json_out_number(json, "log_loss", head->log_loss);
    json_out_number(json, "accuracy", head->accuracy);
    json_out_number(json, "calibration_error", head->calibration_error);
    json_out_number(json, "log_loss_of_shares", head->log_loss_of_shares);
    json_out_number(json, "largest_share", head->largest_share);
    json_out_number(json, "gap", head->gap);
    json_findings(json, head->findings, head->n_findings);
    json_out_close(json, '}');
}

static void json_class(json_writer *json, const phl_class_diagnosis *diagnosis, bool gibbs,
                       bool grammar)
{
    json_out_open(json, '{', false);
    json_out_text(json, "class", diagnosis->class_name);
    json_out_truth(json, "trouble", diagnosis->trouble);
    json_summary(json, diagnosis->summary);
    json_out_text(json, "stop_reason", phl_stop_reason_name(diagnosis->stop_reason));
    if (gibbs) {
        json_quantities(json, diagnosis);
    } else {
        json_out_number(json, "spread", diagnosis->spread);
    }
    if (grammar) {
        json_out_count(json, "answers", diagnosis->answers);
        json_out_number(json, "answers_same", diagnosis->answers_same);
        json_out_number(json, "answers_shift", diagnosis->answers_shift);
    }
    json_out_key(json, gibbs ? "chains" : "restarts");
    json_out_open(json, '[', false);
    for (size_t c = 0; c < diagnosis->n_chains; c++) {
        json_chain(json, &diagnosis->chains[c], gibbs, grammar);
    }
    json_out_close(json, ']');
    json_findings(json, diagnosis->findings, diagnosis->n_findings);
    json_out_close(json, '}');
}

void diagnose_json_write(json_writer *json, const phl_diagnosis *diagnosis, const phl_run *run)
{
    bool gibbs = diagnosis->learner == PHL_LEARNER_GIBBS;
    bool grammar = phl_run_kind(run) == PHL_GRAMMAR;
    json_out_open(json, '{', false);
    json_out_text(json, "learner", gibbs ? "gibbs" : "em");
    json_out_truth(json, "trouble", diagnosis->trouble);
    json_summary(json, diagnosis->summary);
    json_out_array(json, "classes", false);
    for (size_t i = 0; i < diagnosis->n_classes; i++) {
        json_class(json, &diagnosis->classes[i], gibbs, grammar);
    }
    json_out_close(json, ']');
    if (diagnosis->head.there) {
        json_head(json, &diagnosis->head);
    }
    json_out_close(json, '}');
}

void diagnose_json(const phl_diagnosis *diagnosis, const phl_run *run)
{
    json_writer json;
    json_out_begin(&json, stdout);
    diagnose_json_write(&json, diagnosis, run);
}
