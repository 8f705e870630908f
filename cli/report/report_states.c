/* report_states.c - what models with hidden states learned: which slots matter, what each state
 * emits and what leads to it; see report.h.
 *
 * Contents: slots, states, all classes.
 */
#include "print/show.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

enum { SLOTS_LOOKED_AT = 1000, SLOTS_ALWAYS = 12, EMITTED = 8, LEAVES = 4, WAYS = 3, VALUES = 4 };
static const double no_weight = 0.005;

/* ---- slots ---- */

/* The posterior of the number of blocks of a slot. */
static void put_sizes(json_writer *json, const phl_model *model, uint32_t slot, size_t *draws,
                      size_t n)
{
    double share = phl_model_slot_posterior(model, slot, draws), mean = 0, all = 0;
    for (size_t k = 0; k < n; k++) {
        all += (double)draws[k];
        mean += (double)k * (double)draws[k];
    }
    if (slot > SLOTS_ALWAYS && !(share > 0)) {
        return;
    }
    json_out_open(json, '{', true);
    json_out_count(json, "slot", slot);
    report_values_real(json, "share", share, 4);
    report_values_real(json, "mean", all > 0 ? mean / all : (double)NAN, 4);
    json_out_array(json, "blocks", true);
    for (size_t k = 0; k < n; k++) {
        if (draws[k]) {
            json_out_open(json, '{', true);
            json_out_count(json, "blocks", k);
            json_out_count(json, "draws", draws[k]);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* tf: over all draws; others: how much a slot matters in this one. */
static void put_slots(json_writer *json, const shown_draw *shown, const phl_model *model)
{
    json_out_array(json, "slots", false);
    if (phl_run_kind(shown->run) == PHL_TF) {
        size_t n = shown->states + 2, *draws = terminal_allocate(n, sizeof *draws);
        for (uint32_t slot = 1; slot <= shown->slots && slot <= SLOTS_LOOKED_AT; slot++) {
            put_sizes(json, model, slot, draws, n);
        }
        free(draws);
    } else {
        weighted *slots = show_model_rank_slots(shown);
        for (size_t i = 0; i < shown->slots && i < SLOTS_ALWAYS; i++) {
            json_out_open(json, '{', true);
            json_out_count(json, "slot", slots[i].number);
            report_values_real(json, "weight", slots[i].weight, 4);
            json_out_close(json, '}');
        }
        free(slots);
    }
    json_out_close(json, ']');
}

/* ---- states ---- */

static void put_labels(json_writer *json, const shown_draw *shown, size_t state)
{
    weighted *labels = terminal_allocate(shown->labels + 1, sizeof *labels);
    for (size_t d = 0; d < shown->labels; d++) {
        labels[d] = (weighted){d, shown_number_2(&shown->emission, state, d)};
    }
    shown_sort(labels, shown->labels);
    json_out_array(json, "emits", true);
    for (size_t i = 0; i < shown->labels && i < EMITTED && labels[i].weight >= no_weight; i++) {
        report_values_share(json, phl_run_label_name(shown->run, (int32_t)labels[i].number),
                            labels[i].weight);
    }
    json_out_close(json, ']');
    free(labels);
}

static void put_leaves(json_writer *json, const shown_draw *shown, size_t state)
{
    weighted *slots = terminal_allocate(shown->slots + 1, sizeof *slots);
    for (size_t l = 0; l < shown->slots; l++) {
        slots[l] = (weighted){l + 1, shown_number_2(&shown->prior, l, state)};
    }
    shown_sort(slots, shown->slots);
    json_out_array(json, "leaves", true);
    for (size_t i = 0; i < shown->slots && i < LEAVES && slots[i].weight >= no_weight; i++) {
        json_out_open(json, '{', true);
        json_out_count(json, "slot", slots[i].number);
        report_values_real(json, "share", slots[i].weight, 4);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    free(slots);
}

/* tf, full: the blocks of children under which the state is likeliest. */
static void put_configurations(json_writer *json, const shown_draw *shown, size_t state)
{
    size_t n = shown_core_rows(shown);
    weighted *rows = terminal_allocate(n, sizeof *rows);
    char block[300];
    for (size_t row = 0; row < n; row++) {
        rows[row] = (weighted){row, shown_core_at(shown, row, state)};
    }
    shown_sort(rows, n);
    for (size_t i = 0; i < n && i < WAYS && rows[i].weight >= no_weight; i++) {
        size_t stride = n;
        json_out_open(json, '{', true);
        report_values_real(json, "probability", rows[i].weight, 4);
        json_out_array(json, "children", true);
        for (size_t m = 0; m < shown->n_axes; m++) {
            stride /= shown_axis_size(shown, m);
            size_t z = rows[i].number / stride % shown_axis_size(shown, m);
            show_model_block(shown, &shown->axes[m], z, block, sizeof block);
            json_out_open(json, '{', true);
            json_out_count(json, "slot", shown->axes[m].slot);
            json_out_text(json, "values", block);
            json_out_close(json, '}');
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
    }
    free(rows);
}

/* sp: the child values that lead here; td: where children of the state go. */
static void put_transitions(json_writer *json, const shown_draw *shown, size_t state)
{
    bool up = shown->weights.data != NULL;
    size_t values = up ? shown->states + 1 : shown->states;
    weighted *slots = show_model_rank_slots(shown);
    weighted *items = terminal_allocate(values, sizeof *items);
    char text[40];
    for (size_t i = 0; i < shown->slots && i < WAYS; i++) {
        size_t l = slots[i].number - 1;
        for (size_t q = 0; q < values; q++) {
            items[q] = (weighted){q, up ? shown_number_3(&shown->transition, l, q, state)
                                        : shown_number_3(&shown->transition, l, state, q)};
        }
        shown_sort(items, values);
        for (size_t k = 0; k < values && k < VALUES && items[k].weight >= no_weight; k++) {
            json_out_open(json, '{', true);
            report_values_real(json, "probability", items[k].weight, 4);
            json_out_array(json, "children", true);
            json_out_open(json, '{', true);
            json_out_count(json, "slot", l + 1);
            snprintf(text, sizeof text, "%zu", items[k].number);
            json_out_text(json, "values", items[k].number == shown->states ? "empty" : text);
            json_out_close(json, '}');
            json_out_close(json, ']');
            json_out_close(json, '}');
        }
    }
    free(slots);
    free(items);
}

static void put_state(json_writer *json, const shown_draw *shown, size_t state)
{
    json_out_open(json, '{', false);
    json_out_count(json, "state", state);
    put_labels(json, shown, state);
    if (shown->root.data) {
        report_values_real(json, "root", shown_number(&shown->root, state), 4);
    } else {
        put_leaves(json, shown, state);
    }
    json_out_array(json, shown->root.data ? "leads_to" : "after", false);
    if (shown->core.data) {
        put_configurations(json, shown, state);
    } else {
        put_transitions(json, shown, state);
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* ---- all classes ---- */

static void put_class(json_writer *json, const phl_run *run, size_t index)
{
    const phl_model *model = phl_run_model(run, index);
    size_t best = phl_model_best_draw(model);
    shown_draw shown;
    json_out_open(json, '{', false);
    report_values_text(json, "class", phl_run_class_name(run, index));
    json_out_count(json, "draws", phl_model_draws(model));
    json_out_count(json, "draw", best);
    if (phl_model_draws(model)) {
        shown_begin(&shown, run, phl_model_draw(model, best), 0);
        put_slots(json, &shown, model);
        json_out_array(json, "states", false);
        for (size_t j = 0; j < shown.states; j++) {
            put_state(json, &shown, j);
        }
        json_out_close(json, ']');
        shown_end(&shown);
    }
    json_out_close(json, '}');
}

void report_states_write(report *r, size_t run)
{
    const phl_run *of = r->runs[run].run;
    json_out_object(r->json, "states", false);
    json_out_array(r->json, "classes", false);
    for (size_t i = 0; i < phl_run_classes(of); i++) {
        put_class(r->json, of, i);
    }
    json_out_close(r->json, ']');
    json_out_close(r->json, '}');
}
