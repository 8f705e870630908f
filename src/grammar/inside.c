/* inside.c - the probability of every list, and expected counts of rules; see inside.h. */
#include "grammar/inside.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/lanes.h"
#include "base/memory.h"

size_t phl_inside_states(const phl_inside *inside, uint32_t symbol)
{
    return symbol == PHL_SYMBOL_HIDDEN ? inside->hidden_state[inside->lists->rules.labels + 1]
                                       : inside->table->sizes[symbol];
}

static phl_status prepare(phl_inside *inside, phl_error *error)
{
    const phl_lists *lists = inside->lists;
    const uint32_t *sizes = inside->table->sizes;
    size_t labels = lists->rules.labels, at = 0;
    inside->hidden_state = phl_alloc(labels + 2, sizeof *inside->hidden_state, error);
    inside->first = phl_alloc(lists->n + 1, sizeof *inside->first, error);
    inside->log_scale = phl_alloc(lists->n, sizeof *inside->log_scale, error);
    inside->norm = phl_alloc(lists->n, sizeof *inside->norm, error);
    if (inside->hidden_state == NULL || inside->first == NULL || inside->log_scale == NULL ||
        inside->norm == NULL) {
        return PHL_ERR_MEMORY;
    }
    inside->most = 1;
    for (size_t x = 0; x <= labels; x++) {
        inside->hidden_state[x] = at;
        at += sizes[x];
        inside->most = sizes[x] > inside->most ? sizes[x] : inside->most;
    }
    inside->hidden_state[labels + 1] = at;
    at = 0;
    for (size_t i = 0; i < lists->n; i++) {
        inside->first[i] = at;
        at += phl_inside_states(inside, lists->items[i].parent) *
              phl_inside_states(inside, lists->items[i].left);
    }
    inside->first[lists->n] = at;
    inside->value = phl_alloc(at, sizeof *inside->value, error);
    inside->room = phl_alloc(2 * phl_whole_lanes(inside->most), sizeof *inside->room, error);
    return inside->value == NULL || inside->room == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_inside_create(const phl_lists *lists, const phl_rule_table *table,
                             phl_inside **inside, phl_error *error)
{
    phl_inside *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->lists = lists;
    made->table = table;
    phl_status status = prepare(made, error);
    if (status != PHL_OK) {
        phl_inside_free(made);
        return status;
    }
    *inside = made;
    return PHL_OK;
}

void phl_inside_free(phl_inside *inside)
{
    if (inside != NULL) {
        phl_free(inside->hidden_state);
        phl_free(inside->first);
        phl_free(inside->value);
        phl_free(inside->log_scale);
        phl_free(inside->norm);
        phl_free(inside->room);
        phl_free(inside->outside);
        phl_free(inside);
    }
}

/* One rule within a list: where its numbers lie. */
struct step {
    const double *p;               /* [parents][lefts][states] */
    size_t rule;                   /* its number */
    size_t parents, lefts, states; /* annotations */
    size_t value, value_stride;    /* its part of the list's value */
    size_t below;                  /* of the symbol's states, in the value of `below` */
    size_t next, next_stride; /* in the value of `next`; stride 0: it does not see the parent */
};

/* Goes through the rules that a list's symbols, hidden or not, may stand for. */
struct steps {
    const phl_inside *inside;
    const phl_list *list;
    const uint32_t *rule;
    uint32_t a, b, c;     /* first labels */
    uint32_t na, nb, nc;  /* and how many */
    size_t lefts, states; /* of the whole list */
    uint64_t i;
};

static struct steps begin_steps(const phl_inside *inside, size_t number)
{
    const phl_lists *lists = inside->lists;
    const phl_list *list = &lists->items[number];
    return (struct steps){
        .inside = inside,
        .list = list,
        .rule = lists->rule_of + lists->pattern_rule[lists->pattern[number]],
        .a = phl_lists_first_label(list->parent),
        .b = phl_lists_first_label(list->left),
        .c = phl_lists_first_label(list->symbol),
        .na = phl_lists_count_labels(lists, list->parent),
        .nb = phl_lists_count_labels(lists, list->left),
        .nc = phl_lists_count_labels(lists, list->symbol),
        .lefts = phl_inside_states(inside, list->left),
        .states = phl_inside_states(inside, list->symbol),
    };
}

/* Where the states of label number i of a symbol's begin. */
static size_t state_of(const phl_inside *inside, uint32_t symbol, uint32_t i)
{
    return symbol == PHL_SYMBOL_HIDDEN ? inside->hidden_state[i] : 0;
}

static bool next_step(struct steps *steps, struct step *step)
{
    const phl_inside *inside = steps->inside;
    const phl_rule_table *table = inside->table;
    const phl_list *list = steps->list;
    uint64_t i = steps->i++;
    if (i >= (uint64_t)steps->na * steps->nb * steps->nc) {
        return false;
    }
    uint32_t a = (uint32_t)(i / ((uint64_t)steps->nb * steps->nc));
    uint32_t b = (uint32_t)(i / steps->nc % steps->nb), c = (uint32_t)(i % steps->nc);
    size_t parent = state_of(inside, list->parent, a), left = state_of(inside, list->left, b);
    step->rule = steps->rule[i];
    step->p = table->p + table->blocks.first[step->rule];
    step->parents = table->sizes[steps->a + a];
    step->lefts = table->sizes[steps->b + b];
    step->states = table->sizes[steps->c + c];
    step->value = parent * steps->lefts + left;
    step->value_stride = steps->lefts;
    step->below = state_of(inside, list->symbol, c);
    bool sees = list->next != PHL_NO_LIST && inside->lists->pair;
    step->next_stride = sees ? steps->states : 0;
    step->next = (sees ? parent * steps->states : 0) + step->below;
    return true;
}

/* below(k) next(i, k): what follows the symbol's state given the parent's; behind it 0 up to whole
 * lanes. */
PHL_INLINED void follow(const struct step *step, const double *below, const double *next, size_t i,
                        double *restrict out)
{
    const double *b = below == NULL ? NULL : below + step->below;
    const double *n = next == NULL ? NULL : next + step->next + i * step->next_stride;
    size_t states = step->states, whole = phl_whole_lanes(states);
    for (size_t k = 0; k < states; k++) {
        out[k] = (b == NULL ? 1.0 : b[k]) * (n == NULL ? 1.0 : n[k]);
    }
    for (size_t k = states; k < whole; k++) {
        out[k] = 0.0;
    }
}

static const double *value_of(const phl_inside *inside, uint32_t list)
{
    return list == PHL_NO_LIST ? NULL : inside->value + inside->first[list];
}

/* p(k) after(k), as lanes: what is behind a row of p, but not of the table, is multiplied by 0. */
PHL_INLINED void multiply(size_t parts, const double *p, const double *after, phl_lanes *out)
{
    *out = phl_lanes_at(p) * phl_lanes_at(after);
    for (size_t part = 1; part < parts; part++) {
        *out += phl_lanes_at(p + part * PHL_LANES) * phl_lanes_at(after + part * PHL_LANES);
    }
}

/* row(j) += sum over k of p(j, k) after(k). */
PHL_INLINED void add_rows(size_t parts, const double *restrict p, const double *restrict after,
                          size_t rows, size_t n, double *restrict row)
{
    size_t j = 0;
    for (; j + PHL_LANES <= rows; j += PHL_LANES, p += PHL_LANES * n) {
        phl_lanes four[PHL_LANES], sums;
        for (size_t i = 0; i < PHL_LANES; i++) {
            multiply(parts, p + i * n, after, &four[i]);
        }
        phl_lanes_sums(four, &sums);
        phl_lanes_set(row + j, phl_lanes_at(row + j) + sums);
    }
    for (; j < rows; j++, p += n) {
        phl_lanes lanes;
        multiply(parts, p, after, &lanes);
        row[j] += phl_lanes_sum(lanes);
    }
}

/* value(i, j) += sum over k of p(i, j, k) after(i, k). */
PHL_CLONES
static void add_products(const struct step *step, const double *below, const double *next,
                         double *after, double *value)
{
    size_t n = step->states, rows = step->lefts;
    for (size_t i = 0; i < step->parents; i++) {
        const double *p = step->p + i * rows * n;
        double *row = value + step->value + i * step->value_stride;
        if (i == 0 || step->next_stride > 0) {
            follow(step, below, next, i, after);
        }
        PHL_BY_PARTS(n, add_rows, p, after, rows, n, row);
    }
}

/* Divides by the largest number, and returns it. */
PHL_CLONES
static double normalise(double *value, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        most = value[i] > most ? value[i] : most;
    }
    for (size_t i = 0; most > 0.0 && i < n; i++) {
        value[i] /= most;
    }
    return most;
}

