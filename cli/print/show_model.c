/* show_model.c - one draw of a model in words; see show.h.
 *
 * Contents: slots, partitions, lists, what leads to a state, states.
 */
#include "print/show.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>

static const double no_weight = 0.005; /* prints as 0.00 */
enum { SLOTS_SHOWN = 12, INDENT = 14, VALUES_LISTED = 12, CONFIGURATIONS = 3 };

/* ---- slots ---- */

static bool is_switching(const shown_draw *shown)
{
    return phl_run_kind(shown->run) == PHL_SP;
}

static double slot_weight(const shown_draw *shown, size_t slot)
{
    return is_switching(shown) ? shown_number(&shown->weights, slot - 1)
                               : shown_slot_information(shown, slot);
}

static int compare_numbers(const void *a, const void *b)
{
    const weighted *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* All slots with what they weigh, heaviest first; to be freed. */
weighted *show_model_rank_slots(const shown_draw *shown)
{
    weighted *slots = terminal_allocate(shown->slots, sizeof *slots);
    for (size_t l = 0; l < shown->slots; l++) {
        slots[l] = (weighted){l + 1, slot_weight(shown, l + 1)};
    }
    shown_sort(slots, shown->slots);
    return slots;
}

void show_model_slots(const shown_draw *shown)
{
    size_t n = shown->slots < SLOTS_SHOWN ? shown->slots : SLOTS_SHOWN;
    weighted *slots = show_model_rank_slots(shown);
    char cells[5][NUMBER_SIZE];
    text_table table;
    qsort(slots, n, sizeof *slots, compare_numbers);
    printf("\n  slots: how much each one matters, and how it is filled\n");
    table_begin(&table, 5);
    table_row(&table, (const char *const[]){"slot", is_switching(shown) ? "weight" : "information",
                                            "empty", "leaf", "with children"});
    for (size_t i = 0; i < n; i++) {
        snprintf(cells[0], NUMBER_SIZE, "%zu", slots[i].number);
        if (is_switching(shown)) {
            snprintf(cells[1], NUMBER_SIZE, "%.1f %%", 100 * slots[i].weight);
        } else {
            snprintf(cells[1], NUMBER_SIZE, "%.3f bits", slots[i].weight);
        }
        for (size_t k = 0; k < 3; k++) {
            snprintf(cells[2 + k], NUMBER_SIZE, "%.1f %%",
                     100 * shown_number_2(&shown->shape, slots[i].number - 1, k));
        }
        table_row(&table, (const char *const[]){cells[0], cells[1], cells[2], cells[3], cells[4]});
    }
    table_end(&table, stdout, 4);
    if (n < shown->slots) {
        printf("    and %zu slots that matter less\n", shown->slots - n);
    }
    free(slots);
}

/* ---- partitions ---- */

/* "{0 1 empty}" of the values in a block; "0" of a single one. */
void show_model_block(const shown_draw *shown, const phl_tensor *axis, size_t block, char *text,
                      size_t size)
{
    size_t n = 0, used;
    for (size_t q = 0; q <= shown->states; q++) {
        n += shown_axis_block(axis, q) == block;
    }
    used = (size_t)snprintf(text, size, "%s", n == 1 ? "" : "{");
    size_t listed = 0;
    for (size_t q = 0; q <= shown->states && used + 24 < size; q++) {
        if (shown_axis_block(axis, q) != block) {
            continue;
        }
        const char *blank = listed++ ? " " : "";
        if (listed > VALUES_LISTED) {
            used += (size_t)snprintf(text + used, size - used, " ...");
            break;
        }
        used += q == shown->states ? (size_t)snprintf(text + used, size - used, "%sempty", blank)
                                   : (size_t)snprintf(text + used, size - used, "%s%zu", blank, q);
    }
    snprintf(text + used, size - used, "%s", n == 1 ? "" : "}");
}

/* "2 (93 %), 3 (7 %)": the sizes of one slot by the weights of the draws, heaviest first.  Returns
 * the share of draws in which the slot was active. */
static double describe_sizes(const phl_model *model, uint32_t slot, size_t most, char *text,
                             size_t size)
{
    size_t n = phl_model_draws(model), used = 0;
    weighted *sizes = terminal_allocate(most + 1, sizeof *sizes);
    double active = phl_model_slot_posterior(model, slot, NULL);
    for (size_t k = 0; k <= most; k++) {
        sizes[k] = (weighted){k, 0};
    }
    for (size_t d = 0; d < n; d++) {
        double weight = phl_model_draw(model, d)->weight;
        sizes[phl_model_slot_size(model, d, slot)].weight += weight > 0 ? weight : 1.0 / (double)n;
    }
    shown_sort(sizes, most + 1);
    text[0] = '\0';
    for (size_t i = 0; i < 4 && i <= most && sizes[i].weight >= 0.005 && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%zu (%.0f %%)", i ? ", " : "",
                                 sizes[i].number, 100 * sizes[i].weight);
    }
    free(sizes);
    return active;
}