static void run_list(phl_inside *inside, size_t number)
{
    const phl_list *list = &inside->lists->items[number];
    const double *below = value_of(inside, list->below), *next = value_of(inside, list->next);
    size_t count = inside->first[number + 1] - inside->first[number];
    double *value = inside->value + inside->first[number];
    struct steps steps = begin_steps(inside, number);
    struct step step;
    memset(value, 0, count * sizeof *value);
    while (next_step(&steps, &step)) {
        add_products(&step, below, next, inside->room, value);
    }
    double most = normalise(value, count);
    inside->norm[number] = most;
    inside->log_scale[number] =
        log(most) + (list->below == PHL_NO_LIST ? 0.0 : inside->log_scale[list->below]) +
        (list->next == PHL_NO_LIST ? 0.0 : inside->log_scale[list->next]);
}

void phl_inside_run(phl_inside *inside)
{
    for (size_t i = 0; i < inside->lists->n; i++) {
        run_list(inside, i);
    }
}

double phl_inside_tree(const phl_inside *inside, size_t tree)
{
    return inside->log_scale[inside->lists->root[tree]];
}

/* What a list's expectation brings to the counts of a rule, and to what follows the rule.  room:
 * two rows of states, whole lanes each. */
struct flows {
    const double *below, *next;  /* values; NULL: 1 */
    const double *out;           /* expectation of the list */
    double *to_below, *to_next;  /* of what follows; NULL: there is none */
    double *count, *after, *sum; /* of the rule; room */
    double scale;
};

/* weight(j) p(j, k): summed over j, and times after(k) as counts.  Behind a row 0 is added. */
PHL_INLINED void flow_rows(size_t parts, const double *restrict p, const double *restrict after,
                           const double *restrict weight, double scale, size_t rows, size_t n,
                           double *restrict sum, double *restrict count)
{
    enum { MOST = 4 }; /* parts that are kept in registers */
    phl_lanes kept[MOST] = {{0.0}, {0.0}, {0.0}, {0.0}};
    for (size_t part = MOST; part < parts; part++) {
        phl_lanes_set(sum + part * PHL_LANES, kept[0]);
    }
    for (size_t j = 0; j < rows; j++, p += n, count += n) {
        double scaled = weight[j] * scale;
        for (size_t part = 0; part < parts; part++) {
            size_t at = part * PHL_LANES;
            phl_lanes flow = scaled * phl_lanes_at(p + at);
            if (part < MOST) {
                kept[part] += flow;
            } else {
                phl_lanes_set(sum + at, phl_lanes_at(sum + at) + flow);
            }
            phl_lanes_set(count + at, phl_lanes_at(count + at) + flow * phl_lanes_at(after + at));
        }
    }
    for (size_t part = 0; part < parts && part < MOST; part++) {
        phl_lanes_set(sum + part * PHL_LANES, kept[part]);
    }
}

PHL_CLONES
static void add_flows(const struct step *step, const struct flows *flows)
{
    double *after = flows->after, *sum = flows->sum;
    size_t n = step->states, rows = step->lefts;
    for (size_t i = 0; i < step->parents; i++) {
        const double *p = step->p + i * rows * n;
        double *count = flows->count + i * rows * n;
        const double *weight = flows->out + step->value + i * step->value_stride;
        if (i == 0 || step->next_stride > 0) {
            follow(step, flows->below, flows->next, i, after);
        }
        PHL_BY_PARTS(n, flow_rows, p, after, weight, flows->scale, rows, n, sum, count);
        size_t at = step->next + i * step->next_stride;
        if (flows->to_below != NULL) {
            double *restrict to = flows->to_below + step->below;
            for (size_t k = 0; k < n; k++) {
                to[k] += sum[k] * (flows->next == NULL ? 1.0 : flows->next[at + k]);
            }
        }
        if (flows->to_next != NULL) {
            double *restrict to = flows->to_next + at;
            for (size_t k = 0; k < n; k++) {
                to[k] += sum[k] * (flows->below == NULL ? 1.0 : flows->below[step->below + k]);
            }
        }
    }
}

/* The expectation of a list, that of its parts, and counts. */
static void count_list(const phl_inside *inside, size_t number, double *outside, double *n)
{
    const phl_list *list = &inside->lists->items[number];
    struct flows flows = {
        .below = value_of(inside, list->below),
        .next = value_of(inside, list->next),
        .out = outside + inside->first[number],
        .to_below = list->below == PHL_NO_LIST ? NULL : outside + inside->first[list->below],
        .to_next = list->next == PHL_NO_LIST ? NULL : outside + inside->first[list->next],
        .after = inside->room,
        .sum = inside->room + phl_whole_lanes(inside->most),
        .scale = 1.0 / inside->norm[number]};
    struct steps steps = begin_steps(inside, number);
    struct step step;
    while (next_step(&steps, &step)) {
        flows.count = n + inside->table->blocks.first[step.rule];
        add_flows(&step, &flows);
    }
}

phl_status phl_inside_count(phl_inside *inside, const double *root_weight, double *n,
                            phl_error *error)
{
    size_t lists = inside->lists->n, numbers = inside->first[lists];
    if (inside->outside == NULL) {
        inside->outside = phl_alloc(numbers, sizeof *inside->outside, error);
    }
    unsigned char *reached = phl_alloc_zero(lists, 1, error);
    if (inside->outside == NULL || reached == NULL) {
        phl_free(reached);
        return PHL_ERR_MEMORY;
    }
    memset(inside->outside, 0, numbers * sizeof *inside->outside);
    for (size_t i = lists; i-- > 0;) {
        const phl_list *list = &inside->lists->items[i];
        if (root_weight[i] > 0.0 && inside->norm[i] > 0.0) { /* a root: its value is 1 */
            inside->outside[inside->first[i]] += root_weight[i];
            reached[i] = 1;
        }
        if (!reached[i]) {
            continue;
        }
        if (list->below != PHL_NO_LIST) {
            reached[list->below] = 1;
        }
        if (list->next != PHL_NO_LIST) {
            reached[list->next] = 1;
        }
        count_list(inside, i, inside->outside, n);
    }
    phl_free(reached);
    return PHL_OK;
}

double phl_inside_total(const phl_inside *inside, const double *root_weight)
{
    double sum = 0.0;
    for (size_t i = 0; i < inside->lists->n; i++) {
        if (root_weight[i] > 0.0) {
            sum += root_weight[i] * inside->log_scale[i];
        }
    }
    return sum;
}