/* Whether chains agree on the slots, if there are several.  Returns the exit code. */
static int print_agreement(const phl_run *run, const phl_model *model)
{
    phl_diagnose_options options;
    phl_diagnosis diagnosis = {0};
    phl_diagnose_options_init(&options);
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        options.class_index = phl_run_model(run, i) == model ? i : options.class_index;
    }
    phl_error error = {0};
    if (phl_diagnose(run, &options, &diagnosis, &error) != PHL_OK) {
        return terminal_error(&error);
    }
    if (!isnan(diagnosis.classes[0].overlap_between)) {
        const phl_class_diagnosis *found = &diagnosis.classes[0];
        printf("    chains %s: the active slots of two chains overlap by %.0f %%%s\n",
               found->slots_agree ? "agree" : "disagree", 100 * found->overlap_between,
               found->slots_agree ? "" : "; see 'phloem diagnose'");
    }
    phl_diagnosis_clear(&diagnosis);
    return EXIT_OK;
}

int show_model_sizes(const phl_run *run, const phl_model *model)
{
    char text[120];
    size_t quiet = 0;
    if (phl_run_kind(run) != PHL_TF || phl_model_draws(model) < 2) {
        return EXIT_OK;
    }
    printf("\n  which child positions matter: blocks of each slot, over %zu draws\n",
           phl_model_draws(model));
    int code = print_agreement(run, model);
    for (uint32_t slot = 1; slot <= phl_run_slots(run); slot++) {
        if (describe_sizes(model, slot, phl_run_states(run) + 1, text, sizeof text) > 0) {
            printf("    slot %-3u %s\n", (unsigned)slot, text);
        } else {
            quiet++;
        }
    }
    if (quiet > 0) {
        printf("    the other %zu: 1 (100 %%), they do not matter\n", quiet);
    }
    return code;
}

void show_model_partition(const shown_draw *shown)
{
    char text[300];
    if (phl_run_kind(shown->run) != PHL_TF) {
        return;
    }
    printf("\n  partitions: states of a child that its parent cannot tell apart\n");
    for (size_t m = 0; m < shown->n_axes; m++) {
        const phl_tensor *axis = &shown->axes[m];
        printf("    slot %u:", (unsigned)axis->slot);
        for (size_t z = 0; z < shown_axis_size(shown, m); z++) {
            show_model_block(shown, axis, z, text, sizeof text);
            printf(" %s", text);
        }
        printf("%s\n", axis->dtype == PHL_FLOAT64 ? " (soft: likeliest blocks)" : "");
    }
    if (shown->n_axes == 0) {
        printf("    no slot is active: a state does not depend on children\n");
    } else if (shown->n_axes < shown->slots) {
        printf("    the other slots do not matter\n");
    }
}

/* ---- lists ---- */

static void print_heading(const char *text)
{
    printf("    %-*s", INDENT - 4, text);
}

/* Name of an item of a list into buffer. */
typedef void (*name_fn)(const shown_draw *shown, size_t number, char *buffer, size_t size);

static void name_label(const shown_draw *shown, size_t number, char *buffer, size_t size)
{
    text_printable(phl_run_label_name(shown->run, (int32_t)number), 30, buffer, size);
}

static void name_state(const shown_draw *shown, size_t number, char *buffer, size_t size)
{
    if (number == shown->states) {
        snprintf(buffer, size, "empty");
    } else {
        snprintf(buffer, size, "state %zu", number);
    }
}

static void name_slot(const shown_draw *shown, size_t number, char *buffer, size_t size)
{
    (void)shown;
    snprintf(buffer, size, "slot %zu", number);
}

/* A line "heading  state 3 0.95, empty 0.20" of the heaviest items.  Nothing, and false, when none
 * has weight. */
static bool print_list(const shown_draw *shown, const char *heading, name_fn name, weighted *items,
                       size_t n)
{
    char text[200];
    shown_sort(items, n);
    if (n == 0 || items[0].weight < no_weight) {
        return false;
    }
    printf("%s", heading);
    for (size_t i = 0; i < n && i < shown->top && items[i].weight >= no_weight; i++) {
        name(shown, items[i].number, text, sizeof text);
        printf("%s%s %.2f", i ? ", " : "", text, items[i].weight);
    }
    putchar('\n');
    return true;
}

static void print_labels(const shown_draw *shown, size_t state)
{
    weighted *labels = terminal_allocate(shown->labels, sizeof *labels);
    for (size_t d = 0; d < shown->labels; d++) {
        labels[d] = (weighted){d, shown_number_2(&shown->emission, state, d)};
    }
    print_list(shown, "    emits     ", name_label, labels, shown->labels);
    free(labels);
}

/* ---- what leads to a state ---- */

/* Leaves are in the state with the prior of their slot. */
static void print_leaves(const shown_draw *shown, size_t state)
{
    weighted *slots = terminal_allocate(shown->slots, sizeof *slots);
    for (size_t l = 0; l < shown->slots; l++) {
        slots[l] = (weighted){l + 1, shown_number_2(&shown->prior, l, state)};
    }
    print_list(shown, "    leaves    ", name_slot, slots, shown->slots);
    free(slots);
}

/* sp: of the heaviest slots, the child states that lead here; td: where the state's children go. */
static void print_transitions(const shown_draw *shown, size_t state)
{
    const phl_tensor *transition = &shown->transition;
    bool up = is_switching(shown);
    size_t values = up ? shown->states + 1 : shown->states;
    weighted *slots = show_model_rank_slots(shown),
             *items = terminal_allocate(values, sizeof *items);
    const char *first = up ? "after" : "children";
    for (size_t i = 0; i < shown->slots && i < CONFIGURATIONS; i++) {
        size_t l = slots[i].number - 1;
        char heading[120];
        if (i && slots[i].weight < no_weight) {
            break;
        }
        for (size_t q = 0; q < values; q++) {
            double p = up ? shown_number_3(transition, l, q, state)
                          : shown_number_3(transition, l, state, q);
            items[q] = (weighted){q, p};
        }
        if (up) {
            snprintf(heading, sizeof heading, "    %-*sslot %zu (%.0f %%): ", INDENT - 4, first,
                     l + 1, 100 * slots[i].weight);
        } else {
            snprintf(heading, sizeof heading, "    %-*sslot %zu: ", INDENT - 4, first, l + 1);
        }
        if (print_list(shown, heading, name_state, items, values)) {
            first = "";
        }
    }
    free(slots);
    free(items);
}

/* tf, full: the blocks of children under which the state is likeliest. */
static void print_configurations(const shown_draw *shown, size_t state)
{
    size_t n = shown_core_rows(shown);
    weighted *rows = terminal_allocate(n, sizeof *rows);
    char block[300];
    for (size_t r = 0; r < n; r++) {
        rows[r] = (weighted){r, shown_core_at(shown, r, state)};
    }
    shown_sort(rows, n);
    for (size_t i = 0; i < n && i < CONFIGURATIONS; i++) {
        size_t stride = n;
        if (rows[i].weight < no_weight) {
            break;
        }
        print_heading(i ? "" : "after");
        printf("%.2f", rows[i].weight);
        for (size_t m = 0; m < shown->n_axes; m++) {
            stride /= shown_axis_size(shown, m);
            size_t z = rows[i].number / stride % shown_axis_size(shown, m);
            show_model_block(shown, &shown->axes[m], z, block, sizeof block);
            printf("%s slot %u: %s", m ? "," : " with", (unsigned)shown->axes[m].slot, block);
        }
        putchar('\n');
    }
    free(rows);
}

/* ---- states ---- */

void show_model_states(const shown_draw *shown)
{
    for (size_t j = 0; j < shown->states; j++) {
        printf("\n  state %zu\n", j);
        print_labels(shown, j);
        if (shown->root.data) {
            print_heading("root");
            printf("%.2f\n", shown_number(&shown->root, j));
        } else {
            print_leaves(shown, j);
        }
        if (shown->core.data) {
            print_configurations(shown, j);
        } else {
            print_transitions(shown, j);
        }
    }
}
